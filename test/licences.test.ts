import { readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

/**
 * Tests the licence of each source file (NOTICE): the root's licence, unless an SPDX line names another one.
 */
const LINE = 'SPDX-License-Identifier: MIT'
const sources = (folder: string, name: RegExp) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => path.posix.join(folder, file.replaceAll('\\', '/')))
    .filter((file) => name.test(file) && !/\/(?:node_modules|dist|out|cache)\//.test(file))
const isMit = (file: string) => readFileSync(file, 'utf8').split('\n', 2).join('\n').includes(LINE)
/** Files that a source file imports, including type imports, which the published declarations contain. */
const imported = (file: string) =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from|import\(?)\s*'(\.[^']+)'/g)].flatMap(([, target]) => {
    const found = path.posix.join(path.posix.dirname(file), target!)
    return [`${found}.ts`, `${found}/index.ts`].filter((each) => all.has(each))
  })
const all = new Set(['src', 'packages'].flatMap((folder) => sources(folder, /(?<!\.test)\.ts$/)))

test('every source file of a package names its licence', () => {
  const files = sources('packages', /\.(?:ts|mjs|sol)$/).filter(
    (file) => file !== 'packages/client/src/openapi.ts',
  )
  expect(files.length).toBeGreaterThan(100)
  expect(files.filter((file) => !isMit(file))).toEqual([])
})
test('every file of src in a package is under the licence of the package', () => {
  const contained = new Set(sources('packages', /\/src\/.*(?<!\.test)\.ts$/))
  for (const file of contained) for (const each of imported(file)) contained.add(each)
  const outside = [...contained].filter((file) => file.startsWith('src/'))
  expect(outside.length).toBeGreaterThan(30)
  expect(outside.filter((file) => !isMit(file))).toEqual([])
  expect([...all].filter((file) => file.startsWith('src/') && isMit(file) && !contained.has(file))).toEqual(
    [],
  )
})
