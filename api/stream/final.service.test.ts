import { Client } from 'pg'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { chainNamed } from '../../src/chains'
import { eventRow } from '../../src/indexer/project'
import { settleHotBlocks } from '../../src/indexer/store'
import { insertSql } from '../../src/indexer/store/log'
import { LOCATION_SCHEMA } from '../../src/location'
import { EventKind } from '../../src/model'
import { startApi, type TestApi } from '../../test/api'
import { connect, createMigratedDatabase, type TestDatabase } from '../../test/database'
import { ADDRESSES, insertRecords, uidOf } from '../../test/records'
import { listen, type SseListener } from '../../test/sse'
import { sentence, testSentences } from '../../test/sentences'

/** Tests streams of final changes, on a real database with hot blocks. */
const CELO = chainNamed('celo')!
const PATH = '/api/v0/location-records/stream'
let database: TestDatabase
let client: Client
let api: TestApi
const query = async <Row extends object>(sql: string, values?: unknown[]) =>
  (await client.query<Row>(sql, values)).rows
beforeAll(async () => {
  database = await createMigratedDatabase()
  client = await connect(database.url)
  await client.query(`INSERT INTO chain_status (chain) VALUES ('celo')`)
})
const closing: (() => unknown)[] = []
beforeEach(async () => {
  await client.query(`TRUNCATE location_record; TRUNCATE attestation_event; TRUNCATE hot_block CASCADE;
    UPDATE chain_status SET final_height = 100, final_hash = ''`)
  api = await startApi({ databaseUrl: database.url, live: { pollMs: 20, heartbeatMs: 40 } })
})
afterEach(async () => {
  closing.splice(0).forEach((close) => close())
  await api.close()
})

const follow = async (search: string, lastEventId?: string): Promise<SseListener> => {
  const listener = await listen(`${api.url}${PATH}${search}`, { ...(lastEventId && { lastEventId }) })
  closing.push(() => listener.close())
  await listener.until(() => listener.lastEventId !== '')
  return listener
}
const told = ({ events }: SseListener) =>
  events.map(({ event, data }) => (data.uid ? `${event} ${parseInt(data.uid)}` : event))
const logged = (kind: EventKind, n: number, block: number) =>
  query(insertSql('attestation_event'), [
    JSON.stringify([
      eventRow('celo', {
        ...{ kind, uid: uidOf(n), schemaUid: LOCATION_SCHEMA.uid },
        ...{ attester: ADDRESSES[0]!, recipient: ADDRESSES[0]! },
        ...{ blockNumber: block, blockHash: uidOf(block), blockTimestamp: block * 1000 },
        ...{ transactionHash: uidOf(n), logIndex: n },
      }),
    ]),
  ])
/**
 * Writes a block like the indexer: its hot_block row unless it is final, the events, and their effects on
 * records.
 */
async function block(
  height: number,
  { attested = [], revoked = [] }: { attested?: number[]; revoked?: number[] },
) {
  await query('BEGIN')
  const [{ final }] = (await query<{ final: number }>('SELECT final_height AS final FROM chain_status')) as [
    { final: number },
  ]
  if (height > final) await query(`INSERT INTO hot_block VALUES ('celo', $1, $2)`, [height, uidOf(height)])
  for (const n of attested) await logged(EventKind.ATTESTED, n, height)
  for (const n of revoked) await logged(EventKind.REVOKED, n, height)
  await insertRecords(
    client,
    attested.map((n) => ({ chain: 'celo', uid: uidOf(n), columns: { block_number: height, log_index: n } })),
  )
  if (revoked.length)
    await query(
      `UPDATE location_record SET revoked = true, revocation_time = now(), updated_at = now() WHERE uid = ANY($1)`,
      [revoked.map(uidOf)],
    )
  await query('COMMIT')
}
/** Rolls blocks back like evm-processor: the last block first, and records before their events. */
async function rollBack(height: number) {
  await query('BEGIN')
  await query(
    `UPDATE location_record SET revoked = false, revocation_time = NULL WHERE revoked AND uid IN
       (SELECT uid FROM attestation_event WHERE block_number = $1 AND kind = 'REVOKED')`,
    [height],
  )
  await query('DELETE FROM location_record WHERE block_number = $1', [height])
  await query('DELETE FROM attestation_event WHERE block_number = $1', [height])
  await query('DELETE FROM hot_block WHERE height = $1', [height])
  await query('COMMIT')
}
async function settle(height: number) {
  await query('BEGIN')
  await settleHotBlocks(query, CELO, height)
  await query('UPDATE chain_status SET final_height = $1', [height])
  await query('COMMIT')
}

test('the stream sends a change once when its block is final, in order, and no reorged change', async () => {
  const [latest, final] = [await follow(''), await follow('?finality=final')]
  await block(101, { attested: [1, 2] })
  await block(102, { attested: [3], revoked: [1] })
  await rollBack(102)
  await rollBack(101)
  // Mines the same attestations again, in another block.
  await block(101, { attested: [2] })
  await block(102, { attested: [1], revoked: [2] })
  await block(103, {})
  await latest.until(() => told(latest).at(-1) === 'revoked 2')
  expect(told(final)).toEqual([])
  await settle(101)
  await final.count(1)
  // No further places are attested. Only the chain advances.
  await settle(102)
  await final.count(3)
  expect(told(final)).toEqual(['new 2', 'new 1', 'revoked 2'])
})

