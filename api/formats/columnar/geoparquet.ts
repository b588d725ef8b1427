import { deserialize, serialize } from 'node:v8'
import { ByteWriter, geojsonToWkb, ParquetWriter, type SchemaElement } from 'hyparquet-writer'
import { RECORD_FIELD_LIST, type RecordField } from '../../../src/location'
import { PARQUET_MAGIC } from './magic'
import { extend, NOWHERE, type Bounds, type Shape } from './shape'

/**
 * GeoParquet 1.1 and 2.0 (https://geoparquet.org): row groups, then a footer with the offset of each. Row
 * groups are written independently, so that any worker can write the next one.
 */

type Element = Omit<SchemaElement, 'name' | 'repetition_type'>
const TEXT: Element = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } }
const COLUMN_TYPES: Readonly<Record<Exclude<RecordField['type'], 'texts'>, Element>> = {
  text: TEXT,
  address: TEXT,
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
  number: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
  json: { type: 'BYTE_ARRAY', converted_type: 'JSON', logical_type: { type: 'JSON' } },
}
const BOUNDS = ['xmin', 'ymin', 'xmax', 'ymax'] as const

/**
 * Version 1 has WKB in a plain column, and a column bbox. Version 2 has Parquet's native type, whose edges
 * are geodesics of the ellipsoid (Karney 2013), and the bounds in the statistics of a row group.
 */
export type GeoParquetVersion = 1 | 2

