import { readFileSync } from 'node:fs'
import { AbiCoder, Interface, ParamType, ZeroAddress, ZeroHash, zeroPadValue } from 'ethers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { attest, request, testAccount, type LocalChain } from '../../dev/chain'
import { freePort } from '../../dev/services'
import { sentence, testSentences } from '../../test/sentences'
import { startTestChain } from '../../test/chains'
import { createMigratedDatabase, rows, type TestDatabase } from '../../test/database'
import { addressOf, insertRecords } from '../../test/records'
import { SILENT } from '../../test/rpc-proxy'
import { mine } from '../../test/world'
import { events } from '../abi/EAS'
import { HistoryReader } from '../chain'
import { schemaUid } from '../eas'
import {
  ALL_SCHEMAS,
  addLocationSchemas,
  dropLocationSchemas,
  locationSchema,
  locationSchemaUids,
} from '../location'
import { Rpc } from '../rpc'
import { LOCATION_SCHEMAS } from '../settings/types'
import { Auditor } from './audit'
import { BodyReader } from './bodies'
import { Registry } from './registry'
import { Database, LeaseLostError, noteHistoryRead } from './store'

/** Tests with schemas registered on a real chain and a limit of 40 schemas, two per account. */
const MOST = 40
const SHARE = 2

let chain: LocalChain
let database: TestDatabase
let connection: Database
let rpc: Rpc
let registry: Registry
beforeAll(async () => {
  ;[chain, database] = await Promise.all([
    freePort().then((port) => startTestChain({ port })),
    createMigratedDatabase(),
  ])
  connection = new Database(database.url, () => {})
  rpc = new Rpc({ chain: chain.chain, urls: [chain.url], batchSize: 100, timeoutMs: 60_000, log: SILENT })
  await rows(database.url, 'INSERT INTO chain_status (chain) VALUES ($1)', [chain.chain.slug])
  registry = await load(true)
  await chain.provider.send('anvil_autoImpersonateAccount', [true])
})
afterAll(async () => {
  if (chain) forget()
  rpc?.close()
  await connection?.close()
})

/** Starts a registry, which loads its state from the database. */
const forget = () => dropLocationSchemas(locationSchemaUids(chain.chain.slug), chain.chain.slug)
async function load(isIndexer: boolean, policy = ALL_SCHEMAS, database = connection): Promise<Registry> {
  forget()
  const loaded = new Registry({
    ...{ chain: chain.chain, rpc, database, policy, log: SILENT },
    ...{ lease: isIndexer ? database : undefined, most: MOST },
  })
  await loaded.load()
  if (isIndexer) await loaded.note(false)
  return loaded
}

let made = 0
const REGISTRY = new Interface(['function register(string schema, address resolver, bool revocable)'])
/** Registers location schemas by any account. */
async function register(from: string, count = 1): Promise<string[]> {
  const { provider } = chain
  await provider.send('anvil_setBalance', [from, '0x8ac7230489e80000'])
  const uids: string[] = []
  for (let i = 0; i < count; i++) {
    const fields = `string srs,string location_type,string location,uint64 field${made++}`
    const data = REGISTRY.encodeFunctionData('register', [fields, ZeroAddress, true])
    const sent = { from, to: chain.chain.schemaRegistry, data, gas: '0x7a120' }
    expect(await provider.send('eth_sendTransactionSync', [sent])).toMatchObject({ status: '0x1' })
    uids.push(schemaUid(fields, ZeroAddress, true))
  }
  return uids
}
const payload = AbiCoder.defaultAbiCoder().encode(
  ParamType.from('tuple(string srs,string location_type,string location,uint64 field)').components!,
  ['EPSG:4326', 'wkt', 'POINT(13.4 52.5)', 1],
)
const attestBy = (schema: string, account = 0) => attest(chain, request(schema, payload), account)

/** Reads new blocks of the chain like the indexer. Returns the schemas of their attestations. */
let next = 0
async function read(by = registry): Promise<string[]> {
  const { finality, firstBlock, eas } = chain.chain
  const last = await chain.provider.getBlockNumber()
  await mine(chain, finality + 1)
  const reader = new HistoryReader(rpc, { selection: by, finality, log: SILENT })
  const uids: string[] = []
  for (next = Math.max(next, firstBlock); next <= last;) {
    const { blocks, to } = await reader.read(next, last)
    for (const { logs } of blocks)
      for (const { address, topics } of logs) if (address.toLowerCase() === eas) uids.push(topics[3]!)
    next = to + 1
  }
  return uids
}
const stored = async () =>
  (
    await rows<{ uid: string }>(
      database.url,
      'SELECT uid FROM location_schema WHERE watched AND registerer IS NOT NULL ORDER BY uid',
    )
  ).map(({ uid }) => uid)
