import { MAX_OFFSET } from './parameters'
import type { GivenQuery } from './query'

/**
 * A longer Link header (RFC 8288) is left out: Node's client accepts 16 KiB of headers, and each link repeats
 * the query string, which may hold a geometry.
 */
const MAX_LINK_LENGTH = 6_000

export interface Paging {
  limit: number
  offset: number
  /** The cursor of the next page. */
  nextCursor: string | null
  /** Whether this page was asked for by a cursor. */
  byCursor: boolean
}

/** Addresses by relation; self is always there. */
export type PageAddresses = { self: string } & Partial<Record<'next' | 'first' | 'prev', string>>

/**
 * Addresses of the other pages of a list, with the same filters. `next` goes on from this page's last record,
 * whatever arrives meanwhile; `prev` is there where pages are counted by offset.
 * @param url of the list, without its query
 */
export function pageAddresses(
  url: string,
  query: GivenQuery,
  { limit, offset, nextCursor, byCursor }: Paging,
): PageAddresses {
  const at = (change: Record<string, string | number | undefined>) => addressWith(url, query, change)
  return {
    self: at({}),
    ...(nextCursor !== null && { next: at({ cursor: nextCursor, offset: undefined }) }),
    ...((byCursor || offset > 0) && { first: at({ cursor: undefined, offset: undefined }) }),
    // The page before may be shorter, so that no record is on two pages.
    ...(offset > 0 &&
      offset <= MAX_OFFSET && {
        prev: at({ offset: Math.max(0, offset - limit) || undefined, limit: Math.min(limit, offset) }),
      }),
  }
}

/**
 * The address with changed parameters; undefined removes one. All delimiters of a Link header are escaped.
 */
export function addressWith(
  url: string,
  query: GivenQuery,
  change: Record<string, string | number | undefined>,
): string {
  const parameters = Object.entries({ ...query, ...change }).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  )
  const search = new URLSearchParams(parameters).toString()
  return `${url}${search && `?${search}`}`
}

/** As a Link header; undefined where it would be too long. */
export function linkHeader(addresses: PageAddresses): string | undefined {
  const header = Object.entries(addresses)
    .map(([rel, href]) => `<${href}>; rel="${rel}"`)
    .join(', ')
  return header.length > MAX_LINK_LENGTH ? undefined : header
}
