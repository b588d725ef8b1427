import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Wallet } from 'ethers'
import { ZeroAddress, ZeroHash } from 'ethers/constants'
import Fastify from 'fastify'
import type { Client } from 'pg'
import { SignatureLog } from '../api/log'
import { SafeSender } from '../api/outgoing'
import { Store } from '../api/store'
import { LOCAL_CHAIN, startLocalChain } from '../dev/chain'
import { seededRandom } from '../dev/random'
import type { Statement } from '../api/store/model'
import { freePort, type Service } from '../dev/services'
import { encodeNumericResult } from '../src/eas'
import { encodeEntry, fromHex } from '../src/tlog'
import { percentile, rounded, type Bench, type Table } from './bench'
import { run } from './load-thread'
import type { Measured } from './load'
import { runPgbench } from './pgbench'
import { SEED, randomPoint } from './points'
import { processorTimes } from './records'

/** Number of entries of the log that is measured by itself. */
const ENTRIES = Number(process.env.BENCH_LOG || 100_000)
/** True to skip the measurement of answers, which takes a minute and a half. */
const IS_ALONE = process.env.BENCH_KINDS === 'alone'
/** Entries that wait for their commit at the same time, as in a busy service. */
const AT_ONCE = 256
const PROOFS = 1_000
/** Number of rounds of each load, and their duration. The results are medians of the rounds. */
const ROUNDS = 7
const SECONDS = 1
/** Connections of pgbench. Postgres has 100 by default, and connecting more takes most of a second. */
const MOST_CONNECTIONS = 32

/** Measures the transparency log: its cost per answer, its rate, its proofs and its size. */
export async function log(bench: Bench): Promise<Table[]> {
  return [...(IS_ALONE ? [] : [await computeWithAndWithout(bench)]), await logAlone(bench)]
}

/**
 * Distances of points by two API processes on one database, one of them with LOG=off, and inserts of rows
 * like entries by pgbench, each in its own transaction: the limit of the disk and Postgres.
 */
async function computeWithAndWithout(bench: Bench): Promise<Table> {
  const { environment, on, off } = await twoServices(bench)
  const random = seededRandom(SEED)
  const bodies = Array.from({ length: 1_000 }, () =>
    JSON.stringify({ chainId: LOCAL_CHAIN.id, from: randomPoint(random), to: randomPoint(random) }),
  )
  const client = await bench.connect(environment.DATABASE_URL!)
  const insert = await insertOf(bench)
  const load = async ({ port, pid }: Running, concurrency: number): Promise<Costs> => {
    const before = await processorTimes(client, pid)
    const urls = [`http://127.0.0.1:${port}/compute/v0/distance`]
    const measured = await run({ urls, bodies, concurrency, seconds: SECONDS })
    const after = await processorTimes(client, pid)
    const perRequest = (ms: number) => (1_000 * ms) / (measured.requestsPerSecond * SECONDS)
    return {
      ...measured,
      apiMicroseconds: perRequest(after.api - before.api),
      postgresMicroseconds: perRequest(after.postgres - before.postgres),
    }
  }
  const rows: Table[number][] = []
  /** Seconds of an answer without log at concurrency 1. */
  let alone = 0
  for (const concurrency of [1, 8, 32, 80]) {
    const measured = { on: [] as Costs[], off: [] as Costs[], inserts: [] as number[] }
    // The first round only warms up caches and compiled code.
    for (let round = 0; round <= ROUNDS; round++) {
      bench.progress(`rounds, ${concurrency} at a time`, round, ROUNDS)
      const each = {
        on: await load(on, concurrency),
        off: await load(off, concurrency),
        inserts: await runPgbench(bench, insert.url, [[insert]], {
          concurrency: Math.min(concurrency, MOST_CONNECTIONS),
          seconds: SECONDS,
        }),
      }
      if (round === 0) continue
      measured.on.push(each.on)
      measured.off.push(each.off)
      measured.inserts.push(each.inserts)
    }
    const costs = { on: medians(measured.on), off: medians(measured.off) }
    const inserts = percentile(measured.inserts, 0.5)
    alone ||= 1 / costs.off.requestsPerSecond
    // Reports an upper bound, because each answer waits for its commit, and the log cannot make answers
    // faster.
    const limit = Math.min(costs.off.requestsPerSecond, concurrency / (alone + concurrency / inserts))
    for (const [log, each] of Object.entries(costs))
      rows.push({
        ...{ log, concurrency, ...each },
        ofRateWithout: round2(each.requestsPerSecond / costs.off.requestsPerSecond),
        p99MoreMs: round2(each.p99Ms - costs.off.p99Ms),
        insertsPerSecond: Math.round(inserts),
        ofLimit: round2(each.requestsPerSecond / limit),
      })
  }
  await on.stop()
  await off.stop()
  return rows
}

