import { geodesicBetween, Kind, readGeometry, type Reading } from '../../src/geodesy'
import {
  cutLine,
  eastward,
  holdsPole,
  polygonLines,
  shifted,
  unwrapped,
  WIDEST_DEGREES,
  WIDEST_MAP,
  type Line,
} from '../../src/location'
import { BUFFER, EXTENT, MAX_LATITUDE, worldX, worldY, type Tile } from './grid'

/**
 * Draws shapes into tiles. Edges are geodesics: if one is farther than half a tile unit from the straight
 * line between its ends, positions on it are added. Then lines and rings are clipped to the tile's buffer. A
 * ring around a pole covers the map up to its end on the pole's side, and not beyond: a globe continues it to
 * the pole, and would draw what is beyond the end a second time.
 */

/** x, y, x, y, ... in the tile's coordinates, whole numbers. */
export type Path = number[]
/** Parts of a shape in a tile: points, lines, and rings of polygons (each shell before its holes). */
export interface Drawing {
  points: Path
  lines: Path[]
  rings: Path[]
  /** Rings of polygons that continue beyond the end of the map. Their borders are among the lines. */
  open: Path[]
  /** Positions (y * EXTENT + x) of lines and areas without an extent on the tile's grid. */
  small: Set<number>
}

/**
 * Remaining work, in computed geodesic positions of 0.6 microseconds each; negative if the budget was too
 * small. Work is charged before it is done.
 */
export interface Budget {
  work: number
}
/** Maximum work for a tile, and for one record in it (5 ms), because an attester chooses its shape. */
export const TILE_BUDGET = 100_000
export const RECORD_BUDGET = 8_000
/** Work of an edge whose geodesic is computed, and of a path of any length. */
const EDGE = 4
const PATH = 2
/** Number of positions that are projected to the tile, or clipped at its edges, for one unit of work. */
const PLAIN = 4

const [LOW, HIGH] = [-BUFFER, EXTENT + BUFFER]
/** Degrees of latitude to which positions are clamped, because Mercator tends to infinity at the poles. */
const FARTHEST_LATITUDE = 89.99
/** A geodesic bends by at most 1 / radius on the map, so a chord of length l is off by at most l^2 / 8. */
const BEND = (2 * Math.PI) / 8
/** For chords of up to this share of the world's width, twice the bound l^2 / 8 holds. */
const SHORT = 0.1

/** Draws a shape into a tile; undefined if the budget is too small. */
export function draw(geojson: object, tile: Tile, budget: Budget): Drawing | undefined {
  const reading = readGeometry(geojson, 'geometry')
  const dense = withGeodesics(reading, tile, budget)
  const drawing: Drawing = { points: [], lines: [], rings: [], open: [], small: new Set() }
  const frame = frameOf(tile, budget)
  const borders = bordersOf(tile)
  const { chains } = dense
  for (let i = 0; i < chains.length; i++) {
    const chain = chains[i]!
    if (budget.work < 0) return undefined
    if (chain.kind === Kind.Points) {
      if (!isSpent(chain.end - chain.start, budget)) return undefined
      for (let at = chain.start; at < chain.end; at++)
        drawing.points.push(...pointIn(tile, worldX(dense.lon[at]!), worldY(dense.lat[at]!)))
    } else if (chain.kind === Kind.Line) {
      for (const piece of cutLine(dense, chain))
        for (const path of frame(piece, [-1, 0, 1])) pushLines(path, borders, drawing, budget)
    } else {
      let end = i + 1
      while (end < chains.length && chains[end]!.polygon === chain.polygon) end++
      drawPolygon(
        chains.slice(i, end).map((ring) => unwrapped(dense, ring)),
        frame,
        (polygon) => pushPolygon(polygon, borders, drawing, budget),
      )
      i = end - 1
    }
  }
  return budget.work < 0 ? undefined : drawing
}

