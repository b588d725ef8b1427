import { describe, expect, test } from 'vitest'
import { hunt } from '../../test/seed'
import type { Position } from '../stream'
import { isDue, isOver, isOverdue, step, type Delivery, type DeliveryEvent, type Item } from './delivery'

const positionOf = (n: number): Position => ({ epoch: 'e', ids: { celo: n } })
const item = (n: number, since = 0): Item => ({
  message: { id: `m${n}`, body: String(n) },
  ...{ after: positionOf(n), since, isNew: true },
})
const START: Delivery = { phase: 'reading', position: undefined, items: [], trouble: undefined }
const steps = (...events: DeliveryEvent[]) => events.reduce(step, START)
const located: DeliveryEvent = { type: 'located', position: positionOf(0) }
const read = (...ns: number[]): DeliveryEvent => ({
  ...{ type: 'read', items: ns.map((n) => item(n)), end: positionOf(Math.max(9, ...ns)) },
})
const failed = (at: number, pauseMs = 10): DeliveryEvent => ({ type: 'failed', error: 'no', at, pauseMs })
const [begun, taken, expired, dropped] = (['begun', 'taken', 'expired', 'dropped'] as const).map((type) => ({
  type,
}))

test('a delivery sends messages in order, and moves to the position of the last accepted message', () => {
  const one = steps(located, read(1, 2), begun!, taken!)
  expect(one).toMatchObject({ phase: 'waiting', position: positionOf(1), items: [item(2)] })
  expect(step(step(one, begun!), taken!)).toMatchObject({
    phase: 'reading',
    position: positionOf(2),
    items: [],
  })
  expect(steps(located, read())).toMatchObject({ phase: 'reading', position: positionOf(9) })
})
test('a delivery waits after a failure, and resets its failures once a message is accepted', () => {
  const state = steps(located, read(1), begun!, failed(5), begun!, failed(20, 100))
  expect(state).toMatchObject({
    phase: 'waiting',
    position: positionOf(0),
    trouble: { failures: 2, since: 5 },
  })
  expect([isDue(state, 119), isDue(state, 120)]).toEqual([false, true])
  expect(step(step(state, begun!), taken!).trouble).toBeUndefined()
})
test('a delivery abandons a message that fails for too long, and then retries the next message', () => {
  const state = step(steps(located, read(1, 2), begun!), failed(5))
  const failedAt = (at: number, from = state) => step(step(from, begun!), failed(at))
  expect([state, failedAt(104), failedAt(105)].map((each) => isOverdue(each, 100))).toEqual([
    ...[false, false, true],
  ])
  const next = step({ ...failedAt(105), items: [item(1), item(2, 50)] }, expired!)
  expect(next).toMatchObject({ phase: 'waiting', position: positionOf(1), trouble: { failures: 2 } })
  expect([next, failedAt(149, next), failedAt(150, next)].map((each) => isOverdue(each, 100))).toEqual([
    ...[false, false, true],
  ])
  expect(isOverdue(step(failedAt(150, next), begun!), 100)).toBe(false)
})
test('a delivery sends no message after it is refused or dropped', () => {
  const refused = step(steps(located, read(1), begun!), { ...failed(5), type: 'refused' } as DeliveryEvent)
  expect([refused.phase, refused.position, isDue(refused, 1e9)]).toEqual(['disabled', positionOf(0), false])
  const leaving = steps(located, read(1), begun!, dropped!)
  expect([leaving.phase, isOver(leaving)]).toEqual(['leaving', true])
  const ends = [
    taken!,
    { type: 'interrupted' },
    failed(5),
    { ...failed(5), type: 'refused' },
  ] as DeliveryEvent[]
  expect(ends.map((end) => step(leaving, end).phase)).toEqual(ends.map(() => 'dropped'))
})
test('a delivery moves to the position of the message that reports a lost position', () => {
  const state = steps(located, { type: 'lost', item: item(7) })
  expect(state).toMatchObject({ phase: 'waiting', position: positionOf(7), items: [item(7)] })
})

describe('a delivery, for any order of events,', () => {
  const TYPES: readonly DeliveryEvent['type'][] = [
    ...(['located', 'read', 'begun', 'taken', 'interrupted'] as const),
    ...(['expired', 'dropped', 'failed', 'refused'] as const),
  ]
  hunt('handles each message once, in order, and has one request at a time', 300, ({ cases, random }) => {
    const reached = new Set<string>()
    for (let i = 0; i < cases; i++) {
      let state = step(START, located)
      let [known, sending] = [0, false]
      const handled: number[] = []
      for (let at = 1; at < 100; at++) {
        const type = TYPES[Math.floor(random() * TYPES.length)]!
        if ((type === 'dropped' || type === 'refused') && random() < 0.9) continue
        const items = Array.from({ length: Math.floor(random() * 4) }, (_, n) => item(known + 1 + n))
        const event = {
          ...{ type, at, items, pauseMs: 5, error: 'no', position: state.position },
          end: positionOf(known + items.length),
        } as DeliveryEvent
        let after: Delivery
        try {
          after = step(state, event)
        } catch {
          continue
        }
        // A request begins only if no other is under way, and only its own end ends it.
        if (type === 'begun') expect(sending).toBe(false)
        if (['taken', 'failed', 'refused', 'interrupted'].includes(type)) expect(sending).toBe(true)
        sending = type === 'begun' || (sending && type === 'dropped')
        if (type === 'read') known += items.length
        if ((type === 'taken' && !isOver(state)) || type === 'expired')
          handled.push(Number(state.items[0]!.message.body))
        state = after
        reached.add(state.phase)
        if (!isOver(state)) {
          expect(state.position).toEqual(positionOf(handled.at(-1) ?? 0))
          expect(state.items.length).toBe(known - handled.length)
        } else expect(isDue(state, Infinity)).toBe(false)
      }
      expect(handled).toEqual(handled.map((_, n) => n + 1))
    }
    expect(reached.size).toBe(6)
  })
})
