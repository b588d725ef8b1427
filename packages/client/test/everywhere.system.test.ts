// SPDX-License-Identifier: MIT
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { cellToChildren, getPentagons, getRes0Cells } from 'h3-js'
import { rolldown, type InputOptions } from 'rolldown'
import { beforeAll, describe, expect, test } from 'vitest'
import { seededRandom } from '../../../dev/random'
import { openPage } from '../../../test/browser'
import { temporaryFolder } from '../../../test/database'
import { answersTo, shapesOf, type Case } from './answers'
import { needing, withChromium } from '../../../test/needs'

/**
 * Every engine must compute the same bits. `ours` holds the results of src/geodesy and h3-js in this Node,
 * unchanged; the engines run the package's bundle with its own mathematics.
 */
const read = (name: string) =>
  JSON.parse(readFileSync(`test/vectors/geodesy-cases${name}.json`, 'utf8')) as Case[]
const cases = [...read(''), ...read('-2'), ...read('-3')]

const random = seededRandom(20_261_122)
const among = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!
/** Cells of every resolution, including all pentagons, whose boundaries have more vertices. */
const cells = Array.from({ length: 16 }, (_, resolution) => [
  ...getPentagons(resolution),
  ...Array.from({ length: 40 }, () => {
    let cell = among(getRes0Cells())
    for (let i = 1; i <= resolution; i++) cell = among(cellToChildren(cell, i))
    return cell
  }),
]).flat()
const ALPHABET = '0123456789bcdefghjkmnpqrstuvwxyz'
const locations = Array.from({ length: 400 }, (): [string, string] => [
  'geohash',
  Array.from({ length: 1 + Math.floor(random() * 12) }, () => among([...ALPHABET])).join(''),
])

let ours: string[]
/** Bundle as a script that sets `kernel`. */
let script: string
let options: InputOptions
let folder: string
beforeAll(async () => {
  ours = [...answersTo(cases), ...(await shapesOf(cells, locations))]
  folder = temporaryFolder()
  const plugins = path.resolve('packages/client/kernel-plugins.mjs')
  const { kernelPlugins } = (await import(/* @vite-ignore */ plugins)) as { kernelPlugins: [] }
  options = {
    platform: 'neutral',
    resolve: { mainFields: ['module', 'main'], aliasFields: [['browser']] },
    treeshake: { moduleSideEffects: false },
    plugins: kernelPlugins,
  }
  const bundle = await rolldown({ ...options, input: 'packages/client/test/answers.ts' })
  const output = { format: 'iife', name: 'kernel', codeSplitting: false } as const
  script = (await bundle.generate(output)).output[0].code
  await bundle.close()
})

const asked = () => JSON.stringify([cases, cells, locations])
/** Expression that resolves to the results, as JSON. */
const EXPRESSION =
  'kernel.shapesOf(cells, locations).then((shapes) => JSON.stringify([...kernel.answersTo(cases), ...shapes]))'

/** Runs the bundle in an executable that prints the script's log. */
function answersIn(executable: string, flags: readonly string[] = []): string[] {
  const file = path.join(folder, 'answers.mjs')
  writeFileSync(
    file,
    `${script}\nconst [cases, cells, locations] = ${asked()}\n${EXPRESSION}.then((text) => console.log(text))`,
  )
  const text = execFileSync(executable, [...flags, file], { encoding: 'utf8', maxBuffer: 1 << 28 })
  return JSON.parse(text) as string[]
}

test('the comparison has all 1,548 cases and more than 800 cells', () => {
  expect(cases).toHaveLength(1548)
  expect(cells.length).toBeGreaterThan(800)
})
test('the client bundles no mathematics that differs between engines', () => {
  const withoutComments = script.replace(/\/\*[^]*?\*\/|\/\/.*/g, '')
  const used = new Set([...withoutComments.matchAll(/\bMath\.(\w+)/g)].map(([, name]) => name))
  expect([...used].sort()).toEqual([
    ...['PI', 'abs', 'ceil', 'clz32', 'floor', 'fround', 'imul', 'max', 'min', 'round', 'sign', 'sqrt'],
    ...['trunc'],
  ])
})
test('the client bundles the kernel in 56 kB compressed, without viem, and loads H3 on demand', async () => {
  // viem contains this version of the hash function.
  const external = ['viem', '@noble/hashes/sha3.js']
  const bundle = await rolldown({ ...options, input: 'packages/client/src/kernel.ts', external })
  const { output } = await bundle.generate({ format: 'esm', minify: true })
  await bundle.close()
  const chunks = output.filter((each) => each.type === 'chunk')
  const [entry] = chunks
  const first = chunks.filter(({ fileName }) => [entry!.fileName, ...entry!.imports].includes(fileName))
  expect(entry!.dynamicImports.length).toBe(1)
  expect(first.some(({ fileName }) => entry!.dynamicImports.includes(fileName))).toBe(false)
  const sizes = first.map(({ code }) => gzipSync(code, { level: 9 }).length)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(56_000)
})
describe('the results of the kernel, bit for bit,', () => {
  test('are the same in this Node', async () => expect(answersIn(process.execPath)).toEqual(ours))
  withChromium.test('are the same in a browser', async () => {
    await using browser = await openPage()
    const { page, complaints } = browser
    await page.evaluate(
      `${script}; [globalThis.cases, globalThis.cells, globalThis.locations] = ${asked()}; 0`,
    )
    expect(JSON.parse(await page.evaluate<string>(EXPRESSION))).toEqual(ours)
    expect(complaints).toEqual([])
  })

  const found = (name: string) =>
    (process.env.PATH ?? '')
      .split(path.delimiter)
      .map((each) => path.join(each, name))
      .find((file) => existsSync(file))
  needing(found('bun') ? [] : ['bun']).test('are the same in Bun', async () =>
    expect(answersIn(found('bun')!)).toEqual(ours),
  )
  needing(found('deno') ? [] : ['deno']).test('are the same in Deno', async () =>
    expect(answersIn(found('deno')!, ['run'])).toEqual(ours),
  )
})
