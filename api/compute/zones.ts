import { GeometryError, reachOf } from '../../src/geodesy'
import { rowOf } from '../../src/operations'
import { ComputeError, UnavailableError, invalidInput, noGeometry } from '../http/problems'
import type { Work } from '../http/work'
import { BOUNDARY, TimeLimitError } from './measure'
import { zoneCandidates, type Store, type ZoneSet } from '../store'
import { signBatch, type UnsignedResult } from './answers'
import type { ChainReader } from '../contracts'
import type { RequestedChain } from './attester'
import {
  BATCH_BUDGET_MS,
  chosenSchema,
  computeUnsigned,
  contractFor,
  landingOf,
  servedChain,
  type ComputeParts,
} from './compute'
import type { ResolvedInput } from './offchain'
import { EXPECTED_ZONES, type ZonesRequest, type ZonesResult } from './schemas'

/**
 * Finds the zones of a set that contain a geometry. The index selects candidates by their boxes, and each is
 * decided by the operation `contains` with the checks of a single request. The service has no boundaries of
 * its own: every zone is an attestation that the request names.
 */

/** Maximum number of candidates that are measured, and of answers that are signed. */
const MAX_CANDIDATES = 100
const MAX_ANSWERS = 20
/** Metres around the geometry within which a boundary rounds to 0.00 m. */
const AROUND = 0.01

/**
 * Signs one `contains` for each zone that contains the geometry. Throws a ComputeError instead of answering a
 * part if there are too many candidates or answers, and an UnavailableError if the set of an attester or a
 * schema is not certain to be complete.
 */
export async function computeZones(
  parts: ComputeParts & { store: Store },
  request: ZonesRequest,
  work: Work,
): Promise<ZonesResult> {
  const chain = await servedChain(parts, request.chainId, work)
  const { attester, reader } = chain
  const contract = await contractFor(parts, chain, request.submission)
  const started = performance.now()
  const zones = zoneSet(request.zones)
  // Refuses an unsuitable result schema even if there is no candidate.
  await chosenSchema(parts, rowOf('contains'), reader, request.schema)
  await requireIndexed(parts, reader, zones)
  const geometry = await parts.resolver.resolve(request.geometry, 'geometry', reader)
  // Refuses a geometry that cannot be measured even if there is no candidate.
  const { refs } = await parts.measurer.measure(
    { operation: 'intersects', inputs: [geometry, geometry], numbers: [] },
    work,
  )
  const now = Math.floor(parts.clock() / 1000)
  const reach = reachOf(geometry.reading, AROUND)
  const { uids, unplaced, others } = await zoneCandidates(
    parts.store.of(work),
    attester.chain.slug,
    zones,
    reach,
    now,
    MAX_CANDIDATES + 1,
  )
  if (uids.length > MAX_CANDIDATES)
    throw invalidInput(
      `zones: more than ${MAX_CANDIDATES} of them may contain the geometry. Nothing was signed. Select fewer zones by uids, prover or schema.`,
    )
  // The client listed these UIDs, so the response covers all of them.
  const named = 'uids' in zones ? unplaced : unplaced.slice(0, MAX_CANDIDATES)
  const found = {
    results: [] as { uid: string; result: UnsignedResult }[],
    onBoundary: [] as string[],
    undecided: [
      ...named.map(({ uid, problem }) => ({ uid, reason: `attestation ${uid} ${noGeometry(problem)}` })),
      ...others.map(({ uid, type }) => ({ uid, reason: `${uid}: ${otherThanPolygon(type)}` })),
    ],
  }
  const left = () => {
    const ms = started + BATCH_BUDGET_MS - performance.now()
    if (ms <= 0) throw new TimeLimitError()
    return ms
  }
  for (const uid of uids) {
    try {
      const { result, isOnBoundary } = await measureZone(parts, chain, request, uid, geometry, started, left)
      if (isOnBoundary) found.onBoundary.push(uid)
      if (result.claims.result === true) found.results.push({ uid, result })
    } catch (error) {
      const failure = ofSet(zones, error)
      const reason = failure === error ? reasonOf(error) : undefined
      if (reason === undefined) throw failure
      found.undecided.push({ uid, reason })
    }
  }
  if (found.results.length > MAX_ANSWERS)
    throw invalidInput(
      `zones: ${found.results.length} of them contain the geometry, but a response has at most ${MAX_ANSWERS} answers. Nothing was signed. Select fewer zones by uids, prover or schema.`,
    )
  const results = found.results.sort(byUid).map(({ result }) => result)
  const include = results.length === 0 ? [] : request.include
  const landing = await landingOf(parts, chain, contract, include)
  const batch = await signBatch(landing, results).catch((error: unknown) => {
    throw ofSet(zones, error)
  })
  const undecided = found.undecided.sort(byUid)
  return {
    ...batch,
    onBoundary: found.onBoundary.sort(),
    undecided,
    complete: undecided.length === 0,
    undecidedMore: named.length < unplaced.length,
    inputRef: refs[0]!,
  }
}

