import { describe, expect, test } from 'vitest'
import { hunt } from '../../test/seed'
import { SchemaRoom, type Tenant } from './schema-room'

let made = 0
const schema = (registerer: string | null, block = ++made): Tenant => ({
  uid: `0x${(++made).toString(16).padStart(64, '0')}`,
  registerer,
  block,
})
const entered = { entered: true }

describe('a room of schemas', () => {
  test('accepts every schema while a place is free', () => {
    const room = new SchemaRoom(100)
    const some = Array.from({ length: 100 }, (_, i) => schema(`account ${i}`))
    expect(some.map((each) => room.enter(each))).toEqual(some.map(() => entered))
    expect(room.uids).toEqual(some.map(({ uid }) => uid))
  })

  test('stays open after any number of registrations without attestations', () => {
    const room = new SchemaRoom(100)
    const first = schema('someone')
    room.enter(first)
    for (let i = 0; i < 1_000; i++) {
      expect(room.enter(schema(`spammer ${i % 40}`)).entered).toBe(true)
      expect(room.uids.length).toBeLessThanOrEqual(100)
    }
    // The new schema replaces one of the account that has the most schemas, so an account with a single
    // schema keeps it.
    expect(room.has(first.uid)).toBe(true)
    const last = schema('newcomer')
    expect(room.enter(last)).toMatchObject(entered)
    expect(room.has(last.uid)).toBe(true)
  })

  test('keeps a schema with attestations, and rejects a new one if all schemas have attestations', () => {
    const room = new SchemaRoom(20)
    const used = Array.from({ length: 20 }, (_, i) => schema(`account ${i}`))
    for (const each of used) {
      room.enter(each)
      room.use(each.uid, 'attester')
    }
    const late = schema('newcomer')
    expect(room.enter(late)).toEqual({ entered: false })
    expect(room.has(late.uid)).toBe(false)
    expect(room.uids).toEqual(used.map(({ uid }) => uid))
  })

  test('limits an account to its share, and counts only schemas that fewer than two accounts attest by', () => {
    const room = new SchemaRoom(100)
    const own = Array.from({ length: 5 }, () => schema('account'))
    for (const each of own) expect(room.enter(each)).toEqual(entered)
    // The sixth schema replaces the account's oldest unused one.
    const sixth = schema('account')
    expect(room.enter(sixth)).toEqual({ entered: true, left: own[0] })
    for (const each of [...own.slice(1), sixth]) room.use(each.uid, 'itself')
    const seventh = schema('account')
    expect(room.enter(seventh)).toEqual({ entered: false })
    room.use(sixth.uid, 'itself')
    expect(room.enter(seventh)).toEqual({ entered: false })
    room.use(sixth.uid, 'another')
    expect(room.enter(seventh)).toEqual(entered)
    // Schemas of unknown accounts are not limited to a share.
    for (let i = 0; i < 20; i++) expect(room.enter(schema(null))).toEqual(entered)
  })

  test('does not change when places change in a copy of the room', () => {
    const room = new SchemaRoom(20)
    for (let i = 0; i < 20; i++) room.enter(schema(`account ${i}`))
    const before = room.uids
    const copy = room.copy()
    expect(copy.enter(schema('another')).left).toBeDefined()
    expect(room.uids).toEqual(before)
    // Attestations that are counted in the original also count in the copy.
    for (const uid of before) room.use(uid, 'attester')
    expect(before.map((uid) => copy.usersOf(uid))).toEqual(before.map(() => 1))
  })
})

hunt(
  'a room of unused schemas does not depend on the order in which registrations are read',
  200,
  ({ random, cases }) => {
    for (let i = 0; i < cases; i++) {
      const most = 1 + Math.floor(random() * 30)
      const some = Array.from({ length: Math.floor(random() * 80) }, (_, n) =>
        schema(`account ${Math.floor(random() ** 2 * 12)}`, n),
      )
      const inOrder = (list: readonly Tenant[]) => {
        const room = new SchemaRoom(most)
        for (const each of list) room.enter(each)
        return room.uids.sort()
      }
      const shuffled = some.map((each) => [random(), each] as const).sort(([a], [b]) => a - b)
      expect(inOrder(shuffled.map(([, each]) => each))).toEqual(inOrder(some))
    }
  },
)

hunt('a room never replaces a used schema, and never exceeds its limit', 200, ({ random, cases }) => {
  for (let i = 0; i < cases; i++) {
    const most = 1 + Math.floor(random() * 30)
    const room = new SchemaRoom(most)
    const used = new Set<string>()
    for (let n = 0; n < 100; n++) {
      const tenant = schema(`account ${Math.floor(random() ** 2 * 12)}`)
      const { entered, left } = room.enter(tenant)
      expect(entered).toBe(room.has(tenant.uid))
      if (left) expect(used.has(left.uid)).toBe(false)
      expect(room.uids.length).toBeLessThanOrEqual(most)
      if (entered && random() < 0.3) {
        room.use(tenant.uid, `attester ${Math.floor(random() * 3)}`)
        used.add(tenant.uid)
      }
    }
    for (const uid of used) expect(room.has(uid)).toBe(true)
  }
})