test('the stream sends a final change once although an RPC endpoint invented an earlier one', async () => {
  const final = await follow('?finality=final')
  await block(100, { attested: [3] })
  await block(101, { attested: [1, 2], revoked: [3] })
  // A record is revoked once: one of the two events is invented, and the audit has not removed it yet.
  await block(102, { revoked: [1] })
  await settle(102)
  await block(103, { revoked: [2, 3] })
  await logged(EventKind.ATTESTED, 1, 103)
  await block(104, { revoked: [1] })
  await settle(104)
  await final.until(() => told(final).includes('revoked 2'))
  expect(told(final)).toEqual(['new 3', 'new 1', 'new 2', 'revoked 3', 'revoked 1', 'revoked 2'])
})

test('the stream hides a revocation that is not final in the data of a final event', async () => {
  const final = await follow('?finality=final')
  await block(101, { attested: [1] })
  await block(102, { revoked: [1] })
  await settle(101)
  await final.count(1)
  const { data } = final.events[0]!
  expect([data.revoked, data.updated_at]).toEqual([false, data.created_at])
  const record = (await (await fetch(`${api.url}/api/v0/location-records/${uidOf(1)}`)).json()) as object
  expect(record).toMatchObject({ revoked: true })
  await settle(102)
  await final.count(2)
  expect(final.events[1]).toMatchObject({ event: 'revoked', data: record })
})

test('the stream sends blocks stored as final after the hot blocks that became final', async () => {
  const final = await follow('?finality=final')
  await block(101, { attested: [1] })
  await query('BEGIN')
  await settleHotBlocks(query, CELO, 2 ** 31 - 1)
  await query('UPDATE chain_status SET final_height = 102')
  await query('COMMIT')
  await block(102, { attested: [2], revoked: [1] })
  await final.count(3)
  expect(told(final).sort()).toEqual(['new 1', 'new 2', 'revoked 1'])
  expect(told(final).indexOf('new 1')).toBeLessThan(told(final).indexOf('revoked 1'))
})

test('the stream sends `corrected` for a final change that is removed later', async () => {
  await block(99, { attested: [1, 2] })
  await block(100, { revoked: [2] })
  const final = await follow('?finality=final')
  await query('DELETE FROM attestation_event WHERE uid = $1', [uidOf(1)])
  await query('DELETE FROM location_record WHERE uid = $1', [uidOf(1)])
  await query(`DELETE FROM attestation_event WHERE kind = 'REVOKED'`)
  await query('UPDATE location_record SET revoked = false, revocation_time = NULL')
  await final.count(2)
  expect(final.events).toMatchObject([
    { event: 'corrected', data: { uid: uidOf(1), chain: 'celo' } },
    { event: 'corrected', data: { uid: uidOf(2), revoked: false } },
  ])
  expect(Object.keys(final.events[0]!.data)).toEqual(['uid', 'chain'])
})

test('the stream moves its position past changes of the other finality, and repeats none', async () => {
  const [latest, final] = [await follow(''), await follow('?finality=final')]
  await block(101, { attested: [1] })
  await settle(101)
  await block(102, { attested: [2, 3] })
  await Promise.all([latest.count(3), final.count(1)])
  const [last] = await query<{ last: string }>('SELECT max(id) AS last FROM record_change')
  const isAtEnd = ({ lastEventId }: SseListener) => lastEventId.endsWith(`celo.${last!.last}`)
  await Promise.all([latest.until(() => isAtEnd(latest)), final.until(() => isAtEnd(final))])
  for (const [from, search] of [
    [latest, '?finality=final'],
    [final, '?finality=latest'],
  ] as const) {
    const lost = await follow(search, from.lastEventId)
    await lost.count(1)
    expect(told(lost)).toEqual(['reset'])
  }
  // All changes of the head are deleted: a final listener that received none of them is not affected.
  await query('DELETE FROM record_change')
  await query('UPDATE record_state SET forgotten = $1', [last!.last])
  const back = await follow('?finality=final', final.lastEventId)
  await settle(102)
  await back.count(2)
  expect(told(back)).toEqual(['new 2', 'new 3'])
})

test('the stream applies filters, and sends the documented values', async () => {
  const final = await follow(`?finality=final&bbox=-1,-1,1,1`)
  await insertRecords(
    client,
    [0, 5, 0.5].map((at, i) => ({
      ...{ chain: 'celo', uid: uidOf(i + 1), geometry: { type: 'Point', coordinates: [at, at] } },
      columns: { block_number: 100, log_index: i },
    })),
  )
  await final.count(2)
  expect(told(final)).toEqual(['new 1', 'new 3'])
  const refused = await fetch(`${api.url}${PATH}?finality=safe`)
  expect([refused.status, await refused.json()]).toEqual([
    400,
    { status: 'error', message: 'Invalid finality parameter', detail: sentence() },
  ])
})

testSentences()
