import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { seededRandom } from '../dev/random'
import { NoSlot, Slots } from './slots'

const never = () => new AbortController().signal
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('never more than allowed, of all and of one, and everyone who may wait is served', async () => {
  const seed = 7
  const random = seededRandom(seed)
  const slots = new Slots({ all: 4, each: 2, waiting: 20, waitingEach: 6 })
  const running = new Map<string, number>()
  const outcomes = { served: 0, refused: 0 }
  const visit = async (client: string) => {
    let end: () => void
    try {
      end = await slots.take(client, never())
    } catch (error) {
      expect(error).toBeInstanceOf(NoSlot)
      return void outcomes.refused++
    }
    running.set(client, (running.get(client) ?? 0) + 1)
    const all = [...running.values()].reduce((sum, each) => sum + each, 0)
    expect([seed, all <= 4, running.get(client)! <= 2]).toEqual([seed, true, true])
    for (let i = 0; i < random() * 5; i++) await turn()
    running.set(client, running.get(client)! - 1)
    end()
    // Twice is once.
    end()
    outcomes.served++
  }
  const visits: Promise<void>[] = []
  for (let i = 0; i < 3_000; i++) {
    visits.push(visit(`client ${Math.floor(random() * 6)}`))
    if (random() < 0.5) await turn()
  }
  await Promise.all(visits)
  expect(outcomes.served + outcomes.refused).toBe(3_000)
  expect(outcomes.served).toBeGreaterThan(1_000)
  expect(outcomes.refused).toBeGreaterThan(50)
})

test('who gives up while waiting makes room, and who has their share is passed by', async () => {
  const slots = new Slots({ all: 2, each: 1, waiting: 2, waitingEach: 1 })
  const endA = await slots.take('a', never())
  const abort = new AbortController()
  const second = slots.take('a', abort.signal)
  await expect(slots.take('a', never())).rejects.toMatchObject({ own: true })
  // A place is free, and a waits only for its own.
  const endB = await slots.take('b', never())
  const third = slots.take('c', never())
  await expect(slots.take('d', never())).rejects.toMatchObject({ own: false })
  abort.abort(new Error('gone'))
  await expect(second).rejects.toThrow('gone')
  endA()
  ;(await third)()
  endB()
  await expect(slots.take('e', AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late')
})

test('a signal that outlives many waits gathers no listeners', async () => {
  const slots = new Slots({ all: 1, each: 1, waiting: 20, waitingEach: 20 })
  const abort = new AbortController()
  const listeners = () => getEventListeners(abort.signal, 'abort').length
  const end = await slots.take('a', abort.signal)
  const [served, ...givenUp] = Array.from({ length: 3 }, () => slots.take('a', abort.signal))
  expect(listeners()).toBe(3)
  end()
  const endServed = await served!
  expect(listeners()).toBe(2)
  abort.abort(new Error('gone'))
  for (const each of givenUp) await expect(each).rejects.toThrow('gone')
  expect(listeners()).toBe(0)
  // Neither place nor turn was lost to those who gave up.
  endServed()
  ;(await slots.take('b', never()))()
})

test('clients who wait take turns, however much one of them has asked before', async () => {
  const slots = new Slots({ all: 1, each: 1, waiting: 20, waitingEach: 10 })
  const order: string[] = []
  const visit = async (client: string) => {
    const end = await slots.take(client, never())
    order.push(client)
    await turn()
    end()
  }
  await Promise.all(['a', 'a', 'a', 'a', 'a', 'b', 'b', 'c'].map(visit))
  expect(order).toEqual(['a', 'b', 'c', 'a', 'b', 'a', 'a', 'a'])
})
