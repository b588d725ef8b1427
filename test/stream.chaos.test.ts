import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { attest, locationRequest, mined, revoke } from '../dev/chain'
import { seededRandom } from '../dev/random'
import { freePort, type Service } from '../dev/services'
import { rows } from './database'
import { expectInvariants, onChain } from './invariants'
import { listen, type SseEvent, type SseListener } from './sse'
import { EFFORT, hunt } from './seed'
import { mine, reorg, startApiProcess, startTestWorld, type TestWorld } from './world'
import { sentence, testSentences } from './sentences'

/** Tests clients of the record stream on the whole service, through reorgs and killed API instances. */
let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld({ TRUST_PROXY: '127.0.0.1' }, { processes: true })
})

const PATH = '/api/v0/location-records/stream'
let longitude = -180
const place = () => locationRequest({ type: 'Point', coordinates: [(longitude += 0.01), 20] })
const told = (events: readonly SseEvent[]) => events.map(({ event, data }) => `${event} ${data.uid}`)
const start = async (listener: SseListener) => {
  await listener.until(() => listener.lastEventId !== '')
  return listener
}

/** Another API instance, on its own port. */
async function startCopy(port: number): Promise<Service> {
  const copy = await startApiProcess(world, { PORT: String(port), TRUST_PROXY: '127.0.0.1' })
  // An instance that has no connection to the database yet refuses streams.
  while (!(await fetch(`http://127.0.0.1:${port}/health`)).ok) await pause(50)
  return copy
}

hunt(
  'the stream sends listeners of final changes exactly the final chain, once and in order',
  9,
  async ({ random, seed, cases }) => {
    const { chain, databaseUrl, caughtUp } = world
    const { finality } = chain.chain
    const below = (end: number) => Math.floor(random() * end)
    // Has a random generator of its own, because the number of connections depends on timing.
    const randomOfStays = seededRandom(seed + 1)
    // The stream sends events in order, so all earlier events have arrived now.
    await mine(chain, finality + 2)
    await caughtUp()
    const from = (await chain.provider.getBlockNumber()) + 1
    const port = await freePort()
    let copy = await startCopy(port)
    const query = '?chain=base-sepolia&finality=final'
    const steady = await start(await listen(`${world.url}${PATH}${query}`))
    let stopping = false
    let stop = () => {}
    const stopped = new Promise<void>((resolve) => (stop = resolve))
    let connections = 0
    /** Events received by a client that resumes from the id of the last event or comment. */
    const heard: SseEvent[] = []
    const hop = async () => {
      let { lastEventId } = steady
      for (; !stopping; connections++) {
        const url = connections % 2 ? world.url : `http://127.0.0.1:${port}`
        const listener = await listen(`${url}${PATH}${query}`, {
          lastEventId,
          onEvent: (event) => heard.push(event),
        }).catch(() => undefined)
        if (listener) {
          const stay = pause(100 + Math.floor(randomOfStays() * 900))
          // The first connection lasts until its instance is killed.
          await Promise.race([listener.ended, stopped, ...(connections ? [stay] : [])])
          listener.close()
          lastEventId = listener.lastEventId
        } else await pause(50)
      }
    }
    const hopping = hop()
    const attested: string[] = []
    let reorgs = 0
    let kills = 0
    let highest = from
    const killCopy = async () => {
      await copy.kill()
      copy = await startCopy(port)
    }
    const acts: readonly (() => Promise<unknown>)[] = [
      async () => attested.push(await attest(chain, place())),
      async () => attested.push(await attest(chain, place())),
      // The attestation may already be revoked, or removed by a reorg.
      () => revoke(chain, attested.at(-1 - below(6))!).catch(() => undefined),
      () => mine(chain, 1 + below(3)),
      () => mine(chain, below(finality + 20)),
      async () => {
        const depth = 1 + below(1 + below(12))
        const height = await chain.provider.getBlockNumber()
        if (height - depth > Math.max(from, highest - finality + 30)) {
          await reorg(chain, depth)
          reorgs++
        }
      },
      () => pause(below(400)),
      async () => {
        if (kills++ % 3 === 0) await world.services.get('indexer-base-sepolia')!.kill()
        else if (kills % 3 === 0) await killCopy()
      },
    ]
    attested.push(await attest(chain, place()))
    await mine(chain, finality + 2)
    while (heard.length === 0) await pause(20)
    await killCopy()
    const gone = await attest(chain, place())
    await caughtUp()
    await reorg(chain, 1)
    for (let i = 0; i < cases; i++) {
      await acts[below(acts.length)]!()
      highest = Math.max(highest, await chain.provider.getBlockNumber())
    }
    await mine(chain, finality + 15)
    await caughtUp()
    const expected = await onChain(world.chain, from)
    await steady.count(expected.length)
    while (heard.length < expected.length) await pause(20)
    // Events arrive in order, so one too many would arrive before this one.
    const last = await attest(chain, place())
    expected.push(`new ${last}`)
    await mine(chain, finality + 15)
    for (const events of [steady.events, heard]) while (!told(events).includes(`new ${last}`)) await pause(20)
    stopping = true
    stop()
    await hopping
    const ofRecord = (list: readonly string[]) =>
      Object.fromEntries(attested.map((uid) => [uid, list.filter((each) => each.endsWith(uid))]))
    const news = (list: readonly string[]) => list.filter((each) => each.startsWith('new '))
    for (const events of [steady.events, heard]) {
      expect([...told(events)].sort()).toEqual([...expected].sort())
      expect(ofRecord(told(events))).toEqual(ofRecord(expected))
      expect(news(told(events))).toEqual(news(expected))
    }
    expect(connections).toBeGreaterThan(1)
    expect(await rows(databaseUrl, `SELECT uid FROM record_change WHERE kind = 'reorged'`)).toContainEqual({
      uid: gone,
    })
    if (cases >= 90)
      expect([reorgs > cases / 30, kills > cases / 30, expected.length > 10, connections > 5]).toEqual([
        ...[true, true, true, true],
      ])
    await expectInvariants(world)
    expect(
      await rows(databaseUrl, `SELECT repaired_events::int FROM chain_status WHERE chain = 'base-sepolia'`),
    ).toEqual([{ repaired_events: 0 }])
    steady.close()
    await copy.stop()
  },
)

