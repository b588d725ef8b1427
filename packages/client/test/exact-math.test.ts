// SPDX-License-Identifier: MIT
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { rolldown, type Plugin } from 'rolldown'
import { expect, test } from 'vitest'

const plugin = path.resolve('packages/client/exact-math.mjs')
type Treatment = 'replace' | 'hand on' | 'check'

/** Bundles a module with this text, and removes comments. MATH stands for the replacements. */
async function bundled(text: string, treatment: Treatment = 'replace', name = 'entry.js'): Promise<string> {
  const { exactMath } = (await import(/* @vite-ignore */ plugin)) as {
    exactMath: (options: { math: string; treat: (file: string) => Treatment | undefined }) => Plugin
  }
  const math = path.resolve('packages/client/src/kernel/math.ts')
  const entry = {
    name: 'entry',
    resolveId: (id: string) =>
      id === name ? `/virtual/${id}` : id === math ? { id, external: true } : undefined,
    load: (id: string) => (id === `/virtual/${name}` ? text : undefined),
  }
  const exact = exactMath({ math, treat: (file) => (file.includes('virtual') ? treatment : undefined) })
  const bundle = await rolldown({
    input: name,
    plugins: [entry, exact],
    treeshake: false,
    logLevel: 'silent',
  })
  const { output } = await bundle.generate({ format: 'esm' })
  await bundle.close()
  return output[0].code
}

test('the build plugin replaces only functions that engines compute differently', async () => {
  const code = await bundled(
    'export const f = (x) => Math.sin(x) + Math.sqrt(x) * [x].map(Math.cos)[0] - Math.PI',
  )
  expect(code).toMatch(/import \{.*\bcos\b.*\bsin\b.*\} from ".*math/)
  expect(code).not.toMatch(/Math\.(sin|cos)\b/)
  expect(code).toMatch(/Math\.sqrt\(x\)[^]*Math\.PI/)
})
test('the build plugin transforms TypeScript and CommonJS', async () => {
  expect(
    await bundled('export const f = (x: number): number => Math.atan2(x, 1)', 'replace', 'entry.ts'),
  ).toMatch(/import \{ atan2/)
  expect(await bundled('exports.f = function (x) { return Math.tan(x) }')).toMatch(/\btan\b.*from|require\(/)
})
test('the build plugin removes a fallback for a function that exists', async () => {
  const code = await bundled(
    'export const f = Math.cbrt || function (x) { return Math.exp(Math.log(x) / 3) }',
  )
  expect(code).not.toMatch(/\bMath\b/)
})
test('the build plugin replaces constant powers of two by numbers', async () => {
  expect(await bundled('export const [a, b, c] = [2 ** 20, 2 ** -53, 2n ** 64n]')).toMatch(
    /1048576[^]*11102230246251565e-32[^]*2n \*\* 64n/,
  )
})
test('the build plugin passes on Math only if allowed, and only with exact functions', async () => {
  const text = 'export const library = { Math }'
  await expect(bundled(text)).rejects.toThrow('expected Math only as in Math.sin')
  const code = await bundled('export const library = load({ "Math": Math })', 'hand on')
  expect(code).toMatch(/abs: Math\.abs,[^]*\bsin,/)
  expect(code).not.toMatch(/Math\.(sin|exp|random)\b/)
})
test.each([
  ['export const f = (x) => Math.exp(x)', 'engines differ in Math.exp'],
  ['export const f = () => Math.random()', 'engines differ in Math.random'],
  ['export const f = (x) => x ** 2', 'engines differ in powers'],
  ['export const f = (x) => { x **= 2; return x }', 'engines differ in powers'],
  ['export const f = (x) => 10 ** 3 * x', 'engines differ in powers'],
  ['const { sin } = Math; export { sin }', 'expected Math only as in Math.sin'],
  ['const m = Math; export { m }', 'expected Math only as in Math.sin'],
  ['export const f = (name, x) => Math[name](x)', 'expected Math only as in Math.sin'],
  ['export const f = (x) => globalThis.Math.sin(x)', 'expected Math only as in Math.sin'],
  ['export const f = (x) => globalThis["Math"].sin(x)', 'expected Math only as in Math.sin'],
])('the build plugin fails the build of %j', async (text, problem) => {
  await expect(bundled(text)).rejects.toThrow(problem)
  await expect(bundled(`export const a = 1\nconst b = 2\n${text}`)).rejects.toThrow(/entry\.js:3: /)
})
test('the build plugin accepts replacements that use only what the language defines', async () => {
  const text = readFileSync('packages/client/src/kernel/words.ts', 'utf8')
  await bundled(text, 'check', 'entry.ts')
  await expect(bundled(`${text}\nexport const f = Math.sin`, 'check', 'entry.ts')).rejects.toThrow('Math.sin')
})