/** Returns the UIDs of the registered schemas that a process reads, in order. */
const watchedBy = (by: Registry) => {
  const known = new Set(locationSchemaUids())
  return by.watched.filter((each) => each.length === 66 && !known.has(each)).sort()
}
const flood = async (accounts: number) => {
  const uids: string[] = []
  for (let i = 0; i < accounts; i++) uids.push(...(await register(addressOf(0x1000 + made), SHARE + 1)))
  return uids
}

test('the schema registry reserves places for later schemas despite many registrations', async () => {
  const someone = testAccount(1).address.toLowerCase()
  const [used] = await register(someone)
  await attestBy(used!)
  expect(await read()).toEqual([used])
  expect(await rows(database.url, 'SELECT registerer FROM location_schema WHERE uid = $1', [used])).toEqual([
    { registerer: someone },
  ])
  const [waiting] = await register(testAccount(2).address)
  await read()
  // The account of the waiting schema now has fewer schemas than these accounts.
  const spam = await flood(21)
  await read()
  expect(watchedBy(registry)).toHaveLength(MOST)
  const after = new Set(watchedBy(registry))
  expect([after.has(used!), after.has(waiting!)]).toEqual([true, true])
  expect(spam.filter((uid) => after.has(uid))).toHaveLength(MOST - 2)
  const [late] = await register(testAccount(3).address)
  const uids = [await attestBy(late!), await attestBy(used!), await attestBy(waiting!)]
  expect(uids).toHaveLength(3)
  expect(await read()).toEqual([late, used, waiting])
  expect(watchedBy(registry)).toHaveLength(MOST)
})

test('the schema registry removes a replaced schema from the database and the filters', async () => {
  expect(await stored()).toEqual(watchedBy(registry))
  const [status] = await rows<{ schemas: string[] }>(database.url, 'SELECT schemas FROM chain_status')
  expect(status!.schemas.filter((uid) => (registry.watched.includes(uid) ? false : true))).toEqual([])
  const topics = registry.filters.flatMap(({ topic3 }) => topic3 ?? [])
  expect(topics.sort()).toEqual(registry.watched.filter((each) => each.length === 66).sort())
  expect(topics.length).toBe(MOST + locationSchemaUids().length)
})

test('the schema registry reads the same schemas after a restart, and in another command', async () => {
  const before = watchedBy(registry)
  expect(watchedBy(await load(false))).toEqual(before)
  registry = await load(true)
  expect(watchedBy(registry)).toEqual(before)
  registry = await load(true)
  expect(watchedBy(registry)).toEqual(before)
})

let withRecords = ''
test('the schema registry keeps the place of a schema with stored records after a restart', async () => {
  const [used] = await register(testAccount(4).address)
  await read()
  await insertRecords(database.url, [{ chain: chain.chain.slug, schema: used!, geometry: null }])
  registry = await load(true)
  await flood(21)
  await read()
  expect(watchedBy(registry)).toContain(used)
  expect(watchedBy(registry)).toHaveLength(MOST)
  withRecords = used!
})

test('the schema registry of another command replaces no schema of the indexer', async () => {
  const before = await stored()
  const command = await load(false)
  const [hidden] = await register(testAccount(5).address)
  await read(command)
  expect(await stored()).toEqual(before)
  expect(watchedBy(command)).not.toContain(hidden)
})

test('the schema registry of another command notices a schema that the indexer replaced', async () => {
  const command = await load(false)
  const [watched, version] = [command.watched, command.version]
  const before = new Set(await stored())
  const [late] = await register(testAccount(6).address)
  await read()
  const left = [...before].filter((uid) => !registry.watched.includes(uid))
  expect(left).toHaveLength(1)
  await command.catchUp(watched)
  expect(command.watched).toContain(late)
  expect(command.watched).not.toContain(left[0])
  // Blocks that were read with the earlier filters are read again.
  expect(command.version).toBeGreaterThan(version)
  await expect(command.catchUp(command.watched)).rejects.toThrow(sentence())
})

