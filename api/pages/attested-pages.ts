import { type Html, html, joined } from '../http/html'
import { anchor, list, type Page, page, type Trail } from '../http/pages'
import { addressWith, type PageAddresses } from '../http/paging'
import type { GivenQuery } from '../http/parameters'
import type { SearchQuery } from '../query'
import { NEWEST_FIRST, type OneOrMore, type Sort } from '../store'

/** What pages of records and those of answers have in common: both are attestations. */

/** Characters of a text that fits into a line. */
const LINE = 80

export function shortened(text: string, length = LINE): string {
  const characters = Array.from(text.slice(0, 2 * length + 2))
  return characters.length > length ? `${characters.slice(0, length - 1).join('')}…` : characters.join('')
}

/** An address or a hash by its ends. */
export function shortHex(hex: string): Html {
  return html`<code class="whole">${hex.slice(0, 8)}…${hex.slice(-4)}</code>`
}

/** The mark of what is revoked, after its name. */
export const REVOKED = html` <span class="revoked">revoked</span>`

/** @param what it is: `record` */
export function revokedNote(what: string): Html {
  return html`<p class="revoked">This ${what} was revoked by whoever attested it.</p>`
}

/** A page of a list. */
export interface ListParts {
  title: string
  /** How many there are, such as `Records 1 to 10 of 26 that match`. */
  which: string
  /** What all of them are called: `records` */
  name: string
  /** The filters in words. */
  conditions: readonly string[]
  sort: Sort
  /** Titles of the columns between where it was attested and by whom. */
  columns: readonly string[]
  /** As attestedRow makes them. */
  rows: readonly Html[]
  addresses: PageAddresses
  given: GivenQuery
  limit: number
  /** Names of the formats that give this page, and of those that give all that match. */
  formats: { page: Readonly<Record<string, string>>; all: Readonly<Record<string, string>> }
}

/** @param url of the list, without its query */
export function attestedListPage(parts: ListParts, url: string, trail: Trail): Page {
  const { title, which, name, conditions, sort, columns, rows, addresses, given, limit, formats } = parts
  const { next, prev, first } = addresses
  const paging = html`<div class="pages">${[first && anchor(first, 'First page'), prev && anchor(prev, 'Previous page'), next && anchor(next, 'Next page')]}</div>`
  const here = (format: string) =>
    addressWith(url, given, { format, limit, ...(format !== 'json' && { total: undefined }) })
  const all = (format: string) =>
    addressWith(url, given, {
      format,
      limit: undefined,
      offset: undefined,
      cursor: undefined,
      total: undefined,
    })
  const links = (address: (format: string) => string, names: Readonly<Record<string, string>>) =>
    joined(
      Object.entries(names).map(([format, text]) => anchor(address(format), text)),
      ', ',
    )
  const titles = ['Attested', 'Chain', ...columns, 'By'].map((each) => html`<th>${each}</th>`)
  const table = html`<table><thead><tr>${titles}</tr></thead>
<tbody>${joined(rows, '\n')}</tbody></table>`
  return page(
    title,
    trail,
    html`<p>${which}, ${orderOf(sort)}.</p>
${conditions.length > 0 && list(conditions.map((each) => html`<bdi>${each}</bdi>`))}
${paging}${rows.length > 0 && [table, paging]}
<p>This page as ${links(here, formats.page)}. All ${conditions.length ? 'that match' : name} as ${links(all, formats.all)}.</p>`,
  )
}

/** An attestation in a list. @param cells those between where it was attested and by whom */
export function attestedRow(
  { uid, chain, timestamp, by }: { uid: string; chain: string; timestamp: string; by: string },
  cells: readonly Html[],
  url: string,
  { format }: GivenQuery,
): Html {
  const href = addressWith(`${url}/${uid}`, { chain }, { format })
  return html`<tr><td class="time">${anchor(href, timestamp.slice(0, 19).replace('T', ' '))}</td>${cell('on', html`<span class="whole">${chain}</span>`)}${cells}${cell('by', shortHex(by))}</tr>`
}

/** @param name stands before it where the table is narrow; none: '' */
export function cell(name: string, content: Html): Html {
  return html`<td${name !== '' && html` data-name="${name}"`}>${content}</td>`
}

/** The way from one to its list, whose pages are asked for as this one was. */
export function listAbove(url: string, title: string, { format }: GivenQuery): Trail {
  return [{ href: addressWith(url, {}, { format: format && 'html' }), title }]
}

type AttestedFilter = Pick<
  SearchQuery,
  'chain' | 'prover' | 'subject' | 'schema' | 'revoked' | 'after' | 'before'
>

/** The filters that all attestations have, in words. @param more the others, before the times */
export function conditionsInWords(
  { chain, prover, subject, schema, revoked, after, before }: AttestedFilter,
  more: readonly string[],
): string[] {
  return [
    ...(chain === undefined ? [] : [`on the chain ${either(chain)}`]),
    ...(prover === undefined ? [] : [`attested by ${either(prover)}`]),
    ...(subject === undefined ? [] : [`about the recipient ${either(subject)}`]),
    ...(schema === undefined ? [] : [`of the schema ${either(schema)}`]),
    ...more,
    ...(revoked === undefined ? [] : [revoked ? 'revoked' : 'not revoked']),
    ...(after === undefined ? [] : [`attested after ${after.toISOString()}`]),
    ...(before === undefined ? [] : [`attested before ${before.toISOString()}`]),
  ]
}

export const either = (values: OneOrMore) => [values].flat().join(' or ')

export function orderOf({ by, descending }: Sort): string {
  if (by === 'distance') return 'nearest first'
  const what = by === NEWEST_FIRST.by ? '' : ' by the time of the event'
  return `${descending ? 'newest' : 'oldest'} first${what}`
}
