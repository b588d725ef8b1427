import { cutLine, holdsPole, polygonLines, unwrapped, type Line, type Positions } from '../../src/location'
import { html, trusted } from '../http/html'
import { landIn } from './land'
import type { Bbox } from '../store'

/** Draws features as SVG: plate carrée, land, and a grid of parallels and meridians. */

export interface Drawable {
  title: string
  href: string
  geometry: Geometry | null
}

export interface Geometry {
  type: string
  coordinates?: unknown
  geometries?: Geometry[]
}

type Position = [number, number]
interface Shape {
  kind: 'point' | 'line' | 'area'
  lines: Position[][]
  /** Number of times that each position is in the lines: three around a pole. Default: 1. */
  turns?: number
}
/** Extent in degrees; east may exceed 180. */
interface Extent {
  west: number
  south: number
  east: number
  north: number
}
interface View {
  west: number
  south: number
  width: number
  height: number
}

const WIDTH = 960
/** Maximum number of positions of all features. Those beyond it are not drawn, and the page reports them. */
const MAX_POSITIONS = 50_000
/** Positions of a feature's areas, lines or points that are drawn in detail: 50,000 take 0.2 s. */
const MOST_DETAILED = 5_000
/** Minimum distance in pixels between two neighbours of a line: of features, and of land. */
const [DETAIL, LAND_DETAIL] = [0.1, 0.8]
const POINT_RADIUS = 5
/** Minimum distances in pixels between neighbours of a feature with too many positions, finest first. */
const COARSER_DETAILS = [1, 2, 4, 8, 16]
/** Degrees between the lines of the grid. */
const STEPS = [30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001]
/** Margins around the features and around a requested box, as shares of their size. */
const [ROOM, BOX_ROOM] = [0.16, 0.04]
const ORDER = ['area', 'line', 'point'] as const

/**
 * Draws features, and counts those that were too large. The picture is empty if no feature has a geometry and
 * there is no box.
 * @param box requested box that the picture shows
 * @param pointRadius pixels of a picture that is 960 pixels wide
 * @param most maximum number of positions drawn for a feature's areas, lines or points: beyond it they are
 * coarser, or their box
 */
export function drawMap(
  features: readonly Drawable[],
  box?: Bbox,
  { pointRadius = POINT_RADIUS, most = MOST_DETAILED } = {},
): { svg: string; left: number } {
  let budget = MAX_POSITIONS
  let left = 0
  const drawn = features.flatMap((feature) => {
    if (!feature.geometry) return []
    const shapes = shapesOf(feature.geometry)
    const size = countOf(shapes)
    if (size > budget) {
      left++
      return []
    }
    budget -= size
    return [{ ...feature, shapes }]
  })
  if (drawn.length === 0 && !box) return { svg: '', left }
  const frame = box
    ? extentOfBox(box)
    : smallestExtent(drawn.flatMap(({ shapes }) => shapes.map(({ lines }) => boxOf(lines.flat()))))
  const view = viewOf(frame, box ? BOX_ROOM : ROOM)
  const scale = WIDTH / view.width
  // Draws large areas first and points last, so that each mark is visible and can be clicked.
  const marks = drawn
    .flatMap(({ title, href, shapes }) =>
      ORDER.map((kind) => shapes.filter((shape) => shape.kind === kind)).flatMap((shapes, order) =>
        shapes.length
          ? [{ order, title, href, shapes, size: shapes.reduce((size, shape) => size + sizeOf(shape), 0) }]
          : [],
      ),
    )
    .sort((a, b) => a.order - b.order || b.size - a.size)
    .map(
      ({ title, href, shapes }) =>
        html`<a href="${href}"><title>${title}</title>${coarsened(shapes, most, scale).map((shape) => trusted(mark(shape, view, scale, pointRadius)))}</a>`,
    )
  const outline = box ? `\n${outlineOf(frame, view, scale)}` : ''
  const height = round(view.height * scale)
  return {
    svg:
      `<svg class="map" viewBox="0 0 ${WIDTH} ${height}" role="group" aria-label="Map of the records ` +
      `on this page">${land(view, scale)}${grid(view, scale)}${marks.join('\n')}${outline}</svg>`,
    left,
  }
}

