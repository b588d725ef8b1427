import type { PoolConfig } from 'pg'
import { STATEMENT_TIMEOUT_MS } from './pool'
/**
 * State of each chain's records on one server: when its database received the first record, and the number of
 * the last change (`record_state`).
 */
export type Marks = Readonly<Record<string, readonly [since: number, revision: number]>>

/** SQL that returns the marks of the server that runs it. */
export const MARKS = `(SELECT json_object_agg(chain, json_build_array(extract(epoch FROM since), revision)) FROM record_state)`

/** True if a server with the marks `one` shows everything that a server with the marks `other` shows. */
export function reaches(one: Marks, other: Marks): boolean {
  return Object.entries(other).every(([chain, [since, revision]]) => {
    const own = one[chain]
    return own !== undefined && (own[0] > since || (own[0] === since && own[1] >= revision))
  })
}

/** Merges two marks into the later one of each chain. */
export function furthest(one: Marks, other: Marks): Marks {
  const chains = new Set([...Object.keys(one), ...Object.keys(other)])
  return Object.fromEntries(
    [...chains].map((chain) => {
      const [mine, theirs] = [one[chain], other[chain]]
      return [chain, !mine || (theirs && reaches({ chain: theirs }, { chain: mine })) ? theirs! : mine]
    }),
  )
}

/** Settings of the connections that read marks. */
export const MARKS_POOL: PoolConfig = {
  max: 2,
  connectionTimeoutMillis: STATEMENT_TIMEOUT_MS,
  query_timeout: STATEMENT_TIMEOUT_MS,
  application_name: 'api',
}
