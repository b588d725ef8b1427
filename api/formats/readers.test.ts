import { beforeEach, describe, expect, test } from 'vitest'
import { Readers, type Reader } from './readers'

let now: number
let readers: Readers
let ended: string[]
const keepsPace = new Set<Reader>()
beforeEach(() => {
  now = 1_000_000
  readers = new Readers(() => now)
  ended = []
  keepsPace.clear()
})
const enter = (name: string, kind: 'text' | 'columnar' = 'text') =>
  readers.enter(kind, () => ended.push(name))
/** Fills all slots with readers that keep the pace, except for the given ones. */
function fill(...others: string[]): Reader[] {
  const all = [...others, ...Array.from({ length: 16 - others.length }, (_, i) => `reader ${i}`)]
  const entered = all.map((name) => enter(name)!)
  for (const reader of entered.slice(others.length)) keepsPace.add(reader)
  return entered
}
/** Time passes, in which the readers that keep the pace read as much as they must. */
function pass(ms: number): void {
  now += ms
  for (const reader of keepsPace) reader.hasRead(100 * ms)
}
describe('readers of exports', () => {
  test('are at most 16, while each keeps the pace', () => {
    fill()
    pass(50_000)
    expect([enter('late'), ended]).toEqual([undefined, []])
  })
  test('leave their slot to others', () => {
    const [first] = fill()
    readers.leave(first!)
    expect(enter('late')).toBeDefined()
    expect(ended).toEqual([])
  })
  test('make room if they lag behind for more than a minute, the last of them first', () => {
    const [idle, slow] = fill('idle', 'slow')
    slow!.hasRead(1_000_000)
    pass(30_000)
    slow!.hasRead(1_000_000)
    pass(29_999)
    expect([enter('early'), ended]).toEqual([undefined, []])
    pass(2)
    expect(enter('late')).toBeDefined()
    expect(ended).toEqual(['idle'])
    readers.leave(idle!)
    pass(10_000)
    expect(enter('later')).toBeDefined()
    expect(ended).toEqual(['idle', 'slow'])
    expect(enter('latest')).toBeUndefined()
  })
  test('continue while no other client waits, however slow they are', () => {
    const reader = enter('idle')!
    pass(7_200_000)
    expect(ended).toEqual([])
    reader.hasRead(1)
    enter('another')
    expect(ended).toEqual([])
  })
  test('catch up by reading, but cannot read ahead for more than a minute', () => {
    const [reader] = fill('burst')
    pass(3_000_000)
    reader!.hasRead(12_000_000)
    pass(59_999)
    expect(enter('early')).toBeUndefined()
    pass(2)
    expect(enter('late')).toBeDefined()
    expect(ended).toEqual(['burst'])
  })
  test('make room after an hour, although they keep the pace', () => {
    fill()
    for (let minute = 0; minute < 60; minute++) pass(60_000)
    expect(enter('early')).toBeUndefined()
    pass(1)
    expect(enter('late')).toBeDefined()
    expect(ended).toEqual(['reader 0'])
  })
  test.each<[string, (reader: Reader, work: () => Promise<void>) => Promise<unknown>]>([
    ['reads a page', (reader, work) => reader.served(work)],
    [
      'makes a chunk',
      async (reader, work) => {
        async function* chunks() {
          await work()
          yield 'chunk'
        }
        for await (const _ of reader.servedEach(chunks())) break
      },
    ],
    ['lets them wait for a slot', (reader, work) => reader.queued(work)],
  ])('do not lag behind while the service %s', async (_, serve) => {
    const [served] = fill('served')
    await serve(served!, async () => pass(300_000))
    pass(60_000)
    expect([enter('early'), ended]).toEqual([undefined, []])
    pass(1)
    expect(enter('late')).toBeDefined()
    expect(ended).toEqual(['served'])
  })
  test('make room for a file after five seconds, only if they have one', () => {
    enter('text')
    const [slow, fast] = [enter('slow', 'columnar')!, enter('fast', 'columnar')!]
    const queued = enter('queued', 'columnar')!
    slow.hasFile = fast.hasFile = true
    pass(5_000)
    fast.hasRead(5_000_000)
    expect([readers.makeRoom(true), ended]).toEqual([false, []])
    pass(1)
    expect([readers.makeRoom(true), ended]).toEqual([true, ['slow']])
    expect([readers.makeRoom(true), queued.hasFile]).toEqual([false, false])
  })
  test('are all ended when the service stops', () => {
    enter('text')
    enter('file', 'columnar')
    readers.end()
    expect(ended).toEqual(['text', 'file'])
  })
})
