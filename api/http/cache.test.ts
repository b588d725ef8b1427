import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { CACHES, Cache, type Bound } from './cache'

describe('a cache', () => {
  test('evicts the entry that was read least recently', () => {
    const cache = new Cache<number>('land')
    for (let i = 0; i < 3; i++) cache.set(`${i}`, i)
    expect(cache.get('0')).toBe(0)
    cache.set('3', 3)
    expect(['0', '1', '2', '3'].map((key) => cache.get(key))).toEqual([0, undefined, 2, 3])
  })
  test('computes a value once, and again only after a rejected promise', async () => {
    const cache = new Cache<Promise<number>>('counts')
    let made = 0
    const fail = () => Promise.reject(new Error(`failure ${++made}`))
    for (const message of ['failure 1', 'failure 2'])
      await expect(cache.of('key', fail)).rejects.toMatchObject({ message })
    for (let i = 0; i < 2; i++) expect(await cache.of('key', async () => ++made)).toBe(3)
  })
  test('keeps a count for two minutes, because it may have taken too long', async () => {
    const cache = new Cache<Promise<undefined>>('counts')
    await cache.of('key', () => Promise.resolve(undefined))
    expect(cache.getRemainingTTL('key')).toBeLessThanOrEqual(2 * 60_000)
  })
  test('stores no value if its size is 0 bytes', () => {
    const cache = new Cache<string>('tiles', { bytes: 0, sizeOf: ({ length }) => length + 2 })
    cache.set('key', '')
    expect(cache.get('key')).toBeUndefined()
  })
})
test('docs/architecture/caches.md lists every cache with its bound, and the sum of their bytes', () => {
  const page = readFileSync('docs/architecture/caches.md', 'utf8')
  const rows = [...page.matchAll(/^\| `([^`]+)` \| [^|]+ \| ([^|]+) \| ([^|]+) \|/gm)]
  const boundOf = ({ entries, bytes, ttlMs = 0 }: Bound) => {
    const size =
      bytes === undefined
        ? `${entries!.toLocaleString('en')} entries`
        : bytes % 1_048_576
          ? `${bytes / 1e6} MB`
          : `${bytes / 1_048_576} MiB`
    const time = ttlMs >= 60_000 ? `, ${ttlMs / 60_000} minutes` : ttlMs ? `, ${ttlMs / 1_000} seconds` : ''
    return size + time
  }
  expect(
    Object.fromEntries(
      rows.map(([, name, bound]) => [name, bound!.replace(/ since it was read| \([^)]*`\w+`\)/, '').trim()]),
    ),
  ).toEqual(Object.fromEntries(Object.entries(CACHES).map(([name, bound]) => [name, boundOf(bound)])))
  const bytes = rows.map(([, name, , each]) => {
    const bound: Bound = CACHES[name as keyof typeof CACHES]
    return (bound.bytes ?? 0) * Number(/\((\d)\)/.exec(each!)?.[1] ?? 1)
  })
  expect(page).toContain(`at most ${Math.round(bytes.reduce((sum, each) => sum + each) / 1e6)} MB together`)
})
