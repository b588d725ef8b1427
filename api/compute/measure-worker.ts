import { move, transferableSymbol, valueSymbol } from 'piscina'
import { BoundError } from '../../src/geodesy'
import { lowerPriority } from '../http/niceness'
import { readBody } from './body-reader'
import {
  measureHere,
  memoryOf,
  problemOf,
  type BrokenBound,
  type Measurement,
  type MeasureTask,
  type WorkerProblem,
} from './measure'

/** Tasks of the worker threads, whose priority is lower than that of the event loop. */

lowerPriority()

export async function measure(task: MeasureTask): Promise<Measurement | WorkerProblem | BrokenBound> {
  try {
    return await measureHere(task)
  } catch (error) {
    if (error instanceof BoundError) return { bound: error.bound }
    return problemOf(error)
  }
}

/** Reads a body given in pieces. The memory of its geometries moves to the other thread. */
export async function read(pieces: readonly Uint8Array[]): Promise<unknown> {
  const read = await readBody(joined(pieces))
  const readings = read.geometries.flatMap(({ geometry }) =>
    'problem' in geometry ? [] : [geometry.reading],
  )
  return move({ [valueSymbol]: read, [transferableSymbol]: memoryOf(readings) })
}

/** Memory of the body that is read. It is reused, because garbage of this size makes V8 collect too often. */
let body = Buffer.alloc(0)

function joined(pieces: readonly Uint8Array[]): Buffer {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  if (length > body.length) body = Buffer.alloc(length)
  let at = 0
  for (const piece of pieces) {
    body.set(piece, at)
    at += piece.length
  }
  return body.subarray(0, length)
}
