import type { Reading } from '../geodesy'

/**
 * Shape of a geometry on the plane of longitude and latitude, for the index and the bbox filter only. An edge
 * takes the shorter way around, from 180 to -180 along the antimeridian, and to a pole along a meridian. A
 * ring without other edges is the border of a map. Lines are cut at the antimeridian and at poles. A polygon
 * across the antimeridian is continued beyond 180 or -180 and repeated 360 degrees away: each part then also
 * lies within -180 to 180, as the boxes of queries do, and no edge along the antimeridian is added. A ring
 * around a pole is repeated, and closed over the pole on its smaller side. A ring whose smaller side contains
 * both poles is a hole of the plane. Time and memory are linear. Nothing depends on which edges cross,
 * because an attester chooses that: a box meets the edges of a ring that crosses itself, or the area that it
 * winds around an odd number of times.
 */

type Layout = Reading['layout']
type Chain = Reading['chains'][number]
/** Positions in degrees, and a run of them. */
export type Positions = Readonly<Record<'lon' | 'lat', ArrayLike<number>>>
export type Span = Pick<Chain, 'start' | 'end'>

const SRID = 4326
const TYPE_NUMBERS = {
  Point: 1,
  LineString: 2,
  Polygon: 3,
  MultiPoint: 4,
  MultiLineString: 5,
  MultiPolygon: 6,
  GeometryCollection: 7,
} as const
/** Type of each member of a collection. */
const MEMBERS = { MultiPoint: 'Point', MultiLineString: 'LineString', MultiPolygon: 'Polygon' } as const
/** EWKB flag of a geometry with an SRID. */
const HAS_SRID = 0x2000_0000
/** Maximum width of a polygon in degrees. A wider or longer one is replaced by its band of latitudes. */
export const WIDEST_DEGREES = 720
/** Longitude up to which a tile shows parts beyond 180 or -180. */
export const WIDEST_MAP = 200
const RADIANS = Math.PI / 180
/** Smaller degrees are written as 0, because location_x() divides them, and Postgres refuses underflow. */
const LEAST_DEGREES = 1e-300

/** Positions on the plane: x, y, x, y, ... in degrees. */
export type Line = Float64Array | number[]

/** Members of a geometry on the plane: points or lines as positions, or polygons as rings. */
type Part = { type: 'Point' | 'LineString'; lines: Line[] } | { type: 'Polygon'; polygons: Line[][] }

/** Plane shape of a geometry as hexadecimal EWKB (PostGIS's extended well-known binary), SRID 4326. */
export function planeShape(reading: Reading): string {
  return new Writer().geometry(reading, reading.layout)
}

function partOf(
  reading: Reading,
  type: Exclude<Layout['type'], 'GeometryCollection'>,
  chains: readonly Chain[],
): Part {
  if (type === 'Point' || type === 'MultiPoint')
    return { type: 'Point', lines: chains.flatMap((chain) => points(reading, chain)) }
  if (type === 'LineString' || type === 'MultiLineString')
    return { type: 'LineString', lines: chains.flatMap((chain) => cutLine(reading, chain)) }
  const polygons: Line[][] = []
  for (let i = 0; i < chains.length;) {
    let end = i + 1
    while (end < chains.length && chains[end]!.polygon === chains[i]!.polygon) end++
    polygons.push(...planePolygons(chains.slice(i, end).map((chain) => unwrapped(reading, chain))))
    i = end
  }
  return { type: 'Polygon', polygons }
}

function points({ lon, lat }: Positions, { start, end }: Span): number[][] {
  return Array.from({ length: end - start }, (_, i) => [lon[start + i]!, lat[start + i]!])
}

/** Degrees that an edge runs east, the shorter way around. */
export function eastward(from: number, to: number): number {
  const step = to - from
  return Math.abs(step) > 180 ? step - 360 * Math.sign(step) : step
}

