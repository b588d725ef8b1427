import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { hunt } from '../../test/seed'
import { NoSlotError, Semaphore } from './semaphore'

const never = () => new AbortController()
const turn = () => new Promise((resolve) => setImmediate(resolve))

hunt(
  'the semaphore keeps the limits in total and per client, and serves accepted waiters',
  1_000,
  async ({ random, cases }) => {
    const semaphore = new Semaphore({ all: 4, each: 2, waiting: 20, waitingEach: 6 })
    const running = new Map<string, number>()
    const outcomes = { served: 0, refused: 0 }
    const visit = async (client: string) => {
      let end: () => void
      try {
        end = await semaphore.acquire(client, never())
      } catch (error) {
        expect(error).toBeInstanceOf(NoSlotError)
        return void outcomes.refused++
      }
      running.set(client, (running.get(client) ?? 0) + 1)
      const all = [...running.values()].reduce((sum, each) => sum + each, 0)
      expect([all <= 4, running.get(client)! <= 2]).toEqual([true, true])
      for (let i = 0; i < random() * 5; i++) await turn()
      running.set(client, running.get(client)! - 1)
      end()
      // Releasing a slot twice has no effect.
      end()
      outcomes.served++
    }
    const visits: Promise<void>[] = []
    for (let i = 0; i < cases; i++) {
      visits.push(visit(`client ${Math.floor(random() * 6)}`))
      if (random() < 0.5) await turn()
    }
    await Promise.all(visits)
    expect(outcomes.served + outcomes.refused).toBe(cases)
    expect(outcomes.served).toBeGreaterThan(cases / 3)
    expect(outcomes.refused).toBeGreaterThan(cases / 60)
  },
)

test('the semaphore frees the place of an aborted waiter, and skips a client at its limit', async () => {
  const semaphore = new Semaphore({ all: 2, each: 1, waiting: 2, waitingEach: 1 })
  const endA = await semaphore.acquire('a', never())
  const abort = new AbortController()
  const second = semaphore.acquire('a', abort)
  await expect(semaphore.acquire('a', never())).rejects.toMatchObject({ own: true })
  // One slot is free: `a` waits only because of its own limit.
  const endB = await semaphore.acquire('b', never())
  const third = semaphore.acquire('c', never())
  await expect(semaphore.acquire('d', never())).rejects.toMatchObject({ own: false })
  abort.abort(new Error('gone'))
  await expect(second).rejects.toThrow('gone')
  const late = { signal: AbortSignal.abort(new Error('too late')) }
  await expect(semaphore.acquire('e', late)).rejects.toThrow('too late')
  endA()
  ;(await third)()
  endB()
})

test('the semaphore leaves no listeners on a signal that outlives many waits', async () => {
  const semaphore = new Semaphore({ all: 1, each: 1, waiting: 20, waitingEach: 20 })
  const abort = new AbortController()
  const listeners = () => getEventListeners(abort.signal, 'abort').length
  const end = await semaphore.acquire('a', abort)
  const [served, ...givenUp] = Array.from({ length: 3 }, () => semaphore.acquire('a', abort))
  expect(listeners()).toBe(3)
  end()
  const endServed = await served!
  expect(listeners()).toBe(2)
  abort.abort(new Error('gone'))
  for (const each of givenUp) await expect(each).rejects.toThrow('gone')
  expect(listeners()).toBe(0)
  // Aborted work occupies neither a slot nor a place in the queue.
  endServed()
  ;(await semaphore.acquire('b', never()))()
})

test('the semaphore serves waiting clients alternately, however many requests each has', async () => {
  const semaphore = new Semaphore({ all: 1, each: 1, waiting: 20, waitingEach: 10 })
  const order: string[] = []
  const visit = async (client: string) => {
    const end = await semaphore.acquire(client, never())
    order.push(client)
    await turn()
    end()
  }
  await Promise.all(['a', 'a', 'a', 'a', 'a', 'b', 'b', 'c'].map(visit))
  expect(order).toEqual(['a', 'b', 'c', 'a', 'b', 'a', 'a', 'a'])
})

test('the semaphore lets a client use its whole limit after an increase', async () => {
  let each = 1
  const semaphore = new Semaphore({ all: 4, each: () => each, waiting: 8, waitingEach: 8 })
  const first = await semaphore.acquire('a', never())
  const others = Array.from({ length: 4 }, () => semaphore.acquire('a', never()))
  each = 3
  first()
  await Promise.all(others.slice(0, 3))
  expect(semaphore.load).toEqual({ running: 3, waiting: 1 })
})

test('the semaphore reports after a timeout whether its own client caused the wait', async () => {
  const semaphore = new Semaphore({ all: 2, each: 1, waiting: 8, waitingEach: 8, waitMs: 1 })
  await semaphore.acquire('a', never())
  await expect(semaphore.acquire('a', never())).rejects.toMatchObject({ own: true })
  await semaphore.acquire('b', never())
  await expect(semaphore.acquire('c', never())).rejects.toMatchObject({ own: false })
  expect(semaphore.load).toEqual({ running: 2, waiting: 0 })
})

test('the semaphore remembers no client without work, also after its last waiter was aborted', async () => {
  const semaphore = new Semaphore({ all: 1, each: 1, waiting: 2, waitingEach: 1 })
  const endA = await semaphore.acquire('a', never())
  const abort = new AbortController()
  const again = semaphore.acquire('a', abort)
  const other = semaphore.acquire('b', never())
  endA()
  const endB = await other
  abort.abort(new Error('gone'))
  await expect(again).rejects.toThrow('gone')
  endB()
  expect(Object.values(semaphore).filter((each) => each instanceof Map && each.size > 0)).toEqual([])
})
