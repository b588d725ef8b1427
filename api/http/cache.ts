import { LRUCache } from 'lru-cache'

export interface Bound {
  /** Maximum number of entries or bytes. If a setting names the bytes, this is its default. */
  readonly entries?: number
  readonly bytes?: number
  /** Milliseconds after which an entry is dropped; with `sinceRead`, counted from its last read. */
  readonly ttlMs?: number
  readonly sinceRead?: true
}

const MEBIBYTE = 1_048_576

/**
 * Every cache of the API, by name. docs/architecture/caches.md states for each cache what it holds, how many
 * instances of it exist and what ends an entry. cache.test.ts compares the page with this table.
 */
export const CACHES = {
  // A new geometry never evicts one that is in use (api/compute/measure.ts).
  geometries: { bytes: 128 * MEBIBYTE, ttlMs: 5 * 60_000, sinceRead: true },
  'geometries that came once': { entries: 10_000 },
  references: { bytes: 24_000_000 },
  'references that came once': { entries: 10_000 },
  places: { entries: 16 },
  candidates: { bytes: 128_000_000 },
  tiles: { bytes: 64 * MEBIBYTE },
  responses: { bytes: 32 * MEBIBYTE },
  extents: { entries: 16 },
  // A count that took too long is cached without a number, and may take less time later.
  counts: { entries: 1_000, ttlMs: 2 * 60_000 },
  'change pages': { entries: 16, ttlMs: 2_000 },
  schemas: { entries: 10_000 },
  'contract state': { entries: 1_000 },
  'index state': { entries: 100 },
  // Each tile has 16 kB, with the hashes of its subtrees.
  'log tiles': { entries: 256 },
  clients: { entries: 1_000 },
  'request counts': { entries: 100_000 },
  'turn times': { entries: 10_000 },
  land: { entries: 3 },
} as const satisfies Record<string, Bound>

export interface CacheOptions<Value> {
  /** Returns the size of an entry in bytes; required if the cache is bounded by bytes. */
  sizeOf?: (value: Value, key: string) => number
  /** Maximum bytes from a setting, instead of the table; 0: nothing is cached. */
  bytes?: number
  /** Entries of more bytes are not cached. */
  largest?: number
}

/** A bounded cache, which evicts the least recently read entry first. */
export class Cache<Value extends NonNullable<unknown>> extends LRUCache<string, Value> {
  constructor(name: keyof typeof CACHES, { sizeOf, bytes, largest }: CacheOptions<Value> = {}) {
    const bound: Bound = CACHES[name]
    const maxSize = bytes ?? bound.bytes
    // 0 would mean no limit, so a disabled cache gets a limit of one byte, into which no entry fits. A number
    // of entries is a limit of sizes of 1: for a `max`, lru-cache would reserve the memory of all entries,
    // which takes 10 ms for 100,000.
    super({
      maxSize: maxSize === undefined ? bound.entries! : Math.max(1, maxSize),
      maxEntrySize: largest === undefined ? 0 : Math.max(1, Math.floor(largest)),
      ttl: bound.ttlMs ?? 0,
      updateAgeOnGet: bound.sinceRead ?? false,
      ...(maxSize === undefined ? { sizeCalculation: () => 1 } : sizeOf && { sizeCalculation: sizeOf }),
    })
  }

  /** Returns the value of a key, and creates it unless it is cached. A rejected promise is not cached. */
  of(key: string, make: () => Value): Value {
    const known = this.get(key)
    if (known !== undefined) return known
    const value = make()
    this.set(key, value)
    if (value instanceof Promise) value.catch(() => this.delete(key))
    return value
  }
}
