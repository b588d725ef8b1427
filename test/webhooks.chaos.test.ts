import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { attest, locationRequest, revoke } from '../dev/chain'
import { seededRandom } from '../dev/random'
import { freePort, type Service } from '../dev/services'
import { rows, temporaryFolder } from './database'
import { onChain } from './invariants'
import { answers, distinct, startReceiver, type Receiver } from './receiver'
import { hunt } from './seed'
import { mine, reorg, startApiProcess, startTestWorld, type TestWorld } from './world'

/**
 * Tests webhooks of the whole service: API instances that are killed while they deliver, reorgs, an indexer
 * that is killed, and a receiver that fails at random.
 */
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
let world: TestWorld
let receiver: Receiver
/** An API instance next to that of the world. */
let copy: Service
let port: number
const folder = temporaryFolder()
const file = path.join(folder, 'webhooks.json')
beforeAll(async () => {
  receiver = await startReceiver()
  writeFileSync(
    file,
    JSON.stringify([
      { id: 'final', url: `${receiver.url}/final`, secret: SECRET },
      { id: 'latest', url: `${receiver.url}/latest`, finality: 'latest', secret: SECRET },
      { id: 'nowhere', url: `${receiver.url}/nowhere`, secret: SECRET, filter: { bbox: '0,-80,1,-79' } },
    ]),
  )
  world = await startTestWorld(webhooks(), { processes: true })
  copy = await startCopy((port = await freePort()))
})
afterAll(async () => {
  await copy?.stop()
  receiver?.close()
})

const webhooks = () => ({ WEBHOOKS_FILE: file, WEBHOOK_PRIVATE_HOSTS: new URL(receiver.url).host })
const startCopy = (port: number, settings: NodeJS.ProcessEnv = webhooks()) =>
  startApiProcess(world, { PORT: String(port), ...settings })
/** Process id of the instance that delivers to the final subscription, or did before it was killed. */
async function deliverer(): Promise<number> {
  const [row] = await rows<{ pid: string }>(
    world.databaseUrl,
    `SELECT split_part(holder, '/', 2) AS pid FROM webhook_subscription WHERE id = 'final'`,
  )
  return Number(row!.pid)
}
/** Kills it, and starts another one. */
async function killDeliverer(): Promise<void> {
  // The world restarts its own instance.
  if ((await deliverer()) !== copy.pid) return world.services.get('api')!.kill()
  await copy.kill()
  copy = await startCopy(port)
}
const told = (path: string) =>
  distinct(receiver.received.filter((each) => each.path === path)).map(({ body }) => {
    const { type, data } = JSON.parse(body) as { type: string; data: { uid: string } }
    return `${type.replace('record.', '')} ${data.uid}`
  })
let longitude = -180
const place = () => locationRequest({ type: 'Point', coordinates: [(longitude += 0.01), 20] })

hunt(
  'a final subscription receives exactly the final chain in order, through kills and reorgs',
  6,
  async ({ random, seed, cases }) => {
    const { chain, caughtUp } = world
    const { finality } = chain.chain
    const below = (end: number) => Math.floor(random() * end)
    const subscribed = () =>
      rows(world.databaseUrl, 'SELECT FROM webhook_subscription WHERE position IS NOT NULL')
    while ((await subscribed()).length < 3) await pause(50)
    const from = (await chain.provider.getBlockNumber()) + 1
    let highest = from

    // The deliverer is killed before it gets the response to its first message.
    const attempts = () => receiver.received.filter((each) => each.path === '/final')
    receiver.answer = (message) => (message.path === '/final' ? answers.hang : answers.ok)
    const attested: string[] = [await attest(chain, place())]
    await mine(chain, finality)
    await receiver.until(() => attempts().length > 0)
    expect([copy.pid, world.services.get('api')!.pid]).toContain(await deliverer())
    await killDeliverer()
    const gone = await attest(chain, place())
    await caughtUp()
    await reorg(chain, 1)

    // Has a random generator of its own, because the number of responses depends on timing.
    const randomOfAnswers = seededRandom(seed + 1)
    const kinds = [answers.status(500), answers.reset, answers.slow]
    receiver.answer = () =>
      randomOfAnswers() < 0.15 ? kinds[Math.floor(randomOfAnswers() * kinds.length)]! : answers.ok
    let kills = 0
    for (let i = 0; i < cases; i++) {
      const act = below(10)
      if (act < 4) attested.push(await attest(chain, place()))
      else if (act === 4)
        await revoke(chain, attested.at(-1 - below(Math.min(5, attested.length)))!).catch(() => {})
      else if (act === 5) await mine(chain, below(finality))
      else if (act === 6) {
        const depth = 1 + below(1 + below(10))
        const height = await chain.provider.getBlockNumber()
        if (height - depth > Math.max(from, highest - finality + 30)) await reorg(chain, depth)
      } else if (act === 7) await pause(below(300))
      else if (act === 8 && i % 2) await world.services.get('indexer-base-sepolia')!.kill()
      else if (kills < cases / 20 && i > 10 * (kills + 1)) {
        await killDeliverer()
        kills++
      }
      highest = Math.max(highest, await chain.provider.getBlockNumber())
    }
    await mine(chain, finality + 15)
    await caughtUp()
    // Subscriptions to the latest state receive removals too.
    while (!told('/latest').includes(`reorged ${gone}`)) await pause(50)
    const expected = await onChain(chain, from)
    while (told('/final').length < expected.length) await pause(50)
    // Messages arrive in order, so one too many would arrive before this one.
    receiver.answer = () => answers.ok
    const last = await attest(chain, place())
    expected.push(`new ${last}`)
    await mine(chain, finality + 15)
    while (!told('/final').includes(`new ${last}`)) await pause(50)
    const heard = told('/final')
    expect([...heard].sort()).toEqual([...expected].sort())
    const [first, ...others] = attempts()
    expect(others.map(({ id }) => id)).toContain(first!.id)
    const ofRecord = (list: readonly string[]) =>
      attested.map((uid) => list.filter((each) => each.endsWith(uid)))
    expect(ofRecord(heard)).toEqual(ofRecord(expected))
    const news = (list: readonly string[]) => list.filter((each) => each.startsWith('new '))
    expect(news(heard)).toEqual(news(expected))
    expect(told('/nowhere')).toEqual([])
    for (const { body, headers } of receiver.received)
      expect(
        new Webhook(SECRET).verify(body, { ...headers, 'webhook-timestamp': headers['webhook-timestamp']! }),
      ).toBeTruthy()
    if (cases >= 60) expect([kills > cases / 30, expected.length > 6]).toEqual([true, true])
  },
)

test('a process without the settings leaves the subscriptions unchanged, and warns of them', async () => {
  const silent = await startCopy(await freePort(), {})
  while (!silent.tail().includes('webhook subscriptions exist')) await pause(50)
  await silent.stop()
  expect((await rows(world.databaseUrl, 'SELECT FROM webhook_subscription')).length).toBe(3)
})
