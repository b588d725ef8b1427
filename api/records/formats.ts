import { preferredType, prefersHtml } from '../http/accept'
import type { ColumnarName } from './columnar/file'
import { completed, completedRecord } from './completion'
import { csvText } from './csv'
import type { Geometry } from 'geojson'
import { writeWkt } from '../../src/location'
import { provenanceText } from './provenance'
import { BareRecord, type RecordResult } from './sql'

/** A record as JSON text, with what was asked for beyond its fields. */
export function recordText(record: RecordResult): string {
  const text = completedRecord(record.text)
  const more = [
    provenanceText(record),
    record.centimeters === undefined ? undefined : `"distance_meters":${record.centimeters / 100}`,
  ].filter((each) => each !== undefined)
  return more.length ? `${text.slice(0, -1)},${more.join()}}` : text
}

/** Records as JSON in UTF-8, with a comma or a line break after each. */
export function recordBytes(rows: readonly RecordResult[], separator: ',' | '\n'): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < rows.length;) {
    const first = at
    const row = rows[at++]!
    if (!(row instanceof BareRecord) || row.centimeters !== undefined) {
      parts.push(Buffer.from(recordText(row) + separator))
      continue
    }
    let { end } = row
    for (let next = rows[at]; next instanceof BareRecord; next = rows[++at]) {
      if (next.lines !== row.lines || next.start !== end + 1 || next.centimeters !== undefined) break
      end = next.end
    }
    parts.push(completed(row.lines.slice(row.start, end), at - first, separator))
  }
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
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

/** How a file of records is written as they come: a head, the rows, a tail. */
export interface TextFormat extends FileFormat {
  readonly head: string
  /** Writes some of the rows. */
  readonly write: (rows: readonly RecordResult[]) => string
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
  ndjson: {
    type: `${MEDIA_TYPES.ndjson}; charset=utf-8`,
    file: 'attachment; filename="location-records.ndjson"',
    head: '',
    write: (rows) => recordBytes(rows, '\n').toString(),
    separator: '',
    tail: '',
  },
  csv: csvFormat([]),
}

/** CSV with further columns: of the provenance, `distance_meters`, and `geometry`, which is WKT. */
export function csvFormat(more: readonly string[]): TextFormat {
  const cells = (row: RecordResult) => ({
    ...(JSON.parse(recordText(row)) as object),
    ...(more.includes('geometry') && {
      geometry: row.geometry && writeWkt(JSON.parse(row.geometry) as Geometry),
    }),
  })
  return {
    type: `${MEDIA_TYPES.csv}; charset=utf-8; header=present`,
    file: 'attachment; filename="location-records.csv"',
    head: csvText([], true, more),
    write: (rows) => csvText(rows.map(cells), false, more),
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
