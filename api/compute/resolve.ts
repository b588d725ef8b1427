import { chainNamed, type Chain } from '../../src/chains'
import { cut } from '../../src/cut'
import { PayloadError, parseUid, timeOf } from '../../src/eas'
import type { QuorumRefusal } from '../../src/errors'
import { describe, readGeometry } from '../../src/geodesy'
import { decodeLocation, isLocationSchema } from '../../src/location'
import { type ChainReader, learnSchema, type OnchainAttestation } from '../contracts'
import { ReadGeometry } from './measure'
import { isSalted, resolveSalted } from './salted'
import { OffchainResolver, type OffchainOptions, type ResolvedInput } from './offchain'
import { ComputeError, UnavailableError, invalidInput, itIsOn, noGeometry } from '../http/problems'
import { Cache } from '../http/cache'
import { SharedRead } from '../http/shared'
import { doubtAbout, type IndexState, type InputRow, type Store } from '../store'

const INDEX_STATE_SHARED_MS = 250
/** Seconds until a retry while the history of a schema is read, which takes minutes to hours. */
const HISTORY_SECONDS = 600

export interface ResolverOptions extends OffchainOptions {
  store: Store
  /** Maximum age in seconds of an index that is used without a call of the chain; 0 = none. */
  indexMaxAgeSeconds: number
}

/** A geometry as GeoJSON text, or the reason why there is none. */
type FoundGeometry = Pick<InputRow, 'geometry' | 'problem'>

/**
 * True if an input has one of the two offchain forms, {attestation} or {uid, uri}. GeoJSON may have foreign
 * members, even a uid and a uri. An attestation next to a geometry is refused, because it must not make the
 * geometry look verified. Throws a ComputeError if the fields of two forms are mixed.
 */
export function isOffchainForm(input: object, path: string): boolean {
  const has = (name: string) => Object.hasOwn(input, name)
  const offchain = has('attestation') || (has('uri') && !has('type'))
  const form = has('attestation')
    ? ['attestation']
    : has('salt') && !has('type')
      ? ['geometry', 'salt']
      : offchain
        ? ['uid', 'uri']
        : has('uid') && !has('type')
          ? ['uid']
          : undefined
  const extra = form && Object.keys(input).find((name) => !form.includes(name))
  if (extra !== undefined)
    throw invalidInput(
      `${path}: the field ${cut(extra, 40)} cannot be combined with ${form!.join(' and ')}. ` +
        'Use one form: a UID, {"uid"}, {"uid", "uri"}, {"attestation"}, {"geometry", "salt"} or ' +
        'GeoJSON.',
    )
  const salted = form?.[1] === 'salt' ? (input as { geometry?: unknown }).geometry : undefined
  if (salted instanceof Object && Object.hasOwn(salted, 'attestation'))
    isOffchainForm(salted, `${path}.geometry`)
  return offchain
}

/**
 * Resolves an Input (docs/spec/interface.md 2) to a geometry, with its UID if it has one. A UID is looked up
 * in the projection of the request's chain. If it is missing there, or may be out of date, the chain is
 * queried. Throws a ComputeError or GeometryError that names `path`, and an UnavailableError.
 */
export class Resolver {
  private readonly indexStates = new Cache<SharedRead<IndexState | undefined>>('index state')

  readonly offchain: OffchainResolver

  constructor(private readonly options: ResolverOptions) {
    this.offchain = new OffchainResolver(options)
  }

  /** Returns a resolver of inputs that must still be valid at this time, in Unix seconds. */
  validUntil(seconds: number): Resolver {
    const clock = () => Math.max(this.options.clock(), seconds * 1000)
    const options = { ...this.options, clock }
    const offchain = new OffchainResolver(options)
    return Object.assign(Object.create(this) as Resolver, { options, offchain })
  }

  /** Resolves an input. @param reader reader of the chain, for the work of the request */
  async resolve(input: unknown, path: string, reader: ChainReader): Promise<ResolvedInput> {
    if (typeof input === 'string') {
      const uid = parseUid(input)
      if (uid !== undefined) return this.byUid(uid, path, reader)
      const hint = isPair(input) ? `; a position is ${POSITION}` : ''
      throw invalidInput(`${path}: ${EXPECTED_UID} or a GeoJSON geometry${hint}`)
    }
    if (typeof input !== 'object' || input === null || Array.isArray(input))
      throw invalidInput(
        `${path}: ${EXPECTED_INPUT}, got ${Array.isArray(input) ? A_POSITION : describe(input)}`,
      )
    if (isOffchainForm(input, path)) return this.offchain.resolve(input, path, reader)
    if (isSalted(input, path))
      return { source: 'geojson', ...(await resolveSalted(input, path, this.options.measurer)) }
    // An object with a type is GeoJSON, even if it has a foreign member uid.
    if ('uid' in input && !('type' in input)) {
      const uid = typeof input.uid === 'string' ? parseUid(input.uid) : undefined
      if (uid === undefined) throw invalidInput(`${path}.uid: ${EXPECTED_UID}`)
      return this.byUid(uid, `${path}.uid`, reader)
    }
    if (input instanceof ReadGeometry)
      return { source: 'geojson', ...this.options.measurer.recall(input.input) }
    return { source: 'geojson', reading: readGeometry(input, path) }
  }

