import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LOCAL_SIGNER_KEY, attest, locationRequest, revoke, type LocalChain } from '../dev/chain'
import { startTestChain } from './chains'
import { freePort, startService, type Service } from '../dev/services'
import { blankSettings } from '../dev/settings'
import { MISSING_PACKAGES, changed, startCluster, type Cluster, type DatabaseServer } from './cluster'
import { rows } from './database'
import { seeded } from './seed'
import { isListening, program, type Program } from './servers'
import { listen } from './sse'
import { needing } from './needs'

/**
 * The service on several machines, as in docs/operations/scaling.md: a primary and two replicas, each behind
 * PgBouncer, Redis, an indexer, and three API instances behind HAProxy. Each part is killed under load.
 * Clients retry requests without a response (a lost connection, 502, 503, 504). Every response must include
 * everything that any client received before the request.
 */
needing(MISSING_PACKAGES).describe('a service on many machines', () => {
  const LIST = '/api/v0/location-records'
  let chain: LocalChain
  let cluster: Cluster
  let url: string
  let stopping = false
  /** Parts that are restarted when they exit, each with the function that kills it. */
  const kept: Record<string, { kill(): Promise<void> }> = {}
  let haproxy: Program
  let redis: Program
  const loads: Promise<void>[] = []
  const wrong: string[] = []
  const random = seeded()

  /** State of each record that any client received, by UID: true if the record is revoked. */
  const told = new Map<string, boolean>()
  /** Number of rounds of each kind of client. */
  const rounds = new Map<string, number>()
  const attested: string[] = []
  const revoked = new Set<string>()
  const told1 = (uid: string, isRevoked: boolean) => told.set(uid, isRevoked || told.get(uid) === true)

  beforeAll(async () => {
    ;[chain, cluster] = await Promise.all([
      freePort().then((port) => startTestChain({ port })),
      startCluster(2),
    ])
    const { folder, servers } = cluster
    const [redisPort, port, ...ports] = await Promise.all([1, 2, 3, 4, 5].map(() => freePort()))
    redis = program(
      'redis',
      folder,
      ['/usr/bin/redis-server', '--port', String(redisPort), '--bind', '127.0.0.1', '--save', ''],
      () => isListening(redisPort!),
    )
    await redis.start()
    const environment = {
      ...process.env,
      ...blankSettings(),
      RPC_URL_BASE_SEPOLIA: chain.url,
      AUDIT_CALLS_PER_SECOND: '0',
    }
    keep('indexer', () =>
      startService(
        'indexer',
        ['lib/indexer/main.js', 'base-sepolia'],
        { ...environment, DATABASE_URL: cluster.bouncerUrl('geo') },
        folder,
      ),
    )
    for (const [i, at] of ports.entries())
      keep(`api-${i + 1}`, () =>
        startService(
          `api-${i + 1}`,
          ['dist/api/main.js'],
          {
            ...environment,
            DATABASE_URL: cluster.bouncerUrl('api'),
            DATABASE_READ_URLS: servers.map((server) => cluster.bouncerUrl('api', [server])).join(','),
            REDIS_URL: `redis://127.0.0.1:${redisPort}`,
            SIGNER_PRIVATE_KEY: LOCAL_SIGNER_KEY,
            PORT: String(at),
            API_PROCESSES: '1',
            RATE_LIMIT_PER_HOUR: '0',
            RECORDS_RATE_LIMIT_PER_HOUR: '1000000000',
          },
          folder,
        ),
      )
    const file = path.join(folder, 'haproxy.cfg')
    writeFileSync(
      file,
      changed('ops/haproxy.cfg', {
        // The number must stay below the number of files that a test may open.
        'maxconn 20000': 'maxconn 1000',
        'bind :8080': `bind 127.0.0.1:${port}`,
        ...Object.fromEntries(ports.map((at, i) => [`10.0.0.${21 + i}:3000`, `127.0.0.1:${at}`])),
      }),
    )
    url = `http://127.0.0.1:${port}`
    haproxy = program('haproxy', folder, ['/usr/sbin/haproxy', '-db', '-f', file], async () =>
      fetch(`${url}/health`).then(
        ({ ok }) => ok,
        () => false,
      ),
    )
    await haproxy.start()
    loads.push(
      ...[attester, lists, pages, conditions, records, graphql, exports, computations, stream].map((load) =>
        run(load),
      ),
    )
  })
  afterAll(async () => {
    stopping = true
    await Promise.all(loads)
    const parts = [...Object.values(kept), haproxy, redis]
    await Promise.all(parts.map((each) => each?.kill()))
    await cluster?.stop()
  })

  /** Runs a process of the service, and restarts it whenever it ends. */
  function keep(name: string, start: () => Service): void {
    let service = start()
    const again = async (): Promise<void> => {
      await service.ended
      await pause(100)
      if (stopping) return
      service = start()
      return again()
    }
    void again()
    kept[name] = { kill: () => service.kill() }
  }

  /** Milliseconds between two rounds of a client, which leave processor time to the service. */
  const REST_MS = 100
  /** Runs a client until the end of the test. Any error that it throws fails the test. */
  async function run(load: () => Promise<void>): Promise<void> {
    for (; !stopping; await pause(REST_MS))
      try {
        await load()
        rounds.set(load.name, (rounds.get(load.name) ?? 0) + 1)
      } catch (error) {
        if (!stopping) wrong.push(`${load.name}: ${(error as Error).message}`)
      }
  }
  interface Answer {
    status: number
    text: string
    etag: string | null
    /** Latest state that any client had received before the request. */
    before: Map<string, boolean>
  }
  /** Paths of requests that were refused with Retry-After. */
  const refused = new Set<string>()
  /** Repeats a request until it has a response. */
  async function ask(where: string, options: RequestInit = {}): Promise<Answer> {
    for (;;) {
      const before = new Map(told)
      try {
        const response = await fetch(url + where, { ...options, signal: AbortSignal.timeout(60_000) })
        const text = await response.text()
        if (response.headers.has('retry-after')) refused.add(where)
        else if (![502, 503, 504].includes(response.status))
          return { status: response.status, text, etag: response.headers.get('etag'), before }
      } catch {
        // There was no response, or an incomplete one.
      }
      if (stopping) throw new Error('stopped')
      await pause(50)
    }
  }
  const post = (where: string, body: object) =>
    ask(where, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  type Shown = { uid: string; revoked: boolean }
  /** Checks a whole response against the state that any client had received, and adds it to that state. */
  function holds(shown: readonly Shown[], { before, status }: Pick<Answer, 'before' | 'status'>): void {
    const state = new Map(shown.map(({ uid, revoked: is }) => [uid, is]))
    if (state.size !== shown.length) throw new Error(`a record was shown twice among ${shown.length}`)
    for (const [uid, wasRevoked] of before)
      if (state.get(uid) === undefined || (wasRevoked && !state.get(uid)))
        throw new Error(
          `${status}: ${uid} ${state.has(uid) ? 'is not revoked any more' : 'is gone'}, of ${before.size}`,
        )
    for (const [uid, is] of state) {
      if (is && !revoked.has(uid)) throw new Error(`${uid} was never revoked`)
      told1(uid, is)
    }
  }
  const okay = (answer: Answer): Answer => {
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text.slice(0, 200)}`)
    return answer
  }

  async function attester(): Promise<void> {
    const uid = await attest(
      chain,
      locationRequest({ type: 'Point', coordinates: [attested.length / 100, 1] }),
    )
    attested.push(uid)
    if (attested.length % 3 === 0) {
      revoked.add(attested.at(-2)!)
      await revoke(chain, attested.at(-2)!)
    }
    // Attests only a few places per second, because one page must list all of them.
    await pause(2 * REST_MS)
  }
  async function lists(): Promise<void> {
    const answer = okay(await ask(`${LIST}?limit=1000`))
    holds((JSON.parse(answer.text) as { data: Shown[] }).data, answer)
  }
  async function pages(): Promise<void> {
    const shown: Shown[] = []
    let first: Answer | undefined
    for (let cursor: string | null = ''; cursor !== null;) {
      const answer = okay(await ask(`${LIST}?limit=25${cursor && `&cursor=${cursor}`}`))
      first ??= answer
      const { data, next_cursor: next } = JSON.parse(answer.text) as {
        data: Shown[]
        next_cursor: string | null
      }
      shown.push(...data)
      cursor = next
    }
    // The page is compared with the state at the first page, because records that were revoked later may be
    // on pages that were read before.
    holds(shown, first!)
  }
  let copy: { etag: string; data: Shown[] } | undefined
  async function conditions(): Promise<void> {
    const answer = await ask(`${LIST}?limit=999`, copy && { headers: { 'if-none-match': copy.etag } })
    if (answer.status !== 304)
      copy = { etag: okay(answer).etag!, data: (JSON.parse(answer.text) as { data: Shown[] }).data }
    holds(copy!.data, answer)
  }
  async function records(): Promise<void> {
    const [uid, wasRevoked] = [...told][Math.floor(random() * told.size)] ?? []
    if (uid === undefined) return
    const record = JSON.parse(okay(await ask(`${LIST}/${uid}`)).text) as Shown
    if (wasRevoked && !record.revoked) throw new Error(`${uid} is not revoked any more`)
    told1(uid, record.revoked)
  }
  /** GraphQL reports inside a response with status 200 that its server stopped during a statement. */
  async function graphql(): Promise<void> {
    const query = '{ locationRecords(first: 1000) { totalCount nodes { uid revoked } } }'
    for (; !stopping; await pause(REST_MS)) {
      const answer = okay(await post('/graphql', { query }))
      const { data, errors } = JSON.parse(answer.text) as {
        data: { locationRecords: { totalCount: number; nodes: Shown[] } | null } | null
        errors?: { message: string }[]
      }
      if (errors) continue
      const { totalCount, nodes } = data!.locationRecords!
      if (totalCount !== nodes.length) throw new Error(`${totalCount} in all, ${nodes.length} shown`)
      return holds(nodes, answer)
    }
  }
  async function exports(): Promise<void> {
    const answer = okay(await ask(`${LIST}?format=ndjson`))
    const lines = answer.text.trim().split('\n').filter(Boolean)
    holds(
      lines.map((line) => JSON.parse(line) as Shown),
      answer,
    )
  }
  async function computations(): Promise<void> {
    const [uid, wasRevoked] = [...told][Math.floor(random() * told.size)] ?? []
    if (uid === undefined) return
    const to = { type: 'Point', coordinates: [0, 0] }
    const answer = await post('/compute/v0/distance', { chainId: chain.chain.id, from: uid, to })
    if (answer.status === 200) {
      if (wasRevoked) throw new Error(`${uid} is revoked, and an answer about it was signed`)
    } else if (!/is revoked/.test(answer.text))
      throw new Error(`${answer.status} ${answer.text.slice(0, 200)}`)
  }
  /** Number of times that each event arrived, by kind and UID, since the last reset. */
  const events = new Map<string, number>()
  /**
   * Records that the list returned after a reset. The list may be ahead of the stream, which then sends the
   * same records again.
   */
  const listed = new Set<string>()
  let position = ''
  let resets = 0
  async function stream(): Promise<void> {
    const onEvent = ({ event, data, id }: { event: string; data: Shown; id: string }) => {
      position = id
      if (event === 'reset') {
        resets++
        events.clear()
        // The list contains everything that the client may have missed.
        void ask(`${LIST}?limit=1000`).then(
          ({ text }) => {
            for (const { uid, revoked: is } of (JSON.parse(text) as { data: Shown[] }).data) {
              listed.add(`new ${uid}`)
              if (is) listed.add(`revoked ${uid}`)
            }
          },
          () => {},
        )
        return
      }
      events.set(`${event} ${data.uid}`, (events.get(`${event} ${data.uid}`) ?? 0) + 1)
      told1(data.uid, data.revoked)
    }
    const listener = await listen(`${url}${LIST}/stream`, {
      keep: false,
      onEvent: onEvent,
      ...(position && { lastEventId: position }),
    }).catch(() => undefined)
    if (!listener || listener.status !== 200) return
    const stop = setInterval(() => stopping && listener.close(), 100)
    await listener.ended
    clearInterval(stop)
    position = listener.lastEventId || position
  }

  /** Makes errors fail the current test instead of a later one. */
  const nothingIsWrong = () => expect(wrong.splice(0)).toEqual([])

  /** Resolves when each client has received further responses and a place that is attested now. */
  async function lives(): Promise<void> {
    const from = new Map(rounds)
    const last = attested.length + 2
    const clients = [
      ...['attester', 'lists', 'pages', 'conditions', 'records', 'graphql', 'exports', 'computations'],
    ]
    for (;;) {
      nothingIsWrong()
      if (
        clients.every((name) => (rounds.get(name) ?? 0) >= (from.get(name) ?? 0) + 3) &&
        attested.length > last &&
        told.has(attested[last]!)
      )
        return
      await pause(50)
    }
  }
  const followed = async (server: DatabaseServer, others: readonly DatabaseServer[]) => {
    const isStreaming = async () =>
      (await rows(server.url, `SELECT FROM pg_stat_replication WHERE state = 'streaming'`).catch(() => []))
        .length
    while ((await isStreaming()) < others.length) await pause(100)
  }

  test('answers requests', async () => {
    await lives()
  })
  test.each(['api-1', 'indexer'])('survives a kill of %s', async (name) => {
    await kept[name]!.kill()
    await lives()
  })
  test('survives kills of HAProxy and Redis', async () => {
    for (const part of [haproxy, redis]) {
      await part.kill()
      await pause(2 * REST_MS)
      await part.start()
      await lives()
    }
  })
  test('survives a kill of a replica', async () => {
    const { postgres } = cluster.servers[1]!
    await postgres.kill()
    await lives()
    await postgres.start()
    await lives()
    await followed(cluster.servers[0]!, cluster.servers.slice(1))
  })
  test('survives kills of the PgBouncers of the primary and of a replica', async () => {
    for (const { bouncer } of cluster.servers.slice(0, 2)) {
      await bouncer.kill()
      await pause(2 * REST_MS)
      await bouncer.start()
      await lives()
    }
  })
  test('survives a kill of the primary, which the most recent replica replaces', async () => {
    const [primary, ...others] = cluster.servers
    refused.clear()
    await primary!.postgres.kill()
    // Nothing may be signed in the meantime.
    while (!refused.has('/compute/v0/distance')) await pause(50)
    const reached = await Promise.all(
      others.map(
        async ({ url: at }) =>
          (await rows<{ lsn: number }>(at, `SELECT (pg_last_wal_receive_lsn() - '0/0')::float8 AS lsn`))[0]!
            .lsn,
      ),
    )
    const [first, second] = reached[0]! >= reached[1]! ? others : [...others].reverse()
    await first!.promote()
    await second!.turnTo(first!)
    await followed(first!, [second!])
    await lives()
    await primary!.follow(first!)
    await followed(first!, [primary!, second!])
    await lives()
  })
  test('sends every client the current state of the chain, once', async () => {
    const last = [...attested]
    const all = async () => [
      ...(JSON.parse((await ask(`${LIST}?limit=1000`)).text) as { data: Shown[] }).data,
    ]
    await expect
      .poll(async () => last.every((uid) => told.has(uid)) && (await all()).length >= last.length)
      .toBe(true)
    for (const uid of last) expect(told.has(uid)).toBe(true)
    await expect
      .poll(() => [...revoked].filter((uid) => last.includes(uid) && !told.get(uid)).length)
      .toBeLessThanOrEqual(1)
    await expect
      .poll(() => last.filter((uid) => !events.has(`new ${uid}`) && !listed.has(`new ${uid}`)))
      .toEqual([])
    expect([...events].filter(([name, count]) => count > 1 || name.startsWith('reorged'))).toEqual([])
    expect(resets).toBeLessThanOrEqual(2)
    nothingIsWrong()
    console.log(`rounds: ${[...rounds].map((each) => each.join(' ')).join(', ')}; resets: ${resets}`)
  })
})