const isAtPole = (lat: number) => Math.abs(lat) === 90

/** Longitude of vertex `i` on its edge to vertex `j`: the longitude of `j` if only `i` is at a pole. */
function meridian({ lon, lat }: Positions, i: number, j: number): number {
  return isAtPole(lat[i]!) && !isAtPole(lat[j]!) ? lon[j]! : lon[i]!
}

/** Pieces of a line, cut where it crosses the antimeridian or a pole. */
export function cutLine(positions: Positions, { start, end }: Span): Line[] {
  const { lat } = positions
  const pieces: number[][] = []
  let piece: number[] = []
  const begin = (x: number, y: number) => pieces.push((piece = [x, y]))
  for (let i = start + 1; i < end; i++) {
    const [x, toX] = [meridian(positions, i - 1, i), meridian(positions, i, i - 1)]
    const [y, toY] = [lat[i - 1]!, lat[i]!]
    if (x !== piece.at(-2)) begin(x, y)
    const step = eastward(x, toX)
    if (step !== toX - x) {
      const border = 180 * Math.sign(step || x)
      // An edge from 180 to -180 runs along the antimeridian.
      const cut = step === 0 ? toY : y + ((toY - y) * (border - x)) / step
      piece.push(border, cut)
      begin(-border, cut)
    }
    piece.push(toX, toY)
  }
  return pieces
}

/** A ring continued across the antimeridian: its longitudes continue beyond 180 and -180. */
export interface PlaneRing {
  line: Line
  west: number
  east: number
  south: number
  north: number
  /** degrees eastward from its start to its end: 0, or 360 or -360 if it runs around a pole */
  turn: number
  /** share of the globe that it encloses on the plane, to 1 %; 0 for a ring that is certainly below half */
  share: number
}

/** True if the smaller side of a ring contains a pole, so that its lines are repeated. */
export function holdsPole({ turn, share }: PlaneRing): boolean {
  return turn !== 0 || share > 0.5
}

/**
 * Continues a ring across the antimeridian. A vertex at a pole becomes two, on two meridians.
 * @param over pole at whose first vertex the ring goes back by `turn` degrees, which closes it over the pole
 */
export function unwrapped(
  positions: Positions,
  span: Span,
  over?: { pole: number; turn: number },
): PlaneRing {
  const { lat } = positions
  const line: number[] = []
  let before = 0
  // Whole turns beyond the border. Adding whole turns preserves the digits of longitudes.
  let turns = 0
  let isOver = over === undefined
  const add = (x: number, y: number) => {
    if (line.length > 0 && eastward(before, x) !== x - before) turns -= Math.sign(x - before)
    if (!isOver && y === over!.pole && y === line.at(-1)) {
      turns -= over!.turn / 360
      isOver = true
    }
    before = x
    line.push(x + 360 * turns, y)
  }
  for (let i = span.start + 1; i < span.end; i++) {
    const [y, toY] = [lat[i - 1]!, lat[i]!]
    if (y === toY && isAtPole(y)) continue
    if (line.length === 0 || isAtPole(y)) add(meridian(positions, i - 1, i), y)
    add(meridian(positions, i, i - 1), toY)
  }
  if (isAtPole(line[1]!)) add(line[0]!, line[1]!)
  const ring = ringOf(line, 360 * turns)
  // The border of a map encloses nothing on the globe.
  if (!(ring.west < ring.east)) return ringOf(points(positions, span).flat(), 0)
  if (over) return ring
  if (ring.turn === 0 && ring.east - ring.west > 180) ring.share = Math.abs(areaBelow(line)) / (4 * Math.PI)
  if (Math.abs(ring.turn) !== 360) return ring
  const pole = poleOf(ring)
  return pole === ring.north || pole === ring.south
    ? unwrapped(positions, span, { pole, turn: ring.turn })
    : ring
}

