import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { SharedRead } from './shared'

afterEach(() => void vi.useRealTimers())

test('a shared value is read once in its lifetime, and again after the lifetime or a failure', async () => {
  let now = 1_000_000
  let reads = 0
  let broken = false
  const shared = new SharedRead(
    async () => (broken ? Promise.reject(new Error('no')) : ++reads),
    250,
    () => now,
  )
  expect(await Promise.all([shared.get(), shared.get()])).toEqual([1, 1])
  now += 249
  expect(await shared.get()).toBe(1)
  now += 1
  expect(await shared.get()).toBe(2)
  broken = true
  now += 300
  await expect(shared.get()).rejects.toThrow('no')
  broken = false
  expect(await shared.get()).toBe(3)
})

test('a shared value ages even if the system clock stands still', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  let reads = 0
  const shared = new SharedRead(async () => ++reads, 20)
  await shared.get()
  await pause(25)
  expect(await shared.get()).toBe(2)
})

/** Creates reads that end when the test resolves them. Each returns its number. */
function slowReads(milliseconds: number, clock = () => 0) {
  const underWay: (() => void)[] = []
  const shared = new SharedRead(
    () => new Promise<number>((resolve) => underWay.push(resolve.bind(undefined, underWay.length))),
    milliseconds,
    clock,
  )
  return { shared, underWay }
}

test.each([
  ['get with no time to share', 0, (shared: SharedRead<number>) => shared.get()],
  ['fresh', 250, (shared: SharedRead<number>) => shared.fresh()],
])('a shared read is returned only to earlier requests: %s', async (_, milliseconds, ask) => {
  const { shared, underWay } = slowReads(milliseconds)
  const first = ask(shared)
  const others = [ask(shared), ask(shared), ask(shared)]
  expect(underWay).toHaveLength(1)
  underWay[0]!()
  expect(await first).toBe(0)
  await expect.poll(() => underWay.length).toBe(2)
  const late = ask(shared)
  underWay[1]!()
  expect(await Promise.all(others)).toEqual([1, 1, 1])
  await expect.poll(() => underWay.length).toBe(3)
  underWay[2]!()
  expect(await late).toBe(2)
})

test('a shared read is delayed briefly after a hanging read, and not after a failed read', async () => {
  let now = 0
  const { shared, underWay } = slowReads(0, () => now)
  void shared.get()
  now = 240
  const waiting = shared.get()
  await expect.poll(() => underWay.length).toBe(2)
  underWay[1]!()
  expect(await waiting).toBe(1)
  void shared.get()
  now += 250
  void shared.get()
  expect(underWay).toHaveLength(4)

  let reads = 0
  const failing = new SharedRead(
    async () => (++reads === 1 ? Promise.reject(new Error('no')) : reads),
    0,
    () => 0,
  )
  const [failed, next] = await Promise.allSettled([failing.get(), failing.get()])
  expect([failed.status, next]).toEqual(['rejected', { status: 'fulfilled', value: 2 }])
})
