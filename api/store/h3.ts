import { cellToLatLng, getBaseCellNumber, getPentagons, latLngToCell } from 'h3-js'

type Vector = readonly [number, number, number]
/** Centre of a face of H3's icosahedron, and its axes in cells: toward a corner, and to the left of that. */
type Face = readonly [Vector, Vector, Vector]

/** Share of a cell, and of a face, within which rounding might decide. Errors are below 2e-7 of a cell. */
const UNCERTAIN = 1e-6
/** Cosine of 64 km. Closer to the centre of a face, h3-js loses digits of the distance from it. */
const NEAR_CENTRE = 1 - 5e-5
/** Number of cells of resolution 0 in a radius of the Earth. */
const CELLS = (3 + Math.sqrt(5)) / 2
/** Angle by which the grids of odd resolutions are turned against those of even ones. */
const TURN = -Math.atan(Math.sqrt(3) / 5)
/** Digits of H3 for the six neighbours of a cell, counterclockwise. The cell itself has the digit 0. */
const RING = [1, 5, 4, 6, 2, 3]
/** Digits 0 to 6 after a turn by 0 to 5 sixths of a circle. */
const TURNED = RING.map((_, by) => [0, 1, 2, 3, 4, 5, 6].map((d) => d && RING[(RING.indexOf(d) + by) % 6]!))
/** Digits of the steps (i, j) from a cell to its child, each -1 to 1, at i * 3 + j + 4. */
const DIGITS = [1, 3, 0, 5, 0, 2, 0, 4, 6]

/**
 * Function from a position to the number of its H3 cell of a resolution, as latLngToCell finds it, in about
 * half of its time. The cells on a face of H3's icosahedron are a plane hexagonal grid, so plane geometry
 * suffices for positions that are certainly within a cell. h3-js decides the others, and those in base cells
 * that are pentagons. How a face numbers and turns a base cell is learned from a position whose digits fit
 * only one turn.
 */
export function cellNumbers(resolution: number): (longitude: number, latitude: number) => number {
  const faces = facesOf(resolution)
  const pentagons = new Set(getPentagons(0).map(getBaseCellNumber))
  const digits = new Array<number>(resolution).fill(0)
  const bases = new Map<number, { base: number; turned: readonly number[] }>()
  const numberOf = (base: number, turned: readonly number[]) => {
    let number = base
    for (let i = 0; i < resolution; i++) number = number * 8 + turned[digits[i]!]!
    return number
  }
  return (longitude, latitude) => {
    const key = onFace(faces, resolution, digits, vector(latitude, longitude))
    const known = bases.get(key)
    if (known) return numberOf(known.base, known.turned)
    const cell = latLngToCell(latitude, longitude, resolution)
    const number = Math.floor(parseInt(cell.slice(2), 16) / unused(resolution))
    const base = getBaseCellNumber(cell)
    if (key < 0 || pentagons.has(base)) return number
    const fitting = TURNED.filter((turned) => numberOf(base, turned) === number)
    // A cell in the middle of its base cell fits each turn.
    if (fitting.length === 1 || resolution === 0) bases.set(key, { base, turned: fitting[0]! })
    return number
  }
}

/** H3 cell of a number of this resolution. Cells sort like their numbers. */
export function cellOf(number: number, resolution: number): string {
  const digits = (number + 1) * unused(resolution) - 1
  return `8${resolution.toString(16)}${digits.toString(16).padStart(13, '0')}`
}

/** An index has 15 digits of three bits. Those beyond the resolution are 7. */
function unused(resolution: number): number {
  return 8 ** (15 - resolution)
}

/** Faces of the icosahedron, whose corners are the pentagons. */
function facesOf(resolution: number): Face[] {
  const corners = getPentagons(0).map((cell) => vector(...cellToLatLng(cell)))
  const turn = resolution % 2 === 1 ? TURN : 0
  const [x, y] = [Math.cos(turn), Math.sin(turn)].map((share) => share * CELLS * Math.sqrt(7) ** resolution)
  const faces: Face[] = []
  for (const a of corners)
    for (const b of corners.slice(corners.indexOf(a) + 1))
      for (const c of corners.slice(corners.indexOf(b) + 1)) {
        if (dot(a, b) < 0 || dot(b, c) < 0 || dot(a, c) < 0) continue
        const centre = unit(sum(sum(a, 1, b, 1), 1, c, 1))
        const along = unit(sum(a, 1, centre, -dot(a, centre)))
        const left = cross(centre, along)
        faces.push([centre, sum(along, x!, left, -y!), sum(along, y!, left, x!)])
      }
  return faces
}

/**
 * Writes the digits of a position as its face counts them. Returns the number of its cell of resolution 0 on
 * that face, or -1 if its cell is uncertain.
 */
function onFace(faces: readonly Face[], resolution: number, digits: number[], point: Vector): number {
  let [face, most, next] = [0, -1, -1]
  for (let each = 0; each < faces.length; each++) {
    const near = dot(faces[each]![0], point)
    if (near > most) [face, most, next] = [each, near, most]
    else if (near > next) next = near
  }
  if (most - next < UNCERTAIN || most > NEAR_CENTRE) return -1
  // The axes of i and j are 120 degrees apart. The weights of the three cells around the position sum to 1.
  const toJ = ((dot(faces[face]![2], point) / most) * 2) / Math.sqrt(3)
  const toI = dot(faces[face]![1], point) / most + toJ / 2
  let [i, j] = [Math.floor(toI), Math.floor(toJ)]
  const [high, low] = [Math.max(toI - i, toJ - j), Math.min(toI - i, toJ - j)]
  const nearest = Math.max(1 - high, high - low, low)
  const second = 1 - nearest - Math.min(1 - high, high - low, low)
  if (nearest - second < UNCERTAIN) return -1
  if (nearest === low) [i, j] = [i + 1, j + 1]
  else if (nearest === high - low) [i, j] = toI - i > toJ - j ? [i + 1, j] : [i, j + 1]
  for (let level = resolution; level > 0; level--) {
    const isOdd = level % 2 === 1
    const up = Math.round((isOdd ? 3 * i - j : 2 * i + j) / 7)
    const over = Math.round((isOdd ? i + 2 * j : 3 * j - i) / 7)
    const fromI = i - (isOdd ? 2 * up + over : 3 * up - over)
    const fromJ = j - (isOdd ? 3 * over - up : up + 2 * over)
    digits[level - 1] = DIGITS[fromI * 3 + fromJ + 4]!
    ;[i, j] = [up, over]
  }
  return (face * 5 + i + 2) * 5 + j + 2
}

function vector(latitude: number, longitude: number): Vector {
  const [lat, lng] = [(latitude * Math.PI) / 180, (longitude * Math.PI) / 180]
  return [Math.cos(lng) * Math.cos(lat), Math.sin(lng) * Math.cos(lat), Math.sin(lat)]
}
function dot(a: Vector, b: Vector): number {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
function sum(a: Vector, x: number, b: Vector, y: number): Vector {
  return [x * a[0] + y * b[0], x * a[1] + y * b[1], x * a[2] + y * b[2]]
}
function cross(a: Vector, b: Vector): Vector {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
function unit(a: Vector): Vector {
  return sum(a, 1 / Math.sqrt(dot(a, a)), a, 0)
}
