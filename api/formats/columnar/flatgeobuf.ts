import { Builder } from 'flatbuffers'
import type { Geometry, Position } from 'geojson'
import { Column } from 'flatgeobuf/lib/mjs/flat-geobuf/column.js'
import { ColumnType } from 'flatgeobuf/lib/mjs/flat-geobuf/column-type.js'
import { Crs } from 'flatgeobuf/lib/mjs/flat-geobuf/crs.js'
import { Feature } from 'flatgeobuf/lib/mjs/flat-geobuf/feature.js'
import { Geometry as GeometryTable } from 'flatgeobuf/lib/mjs/flat-geobuf/geometry.js'
import { GeometryType } from 'flatgeobuf/lib/mjs/flat-geobuf/geometry-type.js'
import { Header } from 'flatgeobuf/lib/mjs/flat-geobuf/header.js'
import { RECORD_FIELD_LIST, type RecordField } from '../../../src/location'
import { extend, NOWHERE, type Bounds, type Shape } from './shape'

/**
 * FlatGeobuf 3 (https://flatgeobuf.org): magic bytes, a header, an R-tree, and features, each a flatbuffer.
 * The library's own writer holds all features in memory, and writes neither an index nor features without a
 * geometry.
 */

/** Children per node of the index: the default of all writers. */
const NODE_SIZE = 16
/** Bytes of a node: west, south, east, north as doubles, then the offset of its children or its feature. */
const NODE_BYTES = 40
/** Alignment in bytes of doubles and lengths in the file, because readers map it into memory. */
const ALIGNMENT = 8

const COLUMN_TYPES: Readonly<Record<RecordField['type'], ColumnType>> = {
  text: ColumnType.String,
  address: ColumnType.String,
  time: ColumnType.DateTime,
  number: ColumnType.Double,
  boolean: ColumnType.Bool,
  texts: ColumnType.Json,
  json: ColumnType.Json,
}

export class FeatureWriter {
  private readonly builder = new Builder(4_096)
  private scratch = Buffer.allocUnsafe(4_096)

  /** Writes a feature, preceded by its size, into bytes that are valid until the next call. */
  write(record: Readonly<Record<string, unknown>>, shape: Shape | undefined): Uint8Array {
    const { builder } = this
    builder.clear()
    builder.prep(ALIGNMENT, 0)
    const properties = Feature.createPropertiesVector(builder, this.properties(record))
    const geometry = shape && geometryOffset(builder, shape.geometry, shape.hasZ)
    Feature.startFeature(builder)
    if (geometry !== undefined) Feature.addGeometry(builder, geometry)
    Feature.addProperties(builder, properties)
    builder.finishSizePrefixed(Feature.endFeature(builder))
    return builder.asUint8Array()
  }

  /** Number and value of each field that is not null, texts preceded by their length. */
  private properties(record: Readonly<Record<string, unknown>>): Uint8Array {
    let at = 0
    const reserve = (bytes: number) => {
      if (at + bytes <= this.scratch.length) return
      const larger = Buffer.allocUnsafe(Math.max(2 * this.scratch.length, at + bytes))
      this.scratch.copy(larger, 0, 0, at)
      this.scratch = larger
    }
    for (const [i, [name, { type }]] of RECORD_FIELD_LIST.entries()) {
      const value = record[name]
      if (value === null || value === undefined) continue
      reserve(2 + 8)
      at = this.scratch.writeUInt16LE(i, at)
      if (type === 'number') at = this.scratch.writeDoubleLE(value as number, at)
      else if (type === 'boolean') at = this.scratch.writeUInt8(value ? 1 : 0, at)
      else {
        const text = typeof value === 'string' ? value : JSON.stringify(value)
        const length = Buffer.byteLength(text)
        reserve(4 + length)
        at = this.scratch.writeUInt32LE(length, at)
        at += this.scratch.write(text, at)
      }
    }
    return this.scratch.subarray(0, at)
  }
}

function geometryOffset(builder: Builder, geometry: Geometry, hasZ: boolean): number {
  const type = GeometryType[geometry.type]
  if (geometry.type === 'GeometryCollection') return partsOffset(builder, type, geometry.geometries, hasZ)
  if (geometry.type === 'MultiPolygon')
    return partsOffset(
      builder,
      type,
      geometry.coordinates.map((coordinates) => ({ type: 'Polygon', coordinates })),
      hasZ,
    )
  const lists: Position[][] =
    geometry.type === 'Point'
      ? [[geometry.coordinates]]
      : geometry.type === 'MultiPoint' || geometry.type === 'LineString'
        ? [geometry.coordinates]
        : geometry.coordinates
  const positions = lists.flat()
  const xy = GeometryTable.createXyVector(
    builder,
    positions.flatMap(([x, y]) => [x!, y!]),
  )
  const z =
    hasZ &&
    GeometryTable.createZVector(
      builder,
      positions.map(([, , height]) => height!),
    )
  let end = 0
  const ends =
    (geometry.type === 'MultiLineString' || lists.length > 1) &&
    GeometryTable.createEndsVector(
      builder,
      lists.map(({ length }) => (end += length)),
    )
  GeometryTable.startGeometry(builder)
  if (ends !== false) GeometryTable.addEnds(builder, ends)
  GeometryTable.addXy(builder, xy)
  if (z !== false) GeometryTable.addZ(builder, z)
  GeometryTable.addType(builder, type)
  return GeometryTable.endGeometry(builder)
}

