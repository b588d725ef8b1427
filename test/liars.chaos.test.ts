import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { attest, locationRequest, revoke } from '../dev/chain'
import { seededRandom } from '../dev/random'
import { settleHotBlocks } from '../src/indexer/store'
import { startFaultyWorld, startIndexerBehind, type FaultyWorld, type KeptIndexer } from './behind'
import { rows } from './database'
import { expectInvariants } from './invariants'
import { faults, sometimes, type Fault } from './rpc-proxy'
import { LOCAL_CHAIN, mine } from './world'

/**
 * Tests an indexer with the default settings behind an RPC endpoint that lies for a while, at the head and in
 * history. No false event may be written at the head. After the endpoint is honest again, the event log must
 * equal the chain's events.
 */
let world: FaultyWorld
let indexer: KeptIndexer
const DEFAULTS = { AUDIT_CALLS_PER_SECOND: '0.05' }
beforeAll(async () => {
  world = await startFaultyWorld()
  indexer = startIndexerBehind(world, [], DEFAULTS)
  await world.caughtUp()
})
afterEach(() => expectInvariants(world))
afterAll(async () => {
  await indexer?.stop()
  await world?.stop()
})

const random = seededRandom(7)
let longitude = -180
const place = () => locationRequest({ type: 'Point', coordinates: [(longitude += 0.25), 10] })
const query = <Row extends object>(sql: string, values?: unknown[]) =>
  rows<Row>(world.databaseUrl, sql, values)
const until = async (is: () => Promise<boolean>) => {
  while (!(await is())) await pause(50)
}
const doubt = async () => (await query<{ doubt: string | null }>('SELECT doubt FROM chain_status'))[0]!.doubt
/** Events of the event log by kind and UID, in order. */
const logged = async () =>
  (
    await query<{ event: string }>(`SELECT kind || ' ' || uid AS event FROM attestation_event ORDER BY id`)
  ).map(({ event }) => event)

const truth: string[] = []
/** Makes some attestations and a few revocations, each in its own block, with empty blocks between. */
async function busy(): Promise<void> {
  const { chain } = world
  for (let i = 0; i < 8; i++) {
    const uid = await attest(chain, place())
    truth.push(`ATTESTED ${uid}`)
    await mine(chain, 1 + (i % 3))
    if (i % 4 === 0) {
      await revoke(chain, uid)
      truth.push(`REVOKED ${uid}`)
    }
    await pause(60)
  }
}

test('reading the head costs one call per poll and two per block with watched events, and the audit costs none', async () => {
  const { chain, proxy } = world
  const allProven = async () =>
    (
      await query<{ proven: boolean }>(
        `SELECT proven @> int8range($1, final_height, '[]') AS proven FROM chain_status`,
        [LOCAL_CHAIN.firstBlock],
      )
    )[0]!.proven
  await until(allProven)
  const from = proxy.calls.length
  const blocks = 12
  for (let i = 0; i < blocks; i++) {
    if (i % 3) await mine(chain, 1)
    else truth.push(`ATTESTED ${await attest(chain, place())}`)
    await world.caughtUp()
  }
  const count = (method: string, ofLatest?: boolean) =>
    proxy.calls
      .slice(from)
      .filter(
        (call) =>
          call.method === method && (ofLatest === undefined || (call.params[0] === 'latest') === ofLatest),
      ).length
  expect([count('eth_getBlockReceipts'), count('eth_getLogs'), count('eth_getBlockByHash')]).toEqual([
    blocks / 3,
    0,
    0,
  ])
  expect(count('eth_call')).toBe(blocks / 3)
  expect(count('eth_getBlockByNumber', false)).toBe(0)
  // These blocks are already proven when they become final.
  await mine(chain, LOCAL_CHAIN.finality)
  await world.caughtUp()
  await until(allProven)
  expect(count('eth_getBlockReceipts')).toBe(blocks / 3)
  // Each header between two polls is read once.
  expect(count('eth_getBlockByNumber', false)).toBeLessThan(LOCAL_CHAIN.finality)
})

