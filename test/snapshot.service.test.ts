import { createHash } from 'node:crypto'
import { cpSync, existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { AbiCoder, ParamType } from 'ethers'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  LOCAL_CHAIN,
  attest,
  locationRequest,
  registerSchema,
  request,
  revoke,
  testAccount,
} from '../dev/chain'
import { attestationUid } from '../src/eas'
import { restoreSnapshot } from '../src/indexer/snapshot'
import { Database, bodyOf, rowOf } from '../src/indexer/store'
import { startApi } from './api'
import {
  ANSWERER,
  answerRequest,
  audit,
  command,
  onDatabase,
  startFaultyWorld,
  startIndexerBehind,
  type FaultyWorld,
  type KeptIndexer,
} from './behind'
import { createMigratedDatabase, rows, temporaryFolder, type TestDatabase } from './database'
import { expectInvariants } from './invariants'
import { SILENT } from './rpc-proxy'
import { mine, reorg } from './world'

/** Tests `npm run snapshot` and `npm run restore`: the restored database must equal an index of the chain. */

const SLUG = LOCAL_CHAIN.slug
const FIELDS = 'string srs,string location_type,string location,string assetId'
let world: FaultyWorld
let snapshot: string
/** Number of events that were final when the snapshot was taken. */
let final: number
const folder = temporaryFolder()
const databases: TestDatabase[] = []
let indexer: KeptIndexer | undefined

/** Snapshots and restores query no endpoint, so they need none. */
const offline = (environment: NodeJS.ProcessEnv, ...args: string[]) =>
  command({ ...environment, CHAINS: SLUG, RPC_URL_BASE_SEPOLIA: '' }, ...args)
const place = (longitude: number) =>
  locationRequest({ type: 'Point', coordinates: [longitude, 20] }, { memo: `place ${longitude}` })

beforeAll(async () => {
  world = await startFaultyWorld()
  const { chain } = world
  const first = startIndexerBehind(world)
  const uids: string[] = []
  for (let i = 0; i < 5; i++) uids.push(await attest(chain, place(i)))
  await attest(chain, locationRequest({ type: 'Point', coordinates: [500, 95] }))
  await revoke(chain, uids[1]!)
  const schema = await registerSchema(chain, FIELDS)
  const data = AbiCoder.defaultAbiCoder().encode(ParamType.from(`tuple(${FIELDS})`).components!, [
    ...['EPSG:4326', 'geojson-point', '{"type":"Point","coordinates":[7,8]}', 'pump-7'],
  ])
  await attest(chain, request(schema, data))
  await attest(chain, answerRequest(88_132_994n), ANSWERER)
  // A uint64 that JSON numbers cannot represent.
  const latest = place(8)
  Object.assign(latest.data, { expirationTime: 2n ** 64n - 1n })
  await attest(chain, latest)
  await mine(chain, LOCAL_CHAIN.finality + 2)
  // These attestations are not final when the snapshot is taken.
  await attest(chain, place(50))
  await revoke(chain, uids[2]!)
  await world.caughtUp()
  await first.stop()
  snapshot = path.join(folder, 'snapshot')
  const taken = await offline(world.environment, 'snapshot', snapshot)
  expect([taken.code, taken.output]).toEqual([0, expect.stringContaining(`${SLUG}: 10 events up to block`)])
  final = 10
  await expectInvariants(world)
})
afterEach(async () => {
  await indexer?.stop()
  indexer = undefined
  for (const each of databases.splice(0)) await each.drop()
})
afterAll(() => world?.stop())

