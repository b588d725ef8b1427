import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { SigningKey } from 'ethers'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { SettingsError } from '../../../src/config'
import { UnavailableError } from '../../http/problems'
import { pkcs11Signer } from './pkcs11'
import { sentence, testSentences } from '../../../test/sentences'

/** Simulates a token's worker thread by a script. test/keys.system.test.ts tests a real token. */

const KEY = new SigningKey(`0x${'11'.repeat(32)}`)
const DIGEST = `0x${'5a'.repeat(32)}`
const [HANGS, DIES, OF_ANOTHER_DIGEST, FAILS] = ['01', '02', '03', '04'].map(
  (byte) => `0x${byte.repeat(32)}`,
) as [string, string, string, string]
const SCRIPT = `
const { parentPort, workerData } = require('node:worker_threads')
const { SigningKey } = require(${JSON.stringify(require.resolve('ethers/crypto'))})
const key = new SigningKey('${KEY.privateKey}')
const gate = new Int32Array(workerData.pin)
const problem = Atomics.add(gate, 1, 1) === (gate[2] === 4 ? 0 : 1) ? gate[2] : 0
if (problem > 2) Atomics.wait(gate, 0, 0)
if (problem === 1 || problem === 2) parentPort.postMessage({ problem: 'refused', isFinal: problem === 2 })
else parentPort.postMessage({ publicKey: Buffer.from(key.publicKey.slice(4), 'hex') })
parentPort.on('message', ({ id, digest }) => {
  if (digest[0] === 1) Atomics.wait(gate, 0, 0)
  if (digest[0] === 2) process.exit(0)
  if (digest[0] === 4) throw new Error('failed')
  const { r, s } = key.sign(digest[0] === 3 ? Buffer.alloc(32) : digest)
  parentPort.postMessage({ id, signature: Buffer.from(r.slice(2) + s.slice(2), 'hex') })
})`

let folder: string
const closing: (() => Promise<void>)[] = []
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'token-'))
  writeFileSync(path.join(folder, 'worker.cjs'), SCRIPT)
})
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Problem of the token when its thread starts for the second time. */
const ABSENT = 1
const PIN_REFUSED = 2
const HANGING = 3
/** Problem of the token when its thread starts for the first time. */
const HANGING_AT_START = 4
/** @returns the signer, and the gate that releases hanging calls */
async function tokenSigner(timeoutMs: number, problem = 0, openMs?: number) {
  // True if hanging calls are released, number of starts, problem
  const gate = new Int32Array(new SharedArrayBuffer(12))
  gate[2] = problem
  const settings = {
    kind: 'pkcs11',
    module: '/usr/lib/token.so',
    token: 'geo',
    key: '',
    readPin: () => gate.buffer as never,
  } as const
  const open = () => {
    Atomics.store(gate, 0, 1)
    Atomics.notify(gate, 0)
  }
  closing.push(async () => open())
  const signer = await pkcs11Signer(settings, { timeoutMs }, path.join(folder, 'worker.cjs'), openMs)
  closing.push(() => signer.close())
  const sign = (digest = DIGEST) => signer.sign(digest, () => undefined as never)
  return { signer, sign, open }
}

test(
  'the PKCS#11 signer times out on a hanging token, and signs again once the token recovers',
  { tags: ['slow'] },
  async () => {
    const { signer, sign, open } = await tokenSigner(200)
    expect(await sign()).toBe(KEY.sign(DIGEST).serialized)
    const answers = await Promise.allSettled([sign(HANGS), ...Array.from({ length: 20 }, () => sign())])
    for (const answer of answers)
      expect(answer.status === 'rejected' && answer.reason).toBeInstanceOf(UnavailableError)
    expect(signer.notReady()).toEqual(sentence())
    // While the token is busy with this call, other calls are refused immediately instead of queued.
    await expect(sign()).rejects.toThrow(UnavailableError)
    open()
    await expect.poll(() => sign().catch(() => undefined)).toBe(KEY.sign(DIGEST).serialized)
    expect(signer.notReady()).toBeUndefined()
  },
)
test('the PKCS#11 signer restarts its thread after the thread has ended', { tags: ['slow'] }, async () => {
  const { sign } = await tokenSigner(600_000)
  await expect(sign(DIES)).rejects.toThrow(UnavailableError)
  expect(await sign()).toBe(KEY.sign(DIGEST).serialized)
})
test('the PKCS#11 signer signs in a new thread while one that failed exits', { tags: ['slow'] }, async () => {
  const { sign } = await tokenSigner(600_000)
  await expect(sign(FAILS)).rejects.toThrow(UnavailableError)
  expect(await sign()).toBe(KEY.sign(DIGEST).serialized)
})
test(
  'the PKCS#11 signer opens a token again that was absent when its thread restarted',
  { tags: ['slow'] },
  async () => {
    const { sign } = await tokenSigner(600_000, ABSENT)
    for (const digest of [DIES, DIGEST]) await expect(sign(digest)).rejects.toThrow(UnavailableError)
    expect(await sign()).toBe(KEY.sign(DIGEST).serialized)
  },
)
test(
  'the PKCS#11 signer times out on a token that hangs when its thread restarts',
  { tags: ['slow'] },
  async () => {
    const { sign, open } = await tokenSigner(200, HANGING)
    for (const digest of [DIES, DIGEST, DIGEST]) await expect(sign(digest)).rejects.toThrow(UnavailableError)
    open()
    await expect.poll(() => sign().catch(() => undefined)).toBe(KEY.sign(DIGEST).serialized)
  },
)
test('the PKCS#11 signer cannot be created if the token hangs, and the error names the token', async () => {
  const error = await tokenSigner(600_000, HANGING_AT_START, 50).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(SettingsError)
  expect((error as Error).message).toEqual(sentence('SIGNER_URL', 'geo', '/usr/lib/token.so'))
})
test('the PKCS#11 signer does not open a token again that refused the PIN', async () => {
  const { sign } = await tokenSigner(600_000, PIN_REFUSED)
  for (const digest of [DIES, DIGEST, DIGEST]) await expect(sign(digest)).rejects.toThrow(UnavailableError)
})
test('the PKCS#11 signer does not return a signature of another digest', async () => {
  const { signer, sign } = await tokenSigner(600_000)
  await expect(sign(OF_ANOTHER_DIGEST)).rejects.toThrow(sentence())
  expect(signer.notReady()).toEqual(sentence())
  expect(await sign()).toBe(KEY.sign(DIGEST).serialized)
})

testSentences()