function ringOf(line: Line, turn: number): PlaneRing {
  const ring = { line, west: Infinity, east: -Infinity, south: Infinity, north: -Infinity, turn, share: 0 }
  for (let i = 0; i < line.length; i += 2) {
    ring.west = Math.min(ring.west, line[i]!)
    ring.east = Math.max(ring.east, line[i]!)
    ring.south = Math.min(ring.south, line[i + 1]!)
    ring.north = Math.max(ring.north, line[i + 1]!)
  }
  return ring
}

/** Plane polygons of a polygon (shell, then holes). Boxes within -180 to 180 meet the same parts of both. */
function planePolygons(rings: readonly PlaneRing[]): Line[][] {
  const [shell] = rings as [PlaneRing, ...PlaneRing[]]
  // The kernel decides which side of the ellipsoid is the smaller one.
  if (Math.abs(shell.share - 0.5) < 0.01) return [[WORLD]]
  if (Math.abs(shell.turn) > 360 || shell.east - shell.west > WIDEST_DEGREES) return [band(shell)]
  const lines = polygonLines(rings)
  if (holdsPole(shell)) return [lines]
  const first = Math.ceil((-180 - shell.east) / 360)
  const last = Math.floor((180 - shell.west) / 360)
  // A shell that only touches the border from inside is not repeated.
  const copies =
    shell.west >= -180 && shell.east <= 180
      ? [0]
      : Array.from({ length: last - first + 1 }, (_, i) => 360 * (first + i))
  return copies.map((shift) => lines.map((line) => shifted(line, shift)))
}

/** Lines of a polygon: shell, then holes. One that holds a pole is repeated (aroundPole). */
export function polygonLines(rings: readonly PlaneRing[]): Line[] {
  const [shell, ...holes] = rings as [PlaneRing, ...PlaneRing[]]
  if (holdsPole(shell)) return aroundPole(rings)
  // A hole around the pole begins elsewhere: it is left out.
  return [shell.line, ...holes.filter(({ turn }) => turn === 0).map((hole) => holeOf(shell, hole))]
}

/** Line of a hole whose longitudes continue the shell's. Rounding may put either end beyond the shell's. */
function holeOf(shell: PlaneRing, hole: PlaneRing): Line {
  const east = 360 * Math.ceil((shell.west - hole.west) / 360)
  const west = east - 360
  const isBeyond = hole.east + east - shell.east > shell.west - hole.west - west
  return shifted(hole.line, isBeyond ? west : east)
}

export function shifted(line: Line, degrees: number): Line {
  return degrees === 0 ? line : line.map((value, i) => (i % 2 ? value : value + degrees))
}

/** Signed area between great circles and the equator, radius 1: the spherical excess below each edge. */
function areaBelow(line: Line): number {
  const half = (degrees: number) => Math.tan((degrees / 2) * RADIANS)
  let area = 0
  let from = half(line[1]!)
  for (let i = 2; i < line.length; i += 2) {
    const to = half(line[i + 1]!)
    area += 2 * Math.atan2(half(line[i]! - line[i - 2]!) * (from + to), 1 + from * to)
    from = to
  }
  return area
}

/** Pole on the smaller side of a ring that runs around both: 90 or -90. */
function poleOf({ line, turn }: PlaneRing): number {
  // The side north of the ring is the smaller one if the mean of its latitudes is north of the equator.
  return areaBelow(line) * Math.sign(turn) >= 0 ? 90 : -90
}

/** Plane with all copies of a ring that reach into WIDEST_MAP. */
const WORLD = [-1080, -90, 1080, -90, 1080, 90, -1080, 90, -1080, -90]

/**
 * Rings of a polygon around a pole. Rings around it are repeated to three turns and closed over it beyond 360
 * and -360 degrees, so that no hole between -180 and 180 crosses the line along which they are closed. If the
 * polygon contains both poles, its shell is a hole of the plane, and its holes around a pole are left out.
 */