function shapesOf({ type, coordinates, geometries }: Geometry): Shape[] {
  const c = coordinates as Position & Position[] & Position[][] & Position[][][]
  switch (type) {
    case 'Point':
      return [{ kind: 'point', lines: [[c]] }]
    case 'MultiPoint':
      return sampled(c as Position[]).map((position) => ({ kind: 'point', lines: [[position]] }))
    case 'LineString':
      return linesOf(c)
    case 'MultiLineString':
      return (c as Position[][]).flatMap(linesOf)
    case 'Polygon':
      return [areaOf(c)]
    case 'MultiPolygon':
      return (c as Position[][][]).map(areaOf)
    default:
      return (geometries ?? []).flatMap(shapesOf)
  }
}

/** Returns at most MOST_DETAILED of these positions, at even intervals. */
function sampled(positions: readonly Position[]): readonly Position[] {
  const step = Math.ceil(positions.length / MOST_DETAILED)
  return step === 1 ? positions : positions.filter((_, i) => i % step === 0)
}

const planeOf = (line: readonly Position[]): Positions => ({
  lon: line.map(([lng]) => lng),
  lat: line.map(([, lat]) => lat),
})
const pairsOf = (line: Line): Position[] =>
  Array.from({ length: line.length / 2 }, (_, i) => [line[2 * i]!, line[2 * i + 1]!])

/** Pieces of a line, cut at the antimeridian and at poles. */
function linesOf(line: readonly Position[]): Shape[] {
  return cutLine(planeOf(line), { start: 0, end: line.length }).map((piece) => ({
    kind: 'line',
    lines: [pairsOf(piece)],
  }))
}

/**
 * Area of a polygon, with its rings continued beyond 180 and -180. Around a pole they run around the world
 * three times, and are closed over the pole beyond the picture.
 */
function areaOf(rings: readonly Position[][]): Shape {
  const plane = rings.map((ring) => unwrapped(planeOf(ring), { start: 0, end: ring.length }))
  return { kind: 'area', lines: polygonLines(plane).map(pairsOf), turns: holdsPole(plane[0]!) ? 3 : 1 }
}

/** Extent of a requested box; its east exceeds 180 if it crosses the antimeridian. */
function extentOfBox([west, south, east, north]: Bbox): Extent {
  return { west, south, east: west > east ? east + 360 : east, north }
}

/** Returns the smallest extent of all; -180 to 180 if it crosses the antimeridian and is wider than 180. */
function smallestExtent(extents: readonly Extent[]): Extent {
  const south = Math.min(...extents.map((each) => each.south))
  const north = Math.max(...extents.map((each) => each.north))
  // Sorted eastwards from -180 to find the widest gap. An extent around the world leaves no gap.
  const arcs = extents
    .map(({ west, east }) => ({ west: normal(west), width: Math.min(360, east - west) }))
    .sort((a, b) => a.west - b.west)
  let end = arcs[0]!.west + arcs[0]!.width
  let [gap, west] = [-1, arcs[0]!.west]
  for (const arc of arcs.slice(1)) {
    if (arc.west - end > gap) [gap, west] = [arc.west - end, arc.west]
    end = Math.max(end, arc.west + arc.width)
  }
  const around = arcs[0]!.west + 360 - end
  if (around >= gap) [gap, west] = [around, arcs[0]!.west]
  const east = west + 360 - gap
  return gap <= 0 || (east > 180 && east - west > 180)
    ? { west: -180, south, east: 180, north }
    : { west, south, east, north }
}

/** Normalizes a longitude to -180 or more, below 180. */
function normal(lng: number): number {
  return lng >= -180 && lng < 180 ? lng : lng - 360 * Math.floor((lng + 180) / 360)
}

