import { toHex, type Hex } from 'viem'
import { positionAsPoint, type GeoJson, type Position } from './position'

/**
 * A private place: GeoJSON with a salt of 32 random bytes, without which the reference in an answer tells
 * nothing of it (docs/reference/compute.md, Private places).
 */
export interface PrivatePlace {
  geometry: GeoJson
  salt: Hex
}

/**
 * GeoJSON, or a position, with a fresh salt. Keep what it gives: without it nobody can prove what an answer
 * about the place is about. A salt is good for one place.
 */
export function privatePlace(geometry: GeoJson | Position): PrivatePlace {
  return { geometry: positionAsPoint(geometry), salt: toHex(crypto.getRandomValues(new Uint8Array(32))) }
}
