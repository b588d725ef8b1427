import { type FormatName, isColumnar } from '../http/accept'
import { type Html, html, joined } from '../http/html'
import { anchor, list, type Page, page, type Trail } from '../http/pages'
import { addressWith, type PageAddresses } from '../http/paging'
import type { GivenQuery } from '../http/parameters'
import type { SearchQuery } from '../query'
import { NEWEST_FIRST, type OneOrMore, type Sort } from '../store'

/** Parts shared by pages of records and pages of answers: both are attestations. */

/** Maximum number of characters of a text on one line. */
const LINE = 80

export function shortened(text: string, length = LINE): string {
  const characters = Array.from(text.slice(0, 2 * length + 2))
  return characters.length > length ? `${characters.slice(0, length - 1).join('')}…` : characters.join('')
}

/** Shortens an address or a hash to its first and last digits. */
export function shortHex(hex: string): Html {
  return html`<code class="whole">${hex.slice(0, 8)}…${hex.slice(-4)}</code>`
}

export const REVOKED = html` <span class="revoked">revoked</span>`

/** @param what noun for the attestation: `record` */
export function revokedNote(what: string): Html {
  return html`<p class="revoked">This ${what} was revoked by its attester.</p>`
}

type FormatNames = Readonly<Partial<Record<FormatName, string>>>

export interface ListParts {
  title: string
  /** Range and total, such as `Records 1 to 10 of 26 that match`. */
  which: string
  /** Noun for the rows: `records` */
  name: string
  /** Filters as phrases. */
  conditions: readonly string[]
  sort: Sort
  /** Titles of the columns between the chain and the attester. */
  columns: readonly string[]
  /** Rows made by attestedRow. */
  rows: readonly Html[]
  addresses: PageAddresses
  given: GivenQuery
  limit: number
  /** Names of the formats for this page, and of those for all matching rows. */
  formats: { page: FormatNames; all: FormatNames }
}

/** @param url address of the list, without its query */
export function attestedListPage(parts: ListParts, url: string, trail: Trail): Page {
  const { title, which, name, conditions, sort, columns, rows, addresses, given, limit, formats } = parts
  const { next, prev, first } = addresses
  const paging = html`<div class="pages">${[first && anchor(first, 'First page'), prev && anchor(prev, 'Previous page'), next && anchor(next, 'Next page')]}</div>`
  const here = (format: FormatName) =>
    addressWith(url, given, { format, limit, ...(format !== 'json' && { total: undefined }) })
  // Files of all rows are not in order of distance. Columnar formats have no additional fields.
  const all = (format: FormatName) =>
    addressWith(url, given, {
      format,
      ...(sort.by === 'distance' && { sort: undefined }),
      ...(isColumnar(format) && { include: undefined }),
      limit: undefined,
      offset: undefined,
      cursor: undefined,
      total: undefined,
    })
  const links = (address: (format: FormatName) => string, names: FormatNames) =>
    joined(
      Object.entries(names).map(([format, text]) => anchor(address(format as FormatName), text)),
      ', ',
    )
  const whole = html` All ${conditions.length ? 'that match' : name} as ${links(all, formats.all)}.`
  const titles = ['Attested', 'Chain', ...columns, 'By'].map((each) => html`<th>${each}</th>`)
  const table = html`<table><thead><tr>${titles}</tr></thead>
<tbody>${joined(rows, '\n')}</tbody></table>`
  return page(
    title,
    trail,
    html`<p>${which}${rows.length > 0 && `, ${orderOf(sort)}`}.</p>
${conditions.length > 0 && list(conditions.map((each) => html`<bdi>${each}</bdi>`))}
${paging}${rows.length > 0 && [table, paging]}
<p>This page as ${links(here, formats.page)}.${Object.keys(formats.all).length > 0 && whole}</p>`,
  )
}

/** Row of an attestation in a list. @param cells cells between the chain and the attester */
export function attestedRow(
  { uid, chain, timestamp, by }: { uid: string; chain: string; timestamp: string; by: string },
  cells: readonly Html[],
  url: string,
  { format }: GivenQuery,
): Html {
  const href = addressWith(`${url}/${uid}`, { chain }, { format })
  return html`<tr><td class="time">${anchor(href, timestamp.slice(0, 19).replace('T', ' '))}</td>${cell('on', html`<span class="whole">${chain}</span>`)}${cells}${cell('by', shortHex(by))}</tr>`
}

/** @param name label shown before the cell where the table is narrow; '' shows none */
export function cell(name: string, content: Html): Html {
  return html`<td${name !== '' && html` data-name="${name}"`}>${content}</td>`
}

/** Link from one item to its list. List pages open in the format of the request. */
export function listAbove(url: string, title: string, { format }: GivenQuery): Trail {
  return [{ href: addressWith(url, {}, { format: format && 'html' }), title }]
}

type AttestedFilter = Pick<
  SearchQuery,
  'chain' | 'prover' | 'subject' | 'schema' | 'revoked' | 'after' | 'before'
>

/** Phrases for the filters that all attestations share. @param more other phrases, before the times */
export function conditionsInWords(
  { chain, prover, subject, schema, revoked, after, before }: AttestedFilter,
  more: readonly string[],
): string[] {
  return [
    ...(chain === undefined ? [] : [`on the chain ${either(chain)}`]),
    ...(prover === undefined ? [] : [`attested by ${either(prover)}`]),
    ...(subject === undefined ? [] : [`with the recipient ${either(subject)}`]),
    ...(schema === undefined ? [] : [`with the schema ${either(schema)}`]),
    ...more,
    ...(revoked === undefined ? [] : [revoked ? 'revoked' : 'not revoked']),
    ...(after === undefined ? [] : [`attested after ${after.toISOString()}`]),
    ...(before === undefined ? [] : [`attested before ${before.toISOString()}`]),
  ]
}

export const either = (values: OneOrMore) => [values].flat().join(' or ')

export function orderOf({ by, descending }: Sort): string {
  if (by === 'distance') return 'nearest first'
  const what = by === NEWEST_FIRST.by ? '' : ' by time of the event'
  return `${descending ? 'newest' : 'oldest'} first${what}`
}
