import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Client } from 'pg'
import { settingSuffix } from '../src/chains'
import {
  LOCAL_CHAIN,
  locationRequest,
  mined,
  missingNodeBinary,
  startLocalChain,
  type LocalChain,
} from '../dev/chain'
import { seededRandom } from '../dev/random'
import { PlainError, freePort, startService } from '../dev/services'
import { processMegabytes, rounded, rowsReached, type Bench, type Table } from './bench'
import { attestPoints, ATTESTATIONS, GAS_LIMIT, PER_BLOCK, randomPoint, SEED } from './points'
import { indexWithPonder } from './ponder'
import { startSlowNode } from './slow-services'

/**
 * Number of blocks mined beyond finality, so that all attestations are final and the indexer reads them
 * through filtered logs.
 */
const SPARE_BLOCKS = 10
/**
 * Number of blocks of a sparse history with an attestation in every hundredth block, and the latency of its
 * RPC endpoint in milliseconds.
 */
const SPARSE_BLOCKS = 5_000
const SPARSE_EVERY = 100
const LATENCY_MS = 100

/** Fields read from the indexer's log entry of a written batch. */
interface BatchLine {
  msg: string
  /** Unix milliseconds */
  time: number
  bodiesMs: number
  projectMs: number
  writeMs: number
}

/**
 * Measures the speed at which the indexer reads history, compared with plain SQL that inserts the same rows,
 * with Ponder, and with a distant RPC endpoint.
 */
export async function ingest(bench: Bench): Promise<Table[]> {
  const missing = missingNodeBinary()
  if (missing) throw new PlainError(missing)
  bench.report(
    `Preparing the local chain: ${ATTESTATIONS} attestations, ${PER_BLOCK} a block (not counted) ...`,
  )
  const chain = await startLocalChain({ port: await freePort(), statesKept: 3 })
  bench.atEnd(() => chain.stop())
  await attestPoints(chain, ATTESTATIONS, bench.progress)
  await finalize(chain)
  return [await dense(bench, chain), await sparse(bench)]
}

/** A chain with many attestations, read from a node on this machine. */
async function dense(bench: Bench, chain: LocalChain): Promise<Table> {
  const { client, ...indexed } = await index(bench, chain.url, ATTESTATIONS)
  const batches = batchesSince(bench, indexed.started)
  const sum = (part: 'bodiesMs' | 'projectMs' | 'writeMs') =>
    batches.reduce((total, batch) => total + batch[part], 0)
  const spent = { bodies: sum('bodiesMs'), project: sum('projectMs'), write: sum('writeMs') }
  const firstBatch = beginOf(batches[0]!)
  const total = indexed.ended - indexed.started
  const batching = indexed.ended - firstBatch

  bench.report('Inserting the same rows by plain SQL ...')
  const plain = await plainSqlMs(client, false)
  const plainTriggered = await plainSqlMs(client, true)
  const rows = [
    ...speed('from process start', total),
    ...speed('from first batch', batching),
    figure('before first batch: node starts, first logs', firstBatch - indexed.started, 'ms'),
    figure('waiting for bodies', spent.bodies, 'ms'),
    figure('projecting', spent.project, 'ms'),
    figure('writing', spent.write, 'ms'),
    figure(
      'between batches: more logs, framework, commit',
      batching - spent.bodies - spent.project - spent.write,
      'ms',
    ),
    figure('batches', batches.length, 'count'),
    ...speed('plain SQL, indexes', plain),
    ...speed('plain SQL, indexes and triggers', plainTriggered),
    figure('from process start : plain SQL, indexes', rounded(total / plain, 2), 'times'),
    figure(
      'from process start : plain SQL, indexes and triggers',
      rounded(total / plainTriggered, 2),
      'times',
    ),
    figure('from first batch : plain SQL, indexes', rounded(batching / plain, 2), 'times'),
    figure(
      'from first batch : plain SQL, indexes and triggers',
      rounded(batching / plainTriggered, 2),
      'times',
    ),
    figure('indexer RSS at a quarter', indexed.megabytes[0]!, 'MB'),
    figure('indexer RSS at half', indexed.megabytes[1]!, 'MB'),
    figure('indexer RSS at the end', indexed.megabytes[2]!, 'MB'),
    figure('indexer peak RSS', indexed.peakMegabytes, 'MB'),
  ]

  bench.report('Indexing with Ponder ...')
  const ponder = await indexWithPonder(bench, chain.url, ATTESTATIONS).catch((error: Error) =>
    bench.report(`No comparison with Ponder: ${error.message}`),
  )
  if (ponder)
    rows.push(
      ...speed(`Ponder ${ponder.version}, from process start`, ponder.ms),
      figure('Ponder peak RSS', ponder.peakMegabytes, 'MB'),
      figure('Ponder : indexer, from process start', rounded(ponder.ms / total, 2), 'times'),
    )
  return rows
}

/** Mines until the whole chain is final. */
async function finalize(chain: LocalChain): Promise<void> {
  // Blocks are mined one by one, because each may take seconds.
  for (let i = 0; i < LOCAL_CHAIN.finality + SPARE_BLOCKS; i++) await chain.provider.send('anvil_mine', [])
}

