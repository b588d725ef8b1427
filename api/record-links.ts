import { MAX_OFFSET } from './record-parameters'

/** A Link header (RFC 8288) that is longer is left out: Node's own client takes 16 KiB of headers, and a geometry in the query string stands in each link. */
const MAX_LINK_LENGTH = 6_000

export interface Paging {
  limit: number
  offset: number
  /** Of the page after this one. */
  nextCursor: string | null
  /** Whether this page was asked for by a cursor. */
  byCursor: boolean
}

export type Query = Readonly<Record<string, string | undefined>>
/** By relation; self is always there. */
export type PageAddresses = { self: string } & Partial<Record<'next' | 'first' | 'prev', string>>

/**
 * Where the other pages of a list are, with the same filters: next goes on from this page's last record, whatever arrives meanwhile; prev is known
 * where pages are counted by offset.
 * @param url of the list, without its query
 */
export function pageAddresses(
  url: string,
  query: Query,
  { limit, offset, nextCursor, byCursor }: Paging,
): PageAddresses {
  const at = (change: Record<string, string | number | undefined>) => addressWith(url, query, change)
  return {
    self: at({}),
    ...(nextCursor !== null && { next: at({ cursor: nextCursor, offset: undefined }) }),
    ...((byCursor || offset > 0) && { first: at({ cursor: undefined, offset: undefined }) }),
    // The page before may be a shorter one, so that no record is on two.
    ...(offset > 0 &&
      offset <= MAX_OFFSET && {
        prev: at({ offset: Math.max(0, offset - limit) || undefined, limit: Math.min(limit, offset) }),
      }),
  }
}

/** The same address with other parameters; undefined takes one away. Every character that could end a link early is escaped. */
export function addressWith(
  url: string,
  query: Query,
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