/** Extent of the picture: the content with a margin that is a share of its size. It may extend beyond 180. */
function viewOf({ west, south, east, north }: Extent, share: number): View {
  // A single point gets a margin of some kilometres.
  const room = share * Math.max(east - west, north - south, 0.4)
  let [width, height] = [Math.min(360, east - west + room), Math.min(180, north - south + room)]
  // The aspect ratio is bounded, to keep the picture legible.
  height = Math.min(180, Math.max(height, 0.4 * width))
  width = Math.min(360, Math.max(width, height / 0.55))
  const middle = (west + east) / 2
  // Content between -180 and 180 is shown within these edges. The whole world fills them.
  const left =
    width === 360 || (west >= -180 && east <= 180)
      ? Math.max(-180, Math.min(180 - width, middle - width / 2))
      : middle - width / 2
  return {
    west: left,
    south: Math.max(-90, Math.min(90 - height, (south + north) / 2 - height / 2)),
    width,
    height,
  }
}

/**
 * Returns the multiples of 360 degrees that shift an extent into the picture. An extent across the picture's
 * edge is drawn at both edges, one that only touches them is drawn once, and so is one around a pole.
 */
function turnsOf(extent: Extent, { west, width }: View): number[] {
  if (extent.east - extent.west > 720) return [west + width > 360 ? 360 : 0]
  const touching = [0, -720, -360, 360, 720].filter(
    (turn) => extent.east + turn >= west && extent.west + turn <= west + width,
  )
  const inside = touching.filter((turn) => extent.east + turn > west && extent.west + turn < west + width)
  return inside.length > 0 ? inside : touching.slice(0, 1)
}

function outlineOf(frame: Extent, view: View, scale: number): string {
  const [top, width, height] = [
    view.south + view.height - frame.north,
    frame.east - frame.west,
    frame.north - frame.south,
  ].map((degrees) => round(degrees * scale))
  return turnsOf(frame, view)
    .map(
      (turn) =>
        `<rect class="box" x="${round((frame.west + turn - view.west) * scale)}" y="${top}" width="${width}" height="${height}"/>`,
    )
    .join('')
}

/** Returns the projection into the picture, in pixels. It shifts positions by `turn` degrees. */
function pixels({ west, south, height }: View, scale: number, turn = 0) {
  return ([lng, lat]: Position): Position => [
    round((lng + turn - west) * scale),
    round((south + height - lat) * scale),
  ]
}

function land(view: View, scale: number): string {
  const { west, south, width, height } = view
  const rings = landIn(
    [west, south, west + width, south + height],
    (ring) => areaOf([ring]).lines[0]!,
    ([west, south, east, north]) => turnsOf({ west, south, east, north }, view),
  )
  const at = pixels(view, scale)
  return `<path class="land" d="${rings.map((ring) => pathOf(ring.map(at), true, LAND_DETAIL)).join('')}"/>\n`
}

function grid({ west, south, width, height }: View, scale: number): string {
  const step = STEPS.findLast((each) => width / each <= 12) ?? STEPS[0]!
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9))
  const multiples = (from: number, to: number) =>
    Array.from(
      { length: Math.floor(to / step + 1e-9) - Math.ceil(from / step - 1e-9) + 1 },
      (_, i) => (Math.ceil(from / step - 1e-9) + i) * step,
    )
  const label = (degrees: number, sides: string) =>
    `${Math.abs(degrees).toFixed(digits)}°${Math.abs(degrees) < step / 2 ? '' : sides[degrees < 0 ? 0 : 1]!}`
  const meridian = (lng: number) =>
    lng > 180 + step / 2 ? lng - 360 : lng < -180 - step / 2 ? lng + 360 : lng
  const bottom = height * scale
  const meridians = multiples(west, west + width).map((lng) => {
    const x = round((lng - west) * scale)
    return `<path d="M${x} 0V${round(bottom)}"/>${x > WIDTH - 45 ? '' : `<text x="${x + 3}" y="${round(bottom - 4)}">${label(meridian(lng), 'WE')}</text>`}`
  })
  const parallels = multiples(south, south + height).map((lat) => {
    const y = round(bottom - (lat - south) * scale)
    return `<path d="M0 ${y}H${WIDTH}"/>${y > bottom - 20 || y < 14 ? '' : `<text x="3" y="${round(y - 3)}">${label(lat, 'SN')}</text>`}`
  })
  return `<g class="grid">${meridians.join('')}${parallels.join('')}</g>\n`
}

