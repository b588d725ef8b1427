import { createXXHash64 } from 'hash-wasm'
import { canonicalJson, liftCoordinates, readGeometry, readLifted, type Reading } from '../../src/geodesy'
import { parseBody } from '../http/body'
import { Cache } from '../http/cache'
import { RequestError } from '../http/problems'
import { problemOf, referenceOf, type BodyRead, type GeometryRead, type WorkerProblem } from './measure'
import { refuseSalts } from './salted'

/**
 * Chooses between two readers of bodies with large geometries. The first reads the bytes in one pass, which
 * saves 39 to 53 % of a large polygon's time (docs/architecture/performance.md), and leaves unusual bodies to
 * the second. body-reader.service.test.ts compares both on random bytes.
 */

/** Number of geometries in the largest request, a batch of 20 operations on two geometries each. */
const MAX_GEOMETRIES = 40
/** Maximum number of values without geometries: more would block the thread that receives them. */
const MAX_VALUES = 10_000

/** Parses a body, and reads the GeoJSON in its fields and those of operations. A RequestError is a fault. */
export async function readBody(body: Uint8Array): Promise<BodyRead> {
  return (await readPlain(body)) ?? readUsual(body)
}

export async function readUsual(body: Uint8Array): Promise<BodyRead> {
  try {
    return await takeOut(parse(body), (value, field) => {
      const reading = readGeometry(value, field)
      return { reading, json: () => [canonicalJson(reading)] }
    })
  } catch (error) {
    if (error instanceof RequestError) return { fault: error.message, parsed: undefined, geometries: [] }
    throw error
  }
}

/** Reads bodies with plain coordinates and no error on the fast path; undefined for all others. */
async function readPlain(body: Uint8Array): Promise<BodyRead | undefined> {
  const lifted = liftCoordinates(body)
  if (!lifted) return undefined
  try {
    const read = await takeOut(parse(lifted.rest), (value, field) => readLifted(value, field, lifted))
    // Coordinates outside of geometries were extracted too, and would be lost.
    const missed = JSON.stringify(read.parsed).includes('"coordinates":')
    return missed || read.geometries.some(({ geometry }) => 'problem' in geometry) ? undefined : read
  } catch (error) {
    if (error instanceof RequestError) return undefined
    throw error
  }
}

function parse({ buffer, byteOffset, byteLength }: Uint8Array): unknown {
  return parseBody(Buffer.from(buffer, byteOffset, byteLength))
}

/**
 * Reads a geometry by the name of its field. Also returns its canonical JSON in parts, computed on demand.
 */
type Reader = (value: unknown, field: string) => { reading: Reading; json: () => (string | Uint8Array)[] }

async function takeOut(parsed: unknown, reader: Reader): Promise<BodyRead> {
  const geometries: BodyRead['geometries'] = []
  for (const { holder, object } of holdersOf(parsed))
    for (const [field, value] of Object.entries(object)) {
      if (typeof value !== 'object' || value === null || !('type' in value)) continue
      if ('attestation' in value) {
        // The request mixes two forms. The names of its fields suffice for the refusal.
        object[field] = Object.fromEntries(Object.keys(value).map((name) => [name, null]))
        continue
      }
      if (geometries.length === MAX_GEOMETRIES)
        throw new RequestError(
          `The body has more than ${MAX_GEOMETRIES} geometries, the maximum of a request.`,
        )
      const place = 'salt' in object ? [...holder.slice(-1), field].join('.') : field
      geometries.push({ holder, field, geometry: await readOne(value, place, reader) })
      object[field] = null
    }
  if (hasMoreValues(parsed, MAX_VALUES))
    throw new RequestError(
      `The body has more than ${MAX_VALUES} values in addition to its geometries, the maximum of a request.`,
    )
  return { parsed, geometries }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function holdersOf(parsed: unknown): { holder: (string | number)[]; object: Record<string, unknown> }[] {
  if (!isObject(parsed)) return []
  const operations = Array.isArray(parsed.operations)
    ? (parsed.operations as unknown[]).slice(0, MAX_GEOMETRIES)
    : []
  const holders = [
    { holder: [] as (string | number)[], object: parsed },
    ...operations.flatMap((object, i) => (isObject(object) ? [{ holder: ['operations', i], object }] : [])),
  ]
  // A geometry with a salt is one level deeper.
  return holders.flatMap(({ holder, object }) => [
    { holder, object },
    ...Object.entries(object).flatMap(([field, value]) =>
      isObject(value) && 'salt' in value && !('type' in value)
        ? [{ holder: [...holder, field], object: value }]
        : [],
    ),
  ])
}

function hasMoreValues(root: unknown, limit: number): boolean {
  const open = [root]
  for (let count = 0; open.length > 0;) {
    const value = open.pop()
    if (typeof value !== 'object' || value === null) continue
    for (const inner of Object.values(value)) {
      if (++count > limit) return true
      open.push(inner)
    }
  }
  return false
}

async function readOne(value: unknown, field: string, reader: Reader): Promise<GeometryRead | WorkerProblem> {
  try {
    refuseSalts(value, field)
    const { reading, json } = reader(value, field)
    return { reading, ref: await knownReference(reading, json) }
  } catch (error) {
    return problemOf(error)
  }
}

/**
 * References of geometries that this thread read twice, by a quick hash, used only if all numbers are equal
 * bit for bit. This saves keccak, which takes as long as the rest of reading. The numbers are copies, because
 * those of a reading move to another thread.
 */
const references = new Cache<{ numbers: Uint8Array[]; layout: string; ref: string }>('references', {
  sizeOf: ({ numbers }) => numbers.reduce((sum, { length }) => sum + length, 0),
})
/** Quick hashes of geometries that were read once. */
const readOnce = new Cache<true>('references that came once')
const quickHash = createXXHash64()
/** Minimum number of positions for the cache: smaller geometries take less than a millisecond. */
const WORTH_REMEMBERING = 1_000

async function knownReference(
  reading: Reading,
  json: () => readonly (string | Uint8Array)[],
): Promise<string> {
  if (reading.lon.length < WORTH_REMEMBERING) return referenceOf(reading, json())
  const hash = (await quickHash).init()
  const numbers = numbersOf(reading)
  for (const each of numbers) hash.update(each)
  const key = hash.digest('hex')
  const cameBefore = readOnce.get(key)
  readOnce.set(key, true)
  if (!cameBefore) return referenceOf(reading, json())
  const layout = JSON.stringify([reading.layout, reading.chains.map(({ path, ...chain }) => chain)])
  const known = references.get(key)
  if (
    known &&
    known.layout === layout &&
    known.numbers.length === numbers.length &&
    known.numbers.every((each, i) => Buffer.compare(each, numbers[i]!) === 0)
  )
    return known.ref
  const ref = await referenceOf(reading, json())
  references.set(key, { numbers: numbers.map((each) => each.slice()), layout, ref })
  return ref
}

function numbersOf({ lon, lat, altitude }: Reading): Uint8Array[] {
  return [lon, lat, ...(altitude ? [altitude] : [])].map(
    ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength),
  )
}
