import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import Fastify from 'fastify'
import { Client } from 'pg'
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { Witness } from '../../packages/witness/src/witness'
import { buildTestServer, type TestServer } from '../../test/api'
import { connect, createMigratedDatabase, type TestDatabase } from '../../test/database'
import { serve } from '../../test/http-server'
import { hunt } from '../../test/seed'
import { sentence, testSentences } from '../../test/sentences'
import { MTH, PATH, allTiles, sha256 } from '../../test/tlog'
import {
  INCLUSION_SECONDS,
  decodeBundle,
  decodeEntry,
  encodeBundle,
  encodeEntry,
  formatVerifierKey,
  generateSignerKey,
  leafHash,
  parseCheckpoint,
  parsePolicy,
  parseProof,
  parseSignerKey,
  signatureBy,
  signersOf,
  tilePath,
  toHex,
  type Entry,
  type Policy,
  type SignerKey,
  type VerifierKey,
} from '../../src/tlog'
import { RECORDS_ERRORS } from '../../src/errors'
import { StoppedError, UnavailableError } from '../http/problems'
import { SafeSender } from '../outgoing'
import { Store } from '../store'
import { SignatureLog } from '.'
import { signedCheckpoint } from './key'
import { LogStore, type LogState } from './store'
import { LogWriter } from './writer'
import type { LogParts } from './log'
import { withPostgres } from '../../test/needs'

/**
 * Tests the log in this process, on a real database with real witnesses, against the definitions of RFC 6962,
 * 2.1.
 */
const TABLES = 'log_state, log_group, log_bundle, log_tile, log_witness'
const NOW = 1_795_219_200
let database: TestDatabase
let client: Client
let key: SignerKey
beforeAll(async () => {
  database = await createMigratedDatabase()
  client = await connect(database.url)
  key = await generateSignerKey('log.example/log', 'ed25519')
})
const closing: (() => unknown)[] = []
beforeEach(() => client.query(`TRUNCATE ${TABLES}`))
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const entryOf = (n: number, more: Partial<Entry> = {}): Omit<Entry, 'time'> => ({
  ...{ kind: 'answer', chainId: 84_532, attester: `0x${'11'.repeat(20)}`, schema: `0x${'22'.repeat(32)}` },
  ...{ layout: 'v1', separator: `0x${'33'.repeat(32)}`, recipient: `0x${'00'.repeat(20)}` },
  ...{ expirationTime: 0, revocable: true, refUID: `0x${'00'.repeat(32)}`, nonce: n, deadline: NOW + 3_600 },
  ...{ signature: `0x${'44'.repeat(65)}`, data: `0x${'55'.repeat(32 * (1 + (n % 5)))}` },
  ...more,
})
const FAST = { pollMs: 10, leaseMs: 2_000, renewMs: 50, openMs: 60_000, retryMs: 50 }
/** A process with a log: its own connections and sequencer. */
function processOf(
  more: Partial<LogParts> = {},
  { start = true, url = database.url, readUrls = [] as string[] } = {},
) {
  const store = new Store(url, () => {}, {}, readUrls)
  const log = new SignatureLog({
    ...{ servers: store.servers, publicBaseUrl: 'https://geo.example/v1/', key, policy: undefined },
    ...{ sender: new SafeSender(new Set(hosts)), clock: () => NOW * 1000, logger: Fastify().log },
    options: FAST,
    ...more,
  })
  let stopped: Promise<void> | undefined
  const stop = () => (stopped ??= log.stop().then(() => store.close()))
  closing.push(stop)
  if (start) log.start()
  return { log, store, stop }
}
async function serverOf(log: SignatureLog, readUrls: string[] = []): Promise<TestServer> {
  const server = await buildTestServer({ databaseUrl: database.url, readUrls, log })
  closing.push(() => server.close())
  return server
}
/** A promise that the test fulfils. */
function signal<T>() {
  let give!: (value: T) => void
  const promise = new Promise<T>((resolve) => (give = resolve))
  return { promise, give }
}
/** Waits until another process has brought the database into a state. */
async function until<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const found = await look()
    if (found) return found
    await pause(5)
  }
}
const stateOf = async () =>
  (
    await client.query<{
      size: number
      published: string
      published_size: number
      stopped: string | null
      open: boolean
    }>('SELECT size::int, published, published_size::int, stopped, open_until > now() AS open FROM log_state')
  ).rows[0]
const publishedWith = (size: number) =>
  until(async () => {
    const state = await stateOf()
    return state && state.published_size >= size && state
  })
const waitOpen = () => until(async () => (await stateOf())?.open)