test('the schema registry replaces an unused schema by a schema that the settings permit again', async () => {
  const uid = withRecords
  await load(true, { ...ALL_SCHEMAS, excluded: new Set([uid]) })
  // Another schema has replaced this one.
  expect(await stored()).not.toContain(uid)
  expect(await stored()).toHaveLength(MOST)
  const blockNumber = await chain.provider.getBlockNumber()
  await rows(database.url, 'UPDATE chain_status SET indexed_height = $1', [blockNumber])
  registry = await load(true)
  expect(await stored()).toContain(uid)
  expect(await stored()).toHaveLength(MOST)
  const event = { schemaUid: uid, attester: ZeroAddress, blockNumber }
  expect(registry.isHistory(event)).toBe(true)
  expect(registry.isHistory({ ...event, blockNumber: blockNumber + 1 })).toBe(false)
  // After a restart, the registry still knows that the event is history.
  expect((await load(true)).isHistory(event)).toBe(true)
})

test('the schema registry keeps used schemas while another schema replaces one of them', async () => {
  let whileStored = () => Promise.resolve()
  const slow: Pick<Database, 'query' | 'transaction'> = {
    query: connection.query,
    transaction: async (work) => {
      await whileStored()
      return connection.transaction(work)
    },
  }
  registry = await load(true, ALL_SCHEMAS, slow as Database)
  const before = watchedBy(registry)
  whileStored = async () => {
    const attested = (uid: string) => [events.Attested.topic, ZeroHash, zeroPadValue(ZeroAddress, 32), uid]
    await registry.learn(
      before.map((uid) => ({ address: chain.chain.eas, topics: attested(uid), data: '0x', blockNumber: 1 })),
    )
  }
  await register(testAccount(7).address)
  await read()
  expect(watchedBy(registry)).toEqual(before)
  expect(await stored()).toEqual(before)
})

