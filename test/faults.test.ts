import { setTimeout as pause } from 'node:timers/promises'
import { AbiCoder, ZeroAddress } from 'ethers'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { attest, locationRequest, mined, request, revoke } from '../dev/chain'
import { freePort } from '../dev/services'
import * as eas from '../src/abi/EAS'
import { fieldTypes, schemaUid } from '../src/eas'
import {
  TIMEOUT_MS,
  audit,
  startFaultyWorld,
  startIndexerBehind,
  type FaultyWorld,
  type KeptIndexer,
} from './behind'
import { TEST_DATABASE_URL, rows } from './database'
import { expectInvariants } from './invariants'
import { everyNth, faults, inTurn, startRpcProxy, type Fault } from './rpc-proxy'
import { LOCAL_CHAIN, inOneBlock, mine } from './world'

/** The indexer behind nodes that fail, contradict themselves and lie, through reorgs, deaths and lost connections (TRUST.md 6). */
let world: FaultyWorld
let indexer: KeptIndexer
beforeAll(async () => {
  world = await startFaultyWorld()
  indexer = startIndexerBehind(world)
  await world.caughtUp()
})
afterEach(() => expectInvariants(world))
afterAll(async () => {
  await indexer?.stop()
  await world?.stop()
})

let longitude = -180
const place = () => locationRequest({ type: 'Point', coordinates: [(longitude += 0.5), 10] })
const until = async (is: () => boolean | Promise<boolean>) => {
  while (!(await is())) await pause(20)
}
const query = <Row extends object>(sql: string, values?: unknown[]) =>
  rows<Row>(world.databaseUrl, sql, values)
const records = async (uids: readonly string[]) => {
  const found = new Map(
    (
      await query<{ uid: string; revoked: boolean }>(
        'SELECT uid, revoked FROM location_record WHERE uid = ANY($1)',
        [uids],
      )
    ).map(({ uid, revoked }) => [uid, revoked ? 'revoked' : 'valid']),
  )
  return uids.map((uid) => found.get(uid) ?? 'missing')
}
/** Blocks that become history while nobody looks, and some that stay hot: what restarts then reads both ways. */
async function whileDown(settings: NodeJS.ProcessEnv = {}, ...behind: Fault[]): Promise<string[]> {
  const { chain } = world
  await indexer.stop()
  const uids = [await attest(chain, place()), await attest(chain, place()), await attest(chain, place())]
  await revoke(chain, uids[1]!)
  await mine(chain, LOCAL_CHAIN.finality + 3)
  uids.push(await attest(chain, place()), await attest(chain, place()))
  await revoke(chain, uids[4]!)
  indexer = startIndexerBehind(world, behind, settings)
  return uids
}
const HISTORY_AND_HEAD = ['valid', 'revoked', 'valid', 'valid', 'revoked']
/** Beyond finality, for the audit. */
async function finalize(): Promise<void> {
  await mine(world.chain, LOCAL_CHAIN.finality + 1)
  await world.caughtUp()
}
const repairedSoFar = async () =>
  Number(
    (await query<{ repaired_events: string }>('SELECT repaired_events FROM chain_status'))[0]!
      .repaired_events,
  )
/** Audits; answers how many events that repaired. */
async function repaired(): Promise<number> {
  const before = await repairedSoFar()
  const { code, output } = await audit(world)
  const count = (await repairedSoFar()) - before
  expect([code, output]).toEqual([
    count ? 1 : 0,
    expect.stringContaining(count ? `; ${count} were not in the log` : 'the log has them all'),
  ])
  return count
}

