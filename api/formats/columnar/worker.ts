import { move, transferableSymbol, valueSymbol } from 'piscina'
import { lowerPriority } from '../../http/niceness'
import { beginningOf, FeatureWriter, type Beginning } from './flatgeobuf'
import { footerOf, rowGroup, type GeoParquetVersion, type RowGroupNote } from './geoparquet'
import { curveKey, LAST_KEY, NOWHERE, shapeOf, type Shape } from './shape'

/** Tasks of columnar files that would block the event loop for too long, each for a page or a row group. */

lowerPriority()

/** JSON of a record, and its geometry as GeoJSON text; null if it has none. */
export interface Row {
  text: string
  geometry: string | null
}

/** Items of a file, in the order of their keys. */
export interface Run {
  /** Items, concatenated. */
  bytes: Uint8Array
  /** Per item: its position on the curve, its length in bytes and, for a feature, four numbers. */
  keys: Uint32Array
  sizes: Uint32Array
  bounds: Float64Array
  /** Number of items with a geometry, and of those whose geometry has heights. */
  placed: number
  high: number
}

/** Writes rows as FlatGeobuf features. */
export function features(rows: readonly Row[]): Run {
  const writer = new FeatureWriter()
  return runOf(rows, (row, shape) => writer.write(recordOf(row), shape))
}

/** Writes rows unchanged, one JSON per row, as input of `group`. */
export function lines(rows: readonly Row[]): Run {
  return runOf(rows, (row) => Buffer.from(JSON.stringify(row)))
}

type Fields = Readonly<Record<string, unknown>>

function runOf(rows: readonly Row[], itemOf: (row: Row, shape: Shape | undefined) => Uint8Array): Run {
  const placed = rows.map((row) => {
    const shape = row.geometry === null ? undefined : shapeOf(row.geometry)
    return { row, shape, key: shape ? curveKey(shape.bounds) : LAST_KEY }
  })
  placed.sort((a, b) => a.key - b.key)
  const [keys, sizes] = [new Uint32Array(rows.length), new Uint32Array(rows.length)]
  const bounds = new Float64Array(4 * rows.length)
  let bytes = Buffer.allocUnsafeSlow(rows.reduce((sum, row) => sum + row.text.length, 4_096))
  let at = 0
  for (const [i, { row, shape, key }] of placed.entries()) {
    const item = itemOf(row, shape)
    if (at + item.length > bytes.length) {
      const larger = Buffer.allocUnsafeSlow(2 * (at + item.length))
      bytes.copy(larger, 0, 0, at)
      bytes = larger
    }
    bytes.set(item, at)
    at += item.length
    keys[i] = key
    sizes[i] = item.length
    bounds.set(shape?.bounds ?? NOWHERE, 4 * i)
  }
  const shapes = placed.flatMap(({ shape }) => shape ?? [])
  return moved(
    {
      ...{ bytes: bytes.subarray(0, at), keys, sizes, bounds },
      ...{ placed: shapes.length, high: shapes.filter(({ hasZ }) => hasZ).length },
    },
    [bytes, keys, sizes, bounds],
  )
}

function recordOf({ text }: Row): Fields {
  return JSON.parse(text) as Fields
}

/** Merges runs: returns, for each item of the whole file, the index of the run whose next item it is. */
export function merged(keys: readonly Uint32Array[]): Uint32Array {
  const order = new Float64Array(keys.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  // Key and run share one double, so there must be fewer than 2^21 runs.
  for (const [run, each] of keys.entries()) for (const key of each) order[at++] = key * 2 ** 21 + run
  order.sort()
  const runs = Uint32Array.from(order, (number) => number % 2 ** 21)
  return moved(runs, [runs])
}

/** Builds the beginning of a FlatGeobuf file of merged runs of features. */
export function beginning({
  order,
  runs,
  hasZ,
}: {
  order: Uint32Array
  runs: readonly Pick<Run, 'sizes' | 'bounds'>[]
  hasZ: boolean
}): Beginning {
  const bounds = new Float64Array(4 * order.length)
  const sizes = new Uint32Array(order.length)
  const next = new Uint32Array(runs.length)
  for (const [i, run] of order.entries()) {
    const item = next[run]!++
    sizes[i] = runs[run]!.sizes[item]!
    for (let side = 0; side < 4; side++) bounds[4 * i + side] = runs[run]!.bounds[4 * item + side]!
  }
  const written = beginningOf(bounds, sizes, hasZ)
  return moved(written, [written.index])
}

/** Writes a row group from lines. @param ends end offset of each line */
export function group({
  bytes,
  ends,
  base,
  version,
}: {
  bytes: Uint8Array
  ends: Uint32Array
  base: number
  version: GeoParquetVersion
}): ReturnType<typeof rowGroup> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const rows = Array.from(
    ends,
    (end, i) => JSON.parse(text.toString('utf8', i ? ends[i - 1] : 0, end)) as Row,
  )
  const written = rowGroup(
    rows.map(recordOf),
    rows.map(({ geometry }) => (geometry === null ? undefined : shapeOf(geometry))),
    base,
    version,
  )
  return moved(written, [written.bytes])
}

/** Writes the footer of a GeoParquet file. */
export function footer({
  notes,
  base,
  version,
}: {
  notes: readonly RowGroupNote[]
  base: number
  version: GeoParquetVersion
}): Uint8Array {
  const bytes = footerOf(notes, base, version)
  return moved(bytes, [bytes])
}

/** Returns a result whose memory is transferred to the calling thread instead of copied. */
function moved<Value>(value: Value, parts: readonly Uint8Array[] | readonly ArrayBufferView[]): Value {
  const buffers = parts.map(({ buffer }) => buffer)
  return move({ [transferableSymbol]: buffers, [valueSymbol]: value } as never) as Value
}