/**
 * @param checkedAt value of performance.now() before the geometry was resolved
 * @param left milliseconds that are left; throws a TimeLimitError if none are
 */
async function measureZone(
  parts: ComputeParts,
  chain: RequestedChain,
  { geometry: given, schema, recipient }: ZonesRequest,
  uid: string,
  geometry: ResolvedInput,
  checkedAt: number,
  left: () => number,
) {
  left()
  const { reader, work } = chain
  const container = await parts.resolver.resolve(uid, 'zones', reader)
  const { type } = container.reading.layout
  if (type !== 'Polygon' && type !== 'MultiPolygon')
    throw new GeometryError(`zones: ${uid}`, otherThanPolygon(type))
  const operation = {
    container: uid,
    geometry: given,
    ...(schema && { schema }),
    ...(recipient && { recipient }),
  }
  const result = await computeUnsigned(parts, chain, 'contains', operation, {
    budgetMs: left(),
    resolved: { container, geometry },
    checkedAt,
  })
  const { outcome } = await parts.measurer.measure(
    { operation: BOUNDARY, inputs: [container, geometry], numbers: [] },
    work,
    left(),
  )
  return { result, isOnBoundary: outcome === true }
}

const byUid = (a: { uid: string }, b: { uid: string }) => (a.uid < b.uid ? -1 : 1)

function zoneSet({ uids, prover, schema }: ZonesRequest['zones']): ZoneSet {
  if ((uids === undefined) === (prover === undefined && schema === undefined))
    throw invalidInput(`zones: ${EXPECTED_ZONES}`)
  if (uids) return { uids: [...new Set(uids.map((uid) => uid.toLowerCase()))].sort() }
  return {
    ...(prover !== undefined && { prover: prover.toLowerCase() }),
    ...(schema !== undefined && { schema: schema.toLowerCase() }),
  }
}

/** Throws unless the index has all zones of a set by attester or schema. */
async function requireIndexed(
  { resolver, store }: ComputeParts & { store: Store },
  reader: ChainReader,
  zones: ZoneSet,
): Promise<void> {
  if ('uids' in zones) return
  const { schema } = zones
  await resolver.requireFresh(reader, schema)
  if (schema !== undefined && !(await store.followsSchema(reader.connected.chain.slug, schema)))
    throw invalidInput(
      `zones.schema: ${schema} is not an indexed location schema. GET /api/v0/schemas lists the indexed ones.`,
    )
}

/** Reason why a zone is undecided; undefined for errors that concern the request or the service. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof TimeLimitError)
    return `it could not be measured within the ${BATCH_BUDGET_MS / 1000} seconds of a request, in which small zones are measured first`
  const ofZone =
    error instanceof GeometryError
      ? !error.path.startsWith('geometry')
      : error instanceof ComputeError &&
        error.slug === 'invalid-input' &&
        /^(zones|container|attestation)\b/.test(error.message)
  return ofZone ? (error as Error).message.replace(/^(zones|container): /, '') : undefined
}

/**
 * Returns the error for a set. If the chain lacks a zone of a set by attester or schema, or the zone is no
 * longer valid, it is an UnavailableError: the client did not name it, and a retry reads the set again.
 */
function ofSet(zones: ZoneSet, error: unknown): unknown {
  if ('uids' in zones || !(error instanceof ComputeError)) return error
  const { slug, refusal, message } = error
  // Before the signature, a zone that was confirmed can only lack confirmations because of a reorg.
  const isGone =
    slug === 'attestation-not-found' ||
    refusal === 'revoked' ||
    refusal === 'expired' ||
    (refusal === 'not-indexed-yet' && message.startsWith('input 1: '))
  const problem = message.replace(/^(zones|input 1): /, '')
  return isGone && problem !== message
    ? new UnavailableError(`The index disagrees with the chain about a zone: ${problem}.`)
    : error
}

const otherThanPolygon = (type: string) => `expected a Polygon or a MultiPolygon, got a ${type}`
