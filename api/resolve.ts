import { LRUCache } from 'lru-cache'
import type { Chain } from '../src/chains'
import { PayloadError } from '../src/eas'
import { prepareGeometry, readGeometry } from '../src/geodesy'
import { decodeLocation, isLocationSchema } from '../src/location'
import type { ChainReader, OnchainAttestation } from './chain-reader'
import type { MeasureInput } from './measure'
import { ComputeProblem } from './problems'
import { SharedRead } from './shared'
import type { IndexState, Store } from './store'

/** Positions of attested geometries that are kept ready for measuring, 54 to 73 bytes each; and of the largest that is: preparing it takes 5 ms. */
const POSITIONS_KEPT = 1_000_000
const LARGEST_KEPT = 10_000
/** How long the index's own account of its age is believed. */
const INDEX_STATE_SHARED_MS = 250

export interface ResolverOptions {
  store: Store
  /** milliseconds */
  clock: () => number
  /** Where the index may have missed as many seconds of its chain, the chain itself is asked of every attestation; 0 = always. */
  indexMaxAgeSeconds: number
  /** So many blocks must hold or follow an attestation, its own included; 0 = any. */
  minConfirmations: number
}

/**
 * Turns an Input (INTERFACE.md, Geometry input) into a geometry, with its UID if it has one. A UID is looked up in the
 * projection of the request's chain; what is missing there, or may be out of date, is asked of the chain itself.
 * Throws a ComputeProblem or GeometryError that names `path`, and UnavailableError.
 */
export class Resolver {
  /** By chain and UID, which commits to the content: it never changes. */
  private readonly known = new LRUCache<string, MeasureInput>({ maxSize: POSITIONS_KEPT, sizeCalculation: ({ reading }) => reading.lon.length })
  private readonly indexStates = new Map<string, SharedRead<IndexState>>()

  constructor(private readonly options: ResolverOptions) {}

  async resolve(input: unknown, path: string, chain: Chain, reader: ChainReader): Promise<MeasureInput> {
    if (typeof input === 'string') return this.byUid(input, path, chain, reader)
    // Whatever has a type is GeoJSON, foreign members of any name included.
    if (typeof input === 'object' && input !== null && !('type' in input)) {
      if ('uri' in input || 'attestation' in input) throw new ComputeProblem('invalid-input', `${path}: offchain attestations are not accepted yet; give a UID or a GeoJSON geometry`)
      if ('uid' in input) {
        if (typeof input.uid !== 'string') throw new ComputeProblem('invalid-input', `${path}.uid: ${EXPECTED_UID}`)
        return this.byUid(input.uid, `${path}.uid`, chain, reader)
      }
    }
    return { reading: readGeometry(input, path) }
  }

  /** Throws unless the attestation is on the chain and stands: neither revoked nor expired, and deep enough. Answers its geometry where that was asked for. */
  async checkStands(uid: string, path: string, chain: Chain, reader: ChainReader, withGeometry = false): Promise<string | null> {
    const { store, clock, indexMaxAgeSeconds, minConfirmations } = this.options
    const refuse = (problem: string) => new ComputeProblem('invalid-input', `${path}: attestation ${uid} ${problem}`)
    const [row, index] = await Promise.all([store.inputByUid(chain.slug, uid, withGeometry), this.indexState(chain)])

    // What is signed cannot be recalled: what the index may not have heard of yet, the chain itself says.
    const attestation = !row || index.age > indexMaxAgeSeconds ? await reader.attestation(uid) : undefined
    if (!attestation && (!row || index.age > indexMaxAgeSeconds)) throw new ComputeProblem('attestation-not-found', `${path}: there is no attestation ${uid} on ${chain.slug} (chain ${chain.id})`)
    if (row?.revoked || (attestation && attestation.revocationTime !== 0n)) throw refuse('is revoked')
    const { expirationTime } = (attestation ?? row)!
    if (expirationTime !== 0n && expirationTime <= BigInt(Math.floor(clock() / 1000))) throw refuse(`expired at ${expirationTime} (Unix seconds)`)
    if (minConfirmations > 0 && (!row || index.block - row.blockNumber + 1 < minConfirmations)) throw refuse(`is not ${minConfirmations} blocks deep yet; try again later`)
    if (!withGeometry) return null
    return row ? row.geometry : readPayload(attestation!, path)
  }

  private async byUid(text: string, path: string, chain: Chain, reader: ChainReader): Promise<MeasureInput> {
    if (!/^0x[0-9a-fA-F]{64}$/.test(text)) throw new ComputeProblem('invalid-input', `${path}: ${EXPECTED_UID}`)
    const uid = text.toLowerCase()
    const key = `${chain.slug}-${uid}`
    const known = this.known.get(key)
    const geometry = await this.checkStands(uid, path, chain, reader, !known)
    if (known) return known
    if (geometry === null) throw new ComputeProblem('invalid-input', `${path}: attestation ${uid} has no geometry that can be read for certain`)
    // Not by the name of a parameter, as others will ask for it by another one.
    const reading = readGeometry(JSON.parse(geometry), `attestation ${uid}`)
    if (reading.lon.length > LARGEST_KEPT) return { uid, reading }
    const input = { uid, reading, prepared: prepareGeometry(reading) }
    this.known.set(key, input)
    return input
  }

  private async indexState({ slug }: Chain): Promise<IndexState> {
    const { store, clock } = this.options
    let read = this.indexStates.get(slug)
    if (!read) this.indexStates.set(slug, (read = new SharedRead(() => store.indexState(slug), INDEX_STATE_SHARED_MS, clock)))
    return read.get()
  }
}

/** The geometry, as text, of an attestation that the index has not reached, or that gave no record. */
function readPayload({ uid, schema, data }: OnchainAttestation, path: string): string | null {
  if (!isLocationSchema(schema)) throw new ComputeProblem('invalid-input', `${path}: attestation ${uid} has the schema ${schema}, which is no location schema`)
  try {
    return decodeLocation(schema, data).geometry?.json ?? null
  } catch (error) {
    if (error instanceof PayloadError) throw new ComputeProblem('invalid-input', `${path}: attestation ${uid} cannot be read: ${error.message}`)
    throw error
  }
}

const EXPECTED_UID = 'expected an attestation UID (0x and 64 hex digits) or a GeoJSON geometry'
