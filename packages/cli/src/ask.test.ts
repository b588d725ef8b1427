// SPDX-License-Identifier: MIT
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { UncertainError } from '@geospatial-attestation/client'
import { afterAll, expect, test } from 'vitest'
import { ask } from './ask'
import { landFile } from './land'
import type { Session } from './session'

const folder = mkdtempSync(path.join(tmpdir(), 'geo-ask-'))
afterAll(() => rmSync(folder, { recursive: true }))

const signed = (nonce: number) => ({ chainId: 1, attestation: {}, delegatedAttestation: { nonce } })
const unknown = new UncertainError('x')

/** Asks for an answer whose landing fails after a new signature. Returns the lines of stdout. */
async function failing(flags: object): Promise<string[]> {
  const printed: string[] = []
  const geo = {
    ask: async () => signed(1),
    land: async (_: object, __: object, { onStep }: { onStep: (step: object) => void }) => {
      onStep({ reason: '', answer: signed(2) })
      throw unknown
    },
  }
  const session = {
    ...{ geo, options: { land: true, ...flags }, at: (file: string) => path.join(folder, file) },
    ...{ chain: async () => ({ id: 1, slug: 'ethereum' }), wallet: async () => ({}), note: () => {} },
    printJson: (value: unknown) => printed.push(JSON.stringify(value)),
  } as unknown as Session
  await expect(ask(session, 'distance', ['1,1', '2,2'], [])).rejects.toBe(unknown)
  return printed
}

test.each([{ json: true }, { quiet: true }])(
  'prints an answer that did not land, in its last form, which geo land accepts: %j',
  async (flags) => {
    const [line] = await failing(flags)
    const landed: object[] = []
    const geo = {
      chain: async () => ({ id: 1, slug: 'ethereum' }),
      land: async (answer: object) => (landed.push(answer), {}),
    }
    const session = {
      ...{ geo, options: { json: true }, context: {}, stdin: async () => line, printJson: () => {} },
      ...{ wallet: async () => ({}), sent: () => {} },
    } as unknown as Session
    await landFile(session, '-')
    expect(landed).toEqual([signed(2)])
  },
)

test('writes an answer that did not land to a file that only its owner can read', async () => {
  expect(await failing({})).toEqual([])
  const [file] = readdirSync(folder).map((name) => path.join(folder, name))
  expect(JSON.parse(readFileSync(file!, 'utf8'))).toEqual(signed(2))
  expect(statSync(file!).mode & 0o777).toBe(0o600)
})

test.each([
  ['a file, which has the other one, only if it was re-signed', 'answer.json', 0],
  ['standard input, which nothing stores', '-', 1],
] as const)('geo land keeps an answer of %s', async (_, source, unchanged) => {
  const from = mkdtempSync(path.join(tmpdir(), 'geo-land-'))
  writeFileSync(path.join(from, 'answer.json'), JSON.stringify(signed(1)))
  for (const [steps, last, kept] of [
    [[], signed(1), unchanged],
    [[{ reason: '', answer: signed(3) }], signed(3), 1],
  ] as const) {
    const geo = {
      chain: async () => ({ id: 1, slug: 'ethereum' }),
      land: async (_: object, __: object, { onStep }: { onStep: (step: object) => void }) => {
        steps.forEach(onStep)
        throw unknown
      },
    }
    const session = {
      ...{ geo, options: {}, context: {}, at: (file: string) => path.join(from, file), note: () => {} },
      ...{ stdin: async () => JSON.stringify(signed(1)), wallet: async () => ({}) },
    } as unknown as Session
    await expect(landFile(session, source)).rejects.toBe(unknown)
    const written = readdirSync(from).filter((name) => name !== 'answer.json')
    const contents = written.map((name) => JSON.parse(readFileSync(path.join(from, name), 'utf8')) as object)
    expect(contents).toEqual(kept ? [last] : [])
    written.forEach((name) => rmSync(path.join(from, name)))
  }
  rmSync(from, { recursive: true })
})
