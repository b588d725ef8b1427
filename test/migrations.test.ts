import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CHAINS } from '../src/chains'

const FOLDER = 'db/migrations'
const files = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.sql'))
  .sort()
const text = (file: string) => readFileSync(`${FOLDER}/${file}`, 'utf8').replaceAll('\r\n', '\n')

test('migrations are frozen, because databases have run them', () => {
  const listed = new Map(
    readFileSync(`${FOLDER}/SHA256SUMS`, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(/\s+/).reverse() as [string, string]),
  )
  const problems = [...new Set([...listed.keys(), ...files])].flatMap((file) => {
    const frozen = listed.get(file)
    const sum = files.includes(file) ? createHash('sha256').update(text(file)).digest('hex') : undefined
    if (sum === frozen) return []
    return frozen === undefined
      ? `${file} is new. Once it is final, add this line to ${FOLDER}/SHA256SUMS: ${sum}  ${file}`
      : `${file} was ${sum ? 'changed' : 'removed'}, but databases have already run it: restore it (git checkout) and add a new migration`
  })
  expect(problems).toEqual([])
})

test('every migration has an up and a down, is later than the previous one, and names no chain', () => {
  const names = files.map((file) => /^\d{13}-[A-Z]\w*(?=\.(up|down)\.sql$)/.exec(file)?.[0])
  expect(names.filter((_, i) => i % 2 === 0)).toEqual(names.filter((_, i) => i % 2 === 1))
  expect(new Set(names).size * 2).toBe(files.length)
  const slugs = new RegExp(`'[^']*\\b(${CHAINS.map(({ slug }) => slug).join('|')})\\b`)
  expect(files.filter((file) => slugs.test(text(file)))).toEqual([])
})