/** Range of mostly empty blocks, with latency in every response of the node. */
async function sparse(bench: Bench): Promise<Table> {
  const count = SPARSE_BLOCKS / SPARSE_EVERY
  bench.report(`Preparing ${SPARSE_BLOCKS} sparse blocks (not counted) ...`)
  const chain = await startLocalChain({ port: await freePort(), statesKept: 3 })
  bench.atEnd(() => chain.stop())
  const attest = (await chain.eas()).getFunction('attest')
  const random = seededRandom(SEED)
  for (let i = 0; i < count; i++) {
    await mined(
      chain,
      (await attest.send(locationRequest(randomPoint(random)), { gasLimit: GAS_LIMIT })).hash,
    )
    await chain.provider.send('anvil_mine', [`0x${(SPARSE_EVERY - 1).toString(16)}`])
  }
  await finalize(chain)
  let requests = 0
  const url = await startSlowNode(bench, { url: chain.url, ms: LATENCY_MS, onCalls: () => requests++ })
  const { started, ended } = await index(bench, url, count)
  return [
    figure(
      `${SPARSE_BLOCKS} sparse blocks at ${LATENCY_MS} ms latency, from process start`,
      ended - started,
      'ms',
    ),
    figure(
      `${SPARSE_BLOCKS} sparse blocks at ${LATENCY_MS} ms latency, from process start`,
      Math.round((SPARSE_BLOCKS * 1000) / (ended - started)),
      'blocks/s',
    ),
    figure('requests to the endpoint', requests, 'count'),
  ]
}

/**
 * Runs the indexer on an empty database until it has this many records, then stops it. Returns the time and
 * the resources used.
 */
async function index(bench: Bench, rpcUrl: string, count: number) {
  const databaseUrl = await bench.migratedDatabase()
  const client = await bench.connect(databaseUrl)

  bench.report('Indexing ...')
  const started = Date.now()
  const environment = {
    ...bench.environment,
    DATABASE_URL: databaseUrl,
    [`RPC_URL_${settingSuffix(LOCAL_CHAIN)}`]: rpcUrl,
  }
  const args = ['lib/indexer/main.js', LOCAL_CHAIN.slug]
  const indexer = startService('indexer', args, environment, bench.folder)
  bench.atEnd(() => indexer.stop())
  const megabytes: (number | 'n/a')[] = []
  for (const part of [0.25, 0.5, 1]) {
    await rowsReached(bench, client, 'location_record', indexer, Math.floor(part * count), count)
    megabytes.push(processMegabytes(indexer.pid, 'VmRSS'))
  }
  const ended = Date.now()
  const peakMegabytes = processMegabytes(indexer.pid, 'VmHWM')
  await indexer.stop()
  return { started, ended, megabytes, peakMegabytes, client }
}

function figure(name: string, value: number | string, unit: string) {
  return { figure: name, value, unit }
}

/** Time for all attestations, and their rate. */
function speed(name: string, ms: number) {
  return [
    figure(name, Math.round((ATTESTATIONS * 1000) / ms), 'attestations/s'),
    figure(name, Math.round(ms), 'ms'),
  ]
}

/** Batches that the indexer wrote after a time in Unix milliseconds. */
function batchesSince(bench: Bench, since: number): BatchLine[] {
  const lines = readFileSync(path.join(bench.folder, 'indexer.log'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{'))
  return lines
    .map((line) => JSON.parse(line) as BatchLine)
    .filter(({ msg, time }) => msg === 'batch written' && time >= since)
}

/** Begin of a batch, Unix milliseconds. */
function beginOf({ time, bodiesMs, projectMs, writeMs }: BatchLine): number {
  return time - bodiesMs - projectMs - writeMs
}

/**
 * Milliseconds that Postgres takes to insert the rows of both tables, by one statement each in one
 * transaction: into empty copies of the tables with the same indexes, or once more into the tables
 * themselves, which also have triggers. The rows are texts in memory, as a driver sends them.
 */
async function plainSqlMs(client: Client, withTriggers: boolean): Promise<number> {
  const target = (table: string) => (withTriggers ? table : `plain_${table}`)
  const inserts: { text: string; values: (string | null)[][] }[] = []
  for (const table of ['attestation_event', 'location_record']) {
    if (!withTriggers) await client.query(`CREATE TABLE ${target(table)} (LIKE ${table} INCLUDING ALL)`)
    const { rows: columns } = await client.query<{ name: string; type: string }>(
      `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
       WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
      [table],
    )
    const names = columns.map(({ name }) => name)
    const { rows } = await client.query<Record<string, string | null>>(
      `SELECT ${names.map((name) => `${name}::text`).join()} FROM ${table} ORDER BY id`,
    )
    inserts.push({
      text: `INSERT INTO ${target(table)} (${names.join()}) SELECT ${columns.map(({ name, type }) => `${name}::${type}`).join()}
        FROM unnest(${names.map((_, i) => `$${i + 1}::text[]`).join()}) AS given (${names.join()})`,
      values: names.map((name) => rows.map((row) => row[name]!)),
    })
  }

  if (withTriggers) await client.query('TRUNCATE attestation_event, location_record')
  const started = performance.now()
  await client.query('BEGIN')
  for (const insert of inserts) await client.query(insert)
  await client.query('COMMIT')
  const ms = performance.now() - started
  const { rows } = await client.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM ${target('location_record')} WHERE geom IS NOT NULL`,
  )
  if (rows[0]!.count !== ATTESTATIONS)
    throw new Error(`plain SQL gave ${rows[0]!.count} records with a shape`)
  return ms
}