type Running = Service & { port: number }

/**
 * Starts two API processes on one database and one local chain, one of them without the log. To them, the
 * chain is not on this machine, so that they share a nonce for 250 ms as on a chain with blocks of 2 s.
 */
async function twoServices(
  bench: Bench,
): Promise<{ environment: NodeJS.ProcessEnv; on: Running; off: Running }> {
  const chain = await startLocalChain({ port: await freePort() })
  bench.atEnd(() => chain.stop())
  const environment: NodeJS.ProcessEnv = {
    ...bench.environment,
    DATABASE_URL: await bench.migratedDatabase(),
    CHAINS: LOCAL_CHAIN.slug,
    RPC_URL_BASE_SEPOLIA: chain.url.replace('127.0.0.1', '0.0.0.0'),
    // The key of local chains signs only for chains on this machine.
    SIGNER_PRIVATE_KEY: Wallet.createRandom().privateKey,
    RATE_LIMIT_PER_HOUR: '0',
    API_PROCESSES: '1',
  }
  const start = async (name: string, settings: object): Promise<Running> => {
    const port = await freePort()
    const service = await bench.start(name, ['dist/api/main.js'], {
      ...environment,
      ...settings,
      PORT: String(port),
    })
    return Object.assign(service, { port })
  }
  return { environment, on: await start('api', {}), off: await start('api-log-off', { LOG: 'off' }) }
}

interface Costs extends Measured {
  /** Processor time per request of the API, and of Postgres for both API processes. */
  apiMicroseconds: number
  postgresMicroseconds: number
}

/** Statement that inserts a row of the size of an entry, on its own database. */
async function insertOf(bench: Bench): Promise<Statement & { url: string }> {
  const url = await bench.createDatabase()
  const client = await bench.connect(url)
  await client.query('CREATE TABLE entry (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, entry bytea)')
  const { length } = encodeEntry({ ...randomEntry(), time: 0 })
  return { url, text: 'INSERT INTO entry (entry) VALUES ($1::bytea)', values: [`\\x${'5a'.repeat(length)}`] }
}

function medians(measured: readonly Costs[]): Costs {
  const of = (field: keyof Costs) =>
    percentile(
      measured.map((each) => each[field]),
      0.5,
    )
  return {
    ...{ requestsPerSecond: of('requestsPerSecond'), p50Ms: of('p50Ms'), p99Ms: of('p99Ms') },
    errors: measured.reduce((sum, each) => sum + each.errors, 0),
    apiMicroseconds: Math.round(of('apiMicroseconds')),
    postgresMicroseconds: Math.round(of('postgresMicroseconds')),
  }
}

