import type { AskOptions, Geo } from './geo'
import type { PageOptions } from './records'
import type { Input } from './types'

/** What TanStack Query takes: a key that names the question, and a function that asks it. */
export interface Query<T> {
  queryKey: readonly unknown[]
  queryFn: (context: { signal?: AbortSignal }) => Promise<T>
}

type Asked = Omit<AskOptions, 'signal'>

/**
 * Questions as options of TanStack Query (React, Vue, Svelte, Solid ...), with cancellation:
 * `useQuery(queriesOf(geo).distance(place, here))`.
 */
export function queriesOf(geo: Geo) {
  const query = <T>(name: string, given: unknown[], ask: (signal?: AbortSignal) => Promise<T>): Query<T> => ({
    queryKey: [geo.url, name, ...given],
    queryFn: ({ signal }) => ask(signal),
  })
  const pair =
    <T>(name: string, ask: (a: Input, b: Input, options: AskOptions) => Promise<T>) =>
    (a: Input, b: Input, options: Asked = {}): Query<T> =>
      query(name, [a, b, options], (signal) => ask(a, b, { ...options, signal }))
  const single =
    <T>(name: string, ask: (geometry: Input, options: AskOptions) => Promise<T>) =>
    (geometry: Input, options: Asked = {}): Query<T> =>
      query(name, [geometry, options], (signal) => ask(geometry, { ...options, signal }))
  return {
    distance: pair('distance', (a, b, options) => geo.distance(a, b, options)),
    contains: pair('contains', (a, b, options) => geo.contains(a, b, options)),
    intersects: pair('intersects', (a, b, options) => geo.intersects(a, b, options)),
    area: single('area', (geometry, options) => geo.area(geometry, options)),
    length: single('length', (geometry, options) => geo.length(geometry, options)),
    within: (geometry: Input, target: Input, radius: number, options: Asked = {}) =>
      query('within', [geometry, target, radius, options], (signal) =>
        geo.within(geometry, target, radius, { ...options, signal }),
      ),
    records: (options: Omit<PageOptions, 'signal'> = {}) =>
      query('records', [options], (signal) => geo.records.page({ ...options, signal })),
    record: (uid: string, chain?: string) =>
      query('record', [uid, chain], (signal) => geo.records.get(uid, { chain, signal })),
    stats: () => query('stats', [], (signal) => geo.records.stats({ signal })),
  }
}
