import { getAddress } from 'ethers'
import { LRUCache } from 'lru-cache'
import { mediaRanges, prefersHtml } from './accept'
import { RecordsProblem } from './problems'
import { csvText } from './record-csv'
import type { RecordRow } from './store-records'

/** Checksummed forms of addresses: making one takes 20 us, and a page of records has 200. */
const checksums = new LRUCache<string, string>({ max: 50_000 })

function checksummed(address: string): string {
  const known = checksums.get(address)
  if (known !== undefined) return known
  // A copy: a part of a page's text, kept, would keep all of the text.
  const own = Buffer.from(address, 'latin1').toString('latin1')
  const checksum = getAddress(own)
  checksums.set(own, checksum)
  return checksum
}

/** A record as JSON text (INTERFACE.md, Location record); addresses get their checksum on the way out. */
export function recordText({ uid, chain, prover, subject, rest }: RecordRow): string {
  return `{"uid":"${uid}","chain":"${chain}","prover":"${checksummed(prover)}","subject":"${checksummed(subject)}",${rest.slice(1)}`
}

/** A record as a GeoJSON Feature's text (RFC 7946): its id is `<chain>-<uid>`, its properties are the record. Of a row that was read with its geometry. */
export function featureText(row: RecordRow): string {
  return `{"type":"Feature","id":"${row.chain}-${row.uid}","geometry":${row.geometry},"properties":${recordText(row)}}`
}

export type FormatName = 'json' | 'geojson' | 'ndjson' | 'csv' | 'html'

/** How records are written one after the other: a head, the rows, a tail. */
export interface RecordFormat {
  /** Media type with its parameters. */
  readonly type: string
  /** Content-Disposition */
  readonly file: string
  readonly withGeometry: boolean
  readonly head: string
  /** Some of the rows. */
  readonly write: (rows: readonly RecordRow[]) => string
  /** Between what `write` gives and what it gives next. */
  readonly separator: string
  readonly tail: string
}

/** Media types, in the order in which they are preferred where a client has no preference. */
const MEDIA_TYPES: Readonly<Record<FormatName, string>> = {
  json: 'application/json',
  geojson: 'application/geo+json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
  html: 'text/html',
}

export const RECORD_FORMATS: Readonly<Record<Exclude<FormatName, 'json' | 'html'>, RecordFormat>> = {
  geojson: {
    type: `${MEDIA_TYPES.geojson}; charset=utf-8`,
    file: 'attachment; filename="location-records.geojson"',
    withGeometry: true,
    head: '{"type":"FeatureCollection","features":[\n',
    write: (rows) => rows.map(featureText).join(',\n'),
    separator: ',\n',
    tail: '\n]}\n',
  },
  ndjson: {
    type: `${MEDIA_TYPES.ndjson}; charset=utf-8`,
    file: 'attachment; filename="location-records.ndjson"',
    withGeometry: false,
    head: '',
    write: (rows) => rows.map((row) => `${recordText(row)}\n`).join(''),
    separator: '',
    tail: '',
  },
  csv: {
    type: `${MEDIA_TYPES.csv}; charset=utf-8; header=present`,
    file: 'attachment; filename="location-records.csv"',
    withGeometry: false,
    head: csvText([], true),
    write: (rows) =>
      csvText(
        rows.map((row) => JSON.parse(recordText(row)) as object),
        false,
      ),
    separator: '',
    tail: '',
  },
}

/**
 * The format to answer in: what `format` says, else what Accept prefers (RFC 9110, 12.5.1: by q; of equals the one that is named more closely,
 * then earlier); HTML for browsers only; JSON where that leaves none.
 */
export function chooseFormat<Name extends FormatName>(
  given: string | undefined,
  accept: string | undefined,
  offered: readonly Name[],
): Name {
  if (given !== undefined) {
    const named = offered.find((name) => name === given)
    if (!named) throw new RecordsProblem('Invalid format parameter', `Expected one of ${offered.join(', ')}`)
    return named
  }
  const html = offered.find((name) => name === 'html')
  if (html && prefersHtml(accept)) return html
  const ranges = mediaRanges(accept)
  let best: { name: Name; order: number[] } | undefined
  for (const name of offered) {
    if (name === 'html') continue
    const matching = ranges
      .map((range, i) => ({ ...range, i }))
      .filter(
        ({ range }) =>
          range !== '' &&
          (range === '*/*' ||
            range === MEDIA_TYPES[name] ||
            range === `${MEDIA_TYPES[name].split('/')[0]}/*`),
      )
    // The closest range says what is thought of this type.
    const closest = matching.sort((a, b) => b.closeness - a.closeness)[0]
    if (!closest || closest.q === 0) continue
    const order = [closest.q, closest.closeness, -closest.i]
    if (!best || isBefore(order, best.order)) best = { name, order }
  }
  return best?.name ?? offered[0]!
}

/** Whether the first is larger, number by number. */
function isBefore(a: readonly number[], b: readonly number[]): boolean {
  const differing = a.findIndex((number, i) => number !== b[i])
  return differing >= 0 && a[differing]! > b[differing]!
}