function aroundPole(rings: readonly PlaneRing[]): Line[] {
  const containsBoth = rings[0]!.turn === 0
  const drawn = containsBoth ? rings.filter((ring, i) => i === 0 || !holdsPole(ring)) : rings
  const lines = drawn.flatMap((ring) => {
    const { line, turn, west, east } = ring
    if (turn === 0)
      return [-720, -360, 0, 360, 720]
        .filter((shift) => west + shift <= WIDEST_MAP && east + shift >= -WIDEST_MAP)
        .map((shift) => shifted(line, shift))
    const first = line[0]! * turn > 0 ? -2 : -1
    // The end of one turn is the start of the next.
    const path = [0, 1, 2].flatMap((i) => [...shifted(i === 0 ? line : line.slice(2), (first + i) * turn)])
    const [pole, x, y] = [poleOf(ring), path[0]!, path[1]!]
    path.push(path.at(-2)!, pole, x, pole, x, y)
    return [path]
  })
  return containsBoth ? [WORLD, ...lines] : lines
}

function band(ring: PlaneRing): Line[] {
  if (holdsPole(ring) && ring.turn === 0) return [WORLD]
  const pole = ring.turn === 0 ? ring.north : poleOf(ring)
  const [south, north] = [Math.min(ring.south, pole), Math.max(ring.north, pole)]
  return [[-180, south, 180, south, 180, north, -180, north, -180, south]]
}

/** Writes EWKB, little-endian. */
class Writer {
  private buffer = Buffer.allocUnsafe(256)
  private size = 0

  geometry(reading: Reading, layout: Layout): string {
    this.layout(reading, layout, true)
    return this.buffer.toString('hex', 0, this.size)
  }

  private layout(reading: Reading, layout: Layout, outermost: boolean): void {
    if (layout.type === 'GeometryCollection') {
      this.head('GeometryCollection', outermost, layout.parts.length)
      for (const part of layout.parts) this.layout(reading, part, false)
      return
    }
    const part = partOf(reading, layout.type, reading.chains.slice(layout.firstChain, layout.endChain))
    const members = part.type === 'Polygon' ? part.polygons : part.lines.map((line) => [line])
    const member = part.type
    if (members.length === 1 && layout.type === member) return this.member(member, members[0]!, outermost)
    const multi = (layout.type in MEMBERS ? layout.type : `Multi${member}`) as keyof typeof MEMBERS
    this.head(multi, outermost, members.length)
    for (const lines of members) this.member(MEMBERS[multi], lines, false)
  }

  private member(type: 'Point' | 'LineString' | 'Polygon', lines: readonly Line[], outermost: boolean): void {
    if (type === 'Polygon') this.head(type, outermost, lines.length)
    else this.head(type, outermost)
    for (const line of lines) {
      if (type !== 'Point') this.integer(line.length / 2)
      this.numbers(line)
    }
  }

  private head(type: keyof typeof TYPE_NUMBERS, outermost: boolean, count?: number): void {
    this.room(1)
    this.size = this.buffer.writeUInt8(1, this.size)
    this.integer((TYPE_NUMBERS[type] | (outermost ? HAS_SRID : 0)) >>> 0)
    if (outermost) this.integer(SRID)
    if (count !== undefined) this.integer(count)
  }

  private integer(value: number): void {
    this.room(4)
    this.size = this.buffer.writeUInt32LE(value, this.size)
  }

  private numbers(values: Line): void {
    this.room(8 * values.length)
    for (let i = 0; i < values.length; i++)
      this.size = this.buffer.writeDoubleLE(Math.abs(values[i]!) < LEAST_DEGREES ? 0 : values[i]!, this.size)
  }

  private room(bytes: number): void {
    if (this.size + bytes <= this.buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(2 * this.buffer.length, this.size + bytes))
    this.buffer.copy(larger, 0, 0, this.size)
    this.buffer = larger
  }
}
