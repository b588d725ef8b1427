import { expect, test } from 'vitest'
import type { RecordSearch } from '../query'
import type { Bbox, Statement, Store } from '../store'
import { Tiles } from './tiles'

/** Tests which cached tiles changes make outdated, without a database. All tiles are empty. */

const HERE: Bbox = [0.01, 0.01, 0.01, 0.01]
const ELSEWHERE: Bbox = [90, 45, 90, 45]
const TILE = { z: 12, x: 2048, y: 2047 }
const OTHER = { z: 12, x: 0, y: 0 }

function tilesOf() {
  const log: Bbox[] = []
  let [made, rewrites] = [0, 0]
  const store = {
    of: () => store,
    run: ({ text, values }: Statement) => {
      if (!text.includes('record_change')) return Promise.resolve([])
      const after = (JSON.parse(values[0] as string) as { celo?: number }).celo ?? 0
      const moves = log.slice(after, after + (values[1] as number)).map((box, i) => [after + i + 1, ...box])
      return Promise.resolve([
        { chain: 'celo', since: new Date(0), rewrites, forgotten: 0, last: log.length, moves },
      ])
    },
  }
  const search = () => ({ filter: () => Promise.resolve({ memo: `${made++}` }) })
  const parts = { store: store as unknown as Store, records: { search } as unknown as RecordSearch }
  const tiles = new Tiles({ ...parts, cacheBytes: 1_000_000, sharedMs: 0 })
  /** Requests a tile after these changes. Returns the number of tiles made so far. */
  const ask = async (changes: Bbox[], tile = TILE) => {
    log.push(...changes)
    await tiles.get(tile, {})
    return made
  }
  return { ask, rewrite: () => rewrites++ }
}

test('a cached tile is made again only after a change in its box, or of all records', async () => {
  const { ask, rewrite } = tilesOf()
  expect([await ask([HERE]), await ask([ELSEWHERE]), await ask([ELSEWHERE, ELSEWHERE])]).toEqual([1, 1, 1])
  expect([await ask([ELSEWHERE, HERE]), await ask([ELSEWHERE])]).toEqual([2, 2])
  rewrite()
  expect([await ask([]), await ask([ELSEWHERE])]).toEqual([3, 3])
})

test('a cached tile is made again if no request has compared it with the last 10,000 changes', async () => {
  const { ask } = tilesOf()
  const thousand = Array.from({ length: 1_000 }, () => ELSEWHERE)
  expect([await ask([]), await ask([], OTHER)]).toEqual([1, 2])
  for (let i = 0; i < 10; i++) await ask(thousand, OTHER)
  expect([await ask([]), await ask([], OTHER)]).toEqual([2, 2])
  for (let i = 0; i < 10; i++) await ask(thousand, OTHER)
  expect([await ask([ELSEWHERE]), await ask([], OTHER)]).toEqual([3, 3])
})