const LIST = { num_children: 1, converted_type: 'LIST', logical_type: { type: 'LIST' } } as const
const FIELDS = RECORD_FIELD_LIST.flatMap(([name, { type, nullable }]): SchemaElement[] =>
  type === 'texts'
    ? [
        { name, repetition_type: 'REQUIRED', ...LIST },
        { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
        { name: 'element', repetition_type: 'REQUIRED', ...TEXT },
      ]
    : [{ name, repetition_type: nullable ? 'OPTIONAL' : 'REQUIRED', ...COLUMN_TYPES[type] }],
)
const GEOMETRY: SchemaElement = { name: 'geometry', repetition_type: 'OPTIONAL', type: 'BYTE_ARRAY' }
const SCHEMAS: Readonly<Record<GeoParquetVersion, SchemaElement[]>> = {
  1: [
    { name: 'schema', num_children: RECORD_FIELD_LIST.length + 2 },
    ...[...FIELDS, GEOMETRY],
    { name: 'bbox', repetition_type: 'OPTIONAL', num_children: BOUNDS.length },
    ...BOUNDS.map((name): SchemaElement => ({ name, repetition_type: 'REQUIRED', type: 'DOUBLE' })),
  ],
  2: [
    { name: 'schema', num_children: RECORD_FIELD_LIST.length + 1 },
    ...FIELDS,
    // Without a CRS, the default is OGC:CRS84.
    { ...GEOMETRY, logical_type: { type: 'GEOGRAPHY', algorithm: 'KARNEY' } },
  ],
}

/** Footer data of a row group. Only this file reads `chunks`. */
export interface RowGroupNote {
  chunks: Uint8Array
  types: string[]
  bounds: Bounds
}
type Chunks = Pick<ParquetWriter, 'row_groups' | 'num_rows' | 'pendingIndexes'>

/** @param base byte offset of the row group in the file */
export function rowGroup(
  records: readonly Readonly<Record<string, unknown>>[],
  shapes: readonly (Shape | undefined)[],
  base: number,
  version: GeoParquetVersion,
): { bytes: Uint8Array; note: RowGroupNote } {
  const writer = new ByteWriter(1_048_576)
  // The library writes its magic bytes first. They are removed from the result.
  writer.offset = base - PARQUET_MAGIC.length
  const parquet = new ParquetWriter({ writer, schema: SCHEMAS[version] })
  void parquet.write({
    columnData: [
      ...RECORD_FIELD_LIST.map(([name, { type }]) => ({
        name,
        data: records.map((record) => columnValue(record[name], type)),
      })),
      {
        name: 'geometry',
        // Minimum and maximum of WKB are meaningless. Readers use the statistics of bbox.
        statistics: false,
        data: shapes.map((shape) =>
          shape ? (version === 1 ? geojsonToWkb(shape.geometry) : shape.geometry) : null,
        ),
      },
      ...(version === 1 ? [{ name: 'bbox', data: shapes.map((shape) => shape && boxOf(shape.bounds)) }] : []),
    ],
    rowGroupSize: records.length,
  })
  const { row_groups, num_rows, pendingIndexes } = parquet
  const bounds: Bounds = [...NOWHERE]
  const types = new Set<string>()
  for (const shape of shapes)
    if (shape) {
      extend(bounds, shape.bounds)
      types.add(`${shape.geometry.type}${shape.hasZ ? ' Z' : ''}`)
    }
  if (version === 2) setNativeBounds(row_groups, bounds)
  return {
    bytes: writer.getBytes().slice(PARQUET_MAGIC.length),
    note: {
      chunks: serialize({ row_groups, num_rows, pendingIndexes } satisfies Chunks),
      types: [...types],
      bounds,
    },
  }
}

const boxOf = (bounds: Bounds) => Object.fromEntries(BOUNDS.map((name, i) => [name, bounds[i]]))

/** The library's own statistics cover vertices only, and not the edges between them. */
function setNativeBounds(groups: Chunks['row_groups'], [xmin, ymin, xmax, ymax]: Bounds): void {
  for (const { columns } of groups)
    for (const { meta_data: column } of columns)
      if (column?.path_in_schema[0] === 'geometry') {
        if (xmin <= xmax)
          column.geospatial_statistics = { bbox: { xmin, ymin, xmax, ymax }, geospatial_types: [] }
        else delete column.geospatial_statistics
      }
}

function columnValue(value: unknown, type: RecordField['type']): unknown {
  if (value === null || value === undefined) return null
  return type === 'time' ? new Date(value as string) : value
}

/** @param base byte offset of the footer in the file */
export function footerOf(
  notes: readonly RowGroupNote[],
  base: number,
  version: GeoParquetVersion,
): Uint8Array {
  const writer = new ByteWriter(1_048_576)
  writer.offset = base - PARQUET_MAGIC.length
  const parquet = new ParquetWriter({
    writer,
    schema: SCHEMAS[version],
    createdBy: 'geospatial-attestation-service',
    kvMetadata: [{ key: 'geo', value: JSON.stringify(geoMetadata(notes, version)) }],
  })
  for (const { chunks } of notes) {
    const { row_groups, num_rows, pendingIndexes } = deserialize(chunks) as Chunks
    parquet.row_groups.push(...row_groups)
    parquet.num_rows += num_rows
    parquet.pendingIndexes.push(...pendingIndexes)
  }
  void parquet.finish()
  return writer.getBytes().slice(PARQUET_MAGIC.length)
}

function geoMetadata(notes: readonly RowGroupNote[], version: GeoParquetVersion): object {
  const bounds: Bounds = [...NOWHERE]
  for (const each of notes) extend(bounds, each.bounds)
  const types = new Set(notes.flatMap((each) => each.types))
  return {
    version: version === 1 ? '1.1.0' : '2.0.0',
    primary_column: 'geometry',
    columns: {
      geometry: {
        encoding: 'WKB',
        geometry_types: [...types].sort(),
        crs: CRS84,
        // Edges are geodesics of the ellipsoid, but version 1.1 knows only planar and spherical edges.
        edges: version === 1 ? 'spherical' : 'karney',
        ...(bounds[0] <= bounds[2] && { bbox: bounds }),
        ...(version === 1 && {
          covering: { bbox: Object.fromEntries(BOUNDS.map((name) => [name, ['bbox', name]])) },
        }),
      },
    },
  }
}

/** OGC:CRS84 (longitude first) as PROJ writes it. */
const CRS84 = {
  $schema: 'https://proj.org/schemas/v0.7/projjson.schema.json',
  type: 'GeographicCRS',
  name: 'WGS 84 (CRS84)',
  datum_ensemble: {
    name: 'World Geodetic System 1984 ensemble',
    members: [
      { name: 'World Geodetic System 1984 (Transit)', id: { authority: 'EPSG', code: 1166 } },
      { name: 'World Geodetic System 1984 (G730)', id: { authority: 'EPSG', code: 1152 } },
      { name: 'World Geodetic System 1984 (G873)', id: { authority: 'EPSG', code: 1153 } },
      { name: 'World Geodetic System 1984 (G1150)', id: { authority: 'EPSG', code: 1154 } },
      { name: 'World Geodetic System 1984 (G1674)', id: { authority: 'EPSG', code: 1155 } },
      { name: 'World Geodetic System 1984 (G1762)', id: { authority: 'EPSG', code: 1156 } },
      { name: 'World Geodetic System 1984 (G2139)', id: { authority: 'EPSG', code: 1309 } },
    ],
    ellipsoid: { name: 'WGS 84', semi_major_axis: 6378137, inverse_flattening: 298.257223563 },
    accuracy: '2.0',
    id: { authority: 'EPSG', code: 6326 },
  },
  coordinate_system: {
    subtype: 'ellipsoidal',
    axis: [
      { name: 'Geodetic longitude', abbreviation: 'Lon', direction: 'east', unit: 'degree' },
      { name: 'Geodetic latitude', abbreviation: 'Lat', direction: 'north', unit: 'degree' },
    ],
  },
  scope: 'Not known.',
  area: 'World.',
  bbox: { south_latitude: -90, west_longitude: -180, north_latitude: 90, east_longitude: 180 },
  id: { authority: 'OGC', code: 'CRS84' },
}
