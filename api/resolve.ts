import type { Chain } from '../src/chains'
import { PayloadError } from '../src/eas'
import { readGeometry } from '../src/geodesy'
import { decodeLocation, isLocationSchema } from '../src/location'
import type { ChainReader, OnchainAttestation } from './chain-reader'
import { ReadGeometry, type MeasureInput, type Measurer } from './measure'
import { OffchainResolver, isOffchainForm, type DocumentFetcher } from './offchain'
import { ComputeProblem, UnavailableError, noGeometry } from './problems'
import { SharedRead } from './shared'
import type { IndexState, InputRow, Store } from './store'

/** How long the index's own account of its age is believed. */
const INDEX_STATE_SHARED_MS = 250

export interface ResolverOptions {
  store: Store
  measurer: Measurer
  /** milliseconds */
  clock: () => number
  /** Where the index may have missed as many seconds of its chain, the chain itself is asked of every attestation; 0 = always. */
  indexMaxAgeSeconds: number
  /** A node whose last block was so many seconds old stands still: then the index is up to date with it, but nothing is certain. */
  maxLagSeconds: number
  /** So many blocks must hold or follow an attestation, its own included; 0 = any. */
  minConfirmations: number
  /** Gets the documents of {uid, uri} inputs; undefined where they are not accepted. */
  fetcher?: DocumentFetcher
}

/** A geometry as GeoJSON text, or why there is none. */
type FoundGeometry = Pick<InputRow, 'geometry' | 'problem'>

/** An input, read; and what has to be looked at before an answer about it is signed again: an attestation may be revoked since. */
export interface ResolvedInput extends MeasureInput {
  /** `geojson`, `onchain`, or what `offchainSource` says of an offchain attestation */
  source: string
}

/**
 * Turns an Input (INTERFACE.md, Geometry input) into a geometry, with its UID if it has one. A UID is looked up in the
 * projection of the request's chain; what is missing there, or may be out of date, is asked of the chain itself.
 * Throws a ComputeProblem or GeometryError that names `path`, and UnavailableError.
 */
export class Resolver {
  private readonly indexStates = new Map<string, SharedRead<IndexState>>()

  readonly offchain: OffchainResolver

  constructor(private readonly options: ResolverOptions) {
    this.offchain = new OffchainResolver(options)
  }

  /** @param client the requester's address, by which the fetcher shares itself out */
  async resolve(
    input: unknown,
    path: string,
    chain: Chain,
    reader: ChainReader,
    client: string,
  ): Promise<ResolvedInput> {
    if (typeof input === 'string') return this.byUid(input, path, chain, reader)
    if (typeof input === 'object' && input !== null) {
      if (isOffchainForm(input, path)) return this.offchain.resolve(input, path, chain, reader, client)
      // Whatever has a type is GeoJSON, foreign members included.
      if ('uid' in input && !('type' in input)) {
        if (typeof input.uid !== 'string')
          throw new ComputeProblem('invalid-input', `${path}.uid: ${EXPECTED_UID}`)
        return this.byUid(input.uid, `${path}.uid`, chain, reader)
      }
    }
    return {
      source: 'geojson',
      ...(input instanceof ReadGeometry
        ? this.options.measurer.recall(input.input)
        : { reading: readGeometry(input, path) }),
    }
  }

  /** Throws unless the attestation is on the chain and stands: neither revoked nor expired, and deep enough. Answers its geometry, or why it has none, where that was asked for. */
  async checkStands(
    uid: string,
    path: string,
    chain: Chain,
    reader: ChainReader,
    withGeometry = false,
  ): Promise<FoundGeometry> {
    const { store, clock, indexMaxAgeSeconds, maxLagSeconds, minConfirmations } = this.options
    const refuse = (problem: string) =>
      new ComputeProblem('invalid-input', `${path}: attestation ${uid} ${problem}`)
    // In this order: what the row says is at least as new as what its index said of itself.
    const index = await this.indexState(chain)
    const row = await store.inputByUid(chain.slug, uid, withGeometry)

    if (index.headAge > maxLagSeconds && !reader.local)
      throw new UnavailableError(
        `The last block of ${chain.slug} that its node knows is ${Math.round(index.headAge)} seconds old, so what was revoked since is not known.`,
      )
    // What is signed cannot be recalled: what the index may not have heard of yet, the chain itself says.
    const asked = !row || index.age > indexMaxAgeSeconds
    const [attestation] = asked
      ? await Promise.all([reader.attestation(uid), reader.checkFresh(maxLagSeconds)])
      : []
    if (asked && !attestation)
      throw new ComputeProblem(
        'attestation-not-found',
        `${path}: there is no attestation ${uid} on ${chain.slug} (chain ${chain.id})`,
      )
    if (row?.revoked || (attestation && attestation.revocationTime !== 0n)) throw refuse('is revoked')
    const { expirationTime } = (attestation ?? row)!
    if (expirationTime !== 0n && expirationTime <= BigInt(Math.floor(clock() / 1000)))
      throw refuse(`expired at ${expirationTime} (Unix seconds)`)
    if (minConfirmations > 0 && (!row || index.block - row.blockNumber + 1 < minConfirmations))
      throw refuse(`is not ${minConfirmations} blocks deep yet; try again later`)
    if (!withGeometry) return { geometry: null, problem: null }
    return row ?? readPayload(attestation!, path)
  }

  private async byUid(text: string, path: string, chain: Chain, reader: ChainReader): Promise<ResolvedInput> {
    if (!/^0x[0-9a-fA-F]{64}$/.test(text))
      throw new ComputeProblem('invalid-input', `${path}: ${EXPECTED_UID}`)
    const { measurer } = this.options
    const uid = text.toLowerCase()
    const known = measurer.known(uid)
    const { geometry, problem } = await this.checkStands(uid, path, chain, reader, !known)
    if (known) return { source: 'onchain', ...known }
    if (geometry === null)
      throw new ComputeProblem('invalid-input', `${path}: attestation ${uid} ${noGeometry(problem)}`)
    // Not by the name of a parameter, as others will ask for it by another one.
    return {
      source: 'onchain',
      ...measurer.keep(uid, readGeometry(JSON.parse(geometry), `attestation ${uid}`)),
    }
  }

  private async indexState({ slug }: Chain): Promise<IndexState> {
    const { store, clock } = this.options
    let read = this.indexStates.get(slug)
    if (!read)
      this.indexStates.set(
        slug,
        (read = new SharedRead(() => store.indexState(slug), INDEX_STATE_SHARED_MS, clock)),
      )
    return read.get()
  }
}

/** The geometry of an attestation that the index has not reached, or that gave no record. */
function readPayload({ uid, schema, data }: OnchainAttestation, path: string): FoundGeometry {
  if (!isLocationSchema(schema))
    throw new ComputeProblem(
      'invalid-input',
      `${path}: attestation ${uid} has the schema ${schema}, which is no location schema`,
    )
  try {
    const { geometry, geometryProblem: problem } = decodeLocation(schema, data)
    return { geometry: geometry?.json ?? null, problem }
  } catch (error) {
    if (error instanceof PayloadError)
      throw new ComputeProblem(
        'invalid-input',
        `${path}: attestation ${uid} cannot be read: ${error.message}`,
      )
    throw error
  }
}

const EXPECTED_UID = 'expected an attestation UID (0x and 64 hex digits) or a GeoJSON geometry'
