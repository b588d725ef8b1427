// @module-tag slow
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { attest, revoke } from '../dev/chain'
import { settleHotBlocks } from '../src/indexer/store'
import { inFaultyWorld, indexer, place, query, restart, until, world } from './faulty'
import { faults, sometimes, type Fault } from './rpc-proxy'
import { seeded } from './seed'
import { LOCAL_CHAIN, mine } from './world'

/**
 * Tests an indexer with the default settings behind an RPC endpoint that lies for a while, at the head and in
 * history. No false event may be written at the head. After the endpoint is honest again, the event log must
 * equal the chain's events.
 */
inFaultyWorld({ AUDIT_CALLS_PER_SECOND: '0.05' })

const random = seeded()
const doubt = async () => (await query<{ doubt: string | null }>('SELECT doubt FROM chain_status'))[0]!.doubt
const budget = async () =>
  (await query<{ audit_calls: number }>('SELECT audit_calls FROM chain_status'))[0]!.audit_calls
/** Events of the event log by kind and UID, in order. */
const logged = async () =>
  (
    await query<{ event: string }>(`SELECT kind || ' ' || uid AS event FROM attestation_event ORDER BY id`)
  ).map(({ event }) => event)

const truth: string[] = []
/** Makes some attestations and a few revocations, each in its own block, with empty blocks between. */
async function busy(): Promise<void> {
  const { chain } = world
  for (let i = 0; i < 6; i++) {
    const uid = await attest(chain, place())
    truth.push(`ATTESTED ${uid}`)
    await mine(chain, 1 + (i % 3))
    if (i % 4 === 0) {
      await revoke(chain, uid)
      truth.push(`REVOKED ${uid}`)
    }
    await pause(20)
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

test('blocks without receipts stay in doubt, also after a restart, until they are proven', async () => {
  const { chain, proxy } = world
  await until(async () => (await doubt()) === null)
  const noReceipts: Fault = ({ method }) =>
    /Receipt/.test(method) ? { error: { code: -32601, message: 'the method does not exist' } } : undefined
  proxy.misbehave(noReceipts)
  truth.push(`ATTESTED ${await attest(chain, place())}`)
  await until(async () => (await logged()).join() === truth.join())
  await until(async () => /unproven blocks at the head: 1/.test((await doubt()) ?? ''))
  await indexer.stop()
  restart([noReceipts])
  await mine(chain, 1)
  await world.caughtUp()
  const [restarted] = await query<{ now: Date }>('SELECT clock_timestamp() AS now')
  await until(async () => {
    const [noted] = await query<{ checked_at: Date }>('SELECT checked_at FROM chain_status')
    return noted!.checked_at > restarted!.now
  })
  expect(await doubt()).toMatch(/unproven blocks at the head/)
  // Blocks in doubt do not wait for the audit's budget of calls: they have a reserve.
  const before = await budget()
  const setBudget = (calls: number) =>
    query('UPDATE chain_status SET audit_calls = $1, audit_calls_at = now()', [calls])
  await setBudget(-100)
  proxy.misbehave()
  await mine(chain, LOCAL_CHAIN.finality + 2)
  await until(async () => (await doubt()) === null)
  expect(await budget()).toBeLessThan(0)
  await setBudget(before)
})

test.each<[string, Fault]>([
  ['omits logs or truncates lists, everywhere', sometimes(0.7, faults.logsCutEverywhere, random)],
  ['omits logs from eth_getLogs only', faults.logsCutByOne],
  ['forges logs', sometimes(0.7, faults.logsForged, random)],
  ['forges headers', sometimes(0.3, faults.headersForged, random)],
  ['sometimes returns other blocks than requested', sometimes(0.2, faults.anotherBlock(random), random)],
])(
  'the event log equals the chain again after an endpoint that %s, at the head, in history and across a restart',
  async (_, lies) => {
    const { chain, proxy } = world
    proxy.misbehave(lies)
    await busy()
    expect((await logged()).filter((event) => !truth.includes(event))).toEqual([])
    // The endpoint lies in the same way while the history is read.
    await indexer.stop()
    await busy()
    await mine(chain, LOCAL_CHAIN.finality + 5)
    restart([lies])
    await busy()
    // An attestation proves itself by its UID. The audit removes false revocations from history later.
    expect(
      (await logged()).filter((event) => event.startsWith('ATTESTED') && !truth.includes(event)),
    ).toEqual([])
    proxy.misbehave()
    await mine(chain, LOCAL_CHAIN.finality + 5)
    await until(async () => (await logged()).join() === truth.join())
    await world.caughtUp()
  },
)

test('the indexer resumes if only its last final block was forged, but refuses a log of another chain', async () => {
  const { chain } = world
  const FALSE = `0x${'2'.repeat(64)}`
  await indexer.stop()
  await mine(chain, LOCAL_CHAIN.finality + 10)
  await settleHotBlocks(query, LOCAL_CHAIN, 2 ** 31 - 1)
  const height = (await chain.provider.getBlockNumber()) - LOCAL_CHAIN.finality - 2
  await query('UPDATE chain_status SET final_height = $1, final_hash = $2', [height, FALSE])
  const [last] = await query<{ id: string; hash: string }>(
    'SELECT id, block_hash AS hash FROM attestation_event ORDER BY id DESC LIMIT 1',
  )
  const setHash = (hash: string) =>
    query('UPDATE attestation_event SET block_hash = $2 WHERE id = $1', [last!.id, hash])
  await setHash(FALSE)
  restart()
  expect(await indexer.refused).toMatch(/belongs to another network/)
  await setHash(last!.hash)
  truth.push(`ATTESTED ${await attest(chain, place())}`)
  restart()
  await until(async () => (await logged()).join() === truth.join())
  await world.caughtUp()
  expect(indexer.exits).toEqual([])
})
