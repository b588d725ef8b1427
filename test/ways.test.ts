import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

/**
 * Tests the table of flows in docs/architecture/README.md: the files that a block, a request or a tile
 * passes, in order. A file without a folder is in the folder of the file before it, or in a parent folder.
 */
const PAGE = readFileSync('docs/architecture/README.md', 'utf8')
/** Maximum number of files in a flow, by row. For other rows, the test checks only that the files exist. */
const MOST: Readonly<Record<string, number>> = {
  'a block': 13,
}

const rows = [...PAGE.matchAll(/^\| (an? [^|]*?) \| (`[^|]*) \|$/gm)].map(
  ([, name, way]) => [name!, [...way!.matchAll(/`([^`]+)`/g)].map(([, file]) => file!)] as const,
)
const fileOf = (name: string) => [`${name}.ts`, `${name}/index.ts`].find((file) => existsSync(file))

/** The files that a row names. A name without a file stays as it is. */
function filesOf(names: readonly string[]): string[] {
  const files: string[] = []
  for (const name of names) {
    let folder = path.posix.dirname(files.at(-1) ?? '.')
    let file = fileOf(name)
    for (; file === undefined && folder !== '.'; folder = path.posix.dirname(folder))
      file = fileOf(path.posix.join(folder, name))
    files.push(file ?? name)
  }
  return files
}

/** Files that a file imports, and files to which the entry files of rooms lead. */
function importsOf(file: string): Set<string> {
  const found = new Set<string>()
  const visit = (from: string, pattern: RegExp) => {
    for (const [, target] of readFileSync(from, 'utf8').matchAll(pattern)) {
      const to = fileOf(path.posix.join(path.posix.dirname(from), target!))
      if (to === undefined || found.has(to)) continue
      found.add(to)
      if (to.endsWith('/index.ts')) visit(to, /^export\b[^']*?from '(\.[^']*)'/gm)
    }
  }
  visit(file, /(?:\bfrom|\bimport\(|\brequire\()\s*'(\.[^']*)'/g)
  return found
}

test('the page of request flows lists every flow that has a limit', () => {
  expect(rows.map(([name]) => name)).toEqual(expect.arrayContaining(Object.keys(MOST)))
})

test.each(rows)('every file of the flow "%s" exists', (_, names) => {
  expect(filesOf(names).filter((file) => !file.endsWith('.ts'))).toEqual([])
})

test.each(Object.entries(MOST))(
  'the flow "%s" passes at most %i files, each with an import from or to an earlier file',
  (name, most) => {
    const files = filesOf(rows.find(([row]) => row === name)![1])
    expect(files.length).toBeLessThanOrEqual(most)
    expect(new Set(files).size).toBe(files.length)
    const apart = files.slice(1).filter((file, i) => {
      const before = files.slice(0, i + 1)
      return !before.some((other) => importsOf(other).has(file) || importsOf(file).has(other))
    })
    expect(apart).toEqual([])
  },
)
