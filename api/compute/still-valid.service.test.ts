import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import {
  attest,
  locationRequest,
  LOCAL_CHAIN,
  LOCAL_SIGNER_KEY,
  revoke,
  type LocalChain,
} from '../../dev/chain'
import { freePort } from '../../dev/services'
import { keySigner, type Signer } from '../../src/eas'
import { generateSignerKey } from '../../src/tlog'
import { postJson, startApi, type TestApi } from '../../test/api'
import { startTestChain } from '../../test/chains'
import { createMigratedDatabase } from '../../test/database'
import { ChainReader } from '../contracts'
import { LogWriter } from '../log/writer'

/** Tests inputs that are revoked while their answer waits for the chain, the signer or the log. */
let chain: LocalChain
let api: TestApi
/** Number of signatures, and of entries in the log. */
const made = { signatures: 0, entries: 0 }
/** Part of the service that seems to take more than a second, in which the input is revoked. */
let slow: { part: string; uid: string } | undefined
async function taking(part: string): Promise<void> {
  if (slow?.part !== part) return
  const { uid } = slow
  slow = undefined
  await revoke(chain, uid)
  ahead += 1_050
}
/** Milliseconds by which the clock of the service is ahead. */
let ahead = 0

beforeAll(async () => {
  const now = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead)
  chain = await startTestChain({ port: await freePort() })
  const signer = await keySigner(LOCAL_SIGNER_KEY)
  const slowSigner: Signer = {
    address: signer.address,
    notReady: () => undefined,
    sign: async (...given) => {
      const isSecond = ++made.signatures === 2
      await taking('signer')
      if (isSecond) await taking('second signature')
      return signer.sign(...given)
    },
  }
  const append = Reflect.get<LogWriter, 'append'>(LogWriter.prototype, 'append')
  vi.spyOn(LogWriter.prototype, 'append').mockImplementation(async function (this: LogWriter, ...given) {
    made.entries++
    const claim = await append.apply(this, given)
    await taking('log')
    return claim
  })
  const nonce = Reflect.get<ChainReader, 'nonce'>(ChainReader.prototype, 'nonce')
  vi.spyOn(ChainReader.prototype, 'nonce').mockImplementation(async function (this: ChainReader, ...given) {
    await taking('nonce')
    return nonce.apply(this, given)
  })
  api = await startApi({
    ...{ databaseUrl: (await createMigratedDatabase()).url, rpcUrl: chain.url },
    ...{ identity: { signer: slowSigner }, logKey: await generateSignerKey('x.example/log', 'ed25519') },
  })
  return () => vi.restoreAllMocks()
})
afterEach(() => {
  Object.assign(made, { signatures: 0, entries: 0 })
})

const ask = (route: string, body: object) =>
  postJson(`${api.url}/compute/v0/${route}`, { chainId: LOCAL_CHAIN.id, ...body })
const attestPlace = () => attest(chain, locationRequest({ type: 'Point', coordinates: [13.4, 52.5] }))
async function expectRefused(response: Response): Promise<void> {
  const { type } = (await response.json()) as { type: string }
  expect([response.status, type.split('/').at(-1)]).toEqual([400, 'invalid-input'])
}

const PLACE = { type: 'Point', coordinates: [13.5, 52.5] }
const REQUESTS = {
  distance: (from: string) => ({ from, to: PLACE }),
  batch: (from: string) => ({ operations: [{ operation: 'distance', from, to: PLACE }] }),
}
const PARTS = {
  nonce: { signatures: 0, entries: 0 },
  signer: { signatures: 1, entries: 0 },
  log: { signatures: 1, entries: 1 },
}

test.each(
  Object.entries(REQUESTS).flatMap(([route, bodyOf]) =>
    Object.entries(PARTS).map(([part, before]) => ({ route, part, bodyOf, before })),
  ),
)(
  'an answer of $route does not leave if its input is revoked while the $part takes seconds',
  async (each) => {
    const { route, part, bodyOf, before } = each
    const uid = await attestPlace()
    expect((await ask(route, bodyOf(uid))).status).toBe(200)
    Object.assign(made, { signatures: 0, entries: 0 })
    slow = { part, uid }
    await expectRefused(await ask(route, bodyOf(uid)))
    expect(made).toEqual(before)
  },
)

test('a batch does not leave if the input of its first answer is revoked while the second is signed', async () => {
  const uid = await attestPlace()
  const distance = { operation: 'distance', to: PLACE }
  slow = { part: 'second signature', uid }
  await expectRefused(
    await ask('batch', {
      operations: [
        { ...distance, from: uid },
        { ...distance, from: PLACE },
      ],
    }),
  )
  expect(made).toEqual({ signatures: 2, entries: 2 })
})
