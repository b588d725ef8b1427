import { cut } from '../../src/cut'
import { GeometryError, readGeometry } from '../../src/geodesy'
import { keccak256 } from '../../src/eas'
import { invalidInput } from '../http/problems'
import { ReadGeometry, referenceOf, type MeasureInput, type Measurer } from './measure'

/**
 * GeoJSON with a salt: `{"geometry", "salt"}`. Anyone can hash likely geometries and compare the hashes with
 * a plain reference, which stays on a chain permanently. Without the salt nobody can compare them
 * (docs/reference/compute.md, "Private places").
 */
export interface Salted {
  geometry: unknown
  salt: unknown
}

const SALT = /^0x(?!0{64}$)[0-9a-fA-F]{64}$/
const MISPLACED_SALT =
  'the salt must be a sibling of the geometry, not a member of it: {"geometry": {...}, "salt": "0x..."}'
const MISSING_SALT =
  'expected a salt next to the geometry, as in {"geometry": {...}, "salt": "0x..."}. Without a ' +
  'salt, send the geometry itself.'

/** True if an input is of this form. Throws a GeometryError for a misplaced or a missing salt. */
export function isSalted(input: object, path: string): input is Salted {
  if (Object.hasOwn(input, 'salt') && !Object.hasOwn(input, 'type')) return true
  if (Object.hasOwn(input, 'geometry') && !Object.hasOwn(input, 'type'))
    throw new GeometryError(path, MISSING_SALT)
  refuseSalts(input, path)
  return false
}

/** Throws a GeometryError for a `salt` within GeoJSON: its author would get the plain reference. */
export function refuseSalts(geojson: unknown, path: string): void {
  const open: [value: object, path: string][] = []
  const add = (value: unknown, at: string) => {
    if (typeof value === 'object' && value !== null) open.push([value, at])
  }
  add(geojson, path)
  for (let next = open.pop(); next; next = open.pop()) {
    const [value, at] = next
    if (value instanceof ReadGeometry) continue
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) if (!isPlainPosition(value[i])) add(value[i], `${at}[${i}]`)
      continue
    }
    if (Object.hasOwn(value, 'salt')) throw new GeometryError(at, MISPLACED_SALT)
    for (const [name, inner] of Object.entries(value)) add(inner, `${at}.${cut(name, 40)}`)
  }
}

function isPlainPosition(value: unknown): boolean {
  return (
    Array.isArray(value) && value.length === 2 && typeof value[0] === 'number' && typeof value[1] === 'number'
  )
}

/** Returns the geometry, with keccak256(salt ++ plain reference). Throws errors that name `path`. */
export async function resolveSalted(
  { geometry, salt }: Salted,
  path: string,
  measurer: Measurer,
): Promise<MeasureInput & { ref: string }> {
  if (typeof salt !== 'string' || !SALT.test(salt))
    throw invalidInput(`${path}.salt: expected 32 random bytes in hex, 0x and 64 digits, not all of them 0`)
  refuseSalts(geometry, `${path}.geometry`)
  const input =
    geometry instanceof ReadGeometry
      ? measurer.recall(geometry.input)
      : { reading: readGeometry(geometry, `${path}.geometry`) }
  const plain = input.ref ?? (await referenceOf(input.reading))
  return { ...input, ref: `0x${await keccak256(Buffer.from(salt.slice(2) + plain.slice(2), 'hex'))}` }
}
