import { createHash } from 'node:crypto'
import { LAST_INSTANT } from './iso-8601'
import { invalid, type GivenQuery } from './parameters'

/** Pages of a list: cursors, and the addresses of other pages. */

/** A position in the order of attestations, after which the next page starts even if new records arrived. */
export interface Position {
  /** Unix milliseconds of the sorted field; for lists by distance, centimetres */
  at: number
  /** `<chain>-<uid>` */
  id: string
}

/** Maximum length of any cursor. Those of this service have at most 200 characters. */
export const MAX_CURSOR_LENGTH = 300
const CURSOR = /^(?:(?<tag>[\w-]{12}) )?(?<at>\d{1,15}) (?<id>[a-z\d-]{1,40}-0x[0-9a-f]{64})$/

/**
 * Encodes a position as an opaque cursor.
 * @param tag 12 characters that identify the list, if no other one may use the cursor
 */
export function cursorText({ at, id }: Position, tag?: string): string {
  return Buffer.from(`${tag === undefined ? '' : `${tag} `}${at} ${id}`).toString('base64url')
}

/** Decodes the text of cursorText; undefined for any other text. */
export function readCursor(text: string): { position: Position; tag: string | undefined } | undefined {
  if (text.length > MAX_CURSOR_LENGTH) return undefined
  const { tag, at, id } = CURSOR.exec(Buffer.from(text, 'base64url').toString())?.groups ?? {}
  if (id === undefined || Number(at) > LAST_INSTANT) return undefined
  const position = { at: Number(at), id }
  // Rejects other spellings of the same bytes in base64, and of the same number with leading zeros.
  return cursorText(position, tag) === text ? { position, tag } : undefined
}

/** Returns the position of a cursor. Throws a RecordsError if it is not of the list with this tag. */
export function positionIn(cursor: string, tag: string): Position {
  const read = readCursor(cursor)
  if (read?.tag === undefined)
    throw invalid('cursor', 'Expected the next_cursor of a response. Leave it out to start.')
  if (read.tag !== tag)
    throw invalid(
      'cursor',
      'The cursor belongs to a list with other filters or another sort. Repeat those, or leave the ' +
        'cursor out to start.',
    )
  return read.position
}

/** Returns a tag that identifies a list by its filters and order. */
export function listTag(choice: unknown): string {
  return createHash('sha256').update(JSON.stringify(choice)).digest('base64url').slice(0, 12)
}

/**
 * Maximum length of the Link header (RFC 8288), which is left out beyond it: Node's client accepts 16 KiB of
 * headers, and each link repeats the query string, which may hold a geometry.
 */
const MAX_LINK_LENGTH = 6_000

export interface Paging {
  limit: number
  offset: number
  /** Cursor of the next page; null on the last page. */
  nextCursor: string | null
  byCursor: boolean
}

/** Addresses by relation; self is always present. */
export type PageAddresses = { self: string } & Partial<Record<'next' | 'first' | 'prev', string>>

/**
 * Returns the addresses of the other pages of a list. `next` continues after this page's last record, even if
 * records arrive in the meantime. `prev` is present if pages are counted by offset.
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
    // The previous page may be shorter than the limit, so that no record appears on two pages.
    ...(offset > 0 && {
      prev: at({ offset: Math.max(0, offset - limit) || undefined, limit: Math.min(limit, offset) }),
    }),
  }
}

/** Changes parameters of an address; undefined removes one. Escapes all delimiters of a Link header. */
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

/** Formats the addresses as a Link header; undefined if it would be too long. */
export function linkHeader(addresses: PageAddresses): string | undefined {
  const header = Object.entries(addresses)
    .map(([rel, href]) => `<${href}>; rel="${rel}"`)
    .join(', ')
  return header.length > MAX_LINK_LENGTH ? undefined : header
}
