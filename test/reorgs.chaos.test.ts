import { Client } from 'pg'
import { expect, test } from 'vitest'
import { attest, request, revoke, testAccount } from '../dev/chain'
import { BodyReader } from '../src/indexer/bodies'
import { RangeAuditor } from '../src/indexer/range-auditor'
import { Registry } from '../src/indexer/registry'
import { Database, finalBlock } from '../src/indexer/store'
import { ALL_SCHEMAS } from '../src/location'
import { ANSWERER, RESULT_SCHEMA, answerRequest, audit } from './behind'
import { TEST_DATABASE_URL } from './database'
import {
  asProcess,
  kill,
  world,
  indexer,
  restart,
  place,
  until,
  query,
  records,
  whileDown,
  finalize,
  HISTORY_AND_HEAD,
} from './faulty'
import { expectInvariants } from './invariants'
import { SILENT, testRpc, type Fault } from './rpc-proxy'
import { LOCAL_CHAIN, inOneBlock, mine } from './world'
import { sentence, testSentences } from './sentences'

/** Tests the indexer with reorgs, kills and lost connections (docs/spec/trust.md 6). */

test.each([1, 2, 3, 7])('the indexer follows anvil_reorg of depth %i', async (depth) => {
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

test('the indexer follows reorgs that drop a revocation, an attestation, or both', async () => {
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

test('the indexer follows reorgs that drop an answer, its revocation, or another attestation', async () => {
  const { chain, caughtUp } = world
  const { provider } = chain
  const answers = async (uids: readonly string[]) => {
    const found = await query<{ uid: string; revoked: boolean }>('SELECT uid, revoked FROM answer')
    return uids.map((uid) => found.find((each) => each.uid === uid)?.revoked)
  }
  const kept = await attest(chain, answerRequest(12_345n), ANSWERER)
  // An attestation by an unrelated attester is not an answer.
  const foreign = await attest(chain, answerRequest(1n), 0)
  await caughtUp()
  const before = await provider.send('evm_snapshot', [])
  await revoke(chain, kept, ANSWERER, RESULT_SCHEMA)
  const dropped = await attest(chain, answerRequest(true), ANSWERER)
  const located = await attest(chain, place(), ANSWERER)
  const noAnswer = await attest(chain, request(RESULT_SCHEMA, '0x1234'), ANSWERER)
  await caughtUp()
  expect(await answers([kept, foreign, dropped, located, noAnswer])).toEqual([
    ...[true, undefined, false],
    ...[undefined, undefined],
  ])
  expect(await records([located])).toEqual(['valid'])
  expect(await query('SELECT problem FROM attestation_event WHERE uid = $1', [noAnswer])).toEqual([
    { problem: sentence() },
  ])
  await provider.send('evm_revert', [before])
  await caughtUp()
  expect(await answers([kept, dropped])).toEqual([false, undefined])
  expect(await query('SELECT FROM attestation_event WHERE uid = $1', [noAnswer])).toEqual([])
})

test('the indexer reads new answers of an added attester, and the audit reads earlier answers', async () => {
  const { chain } = world
  const [late, address] = [6, testAccount(6).address.toLowerCase()]
  const count = async () =>
    (await query<{ uid: string }>('SELECT uid FROM answer WHERE attester = $1', [address])).map(
      ({ uid }) => uid,
    )
  const old = await attest(chain, answerRequest(1n), late)
  await finalize()
  expect(await count()).toEqual([])
  await query('INSERT INTO answer_attester (chain, address, first_block) VALUES ($1, $2, 0)', [
    ...[LOCAL_CHAIN.slug, address],
  ])
  await until(async () => (await query('SELECT FROM answer_attester WHERE read_from IS NULL')).length === 0)
  // A block that was being read before the change may lack this event. The audit adds it.
  const fresh = await attest(chain, answerRequest(2n), late)
  await finalize()
  const { code, output } = await audit(world)
  expect([code, output]).toEqual([1, expect.stringMatching(/; [12] differed in the log/)])
  expect((await count()).sort()).toEqual([old, fresh].sort())
  const [{ doubt } = {}] = await query<{ doubt: string | null }>('SELECT doubt FROM chain_status')
  expect(doubt).toBeNull()
})

test.each([
  ['reread', 7],
  ['prove', 8],
] as const)(
  'the indexer finds the answers of an attester that is added during a concurrent audit (%s)',
  async (how, late) => {
    const { chain } = world
    const address = testAccount(late).address.toLowerCase()
    const old = await attest(chain, answerRequest(3n), late)
    await finalize()
    const database = new Database(world.databaseUrl, () => {})
    try {
      const rpc = testRpc([chain.url])
      const parts = { chain: LOCAL_CHAIN, rpc, database, log: SILENT }
      const registry = new Registry({ ...parts, policy: ALL_SCHEMAS, isIndexer: false })
      await registry.load()
      const auditor = new RangeAuditor({ ...parts, registry, bodies: new BodyReader(rpc, LOCAL_CHAIN.eas) })
      await query('INSERT INTO answer_attester (chain, address, first_block) VALUES ($1, $2, 0)', [
        ...[LOCAL_CHAIN.slug, address],
      ])
      await until(
        async () => (await query('SELECT FROM answer_attester WHERE read_from IS NULL')).length === 0,
      )
      const { height: to } = (await finalBlock(database.query, LOCAL_CHAIN))!
      await auditor[how]({ from: LOCAL_CHAIN.firstBlock, to })
      expect(await query('SELECT uid FROM answer WHERE attester = $1', [address])).toEqual([{ uid: old }])
    } finally {
      await database.close()
    }
  },
)

test('the indexer indexes an attestation that is mined again under another UID', async () => {
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

test('the indexer indexes an attestation that is mined again under the same UID', async () => {
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

test('the indexer follows anvil_rollback, and a reorg that occurred while it was down', async () => {
  const { chain, caughtUp } = world
  const uids = [await attest(chain, place()), await attest(chain, place()), await attest(chain, place())]
  await caughtUp()
  await indexer.stop()
  await chain.provider.send('anvil_reorg', [2, []])
  uids.push(await attest(chain, place()))
  restart()
  await caughtUp()
  expect(await records(uids)).toEqual(['valid', 'missing', 'missing', 'valid'])
  await chain.provider.send('anvil_rollback', [1])
  uids.push(await attest(chain, place()))
  await caughtUp()
  expect(await records(uids)).toEqual(['valid', 'missing', 'missing', 'missing', 'valid'])
})

test('the indexer loses no event if it is killed when it requests payloads', async () => {
  await asProcess()
  const { chain, proxy, caughtUp } = world
  let kills = 0
  const deadly: Fault = ({ method }) =>
    method === 'eth_call' && kills < 2 ? (kills++, void kill(), { drop: true }) : undefined
  const uids = await whileDown({}, deadly)
  await caughtUp()
  kills = 0
  proxy.misbehave(deadly)
  uids.push(await attest(chain, place()))
  await caughtUp()
  expect(await records(uids)).toEqual([...HISTORY_AND_HEAD, 'valid'])
  expect(indexer.exits.length).toBeGreaterThanOrEqual(3)
})

/** Acts on the indexer while its transaction has written the blocks of its events, but not yet the events. */
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

test.skipIf(!TEST_DATABASE_URL)(
  'the indexer loses no event if it is killed during a transaction (Postgres only)',
  async () => {
    await asProcess()
    expect(await records(await inTheMiddleOfABatch(kill))).toEqual(['valid', 'valid'])
  },
)

test.skipIf(!TEST_DATABASE_URL)(
  'the indexer loses no event if all database connections are cut (Postgres only)',
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

test('the indexer exits with status 2 for a reorg below the last final block', async () => {
  await asProcess()
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
  expect(await indexer.refused).toMatch(/a reorg went deeper than 75 blocks/)
  expect(indexer.exits.at(-1)).toBe(2)
  expect(await copy()).toEqual(written)
  // The new chain is indexed from scratch, so that the invariants hold after this test too.
  await query('TRUNCATE attestation_event, location_record, answer, chain_status, hot_block CASCADE')
  restart()
  await caughtUp()
})

testSentences()