function partsOffset(builder: Builder, type: GeometryType, parts: Geometry[], hasZ: boolean): number {
  const offsets = parts.map((part) => geometryOffset(builder, part, hasZ))
  const vector = GeometryTable.createPartsVector(builder, offsets)
  GeometryTable.startGeometry(builder)
  GeometryTable.addType(builder, type)
  GeometryTable.addParts(builder, vector)
  return GeometryTable.endGeometry(builder)
}

/** Parts between the magic bytes and the features: header and index. */
export interface Beginning {
  header: Uint8Array
  index: Uint8Array
}

/**
 * @param bounds four numbers per feature, in the order of the file
 * @param sizes bytes of each feature, in the same order
 * @param hasZ true if every geometry has heights; if false, readers that rely on the header drop heights
 */
export function beginningOf(bounds: Float64Array, sizes: Uint32Array, hasZ: boolean): Beginning {
  const whole: Bounds = [...NOWHERE]
  for (let i = 0; i < bounds.length; i += 4)
    extend(whole, [bounds[i]!, bounds[i + 1]!, bounds[i + 2]!, bounds[i + 3]!])
  return { header: headerOf(sizes.length, whole, hasZ), index: indexOf(bounds, sizes) }
}

function headerOf(count: number, [west, south, east, north]: Bounds, hasZ: boolean): Uint8Array {
  const builder = new Builder(4_096)
  builder.prep(ALIGNMENT, 0)
  const columns = Header.createColumnsVector(
    builder,
    RECORD_FIELD_LIST.map(([name, { type, nullable, description }]) => {
      const [named, described] = [builder.createString(name), builder.createString(description)]
      Column.startColumn(builder)
      Column.addName(builder, named)
      Column.addType(builder, COLUMN_TYPES[type])
      Column.addDescription(builder, described)
      Column.addNullable(builder, nullable === true)
      return Column.endColumn(builder)
    }),
  )
  const [organisation, crsName] = [builder.createString('EPSG'), builder.createString('WGS 84')]
  Crs.startCrs(builder)
  Crs.addOrg(builder, organisation)
  // In every FlatGeobuf file x is the longitude, whatever the axis order of its coordinate system.
  Crs.addCode(builder, 4326)
  Crs.addName(builder, crsName)
  const crs = Crs.endCrs(builder)
  const name = builder.createString('location-records')
  const envelope = west <= east && Header.createEnvelopeVector(builder, [west, south, east, north])
  Header.startHeader(builder)
  Header.addName(builder, name)
  if (envelope !== false) Header.addEnvelope(builder, envelope)
  Header.addGeometryType(builder, GeometryType.Unknown)
  Header.addHasZ(builder, hasZ)
  Header.addColumns(builder, columns)
  Header.addFeaturesCount(builder, BigInt(count))
  Header.addIndexNodeSize(builder, count === 0 ? 0 : NODE_SIZE)
  Header.addCrs(builder, crs)
  builder.finishSizePrefixed(Header.endHeader(builder))
  return builder.asUint8Array().slice()
}

/** Packed R-tree, root first. A node is the bounding box of up to NODE_SIZE nodes of the level below it. */
function indexOf(bounds: Float64Array, sizes: Uint32Array): Uint8Array {
  if (sizes.length === 0) return new Uint8Array()
  const levels = [sizes.length]
  do levels.push(Math.ceil(levels.at(-1)! / NODE_SIZE))
  while (levels.at(-1)! > 1)
  const index = Buffer.allocUnsafeSlow(levels.reduce((sum, nodes) => sum + nodes) * NODE_BYTES)
  const write = (node: number, [west, south, east, north]: Bounds, offset: number) => {
    let at = node * NODE_BYTES
    for (const degrees of [west, south, east, north]) at = index.writeDoubleLE(degrees, at)
    // Each entry is split into two halves, because one bigint per node takes as long as everything else.
    at = index.writeUInt32LE(offset % 2 ** 32, at)
    index.writeUInt32LE(Math.floor(offset / 2 ** 32), at)
  }
  let first = index.length / NODE_BYTES - levels[0]!
  let offset = 0
  for (const [i, size] of sizes.entries()) {
    const [west, south, east, north] = bounds.subarray(4 * i, 4 * i + 4)
    write(first + i, [west!, south!, east!, north!], offset)
    offset += size
  }
  for (const [level, nodes] of levels.slice(1).entries()) {
    const [children, below] = [first, levels[level]!]
    first -= nodes
    for (let node = 0; node < nodes; node++) {
      const round: Bounds = [...NOWHERE]
      const start = children + node * NODE_SIZE
      for (let child = start; child < Math.min(start + NODE_SIZE, children + below); child++) {
        const at = child * NODE_BYTES
        extend(round, [
          index.readDoubleLE(at),
          index.readDoubleLE(at + 8),
          index.readDoubleLE(at + 16),
          index.readDoubleLE(at + 24),
        ])
      }
      write(first + node, round, start)
    }
  }
  return index
}
