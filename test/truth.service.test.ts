import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { attest, locationRequest, revoke, startLocalChain } from '../dev/chain'
import { freePort } from '../dev/services'
import * as eas from '../src/abi/EAS'
import { faults, startRpcProxy, type Fault, type RpcProxy } from './rpc-proxy'
import { mine, startTestWorld, type TestWorld } from './world'

/** Each test waits for many blocks. */
const MINUTES = { timeout: 240_000 }

/**
 * Tests that answers are signed only about the state of the chain, with forks, replaced chains, endpoints
 * that omit logs, and clocks that step.
 */
let world: TestWorld
/** World of the tests whose endpoint is honest; it ends with the file. */
let honest: TestWorld | undefined
const proxies: RpcProxy[] = []
afterEach(async () => {
  vi.unstubAllGlobals()
  if (world !== honest) await world?.stop()
  for (const proxy of proxies.splice(0)) await proxy.close()
})

/** A world whose service reads the chain through these endpoints. */
async function behind(count: number, ...initial: Fault[]): Promise<void> {
  const port = await freePort()
  for (let i = 0; i < count; i++) proxies.push(await startRpcProxy(`http://127.0.0.1:${port}`, ...initial))
  world = await startTestWorld({
    LOCAL_CHAIN_PORT: String(port),
    RPC_URL_BASE_SEPOLIA: proxies.map(({ url }) => url).join(),
  })
}
const place = () => locationRequest({ type: 'Point', coordinates: [13.4, 52.5] })
const ask = (uid: string) =>
  world.post('/compute/v0/distance', {
    chainId: 84532,
    from: uid,
    to: { type: 'Point', coordinates: [13.5, 52.5] },
  })
/** Status of a record, and true if it is revoked. */
async function record(uid: string): Promise<unknown> {
  const { status, body } = await world.get(`/api/v0/location-records/${uid}`)
  return status === 200 ? body.revoked : status
}
const until = async (is: () => Promise<boolean>) => {
  while (!(await is())) await pause(50)
}
/** Date whose clock is 90 seconds slow. Indexer and API run in this process, so they use it as well. */
class DateSetBack extends Date {
  constructor(value: number | string | Date = DateSetBack.now()) {
    super(value)
  }
  static override now() {
    return super.now() - 90_000
  }
}
const readiness = async () => (await world.get('/ready')).body.chains['base-sepolia']

test('the indexer undoes attestations and revocations on a shorter branch', MINUTES, async () => {
  world = honest ??= await startTestWorld()
  const { chain, caughtUp } = world
  const kept = await attest(chain, place())
  const before = await chain.provider.send('evm_snapshot', [])
  const dropped = await attest(chain, place())
  await revoke(chain, kept)
  await mine(chain, 3)
  await caughtUp()
  expect([await record(kept), await record(dropped)]).toEqual([true, false])

  await chain.provider.send('evm_revert', [before])
  await chain.provider.send('evm_increaseTime', [5])
  const added = await attest(chain, place())
  await until(async () => (await record(dropped)) === 404)
  expect([await record(kept), await record(added)]).toEqual([false, false])
  expect((await ask(dropped)).status).toBe(404)
  expect([(await ask(kept)).status, (await ask(added)).status]).toEqual([200, 200])
})

test(
  'the service queries the chain about attestations as soon as the chain is rolled back',
  MINUTES,
  async () => {
    world = honest ??= await startTestWorld()
    const { chain, caughtUp } = world
    const kept = await attest(chain, place())
    const before = await chain.provider.send('evm_snapshot', [])
    const dropped = await attest(chain, place())
    await caughtUp()
    expect([await readiness(), (await ask(dropped)).status]).toMatchObject([{ fresh: true }, 200])
    const tip = await chain.provider.getBlockNumber()
    await chain.provider.send('evm_revert', [before])
    await until(async () => !(await readiness()).fresh)
    // The reason for the refusal is the lower head, not the age of the last agreement.
    const { status, doubt } = await readiness()
    expect([status, doubt]).toEqual([
      'ready',
      expect.stringMatching(new RegExp(`${tip - 1}, below .*${tip}$`)) as string,
    ])
    expect([(await ask(dropped)).status, (await ask(kept)).status]).toEqual([404, 200])
    await mine(chain, 2)
    await until(async () => (await readiness()).fresh && (await record(dropped)) === 404)
    expect((await ask(kept)).status).toBe(200)
  },
)

test('the service does not write or sign if two endpoints omit a revocation', MINUTES, async () => {
  await behind(2)
  const { chain, caughtUp } = world
  const uid = await attest(chain, place())
  await caughtUp()
  expect((await ask(uid)).status).toBe(200)

  const { topic } = eas.events.Revoked
  const omits: Fault = (call) =>
    call.method === 'eth_getBlockReceipts'
      ? {
          ask: async (ask) =>
            ((await ask(call.method, call.params)) as { logs: { topics: string[] }[] }[]).map((receipt) => ({
              ...receipt,
              logs: receipt.logs.filter(({ topics }) => topics[0] !== topic),
            })),
        }
      : faults.logsWithout(topic)(call)
  for (const proxy of proxies) proxy.misbehave(omits)
  await revoke(chain, uid)
  const revokedIn = await chain.provider.getBlockNumber()
  await mine(chain, 2)
  await until(async () => !(await readiness()).fresh)
  expect(await readiness()).toMatchObject({ fresh: false, doubt: expect.any(String) })
  expect((await ask(uid)).body).toMatchObject({ status: 400 })
  expect((await readiness()).indexed_block).toBeLessThan(revokedIn)

  for (const proxy of proxies) proxy.misbehave()
  await caughtUp()
  expect(await record(uid)).toBe(true)
})

test(
  'the service does not sign about a chain that another chain with the same id replaces',
  { tags: ['slow'] },
  async () => {
    await behind(1)
    const uid = await attest(world.chain, place())
    await world.caughtUp()
    const other = await startLocalChain({ port: await freePort(), startsAt: 1_600_000_000 })
    try {
      proxies[0]!.misbehave(({ method, params }) => ({ ask: () => other.provider.send(method, params) }))
      await expect(world.indexing).rejects.toMatchObject({ name: 'SettingsError' })
      await until(async () => (await ask(uid)).status === 404)
      expect((await readiness()).status).not.toBe('ready')
    } finally {
      await other.stop()
    }
  },
)

test(
  'the service applies revocations after the system clock is set back by 90 seconds',
  MINUTES,
  async () => {
    world = honest ??= await startTestWorld()
    const uid = await attest(world.chain, place())
    await world.caughtUp()
    expect((await ask(uid)).status).toBe(200)
    vi.stubGlobal('Date', DateSetBack)
    await revoke(world.chain, uid)
    await until(async () => (await record(uid)) === true)
    expect((await ask(uid)).body).toMatchObject({ status: 400 })
    expect((await readiness()).fresh).toBe(true)
  },
)