test.each<[string, Fault]>([
  ['HTTP 429, 500, 503', inTurn(...[429, 500, 503].map(faults.http))],
  [
    '"rate limit exceeded", "missing trie node"',
    inTurn(faults.refusal('rate limit exceeded', -32005), faults.refusal('missing trie node')),
  ],
  ['sockets dropped', faults.dropped],
  ['no answer', faults.hanging],
  ['answers beyond the time-out', faults.slow(TIMEOUT_MS + 300)],
  ['batch answers cut short', faults.batchCut],
  ['answers of other ids', faults.wrongIds],
  ['half of the JSON', faults.invalidJson],
  ['blocks null', faults.blocksNull],
  ['logs removed, or of another fork', inTurn(faults.logsRemoved, faults.logsOfAnotherFork)],
  [
    'a multicall answer too short, or in another order',
    inTurn(faults.multicallShort, faults.multicallReversed),
  ],
  ['attestations unknown', faults.bodiesUnknown],
  ['a lagging node', faults.lagging(3)],
])('%s: nothing is lost in history, nor at the head', async (_, fault) => {
  const { chain, proxy, caughtUp } = world
  const uids = await whileDown({}, fault)
  await until(() => proxy.met >= 2)
  proxy.misbehave()
  await caughtUp()
  // Again, under an indexer that has verified its endpoint and follows the head.
  proxy.misbehave(fault)
  uids.push(await attest(chain, place()), await attest(chain, place()))
  // What is proven by receipts is not asked for by eth_getLogs.
  await until(async () => proxy.met >= 1 || (await records(uids.slice(-1)))[0] === 'valid')
  await chain.provider.send('anvil_reorg', [1, []])
  await mine(chain, 2)
  proxy.misbehave()
  await caughtUp()
  expect(await records(uids)).toEqual([...HISTORY_AND_HEAD, 'valid', 'missing'])
})

test.each<[string, Fault[]]>([
  [
    'logs twice, batch answers in another order, slow',
    [faults.logsTwice, faults.batchReordered, faults.slow(20)],
  ],
  ['"limited to a 5 range"', [faults.rangeAtMost(5, 'eth_getLogs is limited to a 5 range')]],
  [
    '"query returned more than 10000 results"',
    [faults.rangeAtMost(30, 'query returned more than 10000 results')],
  ],
  ['every 20th socket dropped', [everyNth(20, faults.dropped)]],
])('%s all the time: it goes on nevertheless', async (_, standing) => {
  const { chain, caughtUp } = world
  const uids = await whileDown({}, ...standing)
  await caughtUp()
  uids.push(await attest(chain, place()), await attest(chain, place()))
  await caughtUp()
  await chain.provider.send('anvil_reorg', [1, []])
  await mine(chain, 1)
  await caughtUp()
  expect(await records(uids)).toEqual([...HISTORY_AND_HEAD, 'valid', 'missing'])
  expect(indexer.exits).toEqual([])
})

test.each<[string, Fault | 'dead']>([
  ['dead', 'dead'],
  ['hangs', faults.hanging],
  ['answers half of the JSON', faults.invalidJson],
  ['is of another chain', faults.anotherChain],
  ['does not know the attestations', faults.bodiesUnknown],
])('the first of two endpoints %s: the second takes over', (_, fault) => takesOver(fault))

test.each<[string, Fault]>([
  ['says "missing trie node"', faults.refusal('missing trie node')],
  ['has blocks null', faults.blocksNull],
  ['gives logs of another fork', faults.logsOfAnotherFork],
])('the first of two endpoints %s: the second takes over', (_, fault) => takesOver(fault))

async function takesOver(fault: Fault | 'dead'): Promise<void> {
  const { chain, proxy, caughtUp } = world
  const first = fault === 'dead' ? undefined : await startRpcProxy(chain.url, fault)
  const uids = await whileDown({
    RPC_URL_BASE_SEPOLIA: [first?.url ?? `http://127.0.0.1:${await freePort()}`, proxy.url].join(),
  })
  await caughtUp()
  uids.push(await attest(chain, place()))
  await caughtUp()
  expect(await records(uids)).toEqual([...HISTORY_AND_HEAD, 'valid'])
  expect(indexer.exits).toEqual([])
  await first?.close()
}

test('the only endpoint is of another chain: it refuses to run, and says so', async () => {
  await indexer.stop()
  const wrong = startIndexerBehind(world, [faults.anotherChain])
  expect(await wrong.refused).toMatch(/is on chain 1, not 84532/)
  await wrong.stop()
  indexer = startIndexerBehind(world)
  await world.caughtUp()
})

