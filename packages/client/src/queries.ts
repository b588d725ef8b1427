// SPDX-License-Identifier: MIT
import type { AskOptions } from './context'
import type { Geo } from './geo'
import { methodsOf } from './questions'
import type { PageOptions } from './records'
import type { Answer, OperationName } from './types'

/** Options of a TanStack Query query: a key that identifies the question, and a function that asks it. */
export interface Query<T> {
  queryKey: readonly unknown[]
  queryFn: (context: { signal?: AbortSignal }) => Promise<T>
}

type Queries = {
  [Name in OperationName]: (...given: Parameters<Geo[Name]>) => Query<Answer<Name>>
}

/**
 * Builds options of TanStack Query (React, Vue, Svelte, Solid ...) for questions, with cancellation:
 * `useQuery(queriesOf(geo).distance(place, here))`.
 */
export function queriesOf(geo: Geo) {
  const query = <T>(name: string, given: unknown[], ask: (signal?: AbortSignal) => Promise<T>): Query<T> => ({
    queryKey: [geo.url, name, ...given],
    queryFn: ({ signal }) => ask(signal),
  })
  return {
    ...methodsOf<Queries>((name, _, options: AskOptions = {}, given) => {
      const { chain, attester } = geo.defaults
      // The answers of clients with other defaults differ.
      const asked = { attester, ...options, chain: options.chain ?? chain }
      return query(name, [...given, asked], (signal) =>
        (geo[name] as (...given: unknown[]) => Promise<Answer>)(...given, { ...options, signal }),
      )
    }),
    records: (options: Omit<PageOptions, 'signal'> = {}) =>
      query('records', [options], (signal) => geo.records.page({ ...options, signal })),
    record: (uid: string, chain?: string) =>
      query('record', [uid, chain], (signal) => geo.records.get(uid, { chain, signal })),
    stats: () => query('stats', [], (signal) => geo.records.stats({ signal })),
  }
}
