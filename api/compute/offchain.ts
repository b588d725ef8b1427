import type { Chain } from '../../src/chains'
import {
  MAX_SIGNATURE_BYTES,
  OffchainError,
  PayloadError,
  checkExpiry,
  parseUid,
  timeOf,
  verifyOffchain,
  type OffchainAttestation,
} from '../../src/eas'
import type { QuorumRefusal } from '../../src/errors'
import { readGeometry } from '../../src/geodesy'
import { decodeLocation, isLocationSchema, promisedType, type SchemaPolicy } from '../../src/location'
import { parseStrictJson } from '../../src/strict-json'
import { type ChainReader, learnSchema } from '../contracts'
import type { MeasureInput, Measurer } from './measure'
import { ComputeError, invalidInput, noGeometry } from '../http/problems'

/** Fetches the document at a URI as text for a client, given by its address. Throws a ComputeError. */
export interface DocumentFetcher {
  fetch: (uri: string, client: string) => Promise<string>
}

/** An input that was read, and its source, which must still be valid when its answer is re-signed. */
export interface ResolvedInput extends MeasureInput {
  /** `geojson`, `onchain`, or the text of `offchainSource` for an offchain attestation */
  source: string
}

/** Facts that decide whether a verified offchain attestation is still valid. */
export interface OffchainValidity {
  /** lower-case */
  signer: string
  /** Unix seconds; 0 = never */
  expirationTime: bigint
  /** The signature, if only the signer's contract can verify it: the contract may change its verdict. */
  claim?: { digest: string; signature: string; problem?: string }
}

/** Maximum number of characters of a fetched document. (The body limit bounds inline documents.) */
const MAX_DOCUMENT_LENGTH = 262_144

export interface OffchainOptions {
  measurer: Measurer
  /** Unix milliseconds */
  clock: () => number
  /** Maximum age in seconds of the chain's last block, beyond which nothing is signed about it. */
  maxLagSeconds: number
  schemaPolicy: SchemaPolicy
  /** True if the signer of an offchain attestation may be a contract, which is then called on its chain. */
  smartAccounts?: boolean
  /** Fetcher of the documents of {uid, uri} inputs; undefined if such inputs are not accepted. */
  fetcher?: DocumentFetcher
}

/**
 * Resolves an offchain attestation, given inline or by its URI, to a geometry (docs/spec/trust.md 2;
 * docs/reference/offchain.md). Each use verifies the whole document, and reads from the chain if its signer
 * has revoked it. Only its geometry is cached.
 */
export class OffchainResolver {
  constructor(private readonly options: OffchainOptions) {}

  /** Resolves an input that `isOffchainForm` accepts. Throws errors that name `path`. */
  async resolve(input: object, path: string, reader: ChainReader): Promise<ResolvedInput> {
    const { chain } = reader.connected
    const { document, uid } = await this.document(input as Record<string, unknown>, path, reader.work.client)
    const attestation = await verifyOffchain(document, {
      chainId: chain.id,
      contract: chain.eas,
      uid,
      now: this.now(),
      accounts: this.options.smartAccounts ?? false,
    }).catch(refuse(path))
    await this.checkValid(attestation.uid, attestation, path, reader)
    await learnSchema(attestation.schema, reader, this.options.schemaPolicy)
    return { source: offchainSource(attestation), ...this.geometry(attestation, path, chain) }
  }

  /**
   * Throws a ComputeError (verification-failed) if a verified attestation has expired, if its signer is a
   * contract that does not accept the signature, or if its signer has revoked it; and an UnavailableError. A
   * revocation counts regardless of `revocable`: the contract ignores that field, and a signer who revokes an
   * attestation no longer makes it.
   */
  async checkValid(
    uid: string,
    { signer, expirationTime, claim }: OffchainValidity,
    path: string,
    reader: ChainReader,
  ): Promise<void> {
    const requireUnexpired = () => {
      try {
        checkExpiry(expirationTime, this.now())
      } catch (error) {
        refuse(path)(error)
      }
    }
    requireUnexpired()
    // The account is checked first: if the client has no share of these checks left, nothing else is read.
    const { maxLagSeconds } = this.options
    const refusal = claim && (await reader.accountRefusal({ account: signer, ...claim }, maxLagSeconds))
    const revocationTime = await reader.offchainRevocationTime(signer, uid, maxLagSeconds)
    requireUnexpired() // again, because it may have expired while a slow endpoint responded
    if (refusal) {
      const problem = (refusal.isContract ? undefined : claim?.problem) ?? `its signature ${refusal.problem}`
      throw refused(path, 'verification-failed', problem, refusal.isPending && 'not-indexed-yet')
    }
    if (revocationTime !== 0n) {
      const problem = `its signer revoked it at ${timeOf(revocationTime)}`
      throw refused(path, 'verification-failed', problem, 'revoked')
    }
  }

