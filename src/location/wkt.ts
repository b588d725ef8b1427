// SPDX-License-Identifier: MIT
import type { Geometry, Position } from 'geojson'
import { GeometryError } from '../geodesy'

/** GeoJSON type of each WKT type, and depth of its lists: 0 for a position, 1 for a list of positions. */
const TYPES: Readonly<Record<string, readonly [type: string, depth: number]>> = {
  POINT: ['Point', 0],
  LINESTRING: ['LineString', 1],
  POLYGON: ['Polygon', 2],
  MULTIPOINT: ['MultiPoint', 1],
  MULTILINESTRING: ['MultiLineString', 2],
  MULTIPOLYGON: ['MultiPolygon', 3],
}
/** Maximum nesting of geometry collections: the limit of the kernel. */
const MAX_NESTING = 8

const NUMBER = String.raw`([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?)`
const POSITION = new RegExp(
  String.raw`${NUMBER}\s+${NUMBER}(?:\s+${NUMBER}(?:\s+${NUMBER})?)?(?=\s*(?:[,()]|$))`,
  'iy',
)
const TYPE = /([a-z]+?)(?:\s*(ZM|Z|M))?(?![a-z])/iy
const EMPTY = /EMPTY\b/iy
const SRID = /SRID\s*=\s*(\d+)\s*;/iy

/**
 * Reads Well-Known Text (ISO 19125, and PostGIS's EWKT) as GeoJSON. x is the longitude, as in PostGIS, GDAL
 * and QGIS. If the reference system is latitude first by definition, the writer's rule is unknown, so the
 * text is rejected. Z is read and M is dropped. A third number is Z unless the tag of the geometry or of its
 * collection is M. EMPTY, curves, other SRIDs and remaining text are rejected. Throws a GeometryError that
 * names the character. betterknown accepts 'POINT(1abc 2xyz) rest', returns M for a fourth ordinate, and
 * overflows the stack.
 */
export function readWkt(text: string, latitudeFirst: boolean): unknown {
  if (latitudeFirst)
    throw new GeometryError(
      'location',
      'EPSG/0/4326 is latitude first, but most tools write WKT longitude first, so there is no geometry; use srs EPSG:4326 or CRS84',
    )
  return new WktReader(text).read()
}

/** Writes a GeoJSON geometry as Well-Known Text, longitude first, with Z if all its positions have one. */
export function writeWkt(geometry: Geometry): string {
  // PostGIS rejects a collection of which only some members have Z.
  const size = positionsOf(geometry).every(({ length }) => length > 2) ? 3 : 2
  const listed = (list: Coordinates): string =>
    isPosition(list) ? list.slice(0, size).join(' ') : `(${list.map(listed).join(', ')})`
  const written = (part: Geometry): string => {
    const name = `${part.type.toUpperCase()}${size === 3 ? ' Z' : ''}`
    if (part.type === 'GeometryCollection') return `${name} (${part.geometries.map(written).join(', ')})`
    const text = listed(part.coordinates)
    return `${name} ${part.type === 'Point' ? `(${text})` : text}`
  }
  return written(geometry)
}

function positionsOf(geometry: Geometry): Position[] {
  return geometry.type === 'GeometryCollection'
    ? geometry.geometries.flatMap(positionsOf)
    : positionsIn(geometry.coordinates)
}

type Coordinates = Position | Coordinates[]

function isPosition(list: Coordinates): list is Position {
  return typeof list[0] === 'number'
}

function positionsIn(list: Coordinates): Position[] {
  return isPosition(list) ? [list] : list.flatMap(positionsIn)
}

class WktReader {
  private at = 0

  constructor(private readonly text: string) {}

  read(): unknown {
    const srid = this.match(SRID)?.[1]
    if (srid !== undefined && srid !== '4326')
      throw new GeometryError(
        'location',
        `SRID=${srid.slice(0, 20)} is not WGS84: expected SRID=4326, or none`,
      )
    const geometry = this.geometry(0, '')
    this.space()
    if (this.at < this.text.length) this.fail('the end')
    return geometry
  }

  /** @param outer tag of the collection, which decides if the third number of an untagged member is M */
  private geometry(nesting: number, outer: string): unknown {
    if (nesting > MAX_NESTING) this.fail(`at most ${MAX_NESTING} levels of nesting`)
    const start = this.at
    const [, name = '', given = ''] = this.match(TYPE) ?? []
    const [type, tag] = [name.toUpperCase(), given.toUpperCase()]
    if (type !== 'GEOMETRYCOLLECTION' && !Object.hasOwn(TYPES, type))
      this.fail(`${Object.keys(TYPES).join(', ')} or GEOMETRYCOLLECTION`, start)
    if (this.match(EMPTY))
      throw new GeometryError('location', `${type} EMPTY has no position, so there is no geometry`)
    if (type === 'GEOMETRYCOLLECTION')
      return {
        type: 'GeometryCollection',
        geometries: this.list(() => this.geometry(nesting + 1, tag || outer)),
      }
    const [geoJsonType, depth] = TYPES[type]!
    const position = this.positions(tag, (tag || outer) === 'M')
    return {
      type: geoJsonType,
      coordinates:
        depth === 0
          ? this.enclosed(position)
          : this.lists(
              depth,
              type === 'MULTIPOINT'
                ? () => (this.mark('(', false) ? this.enclosed(position) : position())
                : position,
            ),
    }
  }

  private lists(depth: number, position: () => number[]): unknown[] {
    return this.list(depth === 1 ? position : () => this.lists(depth - 1, position))
  }

  private list<T>(item: () => T): T[] {
    if (!this.mark('(')) this.fail("'('")
    const items = [item()]
    while (this.mark(',')) items.push(item())
    if (!this.mark(')')) this.fail("',' or ')'")
    return items
  }

  private enclosed(position: () => number[]): number[] {
    if (!this.mark('(')) this.fail("'('")
    const numbers = position()
    if (!this.mark(')')) this.fail("')'")
    return numbers
  }

  /** Returns a reader of positions. The tag, or the first position, determines how many numbers each has. */
  private positions(tag: string, isMeasured: boolean): () => number[] {
    let size = tag === '' ? 0 : 2 + tag.length
    return () => {
      const found = this.match(POSITION) ?? this.fail('a position: longitude latitude')
      const numbers = [Number(found[1]), Number(found[2])]
      const given = found[4] !== undefined ? 4 : found[3] !== undefined ? 3 : 2
      size ||= given
      if (given !== size) this.fail(`a position with ${size} numbers`, found.index)
      if (given === 4 || (given === 3 && !isMeasured)) numbers.push(Number(found[3]))
      return numbers
    }
  }

  private space(): void {
    while (this.text.charCodeAt(this.at) <= 32) this.at++
  }

  /** True if the next character is this mark. It is consumed unless `consume` is false. */
  private mark(mark: string, consume = true): boolean {
    this.space()
    const found = this.text[this.at] === mark
    if (found && consume) this.at++
    return found
  }

  private match(pattern: RegExp): RegExpExecArray | null {
    this.space()
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)
    if (found) this.at = pattern.lastIndex
    return found
  }

  private fail(expected: string, at = this.at): never {
    const rest = this.text.slice(at, at + 24).trim()
    throw new GeometryError(
      'location',
      `at character ${at + 1} of the WKT: expected ${expected}, got ${rest === '' ? 'its end' : `'${rest}'`}`,
    )
  }
}
