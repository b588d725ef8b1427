// SPDX-License-Identifier: MIT
import { toHex, type Hex } from 'viem'
import { positionAsPoint, type GeoJson, type Position } from './position'

/**
 * A private place: GeoJSON with a salt of 32 random bytes. Without the salt, the reference in an answer
 * reveals nothing about the place (docs/reference/compute.md, Private places).
 */
export interface PrivatePlace {
  geometry: GeoJson
  salt: Hex
}

/**
 * Adds a fresh salt to GeoJSON or a position. Store the returned value: without it nobody can prove which
 * place an answer is about. Use a salt for one place only.
 */
export function privatePlace(geometry: GeoJson | Position): PrivatePlace {
  return { geometry: positionAsPoint(geometry), salt: toHex(crypto.getRandomValues(new Uint8Array(32))) }
}
