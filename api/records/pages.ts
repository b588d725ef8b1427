import { drawMap, type Geometry } from './map'
import { type Html, html, joined, trusted } from '../http/html'
import { anchor, definitions, list, type Page, page, type Trail } from '../http/pages'
import { noGeometry } from '../http/problems'
import { recordTexts } from './formats'
import { addressWith, type PageAddresses } from './links'
import type { GivenQuery } from './query'
import { MAX_RADIUS } from './readers'
import type { SearchQuery } from './search'
import type { Place } from './sieve'
import { NEWEST_FIRST, type OneOrMore, type RecordResult, type Sort } from './sql'

/** Records as pages for browsers: the list, and one of them. */

export interface Feature {
  id: string
  geometry: Geometry | null
  /** The record, as JSON has it. */
  properties: Record<string, unknown>
}

/** A page of the list. */
export interface ListPage {
  rows: readonly RecordResult[]
  search: SearchQuery & { offset: number; sort: Sort }
  given: GivenQuery
  addresses: PageAddresses
  /** How many match; undefined where that is not told. */
  counted: { total: number; exact: boolean } | undefined
  byCursor: boolean
}

/** Characters of a text that fits into a line. */
const LINE = 80

/** @param url of the list, without its query */
export function listPage(
  { rows, search, given, addresses, counted, byCursor }: ListPage,
  url: string,
  trail: Trail,
): Page {
  const { next, prev, first } = addresses
  const count = rows.length.toLocaleString('en')
  const total = counted && `${counted.exact ? '' : 'at least '}${counted.total.toLocaleString('en')}`
  const from = search.offset + 1
  const which =
    rows.length === 0
      ? 'No records here'
      : byCursor
        ? `${count} records`
        : `Records ${from.toLocaleString('en')} to ${(search.offset + rows.length).toLocaleString('en')}`
  const conditions = conditionsOf(search)
  const paging = html`<div class="pages">${[first && anchor(first, 'First page'), prev && anchor(prev, 'Previous page'), next && anchor(next, 'Next page')]}</div>`
  const here = (format: string) =>
    addressWith(url, given, { format, limit: search.limit, ...(format !== 'json' && { total: undefined }) })
  const all = (format: string) =>
    addressWith(url, given, {
      format,
      limit: undefined,
      offset: undefined,
      cursor: undefined,
      total: undefined,
    })
  const links = (address: (format: string) => string, formats: Record<string, string>) =>
    joined(
      Object.entries(formats).map(([format, name]) => anchor(address(format), name)),
      ', ',
    )
  const table = html`<table><thead><tr><th>Attested</th><th>Chain</th><th>What</th><th>Where (longitude, latitude)</th><th>By</th></tr></thead>
<tbody>${joined(
    recordTexts(rows).map((text) => tableRow(JSON.parse(text) as Record<string, unknown>, url, given.format)),
    '\n',
  )}</tbody></table>`
  return page(
    'Location records',
    trail,
    html`<p>${which}${total !== undefined && html` of ${total}`}${conditions.length > 0 && ' that match'}, ${orderOf(search.sort)}.</p>
${conditions.length > 0 && list(conditions.map((each) => html`<bdi>${each}</bdi>`))}
${paging}${rows.length > 0 && [table, paging]}
<p>This page as ${links(here, { json: 'JSON', geojson: 'GeoJSON', csv: 'CSV' })}. All ${conditions.length ? 'that match' : 'records'} as ${links(all, { geojson: 'GeoJSON', ndjson: 'NDJSON', csv: 'CSV', geoparquet: 'GeoParquet', flatgeobuf: 'FlatGeobuf' })}.</p>`,
  )
}

/** One record. @param publicBaseUrl no slash at its end */
export function recordPage(feature: Feature, publicBaseUrl: string, trail: Trail): Page {
  const { uid, chain } = feature.properties as { uid: string; chain: string }
  const url = `${publicBaseUrl}/api/v0/location-records/${uid}`
  const ways = [
    anchor(addressWith(url, { chain }, { format: 'json' }), 'This record as JSON'),
    anchor(addressWith(url, { chain }, { format: 'geojson' }), 'as GeoJSON'),
    anchor(`${publicBaseUrl}/ogc/collections/location-records/items/${feature.id}?f=html`, 'in the OGC API'),
  ]
  return page(
    headline(feature.properties) || 'A location record',
    trail,
    html`${featureBody(feature, addressWith(url, { chain }, {}))}<p>${joined(ways, ', ')}.</p>`,
  )
}