test.each<[string, Fault]>([
  ['omits logs or truncates lists, everywhere', sometimes(0.7, faults.logsCutEverywhere, random)],
  ['omits logs from eth_getLogs only', faults.logsCutByOne],
  ['forges logs', sometimes(0.7, faults.logsForged, random)],
  ['forges headers', sometimes(0.3, faults.headersForged, random)],
  ['sometimes returns other blocks than requested', sometimes(0.1, faults.anotherBlock(random), random)],
  ['mostly returns other blocks than requested', sometimes(0.8, faults.anotherBlock(random), random)],
])(
  'the event log equals the chain again after an endpoint that %s, at the head, in history and across a restart',
  async (_, lies) => {
    const { chain, proxy } = world
    proxy.misbehave(lies)
    await busy()
    // The endpoint lies in the same way while the history is read.
    await indexer.stop()
    await busy()
    await mine(chain, LOCAL_CHAIN.finality + 5)
    indexer = startIndexerBehind(world, [lies], DEFAULTS)
    await busy()
    // The log contains no event that the chain does not have. Missing events are added later.
    expect(
      (await logged()).filter((event) => event.startsWith('ATTESTED') && !truth.includes(event)),
    ).toEqual([])
    proxy.misbehave()
    await mine(chain, LOCAL_CHAIN.finality + 5)
    await until(async () => (await logged()).join() === truth.join())
    await world.caughtUp()
  },
)

test('blocks with false receipts are refused, and blocks without receipts stay in doubt', async () => {
  const { chain, proxy } = world
  await until(async () => (await doubt()) === null)
  proxy.misbehave(faults.logsForged)
  truth.push(`ATTESTED ${await attest(chain, place())}`)
  const FALSE_RECEIPTS = /^recent contradictions: the receipts of block \d+ do not hash to its receiptsRoot/
  await until(async () => FALSE_RECEIPTS.test((await doubt()) ?? ''))
  expect(await logged()).toEqual(truth.slice(0, -1))
  proxy.misbehave()
  await until(async () => (await logged()).join() === truth.join())

  const noReceipts: Fault = ({ method }) =>
    /Receipt/.test(method) ? { error: { code: -32601, message: 'the method does not exist' } } : undefined
  proxy.misbehave(noReceipts)
  truth.push(`ATTESTED ${await attest(chain, place())}`)
  await until(async () => (await logged()).join() === truth.join())
  await until(async () => /unproven blocks at the head: 1/.test((await doubt()) ?? ''))
  await indexer.stop()
  indexer = startIndexerBehind(world, [noReceipts], DEFAULTS)
  await mine(chain, 1)
  await world.caughtUp()
  const [restarted] = await query<{ now: Date }>('SELECT clock_timestamp() AS now')
  await until(async () => {
    const [noted] = await query<{ checked_at: Date }>('SELECT checked_at FROM chain_status')
    return noted!.checked_at > restarted!.now
  })
  expect(await doubt()).toMatch(/unproven blocks at the head/)
  // Blocks in doubt do not wait for the audit's budget of calls: they have a reserve.
  await query('UPDATE chain_status SET audit_calls = -100, audit_calls_at = now()')
  proxy.misbehave()
  await mine(chain, LOCAL_CHAIN.finality + 2)
  await until(async () => (await doubt()) === null)
  const [status] = await query<{ audit_calls: number }>('SELECT audit_calls FROM chain_status')
  expect(status!.audit_calls).toBeLessThan(0)
})

test("the indexer resumes on the true chain if its last final block was forged but its event log equals the chain's", async () => {
  const { chain } = world
  await indexer.stop()
  await mine(chain, LOCAL_CHAIN.finality + 10)
  await settleHotBlocks(query, LOCAL_CHAIN, 2 ** 31 - 1)
  const { finality } = LOCAL_CHAIN
  const height = (await chain.provider.getBlockNumber()) - finality - 2
  await query('UPDATE chain_status SET final_height = $1, final_hash = $2', [height, `0x${'2'.repeat(64)}`])
  truth.push(`ATTESTED ${await attest(chain, place())}`)
  indexer = startIndexerBehind(world, [], DEFAULTS)
  await until(async () => (await logged()).join() === truth.join())
  await world.caughtUp()
  expect(indexer.exits).toEqual([])
})