/** Writer, sequencer and reader in this process, without HTTP, on an empty database. */
async function logAlone(bench: Bench): Promise<Table> {
  const databaseUrl = await bench.migratedDatabase()
  const store = new Store(databaseUrl, () => {})
  const log = new SignatureLog({
    ...{ servers: store.servers, publicBaseUrl: 'http://127.0.0.1', key: undefined, policy: undefined },
    ...{ sender: new SafeSender(new Set()), clock: Date.now, logger: Fastify().log },
  })
  bench.atEnd(async () => {
    await log.stop()
    await store.close()
  })
  log.start()
  while (!(await log.state().catch(() => undefined))?.open) await pause(10)

  const entries = Array.from({ length: ENTRIES }, randomEntry)
  const leaves: Uint8Array[] = []
  const client = await bench.connect(databaseUrl)
  const before = await processorTimes(client, process.pid)
  const began = performance.now()
  let next = 0
  const lane = async () => {
    while (next < ENTRIES) {
      leaves.push(fromHex('leaf', (await log.append(entries[next++]!)).leaf))
      bench.progress('entries', leaves.length, ENTRIES)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  const committedSeconds = (performance.now() - began) / 1000
  while ((await log.state()).publishedSize < ENTRIES) await pause(5)
  const seconds = (performance.now() - began) / 1000
  const after = await processorTimes(client, process.pid)

  // Frees the entries, which an API process would not hold. Otherwise their garbage collection would dominate
  // the p99.
  const asked = Array.from({ length: PROOFS }, () => leaves[Math.floor(Math.random() * ENTRIES)]!)
  entries.length = leaves.length = 0
  globalThis.gc?.()
  const reading = await processorTimes(client, process.pid)
  const times: number[] = []
  for (const leaf of asked) {
    const started = performance.now()
    await log.proof(leaf, log.store)
    times.push(performance.now() - started)
  }
  const read = await processorTimes(client, process.pid)
  const sizes = await sizesOf(client)
  return [
    {
      entries: ENTRIES,
      committedPerSecond: Math.round(ENTRIES / committedSeconds),
      publishedPerSecond: Math.round(ENTRIES / seconds),
      nodeMicroseconds: round2((1_000 * (after.api - before.api)) / ENTRIES),
      postgresMicroseconds: round2((1_000 * (after.postgres - before.postgres)) / ENTRIES),
      proofP50Ms: round2(percentile(times, 0.5)),
      proofP99Ms: round2(percentile(times, 0.99)),
      proofProcessorMs: round2((read.api + read.postgres - reading.api - reading.postgres) / PROOFS),
      bytesPerEntry: round2((sizes.log_bundle! + sizes.log_tile!) / ENTRIES),
      bundleBytes: round2(sizes.log_bundle! / ENTRIES),
      tileBytes: round2(sizes.log_tile! / ENTRIES),
      waitingMegabytes: round2(sizes.log_group! / 1e6),
    },
  ]
}

/** Bytes of the log's tables, with their indexes and TOAST. */
async function sizesOf(client: Client): Promise<Record<string, number>> {
  const { rows } = await client.query<{ name: string; bytes: number }>(
    `SELECT relname AS name, pg_total_relation_size(oid)::float8 AS bytes FROM pg_class
     WHERE relkind = 'r' AND relname LIKE 'log\\_%'`,
  )
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes]))
}

const hex = (bytes: number) => `0x${randomBytes(bytes).toString('hex')}`
const [ATTESTER, SCHEMA, SEPARATOR] = [hex(20), hex(32), hex(32)]
let nonce = 0

/** The entry of an answer about two inputs that no other entry has. */
function randomEntry(): Parameters<SignatureLog['append']>[0] {
  const data = encodeNumericResult(BigInt(hex(4)), 'centimeters', {
    ...{ inputRefs: [hex(32), hex(32)], operation: 'distance' },
    timestamp: Math.floor(Date.now() / 1000),
  })
  return {
    ...{ kind: 'answer', chainId: LOCAL_CHAIN.id, attester: ATTESTER, layout: 'v1', separator: SEPARATOR },
    ...{ schema: SCHEMA, recipient: ZeroAddress, expirationTime: 0, revocable: true, refUID: ZeroHash },
    ...{ nonce: nonce++, deadline: Math.floor(Date.now() / 1000) + 3_600, signature: hex(65), data },
  }
}

const round2 = (value: number) => rounded(value, 2)