/** Reads and verifies all content that a reader of the log needs, using only the routes. */
async function readTree(server: TestServer, verifier: VerifierKey = key) {
  const get = async (path: string, headers = {}) => {
    const { statusCode, rawPayload } = await server.app.inject({ url: `/log/v0/${path}`, headers })
    expect([path, statusCode]).toEqual([path, 200])
    return rawPayload
  }
  const checkpoint = parseCheckpoint((await get('checkpoint')).toString())
  expect(await signatureBy(checkpoint.note, verifier)).toBeDefined()
  const tiles = allTiles(checkpoint.size)
  const contents = await Promise.all(tiles.map((tile) => get(tilePath(tile))))
  const entries = tiles.flatMap((tile, i) =>
    tile.level === 'entries' ? decodeBundle(contents[i]!, tile.width) : [],
  )
  const leaves = entries.map((entry) => sha256(Buffer.of(0), entry))
  expect(checkpoint.size).toBe(entries.length)
  expect(Buffer.from(checkpoint.root).equals(MTH(leaves))).toBe(true)
  for (const [i, { level, index, width }] of tiles.entries())
    if (level !== 'entries') {
      const span = 256 ** level
      const expected = Array.from({ length: width }, (_, at) =>
        MTH(leaves.slice((index * 256 + at) * span, (index * 256 + at + 1) * span)),
      )
      expect(contents[i]!.equals(Buffer.concat(expected))).toBe(true)
    }
  return { checkpoint, entries, leaves, get }
}

/** Content of all tables of the log, as in a backup. */
const backup = async () =>
  Promise.all(
    TABLES.split(', ').map(async (table) => {
      const { rows } = await client.query<{ rows: string | null }>(
        `SELECT json_agg(${table})::text AS rows FROM ${table}`,
      )
      return [table, rows[0]!.rows ?? '[]'] as const
    }),
  )
/** Restores a backup, and runs a further statement, in one transaction. */
const restore = async (saved: Awaited<ReturnType<typeof backup>>, also = '') => {
  await client.query(`BEGIN; TRUNCATE ${TABLES}`)
  for (const [table, rows] of saved)
    await client.query(
      `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${table}, $1)`,
      [rows],
    )
  await client.query(`${also}; COMMIT`)
}
/** Appends `count` entries, numbered from `from`. */
const appendTo = ({ log }: { log: SignatureLog }, count: number, from = 0) =>
  Promise.all(Array.from({ length: count }, (_, n) => log.append(entryOf(from + n))))
/** Publishes four entries, and returns a backup of the database when it had two. */
async function backupOfHalf(log: SignatureLog): ReturnType<typeof backup> {
  await appendTo({ log }, 2)
  await publishedWith(2)
  const saved = await backup()
  await appendTo({ log }, 2, 2)
  await publishedWith(4)
  return saved
}