/** Tile coordinates of a point, or nothing if it is outside: each position is in exactly one tile. */
function pointIn({ z, x, y }: Tile, wx: number, wy: number): Path {
  const [px, py] = [((wx % 1) * 2 ** z - x) * EXTENT, (wy * 2 ** z - y) * EXTENT]
  return isInside(px) && isInside(py) ? [Math.floor(px), Math.floor(py)] : []
}
const isInside = (at: number): boolean => at >= 0 && at < EXTENT

/** Charges the work of a path with this many positions. Returns false if the budget is too small. */
function isSpent(positions: number, budget: Budget): boolean {
  if (budget.work >= 0) budget.work -= PATH + positions / PLAIN
  return budget.work >= 0
}

/**
 * Converts a line on the plane of longitude and latitude into tile coordinates, once for each shift by these
 * whole turns (multiples of 360 degrees) in which it meets the tile.
 */
type Frame = (line: Line, turns: readonly number[]) => Path[]

function frameOf({ z, x, y }: Tile, budget: Budget): Frame {
  const scale = 2 ** z * EXTENT
  return (line, turns) => {
    if (!isSpent(line.length / 2, budget)) return []
    const path: Path = new Array<number>(line.length)
    let [west, east, north, south] = [Infinity, -Infinity, Infinity, -Infinity]
    for (let i = 0; i < line.length; i += 2) {
      const px = worldX(line[i]!) * scale - x * EXTENT
      const lat = Math.max(-FARTHEST_LATITUDE, Math.min(FARTHEST_LATITUDE, line[i + 1]!))
      const py = worldY(lat) * scale - y * EXTENT
      path[i] = px
      path[i + 1] = py
      if (px < west) west = px
      if (px > east) east = px
      if (py < north) north = py
      if (py > south) south = py
    }
    if (south < LOW || north > HIGH) return []
    const first = Math.ceil((LOW - east) / scale)
    const last = Math.floor((HIGH - west) / scale)
    return turns
      .filter((turn) => turn >= first && turn <= last)
      .map((turn) => (turn === 0 ? path : path.map((value, i) => (i % 2 ? value : value + turn * scale))))
  }
}

function drawPolygon(
  rings: ReturnType<typeof unwrapped>[],
  frame: Frame,
  push: (polygon: Path[]) => void,
): void {
  const [shell] = rings as [(typeof rings)[number]]
  // A ring that goes around more than once has no certain inside. Its band of latitudes is drawn instead.
  if (Math.abs(shell.turn) > 360 || shell.east - shell.west > WIDEST_DEGREES) {
    const { south, north } = shell
    const band = [-540, south, 540, south, 540, north, -540, north, -540, south]
    for (const path of frame(band, [0])) push([path])
    return
  }
  const lines = polygonLines(rings)
  if (holdsPole(shell)) return push(lines.map((line) => frame(line, [0])[0] ?? []))
  const [exterior, ...interior] = lines as [Line, ...Line[]]
  const [first, last] = [
    Math.ceil((-WIDEST_MAP - shell.east) / 360),
    Math.floor((WIDEST_MAP - shell.west) / 360),
  ]
  for (let turn = first; turn <= last; turn++) {
    const [outer] = frame(shifted(exterior, 360 * turn), [0])
    if (outer) push([outer, ...interior.flatMap((line) => frame(shifted(line, 360 * turn), [0]))])
  }
}

/** Clips the rings. A polygon without an area on the tile's grid becomes a line. */
function pushPolygon(rings: readonly Path[], borders: Borders, drawing: Drawing, budget: Budget): void {
  const isOpen = borders.some(
    ([axis, border, sign, isEnd]) =>
      isEnd && rings[0]!.some((value, i) => i % 2 === axis && sign * (value - border) < 0),
  )
  for (const [i, ring] of rings.entries()) {
    if (!isSpent(ring.length / 2, budget)) return
    const cut = clippedRing(ring, borders)
    const path = snapped(cut, true)
    const area = path.length < 4 ? 0 : areaOf(path)
    if (area !== 0) {
      // A shell runs clockwise, a hole the other way.
      ;(isOpen ? drawing.open : drawing.rings).push(area > 0 === (i === 0) ? path : reversed(path))
      if (isOpen) pushLines(ring, borders, drawing, budget)
    } else if (i === 0) {
      if (path.length < 4) pushSmall(cut, drawing)
      // The end of the map is not a border, although the clipped ring runs along it.
      else if (isOpen) pushLines(ring, borders, drawing, budget)
      else drawing.lines.push(path)
      return
    }
  }
}

