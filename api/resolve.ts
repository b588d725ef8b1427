import type { Chain } from '../src/chains'
import { PayloadError } from '../src/eas'
import { readGeometry } from '../src/geodesy'
import { decodeLocation, isLocationSchema } from '../src/location'
import type { ChainReader, OnchainAttestation } from './chain-reader'
import type { MeasureInput } from './measure'
import { OffchainResolver, isOffchainForm, type DocumentFetcher, type OffchainInput } from './offchain'
import { ComputeProblem } from './problems'
import type { Store } from './store'

/**
 * Turns an Input (INTERFACE.md, Geometry input) into a geometry, with its UID if it has one. A UID is looked up in the projection
 * of the request's chain, and of the chain itself, which alone knows whether it still stands.
 * Throws a ComputeProblem or GeometryError that names `path`, and UnavailableError.
 */
export class Resolver {
  private readonly offchain: OffchainResolver

  /**
   * @param clock milliseconds
   * @param fetcher gets the documents of {uid, uri} inputs; undefined where they are not accepted
   */
  constructor(
    private readonly store: Store,
    private readonly clock: () => number,
    fetcher?: DocumentFetcher,
  ) {
    this.offchain = new OffchainResolver(clock, fetcher)
  }

  /** @param client the requester's address, by which the fetcher shares itself out */
  async resolve(input: unknown, path: string, chain: Chain, reader: ChainReader, client: string): Promise<MeasureInput | OffchainInput> {
    if (typeof input === 'string') return this.byUid(input, path, chain, reader)
    if (typeof input === 'object' && input !== null) {
      if (isOffchainForm(input, path)) return this.offchain.resolve(input, path, chain, reader, client)
      // Whatever has a type is GeoJSON, foreign members included.
      if ('uid' in input && !('type' in input)) {
        if (typeof input.uid !== 'string') throw new ComputeProblem('invalid-input', `${path}.uid: ${EXPECTED_UID}`)
        return this.byUid(input.uid, `${path}.uid`, chain, reader)
      }
    }
    return { reading: readGeometry(input, path) }
  }

  private async byUid(text: string, path: string, chain: Chain, reader: ChainReader): Promise<MeasureInput> {
    if (!/^0x[0-9a-fA-F]{64}$/.test(text)) throw new ComputeProblem('invalid-input', `${path}: ${EXPECTED_UID}`)
    const uid = text.toLowerCase()
    const refuse = (problem: string) => new ComputeProblem('invalid-input', `${path}: attestation ${uid} ${problem}`)

    // The index may lag, and what is signed cannot be recalled: whether the attestation stands, the chain itself says.
    const [indexed, attestation] = await Promise.all([this.store.inputByUid(chain.slug, uid), reader.attestation(uid)])
    if (!attestation) throw new ComputeProblem('attestation-not-found', `${path}: there is no attestation ${uid} on ${chain.slug} (chain ${chain.id})`)
    const { revocationTime, expirationTime } = attestation
    if (revocationTime !== 0n || indexed?.revoked) throw refuse('is revoked')
    if (expirationTime !== 0n && expirationTime <= BigInt(Math.floor(this.clock() / 1000)))
      throw refuse(`expired at ${expirationTime} (Unix seconds)`)
    const geometry = indexed ? indexed.geometry : readPayload(attestation, path)
    if (geometry === null) throw refuse('has no geometry that can be read for certain')
    return { uid, reading: readGeometry(JSON.parse(geometry), path) }
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