test('a database of another chain: it refuses to run, says so, and writes nothing', async () => {
  await indexer.stop()
  const [before] = await query<{ hash: string }>('SELECT hash FROM squid_base_sepolia.status')
  await query(`UPDATE squid_base_sepolia.status SET hash = $1`, [`0x${'2'.repeat(64)}`])
  await attest(world.chain, place())
  const copy = () =>
    query('SELECT id, xmin FROM attestation_event UNION ALL SELECT id, xmin FROM location_record ORDER BY id')
  const written = await copy()
  const wrong = startIndexerBehind(world)
  expect(await wrong.refused).toMatch(/Either the endpoint or the database is of another network/)
  await wrong.stop()
  expect(await copy()).toEqual(written)
  await query(`UPDATE squid_base_sepolia.status SET hash = $1`, [before!.hash])
  indexer = startIndexerBehind(world)
  await world.caughtUp()
})

test('logs that the node leaves out: at the head none is missed, in history the audit finds them, though the node goes on lying', async () => {
  const { chain, proxy, caughtUp } = world
  await finalize()
  const uids = await whileDown({}, faults.logsCutByOne)
  await caughtUp()
  // The last event of history is a revocation.
  expect(await records(uids)).toEqual(['valid', 'valid', 'valid', 'valid', 'revoked'])
  const contract = await chain.eas()
  const attested = await inOneBlock(
    chain,
    [1, 2].map(() => () => contract.getFunction('attest').send(place(), { gasLimit: 1_000_000 })),
  )
  uids.push(...attested.flatMap((receipt) => receipt.logs.map((log) => log.data)))
  await caughtUp()
  expect(await records(uids.slice(5))).toEqual(['valid', 'valid'])
  await finalize()
  proxy.misbehave(faults.logsEmpty)
  expect(await repaired()).toBe(1)
  expect(await records(uids)).toEqual([...HISTORY_AND_HEAD, 'valid', 'valid'])
  expect(await repaired()).toBe(0)
})

test('a revocation, and an attestation that was revoked, left out in history: the records become what the chain says', async () => {
  const withoutRevoked = await whileDown({}, faults.logsWithout(eas.events.Revoked.topic))
  await world.caughtUp()
  expect(await records(withoutRevoked)).toEqual(['valid', 'valid', 'valid', 'valid', 'revoked'])
  // Hot blocks would be read again, as history, behind the next fault.
  await finalize()
  const withoutAttested = await whileDown({}, faults.logsWithout(eas.events.Attested.topic))
  await world.caughtUp()
  expect(await records(withoutAttested)).toEqual(['missing', 'missing', 'missing', 'valid', 'revoked'])
  world.proxy.misbehave()
  await finalize()
  expect(await repaired()).toBe(4)
  expect(await records([...withoutRevoked, ...withoutAttested])).toEqual([
    ...HISTORY_AND_HEAD,
    ...HISTORY_AND_HEAD,
  ])
})

test('the indexer audits by itself: what the first of two endpoints leaves out is repaired and counted', async () => {
  const { chain, proxy, caughtUp } = world
  const before = await repairedSoFar()
  const liar = await startRpcProxy(chain.url, faults.logsCutByOne)
  const uids = await whileDown({
    RPC_URL_BASE_SEPOLIA: [liar.url, proxy.url].join(),
    AUDIT_CALLS_PER_SECOND: '10000',
  })
  await caughtUp()
  await finalize()
  await until(async () => (await repairedSoFar()) >= before + 1)
  expect(await records(uids)).toEqual(HISTORY_AND_HEAD)
  expect(await repairedSoFar()).toBe(before + 1)
  await indexer.stop()
  await liar.close()
  indexer = startIndexerBehind(world)
  await caughtUp()
})

test.each([1, 2, 3, 7])('anvil_reorg of depth %i', async (depth) => {
  const { chain, caughtUp } = world
  const kept = await attest(chain, place())
  const dropped: string[] = []
  for (let i = 0; i < depth; i++) dropped.push(await attest(chain, place()))
  await caughtUp()
  await chain.provider.send('anvil_reorg', [depth, []])
  await mine(chain, 1)
  await caughtUp()
  expect(await records([kept, ...dropped])).toEqual(['valid', ...dropped.map(() => 'missing')])
})

