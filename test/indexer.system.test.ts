import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { attest, locationRequest } from '../dev/chain'
import { freePort, startService, type Service } from '../dev/services'
import { startFaultyWorld, type FaultyWorld } from './behind'
import { rows, temporaryFolder } from './database'
import { expectInvariants } from './invariants'
import { LOCAL_CHAIN } from './world'
import { withPostgres } from './needs'

/** Tests processes of indexers that share a chain, each of which takes over from the one before it. */
let world: FaultyWorld
/** The processes. The last one writes, or waits for the one before it. */
const indexers: Service[] = []
beforeAll(async () => {
  world = await startFaultyWorld()
  start()
  await world.caughtUp()
})
afterEach(async () => {
  await world.caughtUp()
  await expectInvariants(world)
})
afterAll(async () => {
  for (const each of indexers) await each.stop()
  await world?.stop()
})

function start(settings: NodeJS.ProcessEnv = {}): Service {
  const program = ['lib/indexer/main.js', LOCAL_CHAIN.slug]
  const started = startService('indexer', program, { ...world.environment, ...settings }, temporaryFolder())
  indexers.push(started)
  return started
}
/** Starts another indexer, and resolves when it waits. */
async function startSecond(settings: NodeJS.ProcessEnv = {}): Promise<Service> {
  const second = start(settings)
  while (!second.tail().includes('another indexer of base-sepolia is running')) await pause(20)
  return second
}
const query = <Row extends object>(sql: string, values?: unknown[]) =>
  rows<Row>(world.databaseUrl, sql, values)
const writer = async () => (await query<{ writer: string }>('SELECT writer FROM chain_writer'))[0]!.writer
let longitude = 50
const place = () => locationRequest({ type: 'Point', coordinates: [longitude++, 10] })

test('the second indexer of a chain waits, and takes over when the first indexer dies', async () => {
  const { chain, caughtUp } = world
  const first = indexers.at(-1)!
  const port = await freePort()
  const second = await startSecond({ INDEXER_METRICS_PORT: String(port) })
  expect(await writer()).toContain(`/${first.pid}/`)
  if (process.platform === 'linux') expect(listening(first.pid)).toEqual([])
  const uids: string[] = []
  for (let i = 0; i < 3; i++) uids.push(await attest(chain, place()))
  await caughtUp()
  expect(await writer()).toContain(`/${first.pid}/`)
  await first.kill()
  for (let i = 0; i < 3; i++) uids.push(await attest(chain, place()))
  await caughtUp()
  expect(await writer()).toContain(`/${second.pid}/`)
  const changes = await query<{ kind: string; uid: string }>(
    'SELECT kind, uid FROM record_change ORDER BY id',
  )
  expect(changes).toEqual(uids.map((uid) => ({ kind: 'new', uid })))
  // Only an indexer with INDEXER_METRICS_PORT listens, and only on loopback.
  const metrics = await fetch(`http://127.0.0.1:${port}/metrics`)
  expect(await metrics.text()).toContain('sqd_processor_last_block')
  if (process.platform === 'linux') expect(listening(second.pid)).toEqual(['127.0.0.1'])
})

// The embedded database has a single session, which a transaction occupies.
withPostgres.test(
  'an indexer that freezes during a batch is replaced, and ends when it resumes',
  async () => {
    const { chain, databaseUrl } = world
    const first = indexers.at(-1)!
    const second = await startSecond()
    const blocker = new Client({ connectionString: databaseUrl })
    try {
      expect(await writer()).toContain(`/${first.pid}/`)
      await blocker.connect()
      await blocker.query('BEGIN; LOCK TABLE attestation_event IN EXCLUSIVE MODE')
      const uid = await attest(chain, place())
      const waiting = () =>
        query(`SELECT FROM pg_locks WHERE relation = 'attestation_event'::regclass AND NOT granted`)
      while ((await waiting()).length === 0) await pause(20)
      process.kill(first.pid, 'SIGSTOP')
      await blocker.end()
      const open = () =>
        query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'ClientRead'
           AND xact_start IS NOT NULL AND application_name LIKE 'indexer of base-sepolia %'`,
        )
      while ((await open()).length === 0) await pause(20)

      const stored = () => query('SELECT FROM location_record WHERE uid = $1', [uid])
      while ((await stored()).length === 0) await pause(50)
      expect(await writer()).toContain(`/${second.pid}/`)
      process.kill(first.pid, 'SIGCONT')
      expect(await first.ended).toBe(1)
    } finally {
      try {
        process.kill(first.pid, 'SIGCONT')
      } catch {
        // The process has ended.
      }
      await blocker.end().catch(() => {})
    }
  },
)

/** Addresses that a process listens on, from Linux's /proc. */
function listening(pid: number): string[] {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? []
      } catch {
        return [] // The socket has been closed in the meantime.
      }
    }),
  )
  return ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, 'utf8')
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[3] === '0A' && inodes.has(fields[9]!))
      .map(([, local]) => (local!.startsWith('0100007F:') ? '127.0.0.1' : local!)),
  )
}