/** A record's map and its properties. @param href of the record */
export function featureBody({ id, geometry, properties }: Feature, href: string): Html {
  const { svg } = drawMap([{ title: titleOf(id, properties), href, geometry }])
  return html`${properties.revoked === true && html`<p class="revoked">This record was revoked by whoever attested it.</p>`}${svg ? trusted(svg) : html`<p class="note"><bdi>It ${noGeometry(properties.problem as string | null)}.</bdi></p>`}
<h2>Properties</h2>${definitions({ id, ...properties })}<h2>Geometry</h2><pre>${JSON.stringify(geometry)}</pre>`
}

export function titleOf(id: string, properties: Record<string, unknown>): string {
  return headline(properties) || id
}

/** The beginning of the memo, as a record's title in a list. */
export function headline({ memo }: Record<string, unknown>): string {
  return shortened(typeof memo === 'string' ? memo : '')
}

function shortened(text: string, length = LINE): string {
  const characters = Array.from(text.slice(0, 2 * length + 2))
  return characters.length > length ? `${characters.slice(0, length - 1).join('')}…` : characters.join('')
}

/** The mark of a revoked record, after its name. */
export const REVOKED = html` <span class="revoked">revoked</span>`

function tableRow(record: Record<string, unknown>, url: string, format: string | undefined): Html {
  const {
    uid,
    chain,
    timestamp,
    longitude,
    latitude,
    location_type: type,
    prover,
    revoked,
  } = record as Record<string, string>
  const href = addressWith(`${url}/${uid}`, { chain }, { format })
  const cell = (name: string, content: Html) =>
    html`<td${name !== '' && html` data-name="${name}"`}>${content}</td>`
  const none = record.problem === null ? '' : ', no geometry'
  const where =
    longitude === null
      ? html`<span class="note"><bdi>${shortened(type!, 40)}</bdi>${none}</span>`
      : html`${longitude}, ${latitude}`
  return html`<tr><td class="time">${anchor(href, timestamp!.slice(0, 19).replace('T', ' '))}</td>${cell('on', html`<span class="whole">${chain}</span>`)}${cell('', html`<bdi>${headline(record)}</bdi>${revoked ? REVOKED : ''}`)}${cell(longitude === null ? 'as' : 'at', where)}${cell('by', html`<code class="whole">${prover!.slice(0, 8)}…${prover!.slice(-4)}</code>`)}</tr>`
}

/** The filters in words. */
function conditionsOf({
  chain,
  prover,
  subject,
  schema,
  locationType,
  memo,
  attributes,
  revoked,
  after,
  before,
  bbox,
  place,
}: SearchQuery): string[] {
  const [west, south, east, north] = bbox ?? []
  return [
    ...(chain === undefined ? [] : [`on the chain ${either(chain)}`]),
    ...(prover === undefined ? [] : [`attested by ${either(prover)}`]),
    ...(subject === undefined ? [] : [`about the recipient ${either(subject)}`]),
    ...(schema === undefined ? [] : [`of the schema ${either(schema)}`]),
    ...(locationType === undefined ? [] : [`of the location type ${either(locationType)}`]),
    ...(memo === undefined ? [] : [`with the words ${memo} in the memo`]),
    ...(attributes === undefined ? [] : [`whose attributes contain ${shortened(attributes, 200)}`]),
    ...(revoked === undefined ? [] : [revoked ? 'revoked' : 'not revoked']),
    ...(after === undefined ? [] : [`attested after ${after.toISOString()}`]),
    ...(before === undefined ? [] : [`attested before ${before.toISOString()}`]),
    ...(bbox
      ? [
          `meeting the box from longitude ${west} to ${east}${west! > east! ? ' (across the antimeridian)' : ''}, latitude ${south} to ${north}`,
        ]
      : []),
    ...(place === undefined ? [] : [placeInWords(place)]),
  ]
}

const either = (values: OneOrMore) => [values].flat().join(' or ')

function placeInWords({ geometry, radiusMeters }: Place): string {
  if (radiusMeters === undefined) return `sharing a place with ${shortened(geometry, 200)}`
  const { coordinates } = JSON.parse(geometry) as { coordinates: number[] }
  const distance =
    radiusMeters < MAX_RADIUS ? `within ${radiusMeters.toLocaleString('en')} m` : 'at any distance'
  return `${distance} of longitude ${coordinates[0]}, latitude ${coordinates[1]}`
}

export function orderOf({ by, descending }: Sort): string {
  if (by === 'distance') return 'nearest first'
  const what = by === NEWEST_FIRST.by ? '' : ' by the time of the event'
  return `${descending ? 'newest' : 'oldest'} first${what}`
}
