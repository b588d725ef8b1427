import { createHash } from 'node:crypto'
import { LAST_INSTANT } from './iso-8601'
import { invalid, type GivenQuery } from './parameters'

/** Pages of a list: cursors, and the addresses of other pages. */

/** A position in the order of attestations: the next page starts after it, whatever arrives meanwhile. */
export interface Position {
  /** Unix milliseconds, of the field that is sorted by; by distance, centimetres */
  at: number
  /** `<chain>-<uid>` */
  id: string
}

/** Postgres reads the rows that it skips: beyond this, a client goes on from a cursor. */
export const MAX_OFFSET = 100_000
/** Of any cursor: ours have 200 characters at most. */
export const MAX_CURSOR_LENGTH = 300
const CURSOR = /^(?:(?<tag>[\w-]{12}) )?(?<at>\d{1,15}) (?<id>[a-z\d-]{1,40}-0x[0-9a-f]{64})$/

/**
 * A position in a list of records as a cursor: text for a URL, opaque to clients.
 * @param tag 12 characters that name the list, where a cursor must not be used with another
 */
export function cursorText({ at, id }: Position, tag?: string): string {
  return Buffer.from(`${tag === undefined ? '' : `${tag} `}${at} ${id}`).toString('base64url')
}

/** Reads what cursorText wrote; undefined for any other text. */
export function readCursor(text: string): { position: Position; tag: string | undefined } | undefined {
  if (text.length > MAX_CURSOR_LENGTH) return undefined
  const { tag, at, id } = CURSOR.exec(Buffer.from(text, 'base64url').toString())?.groups ?? {}
  if (id === undefined || Number(at) > LAST_INSTANT) return undefined
  const position = { at: Number(at), id }
  // The same bytes have other spellings in base64, and the same number has others with zeros before it.
  return cursorText(position, tag) === text ? { position, tag } : undefined
}

/** The position of a cursor. Throws a RecordsError where it is none of the list with this tag. */
export function positionIn(cursor: string, tag: string): Position {
  const read = readCursor(cursor)
  if (read?.tag === undefined)
    throw invalid('cursor', 'Expected a next_cursor as it was answered; leave it out to begin')
  if (read.tag !== tag)
    throw invalid(
      'cursor',
      'It belongs to a list with other filters or another sort; repeat those, or leave the cursor out to begin',
    )
  return read.position
}

/** Names a list by what chooses and orders it. */
export function listTag(choice: unknown): string {
  return createHash('sha256').update(JSON.stringify(choice)).digest('base64url').slice(0, 12)
}

// --- Addresses ---

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
