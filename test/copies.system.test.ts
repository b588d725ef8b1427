import { readFileSync, readdirSync } from 'node:fs'
import http from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { startTestWorld, type TestWorld } from './world'

/** Two API instances that share a port (docs/architecture/decisions/0017-copies-on-one-machine.md). */

const LIMIT = 40
let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld(
    { API_PROCESSES: '2', RATE_LIMIT_PER_HOUR: String(LIMIT) },
    { processes: true },
  )
})

const point = (lng: number) => ({ type: 'Point', coordinates: [lng, 48] })

/** POST on its own connection: connections are distributed over the instances. */
function ask(lng: number): Promise<{ status: number; remaining: number }> {
  const body = JSON.stringify({ chainId: 84532, from: point(lng), to: point(lng + 1) })
  return new Promise((resolve, reject) => {
    const request = http.request(
      `${world.url}/compute/v0/distance`,
      { agent: false, method: 'POST', headers: { 'content-type': 'application/json' } },
      (response) => {
        response.resume()
        response.once('end', () =>
          resolve({
            status: response.statusCode!,
            remaining: Number(response.headers['ratelimit-remaining']),
          }),
        )
      },
    )
    request.once('error', reject)
    request.end(body)
  })
}

/** Processes of the instances: the children of the primary one. */
function copies(): number[] {
  const parent = world.services.get('api')!.pid
  const parentOf = (pid: string) => {
    try {
      return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
    } catch {
      return undefined // The process has ended in the meantime.
    }
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === parent)
    .map(Number)
}

async function metrics(): Promise<string> {
  return (await fetch(`${world.url}/metrics`, { headers: { connection: 'close' } })).text()
}

/** Number of signatures in metrics; undefined if they are an error. */
function signedIn(text: string): number | undefined {
  const [, count] =
    /^geospatial_signatures_total\{chain="base-sepolia",submission="direct"\} (\d+)$/m.exec(text) ?? []
  return count === undefined ? undefined : Number(count)
}

test('two instances of the API count each request of a client exactly once', async () => {
  // Sends a few requests at a time: on a busy machine, an instance that waits too long for the count
  // continues on its own.
  const answers: Awaited<ReturnType<typeof ask>>[] = []
  let next = 0
  const askSome = async () => {
    while (next < LIMIT + 20) answers.push(await ask(next++))
  }
  await Promise.all(Array.from({ length: 8 }, askSome))
  const allowed = answers.filter(({ status }) => status === 200)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(20)
  expect(allowed.map(({ remaining }) => remaining).sort((a, b) => a - b)).toEqual(
    Array.from({ length: LIMIT }, (_, i) => i),
  )
})

test('/metrics adds up the metrics of all instances, and reports database metrics once', async () => {
  // Each instance has answered some of the earlier requests.
  for (let i = 0; i < 6; i++) {
    const text = await metrics()
    expect(text.match(/^geospatial_database_up /gm)).toHaveLength(1)
    expect(text.match(/^geospatial_chain_ready\{chain="base-sepolia"\} 1$/gm)).toHaveLength(1)
    expect(signedIn(text)).toBe(LIMIT)
  }
})

test.skipIf(process.platform !== 'linux')(
  'a killed instance is restarted while the other one responds, no client waits, and no counter falls',
  async () => {
    let answers = 0
    // A connection may be assigned to an instance that is just ending. It is then closed.
    const health = () =>
      fetch(`${world.url}/health`, { headers: { connection: 'close' } }).then(
        () => answers++,
        () => undefined,
      )
    for (const killed of [0, 1]) {
      const before = copies()
      expect(before).toHaveLength(2)
      process.kill(before[killed]!, 'SIGKILL')
      let after: number[]
      do {
        await Promise.all(Array.from({ length: 8 }, health))
        after = copies()
      } while (after.length < 2 || after.includes(before[killed]!))
      expect(after).toContain(before[1 - killed])
    }
    expect(answers).toBeGreaterThan(0)
    // Metrics are an error while an instance starts.
    let signed: number | undefined
    do signed = signedIn(await metrics())
    while (signed === undefined)
    expect(signed).toBe(LIMIT)
  },
)

test.skipIf(process.platform !== 'linux')(
  'all instances end after a kill of the primary process',
  async () => {
    const all = copies()
    await world.services.get('api')!.kill()
    const isRunning = (pid: number) => {
      try {
        // A zombie process counts as ended, although its new parent has not collected it yet.
        return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
      } catch {
        return false
      }
    }
    while (all.some(isRunning)) await pause(20)
  },
)