  /** Throws unless the attestation is valid and confirmed. Returns its geometry if `withGeometry`. */
  async checkValid(
    uid: string,
    path: string,
    reader: ChainReader,
    withGeometry = false,
  ): Promise<FoundGeometry> {
    const { chain } = reader.connected
    const { store, clock, schemaPolicy, indexMaxAgeSeconds, maxLagSeconds } = this.options
    const { minConfirmations = 0 } = chain
    const refuse = (refusal: QuorumRefusal, problem: string) =>
      new ComputeError('invalid-input', `${path}: attestation ${uid} ${problem}`, undefined, refusal)
    const ask = () => reader.attestation(uid, maxLagSeconds)
    // Reads the state of the index before the row, so that the row is at least as new as that state.
    const index = await this.indexState(chain)
    const isLocal = await reader.isLocal()
    const isOld = !isLocal && (index?.headAge ?? 0) > maxLagSeconds
    // A signature cannot be recalled: unless the index agrees with the chain, the chain itself is queried.
    // The inputs of a request arrive here at the same time, and the reader sends one request for them.
    const isDoubted = isOld || doubtAbout(index, indexMaxAgeSeconds, isLocal, chain.blockMs) !== undefined
    const [row, queried] = await Promise.all([
      store.inputByUid(chain.slug, uid, withGeometry),
      isDoubted ? ask() : undefined,
    ])

    const attestation = queried ?? (isDoubted || row ? undefined : await ask())
    if (!attestation && (isDoubted || !row)) {
      const elsewhere = (await store.otherChainsOf(uid, chain.slug)).map(
        (slug) => `${slug} (chain ${chainNamed(slug)!.id})`,
      )
      throw new ComputeError(
        'attestation-not-found',
        `${path}: there is no attestation ${uid} on ${chain.slug} (chain ${chain.id})${itIsOn(elsewhere)}`,
      )
    }
    if (row?.revoked || (attestation && attestation.revocationTime !== 0n))
      throw refuse('revoked', 'is revoked')
    const { expirationTime } = (attestation ?? row)!
    if (expirationTime !== 0n && expirationTime <= BigInt(Math.floor(clock() / 1000)))
      throw refuse('expired', `expired at ${timeOf(expirationTime)}`)
    if (
      minConfirmations > 0 &&
      (!row || (index?.indexedBlock ?? -1) - row.blockNumber + 1 < minConfirmations)
    )
      throw refuse(
        'not-indexed-yet',
        `does not have the required number of confirmations (${minConfirmations}) yet. Retry later.`,
      )
    if (!withGeometry) return { geometry: null, problem: null }
    if (row) return row
    await learnSchema(attestation!.schema, reader, schemaPolicy)
    return readPayload(attestation!, path)
  }

  /** Throws an UnavailableError unless the index is fresh and has all attestations of a schema, or all. */
  async requireFresh(reader: ChainReader, schema: string | undefined): Promise<void> {
    const { chain } = reader.connected
    const { store, indexMaxAgeSeconds, maxLagSeconds } = this.options
    const state = await this.indexState(chain)
    const isLocal = await reader.isLocal()
    const doubt = doubtAbout(state, indexMaxAgeSeconds || maxLagSeconds, isLocal, chain.blockMs)
    if (doubt !== undefined)
      throw new UnavailableError(
        `The indexed attestations of ${chain.slug} may be incomplete: ${doubt}. Name the zones by uids, or retry later.`,
      )
    if (await store.readsHistory(chain.slug, schema))
      throw new UnavailableError(
        `The indexer still reads the history of a schema on ${chain.slug}, so it may lack attestations. Name the zones by uids, or retry later.`,
        { retryAfter: HISTORY_SECONDS },
      )
  }

  private async byUid(uid: string, path: string, reader: ChainReader): Promise<ResolvedInput> {
    const { measurer } = this.options
    const known = measurer.known(uid)
    const { geometry, problem } = await this.checkValid(uid, path, reader, !known)
    if (known) return { source: 'onchain', ...known }
    if (geometry === null) throw invalidInput(`${path}: attestation ${uid} ${noGeometry(problem)}`)
    // Errors name the attestation, because the geometry is cached and other requests use other parameters.
    return {
      source: 'onchain',
      ...measurer.keep(uid, readGeometry(JSON.parse(geometry), `attestation ${uid}`)),
    }
  }

  private async indexState({ slug }: Chain): Promise<IndexState | undefined> {
    const { store } = this.options
    return this.indexStates
      .of(slug, () => new SharedRead(() => store.indexState(slug), INDEX_STATE_SHARED_MS))
      .get()
  }
}

/** Reads the geometry of an attestation that the index does not have, or that produced no record. */
function readPayload({ uid, schema, data }: OnchainAttestation, path: string): FoundGeometry {
  if (!isLocationSchema(schema))
    throw invalidInput(`${path}: attestation ${uid} has the schema ${schema}, which is not a location schema`)
  try {
    const { geometry, geometryProblem: problem } = decodeLocation(schema, data)
    return { geometry: geometry?.json ?? null, problem }
  } catch (error) {
    if (error instanceof PayloadError)
      throw invalidInput(`${path}: attestation ${uid} cannot be decoded: ${error.message}`)
    throw error
  }
}

const EXPECTED_UID = 'expected an attestation UID (0x and 64 hex digits)'
const EXPECTED_INPUT =
  'expected a UID (0x and 64 hex digits), GeoJSON, {"geometry", "salt"}, {"uid", "uri"} or {"attestation"}'

const POSITION = '{"type": "Point", "coordinates": [longitude, latitude]}'
const A_POSITION = `an array; a position is ${POSITION}`

/** True if a text consists of two numbers, which is the form in which maps copy a position. */
function isPair(text: string): boolean {
  if (text.length > 100) return false
  const numbers = text.trim().split(/\s*,\s*|\s+/)
  return numbers.length === 2 && numbers.every((each) => each !== '' && Number.isFinite(Number(each)))
}