  private geometry(attestation: OffchainAttestation, path: string, { slug }: Chain): MeasureInput {
    const { measurer } = this.options
    const { signer, uid } = attestation
    // The UID commits to the content, but neither to the chain nor to the signer.
    const key = `${slug} ${signer} ${uid}`
    return (
      measurer.known(key) ??
      measurer.keep(uid, readGeometry(readLocation(attestation, path), `attestation ${uid}`), key)
    )
  }

  private async document(
    input: Record<string, unknown>,
    path: string,
    client: string,
  ): Promise<{ document: unknown; uid?: string }> {
    if (Object.hasOwn(input, 'attestation')) return { document: input.attestation }
    const { uri } = input
    const uid = parseUid(input.uid)
    if (uid === undefined)
      throw invalidInput(
        `${path}.uid: expected the UID of the offchain attestation at the uri, 0x and 64 hex digits`,
      )
    if (typeof uri !== 'string') throw invalidInput(`${path}.uri: expected a URI, as a string`)
    const { fetcher } = this.options
    if (!fetcher)
      throw invalidInput(
        `${path}.uri: this deployment does not fetch URIs. Send the offchain attestation itself, as ` +
          '{"attestation": {...}}.',
      )
    const text = await fetcher.fetch(uri, client).catch((error: unknown) => {
      throw error instanceof ComputeError ? error.within(`${path}.`) : error
    })
    return { document: parseDocument(text, path), uid }
  }

  private now(): bigint {
    return BigInt(Math.floor(this.options.clock() / 1000))
  }
}

/** Encodes an offchain input for a resign token: lower-case letters, digits and hyphens. */
export function offchainSource({ signer, expirationTime, claim }: OffchainValidity): string {
  return ['offchain', signer, expirationTime, ...(claim ? [claim.digest, claim.signature] : [])].join('-')
}
export const MAX_SOURCE_LENGTH = 200 + 2 * MAX_SIGNATURE_BYTES

/** Decodes the text of `offchainSource`; undefined for any other text. */
export function validityOf(source: string): OffchainValidity | undefined {
  const [, signer, expirationTime, digest, signature] =
    /^offchain-(0x[0-9a-f]{40})-(\d+)(?:-(0x[0-9a-f]{64})-(0x[0-9a-f]+))?$/.exec(source) ?? []
  if (signer === undefined) return undefined
  return {
    ...{ signer, expirationTime: BigInt(expirationTime!) },
    ...(digest !== undefined && { claim: { digest, signature: signature! } }),
  }
}

/** Parses a fetched document. Errors do not quote it: it may be confidential. */
function parseDocument(text: string, path: string): unknown {
  if (text.length > MAX_DOCUMENT_LENGTH)
    throw invalidInput(`${path}.uri: the document is larger than ${MAX_DOCUMENT_LENGTH} characters`)
  try {
    return parseStrictJson(text)
  } catch (error) {
    if (error instanceof SyntaxError)
      throw invalidInput(
        `${path}.uri: expected a JSON document without duplicate keys, without the key __proto__, ` +
          'and not nested too deeply',
      )
    throw error
  }
}

function readLocation({ schema, data }: OffchainAttestation, path: string): unknown {
  if (!isLocationSchema(schema))
    throw refused(path, 'invalid-input', `its schema, ${schema}, is not a location schema`)
  try {
    const { geometry, geometryProblem, locationType } = decodeLocation(schema, data)
    if (!geometry) throw refused(path, 'invalid-input', `it ${noGeometry(geometryProblem)}`)
    const value = JSON.parse(geometry.json) as { type: string }
    // For onchain attestations the content takes precedence over the declared type, because anyone may see
    // both. Here only the requester has seen either, so they must agree.
    const promised = promisedType(locationType)
    if (promised && promised !== value.type)
      throw refused(
        path,
        'invalid-input',
        `its location_type requires a ${promised}, but its location is a ${value.type}`,
      )
    return value
  } catch (error) {
    if (error instanceof PayloadError)
      throw refused(path, 'invalid-input', `its data cannot be decoded: ${error.message}`)
    throw error
  }
}

function refused(
  path: string,
  slug: 'invalid-input' | 'verification-failed',
  problem: string,
  refusal?: QuorumRefusal,
): ComputeError {
  return new ComputeError(slug, `${path}: offchain attestation refused: ${problem}`, undefined, refusal)
}

/** Throws an OffchainError as a ComputeError, any other error unchanged. */
function refuse(path: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof OffchainError)) throw error
    throw refused(path, error.slug, error.message, error.isExpired ? 'expired' : undefined)
  }
}
