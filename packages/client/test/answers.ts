// SPDX-License-Identifier: MIT
import { cellToBoundary } from 'h3-js'
import {
  areaSquareMeters,
  canonicalJson,
  contains,
  distanceMeters,
  lengthMeters,
  prepareGeometry,
  readGeometry,
  type PreparedGeometry,
} from '../../../src/geodesy'
import { readLocation } from '../../../src/location/payload'
import { loadH3 } from '../src/kernel/h3'

/**
 * Results of the kernel as strings that show every bit. everywhere.system.test.ts bundles this file as the
 * package bundles its kernel, and runs it in several engines.
 */

export interface Case {
  id: string
  op: string
  inputs: Record<string, unknown>
}

const OPERATIONS: Record<string, (...operands: [PreparedGeometry, PreparedGeometry]) => number | boolean> = {
  area: areaSquareMeters,
  contains,
  distance: distanceMeters,
  intersects: distanceMeters,
  length: lengthMeters,
  within: distanceMeters,
}

/** Returns the result of each case as the bits of its double, or its error. */
export function answersTo(cases: readonly Case[]): string[] {
  return cases.map(({ id, op, inputs }) => {
    try {
      const operands = Object.entries(inputs).map(([path, value]) =>
        prepareGeometry(readGeometry(value, path)),
      )
      return `${id} ${bits(OPERATIONS[op]!(...(operands as [PreparedGeometry, PreparedGeometry])))}`
    } catch (error) {
      return `${id} ${(error as Error).message}`
    }
  })
}

/** Returns the boundary of each H3 cell, and each location of another type as the service reads it. */
export async function shapesOf(
  cells: readonly string[],
  locations: readonly [string, string][],
): Promise<string[]> {
  await loadH3()
  const read = (locationType: string, location: string) => {
    const reading = readLocation({ srs: 'EPSG:4326', locationType, location })
    return typeof reading === 'string' ? reading : canonicalJson(reading)
  }
  return [
    ...cells.map((cell) => cellToBoundary(cell, true).flat().map(bits).join()),
    ...cells.map((cell) => read('h3', cell)),
    ...locations.map(([type, location]) => read(type, location)),
  ]
}

function bits(value: number | boolean): string {
  if (typeof value === 'boolean') return String(value)
  const [low, high] = new Uint32Array(Float64Array.of(value).buffer)
  return `${high!.toString(16).padStart(8, '0')}${low!.toString(16).padStart(8, '0')}`
}