/** Returns `count` events like the first of a place, in the block before it, some of another schema. */
function copiesOf(
  lines: readonly string[],
  count: number,
  schemaOf: (i: number) => string | undefined = () => undefined,
): string[] {
  const place = lines.find((line) => line.includes('"kind":"ATTESTED"'))!
  const { id, block_number: block } = JSON.parse(place) as { id: string; block_number: number }
  return Array.from({ length: count }, (_, i) => {
    const [from, index] = [block - 1, String(i).padStart(6, '0')]
    const copy = place
      .replace(id, `${SLUG}-${String(from).padStart(12, '0')}-${index}`)
      .replace(/"block_number":\d+/, `"block_number":${from}`)
      .replace(/"log_index":\d+/, `"log_index":${i}`)
      .replace(/"ref_uid":"0x\w{6}/, `"ref_uid":"0x${index}`)
      .replace(/(?<="schema_uid":")0x\w+/, (schema) => schemaOf(i) ?? schema)
    const row = rowOf(copy)
    return copy.replace(row.uid, attestationUid({ ...bodyOf(row), data: `0x${row.data!.toString('hex')}` }))
  })
}
/** The world with an empty, migrated database. */
async function emptied(): Promise<FaultyWorld> {
  const database = await createMigratedDatabase()
  databases.push(database)
  return onDatabase(world, database.url)
}
const count = async (of: FaultyWorld, table: string) =>
  (await rows<{ count: number }>(of.databaseUrl, `SELECT count(*)::int AS count FROM ${table}`))[0]!.count

describe('a restored service', () => {
  test('equals a service that was indexed from the chain, and continues', async () => {
    const other = await emptied()
    const restored = await offline(other.environment, 'restore', snapshot)
    expect([restored.code, restored.output]).toEqual([
      0,
      expect.stringContaining(`${SLUG}: ${final} events restored`),
    ])
    // A restored database does not prove which attesters are the service's own.
    expect(restored.output).toContain(
      `${SLUG}: the snapshot names ${testAccount(ANSWERER).address.toLowerCase()}, whose attestations`,
    )
    expect(await count(other, 'attestation_event')).toBe(final)
    // The records are those of the event log at the snapshot, without the revocation, which was not final.
    const columns = `uid, schema_uid, memo, geometry, geom::text, attributes, problem, block_hash`
    const of = (url: string) => rows(url, `SELECT ${columns} FROM location_record ORDER BY uid`)
    const before = (await of(world.databaseUrl)) as { memo: string }[]
    expect(await of(other.databaseUrl)).toEqual(before.filter(({ memo }) => memo !== 'place 50'))
    const answers = (url: string) => rows(url, 'SELECT uid, result, input_refs FROM answer')
    expect(await answers(other.databaseUrl)).toEqual(await answers(world.databaseUrl))
    expect(await count(other, 'answer')).toBe(1)
    const [status] = await rows(
      other.databaseUrl,
      'SELECT reread::text, proven::text, indexed_height AS indexed FROM chain_status',
    )
    expect(status).toMatchObject({ reread: '{}', proven: '{}' })

    // The indexer reads the answers of the attesters that the snapshot names.
    indexer = startIndexerBehind(other)
    await attest(world.chain, place(60))
    await attest(world.chain, answerRequest(true), ANSWERER)
    await other.caughtUp()
    await expectInvariants(other)
    expect(await count(other, 'location_record')).toBe(10)
    expect(await count(other, 'answer')).toBe(2)
  })
  test('has events without a stored record, and of schemas that are no longer read, in its event log only', async () => {
    const [source, other] = [await emptied(), await emptied()]
    expect((await offline(source.environment, 'restore', snapshot)).code).toBe(0)
    const [{ uid } = {}] = await rows<{ uid: string }>(
      source.databaseUrl,
      `SELECT uid FROM location_record WHERE memo = 'place 3'`,
    )
    await rows(source.databaseUrl, `DELETE FROM location_record WHERE uid = $1`, [uid])
    await rows(
      source.databaseUrl,
      `UPDATE attestation_event SET withheld = true, data = NULL, problem = 'it could not be stored' WHERE uid = $1`,
      [uid],
    )
    await rows(source.databaseUrl, `UPDATE location_schema SET watched = false`)
    await rows(source.databaseUrl, `DELETE FROM location_record WHERE attributes IS NOT NULL`)
    const second = path.join(folder, 'second')
    expect((await offline(source.environment, 'snapshot', second)).code).toBe(0)
    expect((await offline(other.environment, 'restore', second)).code).toBe(0)
    for (const sql of [
      'SELECT * FROM attestation_event ORDER BY id',
      'SELECT uid, geom, attributes, revoked FROM location_record ORDER BY uid',
    ])
      expect(await rows(other.databaseUrl, sql)).toEqual(await rows(source.databaseUrl, sql))
    expect(await count(other, 'location_record')).toBe(final - 4)
  })
  test('repeats no state, so that earlier ETags and positions are invalid', async () => {
    const other = await emptied()
    await offline(other.environment, 'restore', snapshot)
    const states = await Promise.all(
      [world, other].map(({ databaseUrl }) =>
        rows<{ since: Date }>(databaseUrl, 'SELECT since FROM record_state WHERE chain = $1', [SLUG]),
      ),
    )
    expect(states[1]![0]!.since.getTime()).toBeGreaterThan(states[0]![0]!.since.getTime())
    const tags: (string | null)[] = []
    for (const { databaseUrl } of [world, other]) {
      const api = await startApi({ databaseUrl })
      tags.push((await fetch(`${api.url}/api/v0/location-records`)).headers.get('etag'))
      await api.close()
    }
    expect(tags[0]).not.toBe(tags[1])
  })
  test('continues if blocks after its final block were reorganized while it was down', async () => {
    const other = await emptied()
    await offline(other.environment, 'restore', snapshot)
    await reorg(world.chain, 20)
    await attest(world.chain, place(70))
    indexer = startIndexerBehind(other)
    await other.caughtUp()
    await expectInvariants(other)
  })
  test('finds a forged event with valid checksums by a check against the chain', async () => {
    const forged = copyOf('forged')
    rewrite(forged, 'events', (lines) => {
      const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
      const made = events.find(({ kind, uid }) => kind === 'ATTESTED' && uid !== events[1]!.uid)!
      // An invented revocation and an omitted attestation.
      const fake = {
        ...{ ...made, kind: 'REVOKED', log_index: 7, id: String(made.id).replace(/.$/, '7') },
        ...{ ref_uid: null, time: null, expiration_time: null, revocable: null, data: null },
      }
      // The lines stay unparsed, because JSON.stringify rounds large numbers. They begin with the id.
      return [...lines.filter((_, i) => i !== 4), JSON.stringify(fake)].sort()
    })
    const other = await emptied()
    const restored = await offline(other.environment, 'restore', forged)
    expect([restored.code, restored.output]).toEqual([0, expect.stringContaining('events restored')])
    const found = await audit(other)
    expect([found.code, found.output]).toEqual([
      1,
      expect.stringContaining('2 differed in the log and were repaired'),
    ])
    expect((await audit(other)).code).toBe(0)
    indexer = startIndexerBehind(other)
    await other.caughtUp()
    await expectInvariants(other)
  })
})

test('a restored service withholds a record that the database refuses, and keeps other events', async () => {
  const mixed = copyOf('mixed')
  const other = 'ab'.repeat(32)
  let count = 0
  rewrite(mixed, 'events', (lines) => {
    // Parts have 500 events. One part contains the refused record, one has records of another schema, and one
    // is the rest.
    const all = copiesOf(lines, 1_500, (i) => (i >= 500 && i < 1_000 ? `0x${other}` : undefined))
    count = all.length
    return all
  })
  const refusing = await emptied()
  await rows(
    refusing.databaseUrl,
    `ALTER TABLE location_record ADD CONSTRAINT refused CHECK (ref_uid NOT LIKE '0x000499%')`,
  )
  const { code, output } = await offline(refusing.environment, 'restore', mixed)
  expect([code, output]).toEqual([0, expect.stringContaining(`${count} events restored`)])
  const [stored] = await rows(
    refusing.databaseUrl,
    `SELECT count(*)::int AS events, count(*) FILTER (WHERE withheld)::int AS withheld,
       count(*) FILTER (WHERE schema_uid = $1)::int AS others FROM attestation_event`,
    [`0x${other}`],
  )
  expect(stored).toEqual({ events: 1_500, withheld: 1, others: 500 })
})

/** Restores a snapshot like the command. Rejects with the error that the command prints. */
async function restoreHere({ databaseUrl }: FaultyWorld, from: string): Promise<void> {
  const database = new Database(databaseUrl, () => {})
  try {
    await restoreSnapshot(database, [LOCAL_CHAIN], from, SILENT, () => {})
  } finally {
    await database.close()
  }
}

const NOT_LINES = /has a line that is neither an event nor a schema/

describe('restoreSnapshot rejects a snapshot', () => {
  /** Stays empty, because no test may write anything. */
  let empty: FaultyWorld
  beforeAll(async () => {
    empty = onDatabase(world, (await createMigratedDatabase()).url)
  })
  const nothingWritten = async (of: FaultyWorld) => {
    for (const table of ['attestation_event', 'location_record', 'location_schema', 'chain_status'])
      expect(await count(of, table)).toBe(0)
  }
  test.each<[string, (folder: string) => void, RegExp]>([
    [
      'that is truncated',
      (at) => writeFileSync(fileOf(at, 'events'), readFileSync(fileOf(at, 'events')).subarray(0, -7)),
      /events\.ndjson\.gz' has \d+ bytes, but \d+ in the manifest: it is truncated or was changed/,
    ],
    [
      'in which a byte was changed',
      (at) => {
        const bytes = readFileSync(fileOf(at, 'events'))
        bytes[40]! ^= 1
        writeFileSync(fileOf(at, 'events'), bytes)
      },
      /events\.ndjson\.gz' does not match the checksum in the manifest: it was changed/,
    ],
    [
      'whose manifest was changed',
      (at) =>
        writeFileSync(
          path.join(at, 'manifest.json'),
          readFileSync(path.join(at, 'manifest.json'), 'utf8').replace(
            /"finalHeight": (\d)/,
            '"finalHeight": 9$1',
          ),
        ),
      /manifest\.json' does not match its checksum: it was changed/,
    ],
    [
      'without a manifest, as one that was not finished',
      (at) => writeFileSync(path.join(at, 'manifest.json'), ''),
      /manifest\.json' is not valid JSON: it is truncated or was changed/,
    ],
    [
      'that is another kind of file',
      (at) => writeFileSync(path.join(at, 'manifest.json'), '{"format":"other"}'),
      /manifest\.json' is not the manifest of a snapshot/,
    ],
    [
      'of another version of the format',
      (at) => changeManifest(at, (manifest) => ({ ...manifest, version: 1 })),
      /has format version 1, but this program reads version 2/,
    ],
    [
      'of another migration level',
      (at) => changeManifest(at, (manifest) => ({ ...manifest, migrations: ['Initial1'] })),
      /The snapshot was taken after migration Initial1, but the newest migration of the database is [A-Z][A-Za-z]+\d+\. Run npm run migrate/,
    ],
    [
      'of another chain with this slug',
      (at) => changeChain(at, { chainId: 1 }),
      /The chain base-sepolia has id 1 and EAS 0x\w+ in the snapshot, but 84532 and .+ in this service: the snapshot is from another network/,
    ],
    [
      'of a chain that is not indexed here',
      (at) => changeChain(at, { chain: 'celo' }),
      /The snapshot has the chain celo, which this service does not have. Check CHAINS and CHAINS_FILE/,
    ],
    [
      'with an event of another chain, even with valid checksums',
      (at) => rewrite(at, 'events', (lines) => lines.map((line) => line.replaceAll(SLUG, 'celo'))),
      /has an event of another chain than base-sepolia, or after block \d+/,
    ],
    [
      'with a schema that is not the hash of its content, even with valid checksums',
      (at) => rewrite(at, 'schemas', (lines) => lines.map((line) => line.replace('assetId', 'assetIt'))),
      /has a schema whose UID is not the hash of its content/,
    ],
    ...(
      [
        ['of other content', (line) => line.replace('"revocable":true', '"revocable":false')],
        ['without content', (line) => line.replace(/"data":"\\\\x\w+"/, '"data":null')],
        ['of another time', (line) => line.replace(/(?<="block_timestamp":")\d{4}/, '2001')],
      ] as [string, (line: string) => string][]
    ).map(([what, change]): [string, (folder: string) => void, RegExp] => [
      `with an attestation ${what}, even with valid checksums`,
      (at) => rewrite(at, 'events', (lines) => lines.map(change)),
      /has an attestation that does not match its UID or the time of its block/,
    ]),
    [
      'with lines that are not events, even with valid checksums',
      (at) => rewrite(at, 'events', () => ['{"id":', 'x']),
      NOT_LINES,
    ],
  ])('%s', async (name, damage, message) => {
    const damaged = copyOf(name.replaceAll(/\W/g, '-'))
    damage(damaged)
    await expect(restoreHere(empty, damaged)).rejects.toMatchObject({
      name: 'SnapshotError',
      message: expect.stringMatching(message),
    })
    await nothingWritten(empty)
  })
  test('after it has read some parts, and leaves none of them in the database', async () => {
    const damaged = copyOf('late')
    rewrite(damaged, 'events', (lines) => [...copiesOf(lines, 700), 'x'])
    await expect(restoreHere(empty, damaged)).rejects.toMatchObject({
      name: 'SnapshotError',
      message: expect.stringMatching(NOT_LINES),
    })
    await nothingWritten(empty)
  })
  test('if the database is not empty, or its indexer runs', async () => {
    const { code, output } = await offline(world.environment, 'restore', snapshot)
    expect([code, output]).toEqual([
      2,
      expect.stringMatching(
        /A snapshot can be restored into an empty database only, but attestation_event has rows\. Stop the indexers, create a new database/,
      ),
    ])
    await rows(
      empty.databaseUrl,
      `INSERT INTO chain_writer (chain, writer, until) VALUES ($1, 'another', now() + interval '1 hour')`,
      [SLUG],
    )
    const second = await offline(empty.environment, 'restore', snapshot)
    expect([second.code, second.output]).toEqual([
      2,
      expect.stringContaining(`but an indexer of ${SLUG} is running`),
    ])
    await nothingWritten(empty)
  })
})

test('npm run snapshot needs a new folder that can be created, and at least one event', async () => {
  const again = await offline(world.environment, 'snapshot', snapshot)
  expect([again.code, again.output]).toEqual([
    2,
    expect.stringContaining(`'${snapshot}' exists. Name a folder that does not exist.`),
  ])
  const file = path.join(snapshot, 'manifest.json')
  const inFile = await offline(world.environment, 'snapshot', path.join(path.relative('.', file), 'new'))
  expect([inFile.code, inFile.output]).toEqual([2, expect.stringContaining(`Could not create '${file}/new`)])
  const other = await emptied()
  const none = await offline(other.environment, 'snapshot', path.join(folder, 'none'))
  expect([none.code, none.output]).toEqual([
    2,
    expect.stringContaining('The database has no final block of any chain yet. Index a chain first.'),
  ])
  expect(existsSync(path.join(folder, 'none'))).toBe(false)
  expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([])
})

function copyOf(name: string): string {
  const copy = path.join(folder, name)
  cpSync(snapshot, copy, { recursive: true })
  return copy
}
function fileOf(at: string, name: 'events' | 'schemas'): string {
  return path.join(at, `${SLUG}.${name}.ndjson.gz`)
}
type ManifestJson = { chains: Record<string, unknown>[] } & Record<string, unknown>
/** Rewrites a manifest, with a valid checksum. */
function changeManifest(at: string, change: (manifest: ManifestJson) => object): void {
  const file = path.join(at, 'manifest.json')
  const { sha256: _, ...manifest } = JSON.parse(readFileSync(file, 'utf8')) as ManifestJson
  const changed = change(manifest)
  const sha256 = createHash('sha256').update(JSON.stringify(changed)).digest('hex')
  writeFileSync(file, JSON.stringify({ ...changed, sha256 }))
}
function changeChain(at: string, change: object): void {
  changeManifest(at, (manifest) => ({
    ...manifest,
    chains: manifest.chains.map((chain) => ({ ...chain, ...change })),
  }))
}
/** Changes the lines of a file, and corrects every checksum. */
function rewrite(at: string, name: 'events' | 'schemas', change: (lines: string[]) => string[]): void {
  const file = fileOf(at, name)
  const lines = change(gunzipSync(readFileSync(file)).toString().trimEnd().split('\n'))
  const bytes = gzipSync(lines.map((line) => `${line}\n`).join(''))
  writeFileSync(file, bytes)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const note = { name: path.basename(file), lines: lines.length, bytes: bytes.length, sha256 }
  changeChain(at, { [name === 'events' ? 'events' : 'found']: note })
}