test('reorgs drop a revocation, an attestation with its revocation, and both in one block', async () => {
  const { chain, caughtUp } = world
  const { provider } = chain
  const [kept, also] = [await attest(chain, place()), await attest(chain, place())]
  await caughtUp()
  const before = await provider.send('evm_snapshot', [])
  await revoke(chain, kept)
  const dropped = await attest(chain, place())
  await revoke(chain, dropped)
  const contract = await chain.eas()
  const [attested] = await inOneBlock(chain, [
    () => contract.getFunction('attest').send(place(), { gasLimit: 1_000_000 }),
    () =>
      contract
        .getFunction('revoke')
        .send({ schema: place().schema, data: { uid: also, value: 0 } }, { gasLimit: 1_000_000 }),
  ])
  const both = attested!.logs[0]!.data
  await caughtUp()
  expect(await records([kept, also, dropped, both])).toEqual(['revoked', 'revoked', 'revoked', 'valid'])
  await provider.send('evm_revert', [before])
  await caughtUp()
  expect(await records([kept, also, dropped, both])).toEqual(['valid', 'valid', 'missing', 'missing'])
})

test('an attestation mined again at another time has another UID', async () => {
  const { chain, caughtUp } = world
  const before = await chain.provider.send('evm_snapshot', [])
  const twin = place()
  const first = await attest(chain, twin)
  await caughtUp()
  await chain.provider.send('evm_revert', [before])
  await chain.provider.send('evm_increaseTime', [100])
  const second = await attest(chain, twin)
  expect(second).not.toBe(first)
  await caughtUp()
  expect(await records([first, second])).toEqual(['missing', 'valid'])
})

test('an attestation mined again at the same time, in a later block of another hash, keeps its UID', async () => {
  const { chain, caughtUp } = world
  const before = await chain.provider.send('evm_snapshot', [])
  const twin = place()
  const time = (await chain.provider.getBlock('latest'))!.timestamp + 100
  await chain.provider.send('evm_setNextBlockTimestamp', [time])
  const first = await attest(chain, twin)
  await caughtUp()
  await chain.provider.send('evm_revert', [before])
  await chain.provider.send('anvil_mine', ['0x1', '0x1'])
  await chain.provider.send('evm_setNextBlockTimestamp', [time])
  expect(await attest(chain, twin)).toBe(first)
  await caughtUp()
  expect(await records([first])).toEqual(['valid'])
})

test('reorg while it is down, and anvil_rollback', async () => {
  const { chain, caughtUp } = world
  const uids = [await attest(chain, place()), await attest(chain, place()), await attest(chain, place())]
  await caughtUp()
  await indexer.stop()
  await chain.provider.send('anvil_reorg', [2, []])
  uids.push(await attest(chain, place()))
  indexer = startIndexerBehind(world)
  await caughtUp()
  expect(await records(uids)).toEqual(['valid', 'missing', 'missing', 'valid'])
  await chain.provider.send('anvil_rollback', [1])
  uids.push(await attest(chain, place()))
  await caughtUp()
  expect(await records(uids)).toEqual(['valid', 'missing', 'missing', 'missing', 'valid'])
})

test('a location schema that the settings name later: its history is read by the audit', async () => {
  const { chain } = world
  const fields = 'string srs,string location_type,string location,string name'
  const schema = schemaUid(fields, ZeroAddress, true)
  await mined(
    chain,
    (await (await chain.registry()).getFunction('register').send(fields, ZeroAddress, true)).hash,
  )
  const payload = AbiCoder.defaultAbiCoder().encode(fieldTypes(fields), [
    'EPSG:4326',
    'wkt',
    'POINT(13.4 52.5)',
    'Berlin',
  ])
  const [before, revoked] = [
    await attest(chain, request(schema, payload)),
    await attest(chain, request(schema, payload)),
  ]
  await revoke(chain, revoked, 0, schema)
  await mine(chain, LOCAL_CHAIN.finality + 2)
  await world.caughtUp()
  expect(await records([before])).toEqual(['missing'])

  await indexer.stop()
  indexer = startIndexerBehind(world, [], { LOCATION_SCHEMAS: fields, AUDIT_CALLS_PER_SECOND: '10000' })
  const after = await attest(chain, request(schema, payload))
  await until(async () => (await records([before, revoked, after])).join() === 'valid,revoked,valid')
  const [record] = await query<{ longitude: string; location_type: string }>(
    'SELECT longitude, location_type FROM location_record WHERE uid = $1',
    [before],
  )
  expect(record).toEqual({ longitude: '13.4', location_type: 'wkt' })

  // And away again, so that the chain holds what the other tests think it does.
  await indexer.stop()
  await query('DELETE FROM attestation_event WHERE schema_uid = $1', [schema])
  await query('DELETE FROM location_record WHERE schema_uid = $1', [schema])
  indexer = startIndexerBehind(world)
  await mine(chain, LOCAL_CHAIN.finality + 2)
  await world.caughtUp()
})