describe('the write path of the log', () => {
  test('includes every committed entry of several processes once, with proofs and tiles of RFC 6962', async () => {
    const [one, two] = [processOf(), processOf()]
    const numbers = Array.from({ length: 700 }, (_, n) => n)
    const claims = await Promise.all(
      numbers.map((n) => (n % 2 ? one : two).log.append(entryOf(n, { kind: n % 3 ? 'answer' : 'batch' }))),
    )
    await publishedWith(700)
    const server = await serverOf(two.log)
    const { checkpoint, entries, leaves, get } = await readTree(server)
    expect(checkpoint.origin).toBe('log.example/log')
    const nonces = entries.map((entry) => decodeEntry(entry).nonce)
    expect(nonces.toSorted((a, b) => a - b)).toEqual(numbers)
    for (const n of [0, 1, 255, 256, 300, 511, 512, 699]) {
      const claim = claims[n]!
      expect(claim).toEqual({
        origin: 'log.example/log',
        leaf: expect.any(String),
        by: NOW + INCLUSION_SECONDS,
      })
      const entry = entryOf(n, { kind: n % 3 ? 'answer' : 'batch' })
      expect(claim.leaf).toBe(toHex(leafHash(encodeEntry({ ...entry, time: claim.by - INCLUSION_SECONDS }))))
      const proof = parseProof((await get(`proof/${claim.leaf}`)).toString())
      expect(proof.index).toBe(nonces.indexOf(n))
      expect(proof.hashes.map(toHex)).toEqual(PATH(proof.index, leaves).map(toHex))
      expect(proof.checkpoint).toEqual(checkpoint)
    }
  })

  test('serves full bundles compressed, and tiles as immutable', async () => {
    const { log } = processOf()
    await Promise.all(Array.from({ length: 300 }, (_, n) => log.append(entryOf(n))))
    await publishedWith(300)
    const { app } = await serverOf(log)
    const inject = (path: string, headers = {}) => app.inject({ url: `/log/v0/tile/${path}`, headers })
    const compressed = await inject('entries/000', { 'accept-encoding': 'gzip' })
    expect(compressed.headers).toMatchObject({
      'content-encoding': 'gzip',
      'cache-control': 'public, max-age=31536000, immutable',
    })
    expect(compressed.rawPayload.length).toBeLessThan((await inject('entries/000')).rawPayload.length / 3)
    expect((await inject('0/000.p/7')).rawPayload).toEqual(
      (await inject('0/000')).rawPayload.subarray(0, 7 * 32),
    )
    expect(decodeBundle((await inject('entries/000.p/7')).rawPayload, 7)).toEqual(
      decodeBundle((await inject('entries/000')).rawPayload, 256).slice(0, 7),
    )
  })

  test('stores groups of at most a megabyte, whose bundles are served', async () => {
    const { log } = processOf()
    await waitOpen()
    const data = `0x${'55'.repeat(65_000)}`
    await Promise.all(Array.from({ length: 40 }, (_, n) => log.append(entryOf(n, { data }))))
    const { rows } = await client.query('SELECT max(length(entries)) < 1e6 AS small FROM log_group')
    expect(rows).toEqual([{ small: true }])
    await publishedWith(40)
    expect((await readTree(await serverOf(log))).entries.length).toBe(40)
  })

  test('resumes after a crash between commit and checkpoint', async () => {
    const first = processOf()
    await first.log.append(entryOf(0))
    await publishedWith(1)
    // Commits entries and never assigns positions, like a process that ends between the commit and the
    // response.
    await new LogWriter({
      store: first.log.store,
      clock: () => NOW * 1000,
      refusal: () => undefined,
      reason: () => '',
    }).append(entryOf(1))
    await first.stop()
    await client.query('UPDATE log_group SET position = position')
    const { log } = processOf()
    await publishedWith(2)
    const { entries } = await readTree(await serverOf(log))
    expect(entries.map((entry) => decodeEntry(entry).nonce)).toEqual([0, 1])
  })

  test('closes the log while no step can be applied, so that no promise is broken', async () => {
    const { log } = processOf({ options: { ...FAST, openMs: 500 } })
    await waitOpen()
    const apply = log.store.apply.bind(log.store)
    let isFailing = true
    log.store.apply = (...given) => (isFailing ? Promise.reject(new Error('no space left')) : apply(...given))
    await log.append(entryOf(0))
    await until(async () => !(await stateOf())!.open)
    expect(log.notReady(await log.state())).toBe('no space left')
    await expect(log.append(entryOf(1))).rejects.toBeInstanceOf(UnavailableError)
    isFailing = false
    await waitOpen()
    expect((await publishedWith(1)).published_size).toBe(1)
  })

  test('generates a key once, with the origin of the public URL', async () => {
    const processes = [processOf({ key: undefined }), processOf({ key: undefined })]
    const claims = await Promise.all(processes.map(({ log }, n) => log.append(entryOf(n))))
    expect(claims.map(({ origin }) => origin)).toEqual(Array(2).fill('geo.example/v1/log/v0'))
    await publishedWith(2)
    const { app } = await serverOf(processes[0]!.log)
    const { key: text, policy: policyText, ...information } = (await app.inject('/log/v0')).json()
    expect(policyText).toBe(`log ${text}\nquorum none\n`)
    expect(information).toEqual({ origin: 'geo.example/v1/log/v0', size: 2, open: true })
    const policy = parsePolicy(`log ${text}\nquorum none\n`)
    const checkpoint = parseCheckpoint((await app.inject('/log/v0/checkpoint')).payload)
    expect((await signersOf(checkpoint, policy)).log.key.name).toBe('geo.example/v1/log/v0')
    await Promise.all(processes.map(({ stop }) => stop()))
    const again = processOf({ key: undefined })
    expect((await again.log.append(entryOf(3))).origin).toBe('geo.example/v1/log/v0')
  })

  test.each([
    ['of another log', true, 'other.example/log'],
    ['of the same name', true, 'log.example/log'],
    ['that replaces a generated one of the same name', false, 'geo.example/v1/log/v0'],
  ])('commits no entry with a key %s', async (_, isGiven, name) => {
    const own = { key: isGiven ? key : undefined }
    const first = processOf(own)
    await first.log.append(entryOf(0))
    await first.stop()
    const other = processOf({ key: await generateSignerKey(name, 'ed25519') })
    await until(async () => (await stateOf())?.stopped)
    await expect(other.log.append(entryOf(1))).rejects.toBeInstanceOf(StoppedError)
    expect((await client.query('SELECT FROM log_group')).rowCount).toBe(1)
    // Readers would take the other key for that of the log.
    expect((await (await serverOf(other.log)).app.inject('/log/v0')).statusCode).toBe(503)
    // The process with the other key still runs, and leaves the lease to one with the key of the log.
    const { log } = processOf(own)
    await waitOpen()
    await log.append(entryOf(1))
  })

  test('continues with a generated key that LOG_KEY has now', async () => {
    const first = processOf({ key: undefined })
    await first.log.append(entryOf(0))
    await first.stop()
    const { rows } = await client.query<{ key: string }>('SELECT key FROM log_state')
    await client.query('UPDATE log_state SET key = NULL')
    await processOf({ key: await parseSignerKey(rows[0]!.key) }).log.append(entryOf(1))
  })
})

