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

/**
 * Where the other pages of a list are, with the same filters: next goes on from this page's last record, whatever arrives meanwhile; prev is known
 * where pages are counted by offset. Undefined where it would be too long.
 * @param url of the list, without its query
 */
export function pageLinks(url: string, query: Readonly<Record<string, string | undefined>>, { limit, offset, nextCursor, byCursor }: Paging): string | undefined {
  const link = (rel: string, change: Record<string, string | number | undefined>) => {
    const parameters = Object.entries({ ...query, ...change }).flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, String(value)]]))
    // Every character that could end a link early is escaped.
    const search = new URLSearchParams(parameters).toString()
    return `<${url}${search && `?${search}`}>; rel="${rel}"`
  }
  const links = [link('self', {})]
  if (nextCursor !== null) links.push(link('next', { cursor: nextCursor, offset: undefined }))
  if (byCursor || offset > 0) links.push(link('first', { cursor: undefined, offset: undefined }))
  // The page before may be a shorter one, so that no record is on two.
  if (offset > 0 && offset <= MAX_OFFSET) links.push(link('prev', { offset: Math.max(0, offset - limit) || undefined, limit: Math.min(limit, offset) }))
  const header = links.join(', ')
  return header.length > MAX_LINK_LENGTH ? undefined : header
}