test('the schema registry reads the needed schemas after the remedy in the docs and a restart', async () => {
  const [, page] = readFileSync('docs/operations/indexer.md', 'utf8').split('## Schemas that people register')
  const [byAccount, ofAccount] = [...page!.matchAll(/```sql\n([^`]*);\n```/g)].map(([, sql]) => sql!)
  const needed = await register(testAccount(8).address)
  await read()
  expect(await stored()).toHaveLength(MOST)
  const accounts = await rows<{ registerer: string; used: number }>(database.url, byAccount!)
  const spammers = accounts.filter(({ used }) => Number(used) === 0).map(({ registerer }) => registerer)
  expect(spammers.length).toBeGreaterThan(10)
  const spam: string[] = []
  for (const registerer of spammers) {
    const [row] = await rows<{ list: string }>(
      database.url,
      ofAccount!.replace("'0x...'", `'${registerer}'`).replace(' FROM', ' AS list FROM'),
    )
    spam.push(...row!.list.split(';').filter((each) => each !== `-${needed[0]}`))
  }
  registry = await load(true, LOCATION_SCHEMAS.parse([...needed, ...spam].join(';')).policy)
  expect(registry.watched).toContain(needed[0])
  // Waiting schemas of other accounts fill the free places.
  expect((await stored()).filter((uid) => spam.includes(`-${uid}`))).toEqual([])
  const [late] = await register(testAccount(9).address)
  await read()
  expect(watchedBy(registry)).toContain(late)
  registry = await load(true, LOCATION_SCHEMAS.parse([...needed, '-*'].join(';')).policy)
  expect(await stored()).toEqual(needed)
})

test('the schema registry stores what the audit must read of a schema whose text is added', async () => {
  const text = locationSchema('string srs,string location_type,string location,uint8 added')
  addLocationSchemas([text])
  const { firstBlock } = chain.chain
  const blockNumber = firstBlock + 1_000_000
  await rows(database.url, 'UPDATE chain_status SET indexed_height = $1', [blockNumber])
  registry = await load(true, LOCATION_SCHEMAS.parse('-*').policy)
  const event = { schemaUid: text.uid, attester: ZeroAddress, blockNumber }
  for (const by of [registry, await load(true, LOCATION_SCHEMAS.parse('-*').policy)]) {
    expect(by.isHistory(event)).toBe(true)
    expect(by.isHistory({ ...event, blockNumber: blockNumber + 1 })).toBe(false)
  }
  expect(
    await rows(database.url, 'SELECT fields, block_number AS block FROM location_schema WHERE uid = $1', [
      text.uid,
    ]),
  ).toEqual([{ fields: text.fields, block: firstBlock }])
})

test('the schema registry reads no history again when it reads a registration late', async () => {
  const added = locationSchema(`string srs,string location_type,string location,uint64 field${made}`)
  addLocationSchemas([added])
  const state = async () => {
    const [row] = await rows<{
      from: number
      block: number
      last: number
      registerer: string
      reread: string
    }>(
      database.url,
      `SELECT read_from AS from, block_number AS block, indexed_height AS last, registerer, reread::text
       FROM location_schema JOIN chain_status USING (chain) WHERE uid = $1`,
      [added.uid],
    )
    return row!
  }
  registry = await load(true)
  const { firstBlock: block } = chain.chain
  const { last } = await state()
  expect(await state()).toMatchObject({ from: last + 1, block, registerer: null, reread: '{}' })
  await rows(database.url, "UPDATE chain_status SET reread = '{[1,9)}'")
  await register(testAccount(1).address)
  const registrations = next
  for (const unread of [true, false]) {
    // Without a row, its text is known since the first block.
    if (!unread) await rows(database.url, 'DELETE FROM location_schema WHERE uid = $1', [added.uid])
    registry = await load(true)
    next = registrations
    await read()
    const { from, ...found } = await state()
    expect(found).toMatchObject({ registerer: testAccount(1).address.toLowerCase(), reread: '{[1,9)}' })
    expect(found.block).toBeGreaterThan(block)
    expect(from).toBe(unread ? last + 1 : found.block)
    const event = { schemaUid: added.uid, attester: ZeroAddress, blockNumber: found.block + 1 }
    expect(registry.isHistory(event)).toBe(unread)
  }
})

test('the audit reads the history of a schema, also in few blocks and with a spent budget', async () => {
  const { firstBlock, finality, eas } = chain.chain
  const number = (await chain.provider.getBlockNumber()) + 10
  await mine(chain, 10 + finality)
  const { hash } = (await chain.provider.getBlock(number))!
  const bodies = new BodyReader(rpc, eas)
  const auditor = new Auditor({
    ...{ chain: chain.chain, rpc, registry, bodies, database: connection, log: SILENT },
  })
  const unread = () =>
    rows(database.url, 'SELECT FROM location_schema WHERE watched AND read_from > block_number')
  await rows(
    database.url,
    'UPDATE chain_status SET final_height = $1, final_hash = $2, indexed_height = $1, head_height = $1',
    [number, hash],
  )
  for (const callsPerSecond of [0, 0.05]) {
    await rows(
      database.url,
      `UPDATE chain_status SET reread = $1, proven = '{}', audit_calls = -1000, audit_calls_at = now()`,
      [`{[${firstBlock},${number - 5}),[${number - 4},${number}]}`],
    )
    await rows(database.url, 'UPDATE location_schema SET read_from = $1 WHERE watched', [number - 2])
    await noteHistoryRead(connection.query, chain.chain)
    expect(await unread()).not.toEqual([])
    const ended = new AbortController()
    const following = auditor.follow(callsPerSecond, ended.signal)
    await expect.poll(unread).toEqual([])
    ended.abort()
    await following
  }
})

test('the schema registry notes at its start the histories that an earlier version has read', async () => {
  await rows(database.url, 'UPDATE location_schema SET read_from = block_number + 1 WHERE watched')
  await load(true, LOCATION_SCHEMAS.parse('-*').policy)
  expect(
    await rows(database.url, 'SELECT FROM location_schema WHERE watched AND read_from > block_number'),
  ).toEqual([])
})

test('the schema registry takes no attesters once the lease is lost', async () => {
  const added = testAccount(5).address.toLowerCase()
  await rows(database.url, 'INSERT INTO answer_attester (chain, address, first_block) VALUES ($1, $2, 0)', [
    ...[chain.chain.slug, added],
  ])
  const lost = new LeaseLostError('lost')
  const registryWithout = new Registry({
    ...{ chain: chain.chain, rpc, database: connection, policy: ALL_SCHEMAS, log: SILENT },
    lease: { transaction: () => Promise.reject(lost) },
  })
  await expect(registryWithout.takeNoted()).rejects.toBe(lost)
  const unread = () => rows(database.url, 'SELECT address FROM answer_attester WHERE read_from IS NULL')
  expect(await unread()).toEqual([{ address: added }])
  await registry.takeNoted()
  expect(await unread()).toEqual([])
})

test('the schema registry watches attesters that it has stored without getting the response', async () => {
  const added = testAccount(6).address.toLowerCase()
  await rows(database.url, 'INSERT INTO answer_attester (chain, address, first_block) VALUES ($1, $2, 0)', [
    ...[chain.chain.slug, added],
  ])
  const lost = new Error('the connection ended before the response')
  const unanswered = new Registry({
    ...{ chain: chain.chain, rpc, database: connection, policy: ALL_SCHEMAS, log: SILENT },
    lease: { transaction: (work) => connection.transaction(work).then(() => Promise.reject(lost)) },
  })
  await expect(unanswered.takeNoted()).rejects.toBe(lost)
  await unanswered.takeNoted()
  expect(unanswered.watched).toContain(added)
})

testSentences()