function mark({ kind, lines }: Shape, view: View, scale: number, pointRadius: number): string {
  return turnsOf(boxOf(lines.flat()), view)
    .map((turn) => {
      const at = pixels(view, scale, turn)
      if (kind === 'point') {
        const [x, y] = at(lines[0]![0]!)
        return `<circle class="point" cx="${x}" cy="${y}" r="${pointRadius}"/>`
      }
      return `<path class="${kind}" d="${lines.map((line) => pathOf(line.map(at), kind === 'area')).join('')}"/>`
    })
    .join('')
}

/** Builds an SVG path. Omits positions closer than `detail` pixels to the previous one. */
function pathOf(line: readonly Position[], closed: boolean, detail = DETAIL): string {
  const seen = thinned(line, detail)
  return `M${seen.map(([x, y]) => `${x} ${y}`).join('L')}${closed ? 'Z' : ''}`
}

/** Omits positions closer than `least` to the previous one, except the last position. */
function thinned(line: readonly Position[], least: number): Position[] {
  let last: Position | undefined
  return line.filter((position, i) => {
    const isKept =
      !last || i === line.length - 1 || Math.hypot(position[0] - last[0], position[1] - last[1]) >= least
    if (isKept) last = position
    return isKept
  })
}

/** Number of positions, each of which counts once around a pole. */
function countOf(shapes: readonly Shape[]): number {
  return shapes.reduce((sum, { lines, turns = 1 }) => sum + lines.flat().length / turns, 0)
}

/**
 * Returns shapes of one kind with at most `most` positions: in less detail, or their box if that is not
 * enough. The time to render a path grows with the square of its positions if its edges cross.
 */
function coarsened(shapes: readonly Shape[], most: number, scale: number): readonly Shape[] {
  if (countOf(shapes) <= most) return shapes
  for (const detail of COARSER_DETAILS) {
    const coarser = inDetail(shapes, detail / scale)
    if (coarser.length > 0 && countOf(coarser) <= most) return coarser
  }
  const { west, south, east, north } = smallestExtent(shapes.map(({ lines }) => boxOf(lines.flat())))
  const ring: Position[] = [[west, south], [east, south], [east, north], [west, north], [west, south]] // oxfmt-ignore
  return [{ kind: 'area', lines: [ring] }]
}

/** Returns shapes whose positions are at least this many degrees apart, without parts that are smaller. */
function inDetail(shapes: readonly Shape[], degrees: number): Shape[] {
  const cells = new Set<string>()
  return shapes.flatMap(({ kind, lines, turns }) => {
    const seen = lines
      .map((line) => thinned(line, degrees))
      .filter((line) => {
        const [[lng, lat], last] = [line[0]!, line.at(-1)!]
        if (kind !== 'point') return line.length > 2 || Math.hypot(last[0] - lng, last[1] - lat) >= degrees
        const { size } = cells
        return cells.add(`${Math.round(lng / degrees)} ${Math.round(lat / degrees)}`).size > size
      })
    return seen.length > 0 ? [{ kind, lines: seen, turns }] : []
  })
}

/** Area of the shape's bounding box, in square degrees. */
function sizeOf({ lines }: Shape): number {
  const { west, south, east, north } = boxOf(lines.flat())
  return (east - west) * (north - south)
}

function boxOf(positions: readonly Position[]): Extent {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const [lng, lat] of positions) {
    west = Math.min(west, lng)
    east = Math.max(east, lng)
    south = Math.min(south, lat)
    north = Math.max(north, lat)
  }
  return { west, south, east, north }
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