test('killed whenever it asks for bodies, in history and at the head', async () => {
  const { chain, proxy, caughtUp } = world
  let kills = 0
  const deadly: Fault = ({ method }) =>
    method === 'eth_call' && kills < 2 ? (kills++, void indexer.kill(), { drop: true }) : undefined
  const uids = await whileDown({}, deadly)
  await caughtUp()
  kills = 0
  proxy.misbehave(deadly)
  uids.push(await attest(chain, place()))
  await caughtUp()
  expect(await records(uids)).toEqual([...HISTORY_AND_HEAD, 'valid'])
  expect(indexer.exits.length).toBeGreaterThanOrEqual(3)
})

/** Something done to the indexer while its transaction has written its events' blocks but not yet the events. */
async function inTheMiddleOfABatch(act: () => Promise<unknown>): Promise<string[]> {
  const { chain, databaseUrl, caughtUp } = world
  const holder = new Client({ connectionString: databaseUrl })
  holder.on('error', () => {})
  await holder.connect()
  try {
    await holder.query('SELECT pg_advisory_lock(hashtext($1))', [`attestations of ${LOCAL_CHAIN.slug}`])
    const uids = [await attest(chain, place()), await attest(chain, place())]
    await until(
      async () =>
        (
          await query(
            `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
          )
        ).length > 0,
    )
    await act()
    await holder.end().catch(() => {})
    await caughtUp()
    return uids
  } finally {
    await holder.end().catch(() => {})
  }
}
const cutConnections = () =>
  query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  )

test.skipIf(!TEST_DATABASE_URL)('killed in the middle of a transaction (Postgres only)', async () => {
  expect(await records(await inTheMiddleOfABatch(() => indexer.kill()))).toEqual(['valid', 'valid'])
})

test.skipIf(!TEST_DATABASE_URL)(
  'all database connections cut, in the middle of a transaction and while idle (Postgres only)',
  async () => {
    const uids = await inTheMiddleOfABatch(cutConnections)
    for (let i = 0; i < 3; i++) {
      await cutConnections()
      uids.push(await attest(world.chain, place()))
    }
    await world.caughtUp()
    expect(await records(uids)).toEqual(uids.map(() => 'valid'))
  },
)

test('a reorg below the last final block: it halts with code 2, says so, and corrupts nothing', async () => {
  const { chain, caughtUp } = world
  const before = await chain.provider.send('evm_snapshot', [])
  await attest(chain, place())
  await finalize()
  await caughtUp()
  await expectInvariants(world)
  const copy = () =>
    query('SELECT id, xmin FROM attestation_event UNION ALL SELECT id, xmin FROM location_record ORDER BY id')
  const written = await copy()
  await chain.provider.send('evm_revert', [before])
  await attest(chain, place())
  await mine(chain, LOCAL_CHAIN.finality + 10)
  expect(await indexer.refused).toMatch(/a reorg went deeper than 75 blocks: then index base-sepolia anew/)
  expect(indexer.exits.at(-1)).toBe(2)
  expect(await copy()).toEqual(written)
  // A world of the new chain, so that what follows every test holds here too.
  await query(
    'DROP SCHEMA squid_base_sepolia CASCADE; TRUNCATE attestation_event, location_record, chain_status',
  )
  indexer = startIndexerBehind(world)
  await caughtUp()
})
