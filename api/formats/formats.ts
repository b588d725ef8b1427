import { MEDIA_TYPES, type ColumnarKind, type FormatName, type ColumnarName } from '../http/accept'
import { CSV_COLUMNS, csvText } from './csv'
import type { Geometry } from 'geojson'
import { writeWkt } from '../../src/location'
import { onOneLine } from '../../src/strict-json'
import { type RecordResult } from '../store'
import { recordLines, recordText, featureText } from './json'

interface FileFormat {
  /** Media type with its parameters. */
  readonly type: string
  /** Content-Disposition */
  readonly file: string
}

/** Text format of a file that is written row by row: a head, the rows, a tail. */
export interface TextFormat<Row = RecordResult> extends FileFormat {
  readonly head: string
  readonly write: (rows: readonly Row[]) => string
  /** Text between the results of two calls of `write`. */
  readonly separator: string
  readonly tail: string
}

/** Format of a file that needs all its records before it begins (columnar/file.ts). */
export interface ColumnarFormat extends FileFormat {
  readonly columnar: ColumnarKind
}

type RecordFormat = TextFormat | ColumnarFormat

export const TEXT_FORMATS: Readonly<Record<'geojson' | 'ndjson' | 'csv', TextFormat>> = {
  geojson: {
    type: `${MEDIA_TYPES.geojson}; charset=utf-8`,
    file: 'attachment; filename="location-records.geojson"',
    head: '{"type":"FeatureCollection","features":[\n',
    write: (rows) => rows.map(featureText).join(',\n'),
    separator: ',\n',
    tail: '\n]}\n',
  },
  ndjson: ndjsonFile('location-records', (rows: readonly RecordResult[]) =>
    rows.length ? `${recordLines(rows)}\n` : '',
  ),
  csv: csvFormat([]),
}

/** CSV with additional columns: provenance, `distance_meters`, or `geometry` as WKT. */
export function csvFormat(more: readonly string[], bom = false): TextFormat {
  const file = csvFile('location-records', [...CSV_COLUMNS, ...more], (rows: readonly RecordResult[]) =>
    rows.map((row) => ({
      ...(JSON.parse(recordText(row)) as object),
      ...(more.includes('geometry') && {
        geometry: row.geometry && writeWkt(JSON.parse(row.geometry) as Geometry),
      }),
    })),
  )
  return bom ? withMark(file) : file
}

/** Adds a byte order mark, by which spreadsheets recognize UTF-8. */
export function withMark<Row>(format: TextFormat<Row>): TextFormat<Row> {
  return { ...format, head: `\ufeff${format.head}` }
}

/** @param linesOf returns the lines of rows, each with its line break */
export function ndjsonFile<Row>(name: string, linesOf: (rows: readonly Row[]) => string): TextFormat<Row> {
  return {
    type: `${MEDIA_TYPES.ndjson}; charset=utf-8`,
    file: `attachment; filename="${name}.ndjson"`,
    head: '',
    write: (rows) => onOneLine(linesOf(rows)),
    separator: '',
    tail: '',
  }
}

/** @param cellsOf returns the cells of rows by column name */
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

export const GEOPARQUET_2: ColumnarFormat = { ...COLUMNAR_FORMATS.geoparquet, columnar: 'geoparquet2' }

export const RECORD_FORMATS: Readonly<Record<Exclude<FormatName, 'json' | 'html'>, RecordFormat>> = {
  ...TEXT_FORMATS,
  ...COLUMNAR_FORMATS,
}
