import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chainNamed } from '../../src/chains'
import { eventRow } from '../../src/indexer/project'
import { settleHotBlocks } from '../../src/indexer/store'
import { insertSql } from '../../src/indexer/store/log'
import { LOCATION_SCHEMA } from '../../src/location'
import { EventKind } from '../../src/model'
import { startApi, type TestApi } from '../../test/api'
import { MISSING_PACKAGES, startCluster, type Cluster, type DatabaseServer } from '../../test/cluster'
import { rows } from '../../test/database'
import { ADDRESSES, insertRecords, uidOf } from '../../test/records'
import { listen } from '../../test/sse'
import { UnavailableError } from '../http/problems'
import { Store } from './store'
import { needing } from '../../test/needs'

/** A primary and two replicas that stop, lag and swap roles. Each test continues from the previous one. */
needing(MISSING_PACKAGES).describe('an API with replicas', () => {
  let cluster: Cluster
  let [primary, one, two]: DatabaseServer[] = []
  const stores: Store[] = []
  const apis: TestApi[] = []
  const messages: string[] = []
  beforeAll(async () => {
    cluster = await startCluster(2)
    ;[primary, one, two] = cluster.servers
  })
  afterAll(async () => {
    await Promise.all(apis.map((api) => api.close()))
    await Promise.all(stores.map((store) => store.close()))
    await cluster?.stop()
  })
  /** Starts an API instance. */
  const copy = (readers = [one!, two!]) => {
    const store = new Store(
      cluster.bouncerUrl('api'),
      ({ message }) => messages.push(message),
      {},
      readers.map((server) => cluster.bouncerUrl('api', [server])),
    )
    stores.push(store)
    return store
  }
  let written = 0
  /** Writes a record and returns its number. */
  const write = async (to = primary!) => {
    written++
    await insertRecords(to.url, [{ uid: uidOf(written) }], written)
    return written
  }
  const seen = async (store: Store) => (await store.page({ limit: 1_000 })).rows.length
  const call = (server: DatabaseServer, sql: string) => rows(server.url, `SELECT ${sql}`)
  const statementsOf = async (server: DatabaseServer) => {
    await call(server, 'pg_stat_clear_snapshot()')
    const [row] = await rows<{ scans: number }>(
      server.url,
      `SELECT sum(idx_scan + seq_scan)::float8 AS scans FROM pg_stat_user_tables WHERE relname = 'location_record'`,
    )
    return row!.scans
  }

  test('shows a record on all instances once its commit returned, and serves it from replicas', async () => {
    const copies = [copy(), copy([two!]), copy([primary!, one!])]
    const before = await statementsOf(one!)
    for (let i = 0; i < 30; i++) {
      await write()
      expect(await Promise.all(copies.map(seen))).toEqual([written, written, written])
    }
    // Statistics are written with some delay.
    await expect.poll(() => statementsOf(one!)).toBeGreaterThan(before)
  })
  test('does not use a replica that lags until the replica catches up', async () => {
    const [store, other] = [copy(), copy([one!])]
    await call(one!, 'pg_wal_replay_pause()')
    await write()
    expect(await Promise.all([...Array.from({ length: 10 }, () => seen(store)), seen(other)])).toEqual(
      Array.from({ length: 11 }, () => written),
    )
    await expect.poll(() => messages.some((text) => /behind/.test(text))).toBe(true)
    await call(one!, 'pg_wal_replay_resume()')
    await call(two!, 'pg_wal_replay_pause()')
    await write()
    await expect.poll(() => statementsOf(one!)).toBeGreaterThan(0)
    expect(await seen(store)).toBe(written)
    await call(two!, 'pg_wal_replay_resume()')
  })
  test('reads from the primary if no replica has caught up, also for GraphQL and ETags', async () => {
    for (const server of [one!, two!]) await call(server, 'pg_wal_replay_pause()')
    const [api, second] = await Promise.all(
      [1, 2].map(() =>
        startApi({
          databaseUrl: cluster.bouncerUrl('api'),
          readUrls: [one!, two!].map((server) => cluster.bouncerUrl('api', [server])),
        }),
      ),
    )
    apis.push(api!, second!)
    const list = (of: TestApi, headers: Record<string, string> = {}) =>
      fetch(`${of.url}/api/v0/location-records?limit=1000`, { headers })
    await write()
    const first = await list(api!)
    expect(((await first.json()) as { count: number }).count).toBe(written)
    // While the state is unchanged, every instance accepts the ETag. Right after a change, no instance does.
    const known = { 'if-none-match': (await list(api!)).headers.get('etag')! }
    expect((await list(second!, known)).status).toBe(304)
    await write()
    const next = await list(second!, known)
    expect([next.status, ((await next.json()) as { count: number }).count]).toEqual([200, written])
    for (const server of [one!, two!]) await call(server, 'pg_wal_replay_resume()')
  })
  test('sends final changes while replicas lag, each once, in order, and without a reset', async () => {
    const celo = chainNamed('celo')!
    const client = new Client({ connectionString: primary!.url })
    await client.connect()
    const query = async <Row extends object>(sql: string, values?: unknown[]) =>
      (await client.query<Row>(sql, values)).rows
    /** Writes a block that a reorg may replace, like the indexer. */
    const block = async (height: number) => {
      const n = ++written
      await query('BEGIN')
      await query(`INSERT INTO hot_block VALUES ('celo', $1, $2)`, [height, uidOf(height)])
      const event = {
        ...{ kind: EventKind.ATTESTED, uid: uidOf(n), schemaUid: LOCATION_SCHEMA.uid },
        ...{ attester: ADDRESSES[0]!, recipient: ADDRESSES[0]!, transactionHash: uidOf(n), logIndex: 0 },
        ...{ blockNumber: height, blockHash: uidOf(height), blockTimestamp: height * 1000 },
      }
      await query(insertSql('attestation_event'), [JSON.stringify([eventRow('celo', event)])])
      await insertRecords(client, [{ chain: 'celo', uid: uidOf(n), columns: { block_number: height } }])
      await query('COMMIT')
      return n
    }
    const settle = async (height: number) => {
      await query('BEGIN')
      await settleHotBlocks(query, celo, height)
      await query('COMMIT')
    }
    const servers = [one!, two!]
    const api = await startApi({
      databaseUrl: cluster.bouncerUrl('api'),
      readUrls: servers.map((server) => cluster.bouncerUrl('api', [server])),
      live: { pollMs: 20, heartbeatMs: 40 },
    })
    apis.push(api)
    const follow = (lastEventId = '') =>
      listen(`${api.url}/api/v0/location-records/stream?finality=final`, { lastEventId })
    const final = await follow()
    await final.until(() => final.lastEventId !== '')
    const expected: string[] = []
    const next = async (height: number) => {
      expected.push(`new ${await block(height)}`)
      await settle(height)
      await final.count(expected.length)
    }
    await next(101)
    await call(one!, 'pg_wal_replay_pause()')
    await next(102)
    await call(two!, 'pg_wal_replay_pause()')
    await next(103)
    // Continues from the position before these changes, on an instance whose replica has none of them.
    const again = await follow(final.events[0]!.id)
    await again.count(2)
    for (const server of servers) await call(server, 'pg_wal_replay_resume()')
    await next(104)
    await again.count(3)
    const changesOf = ({ events }: typeof final) =>
      events.map(({ event, data }) => `${event} ${parseInt(data.uid as string)}`)
    expect([changesOf(final), changesOf(again)]).toEqual([expected, expected.slice(1)])
    final.close()
    again.close()
    await client.end()
  })
  test('hides changes that a replica has before the primary shows them', async () => {
    const store = copy([one!])
    const before = await seen(store)
    await rows(primary!.url, `ALTER SYSTEM SET synchronous_standby_names = 'FIRST 2 (server_1, server_2)'`)
    await call(primary!, 'pg_reload_conf()')
    await expect
      .poll(() => rows(primary!.url, `SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`))
      .toHaveLength(2)
    await two!.postgres.kill()
    const writing = write()
    const onReplica = `SELECT FROM location_record`
    while ((await rows(one!.url, onReplica)).length === before) await pause(10)
    // The primary waits for the other replica. Until that replica responds, the primary shows the record to
    // no client.
    expect(await seen(store)).toBe(before)
    await two!.postgres.start()
    await writing
    expect(await seen(store)).toBe(written)
    await rows(primary!.url, `ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'`)
    await call(primary!, 'pg_reload_conf()')
  })
  test('does not use dead replicas until they run again', async () => {
    const store = copy()
    expect(await seen(store)).toBe(written)
    await one!.postgres.kill()
    for (let i = 0; i < 10; i++) expect(await seen(store)).toBe(written)
    await two!.postgres.kill()
    for (let i = 0; i < 3; i++) expect(await seen(store)).toBe(written)
    await Promise.all([one!.postgres.start(), two!.postgres.start()])
    await write()
    expect(await seen(store)).toBe(written)
  })
  test('reads and stops signing without a primary, and follows a promoted replica into a new epoch', async () => {
    const store = copy()
    const input = () => store.inputByUid('celo', uidOf(written), false)
    expect(await seen(store)).toBe(written)
    // Only records of indexed schemas are trusted without the chain.
    const schemas = 'SELECT chain, array_agg(DISTINCT schema_uid) FROM location_record GROUP BY chain'
    await rows(primary!.url, `INSERT INTO chain_status (chain, schemas) ${schemas}`)
    expect(await input()).toMatchObject({ revoked: false })
    const [state] = await store.recordStates()
    for (const server of [one!, two!])
      await expect
        .poll(async () => (await rows(server.url, 'SELECT FROM location_record')).length)
        .toBe(written)
    await primary!.postgres.kill()
    // PgBouncer may still consider a replica that just started as dead.
    await expect.poll(() => seen(store).catch(() => undefined)).toBe(written)
    for (let i = 0; i < 5; i++) expect(await seen(store)).toBe(written)
    await expect(input()).rejects.toThrow(UnavailableError)
    await one!.promote()
    await two!.turnTo(one!)
    await expect.poll(() => input().catch(() => undefined)).toMatchObject({ revoked: false })
    expect((await store.recordStates())[0]).toEqual(state)
    await write(one)
    expect(await seen(store)).toBe(written)
    const [next] = await store.recordStates()
    expect(next!.since.getTime()).toBeGreaterThan(state!.since.getTime())
    await write(one)
    expect((await store.recordStates())[0]!.since).toEqual(next!.since)
    // The old primary returns as a replica and receives only reads.
    await primary!.follow(one!)
    await write(one)
    expect(await seen(store)).toBe(written)
    expect(await input()).toMatchObject({ revoked: false })
    // The primary changes while there are no requests. Behind PgBouncer, no connection reveals the change.
    const alone = copy([])
    expect(await seen(alone)).toBe(written)
    await one!.postgres.kill('SIGINT')
    await two!.promote()
    await primary!.turnTo(two!)
    await one!.follow(two!)
    await call(one!, 'pg_wal_replay_pause()')
    await write(two)
    await expect.poll(() => seen(alone).catch(() => undefined)).toBe(written)
    await call(one!, 'pg_wal_replay_resume()')
  })
})