/** Number of listeners. docs/reference/streams.md names the memory of 2,000. */
const LISTENERS = EFFORT < 20 ? 500 : 2_000
test(`the stream sends 200 records to each of ${LISTENERS} listeners`, async () => {
  const port = await freePort()
  const copy = await startCopy(port)
  const memory = () =>
    Math.round(
      parseInt(
        /^VmRSS:\s*(\d+)/m.exec(
          process.platform === 'linux' ? readFileSync(`/proc/${copy.pid}/status`, 'utf8') : 'VmRSS: 0',
        )![1]!,
      ) / 1024,
    )
  const before = memory()
  const counts: number[] = []
  const listeners: SseListener[] = []
  for (let i = 0; i < LISTENERS; i += 100)
    listeners.push(
      ...(await Promise.all(
        Array.from({ length: 100 }, (_, k) => {
          counts[i + k] = 0
          // Some clients have their own filters, which match everything.
          const query =
            k < 50 ? '' : k < 75 ? `?bbox=-180,${-90 + (i + k) / 100},180,90` : '?chain=base-sepolia'
          return listen(`http://127.0.0.1:${port}${PATH}${query}`, {
            headers: { 'x-forwarded-for': `10.0.${(i + k) >> 8}.${(i + k) & 255}` },
            keep: false,
            onEvent: () => void counts[i + k]!++,
          })
        }),
      )),
    )
  expect(listeners.filter(({ status }) => status !== 200)).toEqual([])
  await Promise.all(listeners.map(start))
  const listening = memory()
  const eas = await world.chain.eas()
  const requests = Array.from({ length: 20 }, place)
  const began = performance.now()
  for (let i = 0; i < 10; i++)
    await mined(
      world.chain,
      (
        await eas
          .getFunction('multiAttest')
          .send([{ schema: requests[0]!.schema, data: requests.map(({ data }) => data) }], {
            gasLimit: 100_000_000,
          })
      ).hash,
    )
  const attested = performance.now()
  await listeners[0]!.until(() => counts.every((count) => count >= 200))
  const done = performance.now()
  // Events arrive in order, so one too many would arrive before this one.
  await attest(world.chain, place())
  await listeners[0]!.until(() => counts.every((count) => count > 200))
  expect([...new Set(counts)]).toEqual([201])
  console.log(
    `${LISTENERS} listeners, 200 records each: ${JSON.stringify({ msToAttest: Math.round(attested - began), msUntilAllWereTold: Math.round(done - began), megabytes: { before, listening, told: memory() } })}`,
  )
  if (process.platform === 'linux') expect(memory() - before).toBeLessThan(LISTENERS / 4)
  await copy.stop()
  // Status 1: the process did not end by itself within five seconds.
  expect(await copy.ended).toBe(0)
  await Promise.all(listeners.map(({ ended }) => ended))
})

test('the stream deletes changes after a week, and resets a client that resumes before them', async () => {
  const { databaseUrl, url } = world
  const old = await start(await listen(`${url}${PATH}`))
  old.close()
  const kept = await attest(world.chain, place())
  await world.caughtUp()
  await rows(
    databaseUrl,
    `UPDATE record_change SET changed_at = changed_at - interval '8 days'
     WHERE chain = 'base-sepolia' AND uid <> $1`,
    [kept],
  )
  await rows(
    databaseUrl,
    `INSERT INTO record_change (chain, kind, uid, changed_at) SELECT 'base-sepolia', 'new', 'none', now() - interval '9 days' FROM generate_series(1, 25000)`,
  )
  await rows(databaseUrl, `DELETE FROM record_change WHERE uid = $1`, [kept])
  await rows(databaseUrl, `INSERT INTO record_change (chain, kind, uid) VALUES ('base-sepolia', 'new', $1)`, [
    kept,
  ])
  await world.services.get('indexer-base-sepolia')!.kill()
  for (;;) {
    const [{ count }] = (await rows<{ count: number }>(
      databaseUrl,
      `SELECT count(*)::int AS count FROM record_change
       WHERE chain = 'base-sepolia' AND changed_at < now() - interval '7 days'`,
    )) as [{ count: number }]
    if (count === 0) break
    await pause(50)
  }
  const late = await listen(`${url}${PATH}`, { lastEventId: old.lastEventId })
  await late.count(1)
  expect(late.events).toMatchObject([{ event: 'reset', data: { reason: sentence('', 'base-sepolia') } }])
  const next = await attest(world.chain, place())
  // Events of the records that the restarted indexer rolled back and read again arrive first.
  await late.until(() => told(late.events).at(-1) === `new ${next}`)
  expect(told(late.events).filter((each) => each.startsWith('reset'))).toHaveLength(1)
  const again = await listen(`${url}${PATH}`, { lastEventId: late.events[0]!.id })
  await again.until(() => told(again.events).at(-1) === `new ${next}`)
  late.close()
  again.close()
})

testSentences()