/** Clips a line. */
function pushLines(path: Path, borders: Borders, drawing: Drawing, budget: Budget): void {
  if (!isSpent(path.length / 2, budget)) return
  for (const cut of clippedLines(path, borders)) {
    const line = snapped(cut, false)
    if (line.length >= 4) drawing.lines.push(line)
    else pushSmall(cut, drawing)
  }
}

/** Adds the first position of a path, if it is in the tile: of several tiles, one shows the path. */
function pushSmall([x, y]: Path, { small }: Drawing): void {
  if (isInside(x!) && isInside(y!)) small.add(Math.floor(y!) * EXTENT + Math.floor(x!))
}

/** Twice the area; positive if the ring is clockwise on the screen, as a shell must be (MVT 2.1, 4.3.3.3). */
function areaOf(ring: Path): number {
  let sum = 0
  for (let i = 0; i < ring.length; i += 2) {
    const j = (i + 2) % ring.length
    sum += ring[i]! * ring[j + 1]! - ring[j]! * ring[i + 1]!
  }
  return sum
}

function reversed(ring: Path): Path {
  const turned: Path = []
  for (let i = ring.length - 2; i >= 0; i -= 2) turned.push(ring[i]!, ring[i + 1]!)
  return turned
}

/** Rounds to whole numbers and drops repeated positions. A ring's last position differs from its first. */
function snapped(path: Path, isRing: boolean): Path {
  const whole: Path = []
  for (let i = 0; i < path.length; i += 2) {
    const [x, y] = [Math.round(path[i]!), Math.round(path[i + 1]!)]
    if (x !== whole.at(-2) || y !== whole.at(-1)) whole.push(x, y)
  }
  if (isRing)
    while (whole.length > 2 && whole[0] === whole.at(-2) && whole[1] === whole.at(-1)) whole.length -= 2
  return whole
}

/** Clips a ring to the buffered tile (Sutherland and Hodgman 1974, doi:10.1145/360767.360802). */
function clippedRing(ring: Path, borders: Borders): Path {
  let path = ring
  for (const [axis, border, sign] of borders) {
    const cut: Path = []
    for (let i = 0; i < path.length; i += 2) {
      const j = (i + 2) % path.length
      const [from, to] = [sign * (path[i + axis]! - border), sign * (path[j + axis]! - border)]
      if (from >= 0) cut.push(path[i]!, path[i + 1]!)
      if (from >= 0 !== to >= 0) cut.push(...crossing(path, i, j, axis, border))
    }
    path = cut
  }
  return path
}
/** Axis, position and side of each border of the buffered tile, and whether the map ends there. */
type Borders = readonly (readonly [axis: 0 | 1, border: number, sign: 1 | -1, isEnd: boolean])[]

function bordersOf({ z, y }: Tile): Borders {
  const [isNorth, isSouth] = [y === 0, y === 2 ** z - 1]
  return [
    [0, LOW, 1, false],
    [0, HIGH, -1, false],
    [1, isNorth ? 0 : LOW, 1, isNorth],
    [1, isSouth ? EXTENT : HIGH, -1, isSouth],
  ]
}

function clippedLines(line: Path, borders: Borders): Path[] {
  let pieces = [line]
  for (const [axis, border, sign] of borders)
    pieces = pieces.flatMap((path) => {
      const cut: Path[] = []
      let piece: Path = []
      for (let i = 0; i < path.length; i += 2) {
        const j = i + 2
        const from = sign * (path[i + axis]! - border)
        if (from >= 0) piece.push(path[i]!, path[i + 1]!)
        if (j >= path.length) break
        const to = sign * (path[j + axis]! - border)
        if (from >= 0 === to >= 0) continue
        piece.push(...crossing(path, i, j, axis, border))
        if (to < 0) {
          cut.push(piece)
          piece = []
        }
      }
      return piece.length ? [...cut, piece] : cut
    })
  return pieces
}