withPostgres.describe('log readers whose statements do not end', () => {
  /** Number of statements that wait for a lock. */
  const waiting = async () =>
    (
      await client.query<{ count: number }>(
        `SELECT count(*)::int FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
      )
    ).rows[0]!.count

  test(
    'delay neither signatures nor readiness checks, and stop when their clients disconnect',
    { tags: ['slow'] },
    async () => {
      const { log } = processOf()
      const { leaf } = await log.append(entryOf(0))
      await publishedWith(1)
      const { app } = await serverOf(log)
      await app.listen({ host: '127.0.0.1', port: 0 })
      const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
      const holder = new Client({ connectionString: database.url })
      await holder.connect()
      try {
        await holder.query('BEGIN; LOCK TABLE log_tile IN ACCESS EXCLUSIVE MODE')
        const abort = new AbortController()
        const paths = [
          `proof/${leaf}`,
          `proof/${'0'.repeat(64)}`,
          'tile/0/000.p/1',
          `proof/${'1'.repeat(64)}`,
        ]
        const asked = paths.map((path) => fetch(`${url}/log/v0/${path}`, { signal: abort.signal }))
        // Only two of the four requests run, which is the share of a client whose pace is unknown.
        await expect.poll(waiting).toBe(2)
        await log.append(entryOf(1))
        expect(await (await fetch(`${url}/log/v0`)).json()).toMatchObject({ open: true })
        expect((await fetch(`${url}/ready`)).status).not.toBe(500)
        abort.abort()
        await Promise.allSettled(asked)
        // The one statement is that of the sequencer, for the new entry.
        await expect.poll(waiting).toBe(1)
      } finally {
        await holder.query('ROLLBACK')
        await holder.end()
      }
      await publishedWith(2)
    },
  )
})

describe('several sequencers of one log', () => {
  hunt('never produce two trees, whatever fails', 4, async ({ cases, random }) => {
    for (let i = 0; i < cases; i++) {
      await client.query(`TRUNCATE ${TABLES}`)
      let isFailing = true
      const published = new Map<number, string>()
      const processes = Array.from({ length: 3 }, () => processOf({}, { start: false }))
      for (const { log } of processes) breakAtRandom(log.store, random, () => isFailing)
      for (const { log } of processes) log.start()
      const watching = (async () => {
        while (isFailing) {
          const state = await stateOf()
          if (state) published.set(state.published_size, state.published)
          await pause(1)
        }
      })()
      const wanted = 1 + Math.floor(random() * 700)
      const results = await Promise.allSettled(
        Array.from({ length: wanted }, async (_, n) => {
          await pause(random() * 300)
          return processes[n % 3]!.log.append(entryOf(n))
        }),
      )
      isFailing = false
      const claims = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
      await watching
      const server = await serverOf(processes[0]!.log)
      const backlog = () => processes[0]!.log.store.backlog()
      await until(
        async () => (await backlog()) === 0 && (await stateOf())!.published_size === (await stateOf())!.size,
      )
      const { checkpoint, leaves } = await readTree(server)
      const included = new Set(leaves.map(toHex))
      expect(claims.filter(({ leaf }) => !included.has(leaf))).toEqual([])
      for (const [size, text] of published) {
        expect(toHex(parseCheckpoint(text).root)).toBe(toHex(MTH(leaves.slice(0, size))))
        expect(size).toBeLessThanOrEqual(checkpoint.size)
      }
      for (const close of closing.splice(0).reverse()) await close()
    }
  })
})

describe('a sequencer that pauses before it applies a step', () => {
  /**
   * A process that has appended `size` entries in one step, each in its own group, and pauses before it
   * applies the next one until `resumeStep`.
   */
  async function pausedProcess(size = 1) {
    const { log } = processOf({ options: { ...FAST, leaseMs: 100 } }, { start: false })
    const { store } = log
    const apply = store.apply.bind(store)
    let resume!: () => void
    const resumed = new Promise<void>((resolve) => (resume = resolve))
    let reach!: () => void
    const reached = new Promise<void>((resolve) => (reach = resolve))
    const applied = new Promise<boolean>((resolve, reject) => {
      store.apply = async (holder, step) => {
        if (step.old.size === 0) return apply(holder, step)
        reach()
        await resumed
        const result = apply(holder, step)
        result.then(resolve, reject)
        return result
      }
    })
    const waiting = store.waiting.bind(store)
    store.waiting = () => Promise.resolve([])
    closing.push(() => resume())
    log.start()
    for (let n = 0; n < size; n++) await log.append(entryOf(n))
    store.waiting = waiting
    await publishedWith(size)
    const saved = await backup()
    await log.append(entryOf(size))
    await reached
    return { log, saved, resumeStep: () => (resume(), applied) }
  }
  const checkTree = async (size: number) => {
    const unstarted = processOf({}, { start: false })
    const { checkpoint } = await readTree(await serverOf(unstarted.log))
    expect(checkpoint.size).toBe(size)
    expect((await stateOf())!.size).toBe(size)
  }

  test('changes no table once another process has appended', async () => {
    const { resumeStep } = await pausedProcess()
    // The other process acquires the lease after it has expired, and appends both entries.
    const other = processOf()
    await publishedWith(2)
    await appendTo(other, 3, 10)
    await publishedWith(5)
    expect(await resumeStep()).toBe(false)
    await checkTree(5)
  })

  test.each(['is missing', 'is another one'])(
    'changes no table if an entry %s after a restore',
    async (how) => {
      const { saved, resumeStep } = await pausedProcess()
      const [lost] = (await client.query<{ id: string }>('SELECT id FROM log_group WHERE position IS NULL'))
        .rows
      await restore(saved)
      if (how === 'is another one') {
        const entry = encodeEntry({ ...entryOf(20), time: NOW })
        await client.query(
          'INSERT INTO log_group (id, entries, leaves) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3)',
          [lost!.id, encodeBundle([entry]), leafHash(entry)],
        )
      }
      expect(await resumeStep()).toBe(false)
      const size = how === 'is missing' ? 1 : 2
      await publishedWith(size)
      await checkTree(size)
    },
  )

  test('changes no table if the database was restored and the tree has grown again', async () => {
    const { log, saved, resumeStep } = await pausedProcess()
    await restore(saved)
    const unaware = processOf()
    await appendTo(unaware, 1, 20)
    await publishedWith(2)
    await unaware.stop()
    // The paused process holds the lease again, so that only the tree differs.
    await client.query('UPDATE log_state SET holder = $1', [(log as any).sequencer.holder])
    const before = await stateOf()
    expect(await resumeStep()).toBe(false)
    expect((await stateOf())!.published).toBe(before!.published)
    await checkTree(2)
  })

  test('changes no table if the restored tree has the same entries in another order', async () => {
    const { resumeStep } = await pausedProcess(2)
    await client.query(
      'UPDATE log_group SET position = 3 - position; UPDATE log_group SET position = position - 2',
    )
    const leaves = [1, 0].map((n) => leafHash(encodeEntry({ ...entryOf(n), time: NOW })))
    await client.query('UPDATE log_state SET root = $1', [MTH(leaves)])
    expect(await resumeStep()).toBe(false)
    expect((await stateOf())!.size).toBe(2)
  })
})

/** Makes calls of a store fail before or after their statement, as if the connection was lost. */
function breakAtRandom(store: LogStore, random: () => number, isFailing: () => boolean): void {
  for (const name of ['claim', 'apply', 'waiting', 'partial', 'publish', 'state', 'tiles', 'stop'] as const) {
    const call = store[name].bind(store) as (...given: unknown[]) => Promise<unknown>
    Object.assign(store, {
      [name]: async (...given: unknown[]) => {
        const at = isFailing() ? random() : 1
        if (at < 0.1) throw new Error('lost before the statement')
        const result = await call(...given)
        if (at < 0.2) throw new Error('lost after the statement')
        if (at < 0.25) await pause(50)
        return result
      },
    })
  }
}

// --- Witnesses ---

const hosts: string[] = []
interface TestWitness {
  witness: Witness
  key: SignerKey
  url: string
  /** HTTP status of all responses of the witness; undefined for normal responses. */
  status: number | undefined
  /** Path and login of the last request. */
  asked: (string | undefined)[]
  last: Map<string, ReturnType<typeof parseCheckpoint>>
}
async function witnessOf(name: string): Promise<TestWitness> {
  const own = await generateSignerKey(name, 'cosignature')
  const last: TestWitness['last'] = new Map()
  const folder = { write: async () => {}, keepEvidence: async () => {} }
  const witness = new Witness(own, [key], folder, last, () => NOW)
  const result: TestWitness = { witness, key: own, url: '', status: undefined, asked: [], last }
  const url = await serve((request, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      result.asked = [request.url, request.headers.authorization]
      if (result.status !== undefined) return response.writeHead(result.status).end()
      if (!/^\/w\/add-checkpoint(\?|$)/.test(request.url!)) return response.writeHead(404).end()
      const { status, type, body } = await witness.addCheckpoint(Buffer.concat(chunks).toString())
      return response.writeHead(status, { 'content-type': type ?? 'text/plain' }).end(body)
    })()
  })
  hosts.push(new URL(url).host)
  return Object.assign(result, { url: `${url}/w/` })
}
const policyOf = (witnesses: TestWitness[], k: number): Policy =>
  parsePolicy(
    [
      ...witnesses.map((each, i) => `witness w${i} ${formatVerifierKey(each.key)} ${each.url}`),
      `group all ${k} ${witnesses.map((_, i) => `w${i}`).join(' ')}`,
      'quorum all',
      '',
    ].join('\n'),
  )
const withLog = (policy: Policy): Policy => ({ ...policy, logs: [{ key }] })

describe('witnesses of the log', () => {
  test('cosign each published checkpoint', async () => {
    const witnesses = await Promise.all(['a', 'b', 'c'].map((name) => witnessOf(`${name}.example`)))
    const policy = policyOf(witnesses, 2)
    const { log } = processOf({ policy })
    await Promise.all(Array.from({ length: 300 }, (_, n) => log.append(entryOf(n))))
    await publishedWith(300)
    const server = await serverOf(log)
    const { checkpoint } = await readTree(server)
    const { cosigned, isQuorum } = await signersOf(checkpoint, withLog(policy))
    expect([...cosigned]).toEqual([0, 1, 2].map((i) => [`w${i}`, NOW]))
    expect(isQuorum).toBe(true)
    const { policy: text } = (await server.app.inject('/log/v0')).json<{ policy: string }>()
    expect(await signersOf(checkpoint, parsePolicy(text))).toMatchObject({ cosigned, isQuorum })
  })

  test('are published with their URLs, except those that are for the service only', async () => {
    const names = ['a', 'b', 'c', 'd']
    const urls = ['https://a.example/w', 'http://10.0.0.2', 'https://user:secret@c.example', undefined]
    const keys = await Promise.all(names.map((name) => generateSignerKey(`${name}.example`, 'cosignature')))
    const witnesses = new Map(names.map((name, i) => [name, { key: keys[i]!, url: urls[i] }]))
    const policy = { logs: [], witnesses, groups: new Map(), quorum: 'a' }
    const { log } = processOf({ policy }, { start: false })
    const checkpoint = await signedCheckpoint({ origin: key.name, size: 0, root: MTH([]) }, key)
    const published = parsePolicy((await log.verifier({ published: checkpoint } as LogState)).policy)
    expect([...published.witnesses].map(([name, { url }]) => [name, url])).toEqual([
      ...[['a', 'https://a.example/w']],
      ...['b', 'c', 'd'].map((name) => [name, undefined]),
    ])
  })

  test('are asked with the password and the query of their URLs', async () => {
    const witness = await witnessOf('a.example')
    const url = witness.url.replace('//', '//me:a%20b@') + '?token=c'
    const { log } = processOf({ policy: policyOf([{ ...witness, url }], 1) })
    await waitOpen()
    await log.append(entryOf(0))
    await publishedWith(1)
    const login = `Basic ${Buffer.from('me:a b').toString('base64')}`
    expect(witness.asked).toEqual(['/w/add-checkpoint?token=c', login])
  })

  test('may fail without stopping the log, and cosign again after their recovery', async () => {
    const witnesses = await Promise.all(['a', 'b', 'c'].map((name) => witnessOf(`${name}.example`)))
    const policy = policyOf(witnesses, 2)
    const { log } = processOf({ policy })
    await log.append(entryOf(0))
    for (const each of witnesses) each.status = 500
    await log.append(entryOf(1))
    await publishedWith(2)
    const server = await serverOf(log)
    expect((await signersOf((await readTree(server)).checkpoint, withLog(policy))).isQuorum).toBe(false)
    for (const each of witnesses) each.status = undefined
    await until(
      async () => (await signersOf((await readTree(server)).checkpoint, withLog(policy))).cosigned.size === 3,
    )
    const metrics = (await server.app.inject('/metrics')).payload
    expect(metrics).toContain('\ngeospatial_log_entries_total 2\n')
    for (const outcome of ['cosigned', 'failed'])
      expect(metrics).toMatch(
        new RegExp(`^geospatial_log_witness_requests_total{witness="w2",outcome="${outcome}"} [1-9]`, 'm'),
      )
  })

  test('are asked while entries arrive faster than steps append them, and the lease is renewed', async () => {
    const { log } = processOf({ policy: policyOf([await witnessOf('a.example')], 1) })
    await log.append(entryOf(0))
    await publishedWith(1)
    const { store } = log
    const [apply, claim] = [store.apply.bind(store), store.claim.bind(store)]
    let number = 0
    let isArriving = true
    let claims = 0
    // Each step finds the entries of a full bundle that arrived during the step before.
    store.apply = async (...given) => {
      const entries = Array.from({ length: 256 }, () => Buffer.from(String(number++)))
      if (isArriving) await store.append(entries, entries.map(leafHash))
      return apply(...given)
    }
    store.claim = (...given) => (claims++, claim(...given))
    await log.append(entryOf(1))
    await publishedWith(600)
    await until(async () => claims > 3)
    isArriving = false
  })

  test('close the log if they contradict it, even while the lease is renewed', async () => {
    const witness = await witnessOf('a.example')
    const { log } = processOf({ policy: policyOf([witness], 1) })
    await log.append(entryOf(0))
    await publishedWith(1)
    const { store } = log
    const [renewing, stopping] = [signal<void>(), signal<void>()]
    const renewed = signal<boolean>()
    const calls = { claim: store.claim.bind(store), stop: store.stop.bind(store) }
    const cosigned = store.cosigned.bind(store)
    let isAsked = false
    store.cosigned = () => {
      isAsked = true
      return renewing.promise.then(cosigned)
    }
    store.stop = (...given) => calls.stop(...given).then(stopping.give)
    // The renewal starts before the witness responds. Its statement runs after the log was closed.
    store.claim = async (...given) => {
      if (!isAsked) return calls.claim(...given)
      renewing.give()
      await stopping.promise
      const state = await calls.claim(...given)
      renewed.give(state!.open)
      return state
    }
    witness.status = 409
    await log.append(entryOf(1))
    expect(await renewed.promise).toBe(false)
  })

  test('close the log although they confirmed its size just before', async () => {
    const { log } = processOf({ policy: policyOf([await witnessOf('a.example')], 1) }, { start: false })
    const { store } = log
    const [publish, claim] = [store.publish.bind(store), store.claim.bind(store)]
    const opened = signal<unknown>()
    let isConfirmed = false
    // A contradiction that is stored between the confirmation and the claim that opens the log.
    store.publish = async (holder, ...given) => {
      await publish(holder, ...given)
      if (!isConfirmed) await store.stop(holder, 'another tree')
      isConfirmed = true
    }
    store.claim = async (...given) => {
      const state = await claim(...given)
      if (isConfirmed) opened.give(state)
      return state
    }
    log.start()
    expect(await opened.promise).toMatchObject({ held: true, open: false, stopped: 'another tree' })
    // The next confirmation is newer than the contradiction.
    await waitOpen()
  })

  test('prevent the start of the log, with a reason, if they do not respond', async () => {
    const witnesses = await Promise.all(['a', 'b', 'c'].map((name) => witnessOf(`${name}.example`)))
    for (const each of witnesses.slice(1)) each.status = 503
    const { log } = processOf({ policy: policyOf(witnesses, 2) })
    const reason = await until(async () => (await stateOf())?.stopped)
    expect(reason).toEqual(sentence('', 'w1', 'w2'))
    await expect(log.append(entryOf(0))).rejects.toThrow(sentence())
    const { app } = await serverOf(log)
    const ready = await app.inject('/ready')
    expect([ready.statusCode, ready.json().log]).toEqual([503, { status: 'not ready', reason }])
    expect((await app.inject('/metrics')).payload).toContain('geospatial_log_open 0')
    // Two of three witnesses are a quorum. With one more response, every quorum would include a witness that
    // responded.
    witnesses[1]!.status = undefined
    await waitOpen()
    expect((await log.append(entryOf(0))).origin).toBe('log.example/log')
  })

  test('prevent no other process from opening the log if one process cannot reach them', async () => {
    const witness = await witnessOf('a.example')
    const far = policyOf([{ ...witness, url: 'http://127.0.0.1:1' }], 1)
    hosts.push('127.0.0.1:1')
    processOf({ policy: far })
    await until(async () => (await stateOf())?.stopped)
    const { log } = processOf({ policy: policyOf([witness], 1) })
    await waitOpen()
    await log.append(entryOf(0))
    await publishedWith(1)
  })

  test.each([
    ['a smaller tree', 0],
    ['a smaller tree that then grows beyond it', 3],
  ])('that know a larger tree stop a log restored with %s', async (_, more) => {
    const witnesses = await Promise.all(['a', 'b', 'c'].map((name) => witnessOf(`${name}.example`)))
    const policy = policyOf(witnesses, 2)
    const first = processOf({ policy })
    await appendTo(first, 2)
    await publishedWith(2)
    const saved = await backup()
    await appendTo(first, 2, 2)
    await publishedWith(4)
    await until(async () => [...witnesses[0]!.last.values()][0]!.size === 4)
    await first.stop()
    await restore(saved)
    if (more > 0) {
      // A process without the witnesses continues the restored tree, which creates a fork.
      const unaware = processOf()
      await appendTo(unaware, more, 10)
      await publishedWith(2 + more)
      await unaware.stop()
    }
    const { log } = processOf({ policy })
    const reason = await until(async () => (await stateOf())?.stopped)
    expect(reason).toEqual(sentence())
    await expect(log.append(entryOf(9))).rejects.toThrow(sentence())
    const { app } = await serverOf(log)
    expect((await app.inject('/ready')).json().log).toEqual({ status: 'not ready', reason })
    expect((await app.inject('/log/v0')).json()).toMatchObject({ open: false, reason })
    // The witnesses have not cosigned anything newer.
    expect([...witnesses[0]!.last.values()][0]!.size).toBe(4)
    // The database has the restored tree, and the entries appended to it.
    expect((await stateOf())!.size).toBe(2 + more)
  })
  test('are not needed by a process without the lease that has seen a larger tree', async () => {
    const { log } = processOf()
    const saved = await backupOfHalf(log)
    const newer = await backup()
    // Another process, which started after the restore, holds the lease, and accepts entries.
    const elsewhere = `UPDATE log_state SET holder = 'another', held_until = 'infinity', open_until = 'infinity'`
    await restore(saved, elsewhere)
    const reason = await until(async () => log.notReady(await log.state()))
    expect(reason).toContain('4 entries')
    await expect(log.append(entryOf(9))).rejects.toThrow('4 entries')
    const { app } = await serverOf(log)
    expect((await app.inject('/ready')).json().log).toEqual({ status: 'not ready', reason })
    expect((await app.inject('/log/v0')).json()).toMatchObject({ open: false, reason })
    await restore(newer, elsewhere)
    await until(async () => !log.notReady(await log.state()))
    await log.append(entryOf(9))
  })
  test('are not needed to stop a process that has seen a larger tree', async () => {
    const { log } = processOf()
    const saved = await backupOfHalf(log)
    await pause(2 * FAST.renewMs)
    await restore(saved)
    const reason = await until(async () => (await stateOf())?.stopped)
    expect(reason).toContain('4 entries')
    await expect(log.append(entryOf(9))).rejects.toThrow('4 entries')
  })
})

describe('a log database with another identity', () => {
  const restoreIdentity = () => {
    const up = readFileSync('db/migrations/1797516000000-SignatureLog.up.sql', 'utf8')
    return client.query(
      /CREATE FUNCTION log_here[^]*?\$\$;/.exec(up)![0].replace('CREATE', 'CREATE OR REPLACE'),
    )
  }

  test('is confirmed before it accepts entries', async () => {
    const witnesses = [await witnessOf('a.example')]
    const policy = policyOf(witnesses, 1)
    const { log } = processOf({ policy })
    await log.append(entryOf(0))
    await publishedWith(1)
    // Simulates the promotion of a replica: another timeline, and witnesses that do not respond.
    witnesses[0]!.status = 503
    await client.query(
      `CREATE OR REPLACE FUNCTION log_here() RETURNS text LANGUAGE sql STABLE AS $$ SELECT 'elsewhere' $$`,
    )
    try {
      await expect(log.append(entryOf(1))).rejects.toThrow(sentence())
      witnesses[0]!.status = undefined
      await until(async () => (await log.state()).open)
      await log.append(entryOf(1))
      await publishedWith(2)
    } finally {
      await restoreIdentity()
    }
  })

  test('is not logged as open if the identity changes after the confirmation', async () => {
    await client.query(
      `CREATE OR REPLACE FUNCTION log_here() RETURNS text LANGUAGE sql AS $$ SELECT clock_timestamp()::text $$`,
    )
    const [lines, claims] = [[] as string[], vi.spyOn(LogStore.prototype, 'claim')]
    try {
      const stream = { write: (line: string) => void lines.push(line) }
      processOf({ logger: Fastify({ logger: { stream } }).log })
      await until(async () => claims.mock.calls.length > 4)
      expect(claims.mock.calls.some(([, , , , opening]) => opening)).toBe(true)
      expect(lines.filter((line) => line.includes('accepts entries'))).toEqual([])
    } finally {
      claims.mockRestore()
      await restoreIdentity()
    }
  })
})

describe('the routes of the log', () => {
  test('read tiles from replicas, and from the primary if a replica lacks the tile', async () => {
    const { log: writer } = processOf()
    await Promise.all(Array.from({ length: 300 }, (_, n) => writer.append(entryOf(n))))
    await publishedWith(300)
    const replica = await createMigratedDatabase()
    closing.push(() => replica.drop())
    const { log } = processOf({}, { start: false, readUrls: [replica.url] })
    const server = await serverOf(log, [replica.url])
    await readTree(server)
    // The replica returns its own full tiles: they are not read from the primary.
    const there = new Client({ connectionString: replica.url })
    await there.connect()
    for (const table of ['log_tile', 'log_bundle']) {
      const { rows } = await client.query(`SELECT json_agg(${table})::text AS rows FROM ${table}`)
      await there.query(`INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1)`, [
        rows[0].rows,
      ])
    }
    await there.end()
    await client.query('ALTER TABLE log_bundle RENAME TO log_bundle_away')
    try {
      const { statusCode } = await server.app.inject('/log/v0/tile/entries/000')
      expect(statusCode).toBe(200)
    } finally {
      await client.query('ALTER TABLE log_bundle_away RENAME TO log_bundle')
    }
  })

  test('return an error for malformed and unknown paths', async () => {
    const { log } = processOf()
    await appendTo({ log }, 3)
    await publishedWith(3)
    const { app } = await serverOf(log)
    const invalid = [400, 'Invalid tile parameter'] as const
    for (const [path, ...expected] of [
      ['tile/0/1', ...invalid],
      ['tile/0/000.p/256', ...invalid],
      ['tile/0/000', 404, 'Not found'],
      ['tile/0/000.p/4', 404, 'Not found'],
      ['tile/entries/000.p/4', 404, 'Not found'],
      ['tile/1/000.p/1', 404, 'Not found'],
      [`proof/${'ab'.repeat(31)}`, 400, 'Invalid leaf parameter'],
      [`proof/${'AB'.repeat(32)}`, 400, 'Invalid leaf parameter'],
      [`proof/${'ab'.repeat(32)}`, 404, 'Not found'],
    ] as const) {
      const response = await app.inject(`/log/v0/${path}`)
      expect([path, response.statusCode, response.json().message]).toEqual([path, ...expected])
    }
  })

  test('find no leaf in the end of one and the beginning of the next', async () => {
    const { log } = processOf()
    await appendTo({ log }, 3)
    await publishedWith(3)
    const { app } = await serverOf(log)
    const { rows } = await client.query<{ leaves: Buffer }>('SELECT leaves FROM log_group')
    const hashes = rows.flatMap(({ leaves }) => [0, 16, 32].map((at) => leaves.subarray(at, at + 32)))
    const found = hashes.map(async (hash) => (await app.inject(`/log/v0/proof/${toHex(hash)}`)).statusCode)
    expect(await Promise.all(found)).toEqual([200, 404, 200])
  })

  test('ask to retry for an entry that no published checkpoint includes', async () => {
    const { log, stop } = processOf()
    await waitOpen()
    const { leaf } = await log.append(entryOf(0))
    await publishedWith(1)
    await stop()
    await client.query(`UPDATE log_state SET open_until = 'infinity'`)
    const waiting = processOf({}, { start: false })
    const claim = await waiting.log.append(entryOf(1))
    const { app } = await serverOf(waiting.log)
    const response = await app.inject(`/log/v0/proof/${claim.leaf}`)
    expect([response.statusCode, response.headers['retry-after']]).toEqual([503, '1'])
    expect(response.json().message).toBe(RECORDS_ERRORS['not-published'].message)
    const unknown = await app.inject(`/log/v0/proof/${'ab'.repeat(32)}`)
    expect([unknown.statusCode, unknown.headers['retry-after']]).toEqual([404, undefined])
    expect((await app.inject(`/log/v0/proof/${leaf}`)).statusCode).toBe(200)
  })

  test('return no proof that is not valid, if the database was altered', async () => {
    const { log } = processOf()
    const { leaf } = await log.append(entryOf(0))
    await publishedWith(1)
    await log.append(entryOf(1))
    await publishedWith(2)
    const { app } = await serverOf(log)
    await client.query(
      'UPDATE log_group SET leaves = set_byte(leaves, 0, 255 - get_byte(leaves, 0)) WHERE position = 1',
    )
    const response = await app.inject(`/log/v0/proof/${leaf}`)
    expect(response.statusCode).toBe(500)
    expect(response.json().message).toBe(RECORDS_ERRORS['internal-error'].message)
  })
})

testSentences()
