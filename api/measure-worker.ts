import { createXXHash64 } from 'hash-wasm'
import { LRUCache } from 'lru-cache'
import secureJson from 'secure-json-parse'
import { GeometryError, readGeometry, type Reading } from '../src/geodesy'
import { measureHere, referenceOf, type Measurement, type MeasureTask, type WorkerProblem } from './measure'

/** What worker threads do. */

export async function measure(task: MeasureTask): Promise<Measurement | WorkerProblem> {
  try {
    return await measureHere(task)
  } catch (error) {
    return problemOf(error)
  }
}

/** A body, parsed, and the geometries that were taken out of it: of the object that is found by the keys `holder`, the field `field`. */
export interface BodyRead {
  syntaxError?: string
  parsed: unknown
  geometries: { holder: (string | number)[]; field: string; geometry: { reading: Reading; ref: string } | WorkerProblem }[]
}

/** Parses a body and reads what looks like GeoJSON, and nothing else, in it: its fields, and those of the objects in a list in it (a batch's operations). */
export async function read(body: Uint8Array): Promise<BodyRead> {
  let parsed: unknown
  try {
    parsed = secureJson.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength), { protoAction: 'error', constructorAction: 'error' })
  } catch (error) {
    return { syntaxError: (error as Error).message, parsed: undefined, geometries: [] }
  }
  const geometries: BodyRead['geometries'] = []
  for (const [holder, object] of [[[], parsed as object | null] as const, ...listsOf(parsed)])
    for (const [field, value] of Object.entries(object ?? {})) {
      if (typeof value !== 'object' || value === null || !('type' in value) || 'attestation' in value) continue
      geometries.push({ holder: [...holder], field, geometry: await readOne(value, field) })
      ;(object as Record<string, unknown>)[field] = null
    }
  return { parsed, geometries }
}

function listsOf(parsed: unknown): [(string | number)[], object][] {
  if (typeof parsed !== 'object' || parsed === null) return []
  return Object.entries(parsed).flatMap(([field, list]) => (Array.isArray(list) ? list.flatMap((each: unknown, i): [(string | number)[], object][] => (typeof each === 'object' && each !== null ? [[[field, i], each]] : [])) : []))
}

async function readOne(value: unknown, field: string): Promise<{ reading: Reading; ref: string } | WorkerProblem> {
  try {
    const reading = readGeometry(value, field)
    return { reading, ref: await knownReference(reading) }
  } catch (error) {
    return problemOf(error)
  }
}

/** References of geometries that this thread had before, by a quick hash; the same only if all their numbers are, to the bit. Canonical JSON takes longer than all the rest of reading. */
const references = new LRUCache<string, { reading: Reading; layout: string; ref: string }>({ maxSize: 1_000_000, sizeCalculation: ({ reading }) => reading.lon.length })
const quickHash = createXXHash64()

async function knownReference(reading: Reading): Promise<string> {
  const hash = (await quickHash).init()
  for (const numbers of numbersOf(reading)) hash.update(numbers)
  const key = hash.digest('hex')
  const layout = JSON.stringify([reading.layout, reading.chains.map(({ path, ...chain }) => chain)])
  const known = references.get(key)
  if (known && known.layout === layout && numbersOf(known.reading).every((numbers, i) => Buffer.compare(numbers, numbersOf(reading)[i] ?? new Uint8Array()) === 0) && numbersOf(known.reading).length === numbersOf(reading).length) return known.ref
  const ref = await referenceOf(reading)
  references.set(key, { reading, layout, ref })
  return ref
}

function numbersOf({ lon, lat, altitude }: Reading): Uint8Array[] {
  return [lon, lat, ...(altitude ? [altitude] : [])].map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength))
}

function problemOf(error: unknown): WorkerProblem {
  if (error instanceof GeometryError) return { path: error.path, problem: error.problem }
  throw error
}
