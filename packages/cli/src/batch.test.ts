// SPDX-License-Identifier: MIT
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import {
  ConnectionError,
  UncertainError,
  VerificationFailedError,
  apiError,
} from '@geospatial-attestation/client'
import { afterAll, expect, test } from 'vitest'
import { batch, type BatchFlags } from './batch'
import type { Session } from './session'

const folder = mkdtempSync(path.join(tmpdir(), 'geo-batch-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Returns a function that runs a batch of one question, and counts the signed answers. */
function runs(name: string) {
  const output = path.join(folder, `${name}.ndjson`)
  writeFileSync(`${output}.questions`, '{"operation":"distance","from":"1,1","to":"2,2"}\n')
  const counts = { asked: 0, given: {} }
  /** Runs the batch; `land` is the outcome of each landing. */
  const run = (land: (sent: () => void, answer: object) => unknown) => {
    const geo = {
      chain: async () => ({ id: 1 }),
      batch: async () => (counts.given = { chainId: 1, deadline: 1, results: [{ answer: ++counts.asked }] }),
      land: async (answer: object, _wallet: unknown, { onStep }: { onStep: (step: object) => void }) =>
        land(() => onStep({ step: 'sent', transactionHash: '0x2' }), answer),
    }
    const session = {
      ...{ geo, options: { output, land: true, quiet: true }, at: (file: string) => file },
      ...{ context: {}, chain: geo.chain, wallet: async () => ({}), note: () => {}, sent: () => {} },
    }
    return batch(session as unknown as Session<BatchFlags>, `${output}.questions`)
  }
  return { run, counts }
}
const landed = () => [{ uid: '0x1', chainId: 1 }]

test.each([
  apiError(403, '<html>Request blocked</html>'),
  new VerificationFailedError({ status: 401, title: 'Verification Failed', detail: '' }),
])('geo batch --land keeps sent answers if their landing cannot be read: %s', async (failure) => {
  const { run, counts } = runs(String(failure.status))
  const lost = new Error('connection lost')
  await expect(run((sent) => (sent(), Promise.reject(lost)))).rejects.toBe(lost)
  await expect(run(() => Promise.reject(failure))).rejects.toBe(failure)
  expect(await run(landed)).toBe(0)
  expect(counts.asked).toBe(1)
})

test.each([new UncertainError('x'), new ConnectionError('x')])(
  'geo batch --land keeps answers whose state is unknown, although no transaction was reported: %s',
  async (failure) => {
    const { run, counts } = runs(failure.name)
    await expect(run(() => Promise.reject(failure))).rejects.toBe(failure)
    expect(await run(landed)).toBe(0)
    expect(counts.asked).toBe(1)
  },
)

test('geo batch --land lands the batch of the client, which it knows as new', async () => {
  const { run, counts } = runs('new')
  const answers: object[] = []
  await run((_, answer) => (answers.push(answer), landed()))
  expect(answers[0]).toBe(counts.given)
})

test('geo batch requests nothing after an error, and keeps the answers of the other request', async () => {
  const output = path.join(folder, 'stopped.ndjson')
  const line = (chain: number) => `{"operation":"distance","from":"1,1","to":"2,2","chainId":${chain}}\n`
  writeFileSync(`${output}.questions`, line(1).repeat(30) + line(2).repeat(30))
  let asked = 0
  let fail = (_: Error) => {}
  const failed = new Promise((_, reject) => (fail = reject))
  const failure = new Error('connection lost')
  const geo = {
    chain: async (id: number) => ({ id }),
    batch: async () => {
      if (asked++ === 0) return failed
      fail(failure)
      await turn()
      return { chainId: 1, deadline: 1, results: Array(10).fill({}) }
    },
  }
  const session = {
    ...{ geo, options: { output, quiet: true }, at: (file: string) => file },
    ...{ context: {}, chain: geo.chain, note: () => {} },
  } as unknown as Session<BatchFlags>
  await expect(batch(session, `${output}.questions`)).rejects.toBe(failure)
  expect(asked).toBe(2)
  const [, entry = '{}'] = readFileSync(`${output}.journal`, 'utf8').split('\n')
  expect((JSON.parse(entry) as { keys: string[] }).keys).toHaveLength(10)
})
