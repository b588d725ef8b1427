import { move, transferableSymbol, valueSymbol } from 'piscina'
import { completedRecord } from '../json'
import { beginningOf, FeatureWriter, type Beginning } from './flatgeobuf'
import { footerOf, rowGroup, type RowGroupNote } from './geoparquet'
import { curveKey, LAST_KEY, NOWHERE, shapeOf, type Shape } from './shape'

/** The work of columnar files that would hold the event loop for too long: tasks of a page or a row group. */

/** A record's JSON, and its geometry as GeoJSON text; null where it has none. */
export interface Row {
  text: string
  geometry: string | null
}

/** Items of a file, in the order of their keys. */
export interface Run {
  /** One item after the other. */
  bytes: Uint8Array
  /** Of each item: its place on the curve, its length in bytes, and, of a feature, four numbers. */
  keys: Uint32Array
  sizes: Uint32Array
  bounds: Float64Array
  /** How many have a geometry, and how many of these have heights. */
  placed: number
  high: number
}

/** Rows as features of FlatGeobuf. */
export function features(rows: readonly Row[]): Run {
  const writer = new FeatureWriter()
  return runOf(rows, (row, shape) => writer.write(recordOf(row), shape))
}

/** Rows as they are, for rowGroupOf. */
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

function recordOf(row: Row): Fields {
  return JSON.parse(completedRecord(row.text)) as Fields
}

/** Merges runs: of each item of the whole, by which run it is the next one. */
export function merged(keys: readonly Uint32Array[]): Uint32Array {
  const order = new Float64Array(keys.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  // Key and run in one number: fewer than 2^21 runs.
  for (const [run, each] of keys.entries()) for (const key of each) order[at++] = key * 2 ** 21 + run
  order.sort()
  const runs = Uint32Array.from(order, (number) => number % 2 ** 21)
  return moved(runs, [runs])
}

/** The beginning of a FlatGeobuf file of merged runs of features. */
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

/** A row group of lines, which end at these places. */
export function group({ bytes, ends, base }: { bytes: Uint8Array; ends: Uint32Array; base: number }): {
  bytes: Uint8Array
  note: RowGroupNote
} {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const rows = Array.from(
    ends,
    (end, i) => JSON.parse(text.toString('utf8', i ? ends[i - 1] : 0, end)) as Row,
  )
  const written = rowGroup(
    rows.map(recordOf),
    rows.map(({ geometry }) => (geometry === null ? undefined : shapeOf(geometry))),
    base,
  )
  return moved(written, [written.bytes])
}

/** The end of a GeoParquet file. */
export function footer({ notes, base }: { notes: readonly RowGroupNote[]; base: number }): Uint8Array {
  const bytes = footerOf(notes, base)
  return moved(bytes, [bytes])
}

/** A result whose memory goes to the caller's thread without being copied. */
function moved<Value>(value: Value, parts: readonly Uint8Array[] | readonly ArrayBufferView[]): Value {
  const buffers = parts.map(({ buffer }) => buffer)
  return move({ [transferableSymbol]: buffers, [valueSymbol]: value } as never) as Value
}
