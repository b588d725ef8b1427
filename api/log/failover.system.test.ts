import Fastify from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serve } from '../../packages/witness/src/server'
import { Witness } from '../../packages/witness/src/witness'
import { MISSING_PACKAGES, startCluster, type Cluster, type DatabaseServer } from '../../test/cluster'
import { rows } from '../../test/database'
import { listening } from '../../test/http-server'
import { seededKey } from '../../test/tlog'
import { formatVerifierKey, parsePolicy } from '../../src/tlog'
import { SafeSender } from '../outgoing'
import { Store } from '../store'
import { SignatureLog } from '.'
import { needing } from '../../test/needs'

/**
 * The log on a primary with an asynchronous streaming replica, which is promoted. The second test continues
 * from the first one.
 */
needing(MISSING_PACKAGES).describe('the log after a failover', () => {
  const ORIGIN = 'log.example/log'
  const last: ConstructorParameters<typeof Witness>[3] = new Map()
  const folder = { write: async () => {}, keepEvidence: async () => {} }
  let cluster: Cluster
  let one: DatabaseServer, two: DatabaseServer
  let running: SignatureLog
  let startLog: () => SignatureLog
  let isSilent = false
  const ends: (() => unknown)[] = []
  beforeAll(async () => {
    cluster = await startCluster(1)
    ;[one, two] = cluster.servers as [DatabaseServer, DatabaseServer]
    await rows(one.url, 'ALTER SYSTEM RESET synchronous_standby_names')
    await rows(one.url, 'SELECT pg_reload_conf()')
    const key = await seededKey(ORIGIN, 'ed25519', 1)
    const own = await seededKey('w.example', 'cosignature', 2)
    const witness = new Witness(own, [key], folder, last, () => Math.floor(Date.now() / 1000))
    const server = serve(witness, () => {})
    server.prependListener('request', ({ socket }) => isSilent && socket.destroy())
    const { host } = new URL(await listening(server))
    const policy = parsePolicy(`witness w ${formatVerifierKey(own)} http://${host}\nquorum w\n`)
    startLog = () => {
      const store = new Store(cluster.bouncerUrl('api'), () => {}, {}, [])
      const log = new SignatureLog({
        ...{ servers: store.servers, publicBaseUrl: 'https://x.example', key, policy },
        ...{ sender: new SafeSender(new Set([host])), clock: () => Date.now(), logger: Fastify().log },
        options: { pollMs: 20, leaseMs: 2_000, renewMs: 50, openMs: 60_000, retryMs: 50 },
      })
      ends.push(() => log.stop().then(() => store.close()))
      log.start()
      return log
    }
    running = startLog()
  })
  afterAll(async () => {
    for (const end of ends.reverse()) await end()
    await cluster?.stop()
  })
  let [nonce, appended] = [0, 0]
  const append = async () => {
    await running.append({
      ...{ kind: 'answer', chainId: 1, attester: `0x${'11'.repeat(20)}`, schema: `0x${'22'.repeat(32)}` },
      ...{ layout: 'v1', separator: `0x${'33'.repeat(32)}`, recipient: `0x${'00'.repeat(20)}` },
      ...{ expirationTime: 0, revocable: true, refUID: `0x${'00'.repeat(32)}`, nonce: nonce++, deadline: 9 },
      ...{ signature: `0x${'44'.repeat(65)}`, data: '0x55' },
    })
    appended++
  }
  const sizeIn = async ({ url }: DatabaseServer) =>
    (await rows<{ size: number }>(url, 'SELECT size::int FROM log_state'))[0]?.size
  /** Appends two entries. Resolves when the witness has cosigned them. */
  const grow = async () => {
    await Promise.all([append(), append()])
    await expect.poll(() => last.get(ORIGIN)?.size).toBe(appended)
  }

  test('continues if no entry is lost, once the witness has confirmed its size', async () => {
    await expect.poll(() => running.state().catch(() => undefined)).toMatchObject({ open: true })
    await grow()
    await expect.poll(() => sizeIn(two)).toBe(appended)
    isSilent = true
    await one.postgres.kill()
    await two.promote()
    // The lease and the time for which the log is open are still those of the primary.
    await expect.poll(() => running.state().catch(() => undefined)).toMatchObject({ open: false })
    await expect(append()).rejects.toThrow()
    isSilent = false
    await expect.poll(async () => (await running.state()).open).toBe(true)
    await grow()
    expect(await sizeIn(two)).toBe(appended)
  })

  test('refuses a replica that lacks the last entries, in running and in new processes', async () => {
    await one.follow(two)
    await expect.poll(() => sizeIn(one)).toBe(appended)
    await one.postgres.kill('SIGINT')
    await grow()
    await two.postgres.kill()
    await one.postgres.start()
    await one.promote()
    const lost = appended - 2
    expect(await sizeIn(one)).toBe(lost)
    const state = async (log: SignatureLog) => log.notReady(await log.state().catch(() => ({}) as never))
    await expect
      .poll(() => state(running))
      .toContain(`it had ${appended} entries, but the database has ${lost}`)
    await expect(append()).rejects.toThrow()
    const other = startLog()
    await ends.shift()!()
    await expect.poll(() => state(other)).toContain(`has cosigned ${appended} entries`)
    running = other
    await expect(append()).rejects.toThrow()
    expect([
      await sizeIn(one),
      (await rows(one.url, 'SELECT FROM log_group WHERE position IS NULL')).length,
    ]).toEqual([...[lost, 0]])
  })
})