/** Position where the edge between two positions of a path crosses a border. */
function crossing(path: Path, i: number, j: number, axis: 0 | 1, border: number): [number, number] {
  const other = 1 - axis
  const share = (border - path[i + axis]!) / (path[j + axis]! - path[i + axis]!)
  const value = path[i + other]! + share * (path[j + other]! - path[i + other]!)
  return axis === 0 ? [border, value] : [value, border]
}

// --- Geodesics ---

/** Adds positions to edges where the tile is fine enough to show that they are geodesics. */
function withGeodesics(
  { lon, lat, chains }: Reading,
  tile: Tile,
  budget: Budget,
): Pick<Reading, 'lon' | 'lat' | 'chains'> {
  const lons: number[] = []
  const lats: number[] = []
  const bends = bendsIn(tile)
  const dense = chains.map((chain) => {
    const start = lons.length
    for (let i = chain.start; i < chain.end; i++) {
      if (i > chain.start && chain.kind !== Kind.Points) addEdge(lon[i - 1]!, lat[i - 1]!, lon[i]!, lat[i]!)
      lons.push(lon[i]!)
      lats.push(lat[i]!)
    }
    return { ...chain, start, end: lons.length }
  })
  return { lon: Float64Array.from(lons), lat: Float64Array.from(lats), chains: dense }

  function addEdge(lonA: number, latA: number, lonB: number, latB: number): void {
    const step = Math.abs(eastward(lonA, lonB))
    // An edge of half a turn has no unique geodesic.
    if (step >= 180 || budget.work < 0 || !bends(lonA, latA, lonB, latB)) return
    budget.work -= EDGE
    if (budget.work < 0) return
    const { meters, at } = geodesicBetween(lonA, latA, lonB, latB)
    const halve = (from: number, lonF: number, latF: number, to: number, lonT: number, latT: number) => {
      if (!bends(lonF, latF, lonT, latT) || --budget.work < 0) return
      const middle = (from + to) / 2
      const { lon: lonM, lat: latM } = at(middle)
      halve(from, lonF, latF, middle, lonM, latM)
      lons.push(lonM)
      lats.push(latM)
      halve(middle, lonM, latM, to, lonT, latT)
    }
    halve(0, lonA, latA, meters, lonB, latB)
  }
}

/** Returns a test whether an edge may visibly differ from a straight line in the tile. */
function bendsIn({ z, x, y }: Tile): (lonA: number, latA: number, lonB: number, latB: number) => boolean {
  const tiles = 2 ** z
  const margin = BUFFER / EXTENT
  const [west, east, north, south] = [x - margin, x + 1 + margin, y - margin, y + 1 + margin].map(
    (at) => at / tiles,
  ) as [number, number, number, number]
  const longest = 0.5 / (EXTENT * tiles) / BEND
  return (lonA, latA, lonB, latB) => {
    const dx = eastward(lonA, lonB) / 360
    // A geodesic along a meridian is straight on the map.
    if (dx === 0) return false
    // A geodesic between positions of one hemisphere does not come closer to the equator than its ends.
    if (Math.min(latA, latB) > MAX_LATITUDE || Math.max(latA, latB) < -MAX_LATITUDE) return false
    const [yA, yB] = [latA, latB].map((lat) =>
      worldY(Math.max(-FARTHEST_LATITUDE, Math.min(FARTHEST_LATITUDE, lat))),
    ) as [number, number]
    const square = dx * dx + (yB - yA) ** 2
    if (square <= longest) return false
    if (square > SHORT * SHORT) return true
    const reach = 2 * BEND * square
    if (Math.min(yA, yB) - reach > south || Math.max(yA, yB) + reach < north) return false
    const xA = worldX(lonA)
    const [low, high] = [Math.min(xA, xA + dx) - reach, Math.max(xA, xA + dx) + reach]
    return [-1, 0, 1].some((turn) => low + turn <= east && high + turn >= west)
  }
}
