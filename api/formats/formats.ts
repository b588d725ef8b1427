import { MEDIA_TYPES, type FormatName } from '../http/accept'
import { preferredType, prefersHtml } from '../http/accept'
import type { ColumnarName } from './columnar/file'
import { completed } from './completion'
import { CSV_COLUMNS, csvText } from './csv'
import type { Geometry } from 'geojson'
import { writeWkt } from '../../src/location'
import { provenanceText, BareRecord, type RecordResult } from '../store'

/** A record as JSON text, with what was asked for beyond its fields. */
export function recordText(record: RecordResult): string {
  return recordTexts([record])[0]!
}

/** The same of several, in less time. */
export function recordTexts(rows: readonly RecordResult[]): string[] {
  const texts = completed(rows.map(({ text }) => text).join('\n'), rows.length, '\n')
    .toString()
    .split('\n')
  return rows.map((row, i) => {
    const more = [
      provenanceText(row),
      row.centimeters === undefined ? undefined : `"distance_meters":${row.centimeters / 100}`,
    ].filter((each) => each !== undefined)
    return more.length ? `${texts[i]!.slice(0, -1)},${more.join()}}` : texts[i]!
  })
}

/** Records as JSON in UTF-8, with a comma or a line break after each. */
export function recordBytes(rows: readonly RecordResult[], separator: ',' | '\n'): Buffer {
  if (!rows.every(isBare))
    return Buffer.from(
      recordTexts(rows)
        .map((text) => text + separator)
        .join(''),
    )
  const parts: Buffer[] = []
  for (let at = 0; at < rows.length;) {
    const first = at
    const { lines, start } = rows[at]!
    let end = start - 1
    for (; at < rows.length && rows[at]!.lines === lines && rows[at]!.start === end + 1; at++)
      ({ end } = rows[at]!)
    parts.push(completed(lines.slice(start, end), at - first, separator))
  }
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
}

function isBare(row: RecordResult): row is BareRecord {
  return row instanceof BareRecord && row.centimeters === undefined
}

/**
 * A record as a GeoJSON Feature's text (RFC 7946): its id is `<chain>-<uid>`, its properties are the record.
 * Of a row that was read with its geometry.
 */
export function featureText(row: RecordResult): string {
  return featureTexts([row])[0]!
}

export function featureTexts(rows: readonly RecordResult[]): string[] {
  const records = recordTexts(rows)
  return rows.map(
    ({ chain, uid, geometry }, i) =>
      `{"type":"Feature","id":"${chain}-${uid}","geometry":${geometry},"properties":${records[i]}}`,
  )
}

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

export const TEXT_FORMATS: Readonly<Record<'geojson' | 'ndjson' | 'csv', TextFormat>> = {
  geojson: {
    type: `${MEDIA_TYPES.geojson}; charset=utf-8`,
    file: 'attachment; filename="location-records.geojson"',
    head: '{"type":"FeatureCollection","features":[\n',
    write: (rows) => featureTexts(rows).join(',\n'),
    separator: ',\n',
    tail: '\n]}\n',
  },
  ndjson: ndjsonFile('location-records', (rows: readonly RecordResult[]) =>
    recordBytes(rows, '\n').toString(),
  ),
  csv: csvFormat([]),
}

/** CSV with further columns: of the provenance, `distance_meters`, and `geometry`, which is WKT. */
export function csvFormat(more: readonly string[], bom = false): TextFormat {
  const file = csvFile('location-records', [...CSV_COLUMNS, ...more], (rows: readonly RecordResult[]) => {
    const records = recordTexts(rows)
    return rows.map(({ geometry }, i) => ({
      ...(JSON.parse(records[i]!) as object),
      ...(more.includes('geometry') && { geometry: geometry && writeWkt(JSON.parse(geometry) as Geometry) }),
    }))
  })
  return bom ? withMark(file) : file
}

/** CSV with a byte order mark, by which spreadsheets recognize UTF-8. */
export function withMark<Row>(format: TextFormat<Row>): TextFormat<Row> {
  return { ...format, head: `\ufeff${format.head}` }
}

/** A file of JSON, a row a line; `linesOf` gives the lines of rows, each with its end. */
export function ndjsonFile<Row>(name: string, linesOf: (rows: readonly Row[]) => string): TextFormat<Row> {
  return {
    type: `${MEDIA_TYPES.ndjson}; charset=utf-8`,
    file: `attachment; filename="${name}.ndjson"`,
    head: '',
    write: linesOf,
    separator: '',
    tail: '',
  }
}

/** A file of CSV with these columns; `cellsOf` gives those of rows by their names. */
export function csvFile<Row>(
  name: string,
  columns: readonly string[],
  cellsOf: (rows: readonly Row[]) => object[],
): TextFormat<Row> {
  return {
    type: `${MEDIA_TYPES.csv}; charset=utf-8; header=present`,
    file: `attachment; filename="${name}.csv"`,
    head: csvText([], true, columns),
    write: (rows) => csvText(cellsOf(rows), false, columns),
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
