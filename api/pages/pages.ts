import { drawMap, type Geometry } from './map'
import { type Html, html, joined, trusted } from '../http/html'
import { anchor, definitions, type Page, page, type Trail } from '../http/pages'
import { lacksGeometry } from '../../src/location'
import { lineOf } from '../../src/words'
import { noGeometry } from '../http/problems'
import {
  attestedListPage,
  attestedRow,
  cell,
  conditionsInWords,
  either,
  REVOKED,
  revokedNote,
  shortened,
} from './attested-pages'
import { recordText } from '../formats'
import { addressWith, type PageAddresses } from '../http/paging'
import type { GivenQuery } from '../http/parameters'
import { MAX_RADIUS, type SearchQuery, type Place, type PageQuery } from '../query'
import type { RecordResult } from '../store'

/** Characters at the beginning of a memo that are searched for those of its line. */
const MOST_OF_MEMO = 640

export interface Feature {
  id: string
  geometry: Geometry | null
  /** Record, as in JSON. */
  properties: Record<string, unknown>
}

export interface ListPage {
  rows: readonly RecordResult[]
  search: PageQuery
  given: GivenQuery
  addresses: PageAddresses
  /** Number of matching records; undefined if it is not shown. */
  counted: { total: number; exact: boolean } | undefined
  byCursor: boolean
}

/** @param url address of the list, without its query */
export function listPage(
  { rows, search, given, addresses, counted, byCursor }: ListPage,
  url: string,
  trail: Trail,
): Page {
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
  return attestedListPage(
    {
      ...{ title: 'Location records', name: 'records', addresses, given },
      which: `${which}${total === undefined ? '' : ` of ${total}`}${conditions.length ? ' that match' : ''}`,
      conditions,
      sort: search.sort,
      columns: ['What', 'Where (longitude, latitude)'],
      rows: rows.map((row) => tableRow(JSON.parse(recordText(row)) as Record<string, unknown>, url, given)),
      limit: search.limit,
      formats: {
        page: { json: 'JSON', geojson: 'GeoJSON', csv: 'CSV' },
        // Without a radius, a search by distance has no other address for all its records.
        all:
          search.sort.by === 'distance' && given.radius === undefined
            ? {}
            : {
                ...{ geojson: 'GeoJSON', ndjson: 'NDJSON', csv: 'CSV' },
                ...{ geoparquet: 'GeoParquet', flatgeobuf: 'FlatGeobuf' },
              },
      },
    },
    url,
    trail,
  )
}

/** Page of one record. @param publicBaseUrl without a trailing slash */
export function recordPage(feature: Feature, publicBaseUrl: string, trail: Trail): Page {
  const { uid, chain } = feature.properties as { uid: string; chain: string }
  const url = `${publicBaseUrl}/api/v0/location-records/${uid}`
  const ways = [
    anchor(`${publicBaseUrl}/?record=${feature.id}`, 'This record in the explorer'),
    anchor(addressWith(url, { chain }, { format: 'json' }), 'as JSON'),
    anchor(addressWith(url, { chain }, { format: 'geojson' }), 'as GeoJSON'),
    anchor(`${publicBaseUrl}/ogc/collections/location-records/items/${feature.id}?f=html`, 'in the OGC API'),
  ]
  return page(
    headline(feature.properties) || 'A location record',
    trail,
    html`${featureBody(feature, addressWith(url, { chain }, {}))}<p>${joined(ways, ', ')}.</p>`,
  )
}

/** Map and properties of a record. @param href address of the record */
export function featureBody({ id, geometry, properties }: Feature, href: string): Html {
  const { svg } = drawMap([{ title: titleOf(id, properties), href, geometry }])
  return html`${properties.revoked === true && revokedNote('record')}${svg ? trusted(svg) : html`<p class="note"><bdi>It ${noGeometry(properties.problem as string | null)}.</bdi></p>`}
<h2>Properties</h2>${definitions({ id, ...properties })}<h2>Geometry</h2><pre>${JSON.stringify(geometry)}</pre>`
}

export function titleOf(id: string, properties: Record<string, unknown>): string {
  return headline(properties) || id
}

/** Title of a record: the beginning of the memo on one line; empty if nothing of it is visible. */
export function headline({ memo }: Record<string, unknown>): string {
  return typeof memo === 'string' ? shortened(lineOf(memo.slice(0, MOST_OF_MEMO))) : ''
}

function tableRow(record: Record<string, unknown>, url: string, given: GivenQuery): Html {
  const { uid, chain, timestamp, longitude, latitude, prover, revoked } = record as Record<string, string>
  const none = lacksGeometry(record.problem as string | null) ? ', no geometry' : ''
  const where =
    longitude === null
      ? html`<span class="note"><bdi>${shortened(record.location_type as string, 40)}</bdi>${none}</span>`
      : html`${longitude}, ${latitude}`
  const cells = [
    cell('', html`<bdi>${headline(record)}</bdi>${revoked ? REVOKED : ''}`),
    cell(longitude === null ? 'as' : 'at', where),
  ]
  return attestedRow({ uid: uid!, chain: chain!, timestamp: timestamp!, by: prover! }, cells, url, given)
}

function conditionsOf({ locationType, memo, attributes, bbox, place, ...search }: SearchQuery): string[] {
  const [west, south, east, north] = bbox ?? []
  return [
    ...conditionsInWords(search, [
      ...(locationType === undefined ? [] : [`with the location type ${either(locationType)}`]),
      ...(memo === undefined ? [] : [`with the words ${memo} in the memo`]),
      ...(attributes === undefined ? [] : [`whose attributes contain ${shortened(attributes, 200)}`]),
    ]),
    ...(bbox
      ? [
          `intersecting the box from longitude ${west} to ` +
            `${east}${west! > east! ? ' (across the antimeridian)' : ''}, latitude ${south} to ${north}`,
        ]
      : []),
    ...(place === undefined ? [] : [placeInWords(place)]),
  ]
}

function placeInWords({ geometry, radiusMeters }: Place): string {
  if (radiusMeters === undefined) return `intersecting ${shortened(geometry, 200)}`
  const { coordinates } = JSON.parse(geometry) as { coordinates: number[] }
  const distance =
    radiusMeters < MAX_RADIUS ? `within ${radiusMeters.toLocaleString('en')} m` : 'at any distance'
  return `${distance} of longitude ${coordinates[0]}, latitude ${coordinates[1]}`
}
