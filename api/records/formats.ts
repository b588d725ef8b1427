import { checksumAddress } from '../../src/eas'
import { preferredType, prefersHtml } from '../http/accept'
import type { ColumnarName } from './columnar/file'
import { CSV_COLUMNS, csvText } from './csv'
import type { Geometry } from 'geojson'
import { RECORD_FIELD_LIST, writeWkt } from '../../src/location'
import { provenanceText } from './provenance'
import type { RecordResult } from './sql'

/** The fields that Postgres does not write as we do, in their order. */
const TO_COMPLETE = RECORD_FIELD_LIST.filter(([, { type }]) => type === 'address' || type === 'time').map(
  ([name, { type }]) => ({ key: `"${name}":"`, isTime: type === 'time' }),
)
/** How the JSON of a record ends whose optional field, the last one, is null. */
const NO_OPTION = ',"attributes":null}'
const ADDRESS_LENGTH = 42
/** Characters of a time to the second. */
const SECONDS_LENGTH = 19

/** A record as JSON text, with what was asked for beyond its fields. */
export function recordText(record: RecordResult): string {
  const text = fieldsText(record.text)
  const more = [
    provenanceText(record),
    record.centimeters === undefined ? undefined : `"distance_meters":${record.centimeters / 100}`,
  ].filter((each) => each !== undefined)
  return more.length ? `${text.slice(0, -1)},${more.join()}}` : text
}

/**
 * The fields of a record as JSON text (docs/spec/interface.md 4): its addresses with their checksum, its
 * times as Date's toISOString writes them.
 * @param given as Postgres writes it
 */
export function fieldsText(given: string): string {
  const text = given.endsWith(NO_OPTION) ? `${given.slice(0, -NO_OPTION.length)}}` : given
  let written = ''
  let at = 0
  // No string can hold a key: its quotes are escaped there. Attributes, which can, come last.
  for (const { key, isTime } of TO_COMPLETE) {
    const start = text.indexOf(key, at) + key.length
    if (isTime) {
      const [point, end] = [start + SECONDS_LENGTH, text.indexOf('"', start)]
      const milliseconds = text.slice(point + 1, Math.min(end, point + 4))
      written += `${text.slice(at, point)}.${milliseconds.padEnd(3, '0')}Z`
      at = end
    } else {
      const end = start + ADDRESS_LENGTH
      written += text.slice(at, start) + checksumAddress(text.slice(start, end))
      at = end
    }
  }
  return written + text.slice(at)
}

/**
 * A record as a GeoJSON Feature's text (RFC 7946): its id is `<chain>-<uid>`, its properties are the record.
 * Of a row that was read with its geometry.
 */
export function featureText(row: RecordResult): string {
  return `{"type":"Feature","id":"${row.chain}-${row.uid}","geometry":${row.geometry},"properties":${recordText(row)}}`
}

export type FormatName = 'json' | 'geojson' | 'ndjson' | 'csv' | ColumnarName | 'html'

interface FileFormat {
  /** Media type with its parameters. */
  readonly type: string
  /** Content-Disposition */
  readonly file: string
}

/** How a file of records, or other rows, is written as they come: a head, the rows, a tail. */
export interface TextFormat<Row = RecordResult> extends FileFormat {
  readonly head: string
  /** Writes some of the rows. */
  readonly write: (rows: readonly Row[]) => string
  /** Between the texts of two calls of `write`. */
  readonly separator: string
  readonly tail: string
}

/** A file that needs all its records before it begins (columnar/file.ts). */
export interface ColumnarFormat extends FileFormat {
  readonly columnar: ColumnarName
}

export type RecordFormat = TextFormat | ColumnarFormat

/** Media types, the preferred one first where a client has no preference. */
const MEDIA_TYPES: Readonly<Record<FormatName, string>> = {
  json: 'application/json',
  geojson: 'application/geo+json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
  geoparquet: 'application/vnd.apache.parquet',
  flatgeobuf: 'application/vnd.flatgeobuf',
  html: 'text/html',
}

export const TEXT_FORMATS: Readonly<Record<'geojson' | 'ndjson' | 'csv', TextFormat>> = {
  geojson: {
    type: `${MEDIA_TYPES.geojson}; charset=utf-8`,
    file: 'attachment; filename="location-records.geojson"',
    head: '{"type":"FeatureCollection","features":[\n',
    write: (rows) => rows.map(featureText).join(',\n'),
    separator: ',\n',
    tail: '\n]}\n',
  },
  ndjson: ndjsonFile('location-records', recordText),
  csv: csvFormat([]),
}

/** CSV with further columns: of the provenance, `distance_meters`, and `geometry`, which is WKT. */
export function csvFormat(more: readonly string[]): TextFormat {
  return csvFile('location-records', [...CSV_COLUMNS, ...more], (row: RecordResult) => ({
    ...(JSON.parse(recordText(row)) as object),
    ...(more.includes('geometry') && {
      geometry: row.geometry && writeWkt(JSON.parse(row.geometry) as Geometry),
    }),
  }))
}

/** A file of JSON, a row a line. */
export function ndjsonFile<Row>(name: string, textOf: (row: Row) => string): TextFormat<Row> {
  return {
    type: `${MEDIA_TYPES.ndjson}; charset=utf-8`,
    file: `attachment; filename="${name}.ndjson"`,
    head: '',
    write: (rows) => rows.map((row) => `${textOf(row)}\n`).join(''),
    separator: '',
    tail: '',
  }
}

/** A file of CSV with these columns; `cellsOf` gives those of a row by their names. */
export function csvFile<Row>(
  name: string,
  columns: readonly string[],
  cellsOf: (row: Row) => object,
): TextFormat<Row> {
  return {
    type: `${MEDIA_TYPES.csv}; charset=utf-8; header=present`,
    file: `attachment; filename="${name}.csv"`,
    head: csvText([], true, columns),
    write: (rows) => csvText(rows.map(cellsOf), false, columns),
    separator: '',
    tail: '',
  }
}

const COLUMNAR_FORMATS: Readonly<Record<ColumnarName, ColumnarFormat>> = {
  geoparquet: {
    type: MEDIA_TYPES.geoparquet,
    file: 'attachment; filename="location-records.parquet"',
    columnar: 'geoparquet',
  },
  flatgeobuf: {
    type: MEDIA_TYPES.flatgeobuf,
    file: 'attachment; filename="location-records.fgb"',
    columnar: 'flatgeobuf',
  },
}

export const RECORD_FORMATS: Readonly<Record<Exclude<FormatName, 'json' | 'html'>, RecordFormat>> = {
  ...TEXT_FORMATS,
  ...COLUMNAR_FORMATS,
}

export function isColumnar(format: FormatName): format is ColumnarName {
  return format in COLUMNAR_FORMATS
}

/**
 * The format to answer in: what `format` says, else what Accept prefers (RFC 9110, 12.5.1: by q; of equals
 * the one that is named more closely, then earlier); HTML for browsers only; JSON where that leaves none.
 */
export function chooseFormat<Name extends FormatName>(
  given: Name | undefined,
  accept: string | undefined,
  offered: readonly Name[],
): Name {
  if (given !== undefined) return given
  if (offered.some((name) => name === 'html') && prefersHtml(accept)) return 'html' as Name
  const types = offered.filter((name) => name !== 'html').map((name) => MEDIA_TYPES[name])
  const preferred = preferredType(accept, types)
  return offered.find((name) => MEDIA_TYPES[name] === preferred) ?? offered[0]!
}
