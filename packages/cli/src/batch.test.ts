// SPDX-License-Identifier: MIT
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { VerificationFailedError, apiError } from '@geospatial-attestation/client'
import { afterAll, expect, test } from 'vitest'
import { batch, type BatchFlags } from './batch'
import type { Session } from './session'

const folder = mkdtempSync(path.join(tmpdir(), 'geo-batch-'))
afterAll(() => rmSync(folder, { recursive: true }))

test.each([
  apiError(403, '<html>Request blocked</html>'),
  new VerificationFailedError({ status: 401, title: 'Verification Failed', detail: '' }),
])('geo batch --land keeps sent answers if their landing cannot be read: %s', async (failure) => {
  const output = path.join(folder, `${failure.status}.ndjson`)
  writeFileSync(`${output}.questions`, '{"operation":"distance","from":"1,1","to":"2,2"}\n')
  let asked = 0
  /** Runs the batch; `land` is the outcome of each landing. */
  const run = (land: (sent: () => void) => unknown) => {
    const geo = {
      chain: async () => ({ id: 1 }),
      batch: async () => ({ chainId: 1, deadline: 1, results: [{ answer: ++asked }] }),
      land: async (_answer: unknown, _wallet: unknown, { onStep }: { onStep: (step: object) => void }) =>
        land(() => onStep({ step: 'sent', transactionHash: '0x2' })),
    }
    const session = {
      ...{ geo, options: { output, land: true, quiet: true }, at: (file: string) => file },
      ...{ context: {}, chain: geo.chain, wallet: async () => ({}), note: () => {}, sent: () => {} },
    }
    return batch(session as unknown as Session<BatchFlags>, `${output}.questions`)
  }
  const lost = new Error('connection lost')
  await expect(run((sent) => (sent(), Promise.reject(lost)))).rejects.toBe(lost)
  await expect(run(() => Promise.reject(failure))).rejects.toBe(failure)
  expect(await run(() => [{ uid: '0x1', chainId: 1 }])).toBe(0)
  expect(asked).toBe(1)
})
