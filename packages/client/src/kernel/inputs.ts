// SPDX-License-Identifier: MIT
import { keccak_256 } from '@noble/hashes/sha3.js'
import type { Geometry } from 'geojson'
import { getAddress, hexToBytes, keccak256, recoverAddress, stringToBytes, toHex } from 'viem'
import { cut } from '../../../../src/cut'
import {
  HALF_ORDER,
  MAX_BUMP,
  OffchainError,
  PayloadError,
  expandSignature,
  offchainDigest,
  offchainUid,
  packUid,
  readDocument,
  type Document,
} from '../../../../src/eas/portable'
import { GeometryError, canonicalJson, readGeometry, type Reading } from '../../../../src/geodesy'
import { locationTypeOf } from '../../../../src/location/names'
import {
  LOCATION_SCHEMAS,
  checkLocationFields,
  decodePayload,
  readLocation,
  type LocationSchema,
  type Payload,
} from '../../../../src/location/payload'
import { keccakDigits, schemaUid, type Schema } from '../eas'
import { ZERO_ADDRESS } from '../says'
import { invalidInput, messageOf } from '../errors'
import { positionAsPoint, type GeoJson, type Position } from '../position'
import type { PrivatePlace } from '../private'
import type { Hex } from '../reader'
import { loadH3 } from './h3'

/**
 * The content of an attestation on a chain, as `getAttestation` returns it, to which the UID commits. Hex in
 * any letter case; times in Unix seconds.
 */
export interface AttestationContent {
  schema: string
  recipient: string
  attester: string
  time: bigint | number | string
  expirationTime: bigint | number | string
  revocable: boolean
  refUID: string
  data: string
}

/**
 * An input of an answer: GeoJSON or a position, together with the salt of the question if there was one; an
 * offchain attestation, as in questions; or an attestation on the answer's chain, by its content or by its
 * UID (`{ uid }` may be a record), which is looked up.
 */
export type RecomputeInput =
  | GeoJson
  | Position
  | { attestation: object }
  | { sig: object; signer: string }
  | AttestationContent
  | { uid: string }
  | (Omit<PrivatePlace, 'salt'> & { salt: string })
  | string

/** Functions that look up attestations and schemas, and further location schemas. */
export interface RecomputeOptions {
  /** Returns the attestation with this UID on the answer's chain; undefined if there is none. */
  attestation?: (uid: string) => Promise<AttestationContent | undefined>
  /** Returns the schema with this UID in the registry of the answer's chain; undefined if there is none. */
  schema?: (uid: string) => Promise<Omit<Schema, 'uid'> | undefined>
  /** Field lists of location schemas that the service does not know, for use without a registry. */
  locationSchemas?: readonly string[]
}

/** An input that hashes to its reference. */
export interface ProvenInput {
  ref: string
  kind: 'geojson' | 'onchain' | 'offchain'
  /** geometry that the operation measured */
  geometry: Geometry
  /**
   * attester of the input. The UID commits to an onchain attester. An offchain attester is recovered from the
   * signature, and absent if the signature is not that of the signer's key: only its chain can verify a smart
   * account's signature.
   */
  attester?: string
}
/** An input that does not hash to its reference. */
export interface WrongInput {
  index: number
  /** the reference in the answer */
  expected: string
  /** hash of the input; undefined if there is nothing to hash */
  got?: string
  /** the problem as a sentence */
  problem: string
}

/** An input that hashes to its reference: its geometry, or the reason why the service cannot read one. */
export type ReadInput = { proven: ProvenInput; reading: Reading } | { refused: string }

/** Reads an input. Throws an InvalidInputError for a value that has no form of an input. */
export function readInput(
  input: RecomputeInput,
  index: number,
  expected: string,
  options: RecomputeOptions,
): Promise<ReadInput | WrongInput> {
  return new InputReader(index, expected, options).read(input)
}

/** Reads the input of one reference. */
class InputReader {
  private readonly place: string

  constructor(
    private readonly index: number,
    private readonly expected: string,
    private readonly options: RecomputeOptions,
  ) {
    this.place = `inputs[${index}]`
  }

  async read(input: RecomputeInput): Promise<ReadInput | WrongInput> {
    if (typeof input === 'string') return this.readUid(input)
    input = positionAsPoint(input)
    if (typeof input !== 'object' || input === null) throw invalid(this.place, EXPECTED)
    // Results of ethers have named fields that only explicit access finds.
    const given = input as Partial<
      AttestationContent & Record<'attestation' | 'sig' | 'type' | 'uid' | 'salt' | 'geometry', unknown>
    >
    if (given.attestation !== undefined) return this.readOffchain(given.attestation)
    if (given.sig !== undefined) return this.readOffchain(input)
    if (given.type !== undefined) return this.readGeoJson(input)
    if (given.salt !== undefined) return this.readGeoJson(given.geometry, this.saltOf(given.salt))
    if (given.data !== undefined && given.schema !== undefined)
      return this.readAttested(given as AttestationContent)
    if (typeof given.uid === 'string') return this.readUid(given.uid)
    throw invalid(this.place, EXPECTED)
  }

  private wrong(problem: string, got?: string): WrongInput {
    const { index, expected, place } = this
    return { index, expected, problem: `${place} ${problem}`, ...(got !== undefined && { got }) }
  }

  private saltOf(salt: unknown): Hex {
    if (typeof salt === 'string' && /^0x[0-9a-f]{64}$/i.test(salt)) return salt as Hex
    throw invalid(`${this.place}.salt`, 'expected 32 bytes in hex, 0x and 64 digits')
  }

  private readGeoJson(json: unknown, salt?: Hex): ReadInput | WrongInput {
    const reading = readOrThrow(json, this.place)
    const text = canonicalJson(reading)
    const plain = keccak256(stringToBytes(text))
    const got = salt === undefined ? plain : keccak256(`${salt}${plain.slice(2)}`)
    if (got !== this.expected) return this.wrong(`hashes to ${got}, not to ${this.expected}.`, got)
    return {
      proven: { ref: this.expected, kind: 'geojson', geometry: JSON.parse(text) as Geometry },
      reading,
    }
  }

  private async readUid(text: string): Promise<ReadInput | WrongInput> {
    if (!/^0x[0-9a-f]{64}$/i.test(text))
      throw invalid(this.place, `'${cut(text, 80)}' is not a UID; ${EXPECTED}`)
    const uid = text.toLowerCase()
    if (uid !== this.expected) return this.wrong(`is ${uid}, not ${this.expected}.`, uid)
    if (!this.options.attestation)
      throw invalid(
        this.place,
        'a UID requires options.attestation, which reads it from its chain. Set it, or pass the ' +
          'content of the attestation',
      )
    const attested = await this.options.attestation(uid)
    return attested
      ? this.readAttested(attested)
      : this.wrong(
          `is not on the chain: there is no attestation ${uid}. If the input was GeoJSON, pass the GeoJSON.`,
        )
  }

  private async readAttested(attested: AttestationContent): Promise<ReadInput | WrongInput> {
    const packed = packedOf(attested, this.place)
    if (!hashesTo(packed, this.expected)) {
      const got = keccak256(withBump(packed, 0))
      return this.wrong(`has the content of ${got}, not of ${this.expected}.`, got)
    }
    const attester = getAddress(attested.attester)
    return this.readPayload(attested.schema, attested.data, { ref: this.expected, kind: 'onchain', attester })
  }

  private async readOffchain(value: unknown): Promise<ReadInput | WrongInput> {
    const document = documentOf(value, this.place)
    const got = offchainUid(document.message, keccakDigits)
    if (got !== this.expected) return this.wrong(`has the content of ${got}, not of ${this.expected}.`, got)
    const isSigned = (await signerOf(document)) === document.signer
    const { schema, data } = document.message
    return this.readPayload(schema, data, {
      ...{ ref: this.expected, kind: 'offchain' },
      ...(isSigned && { attester: getAddress(document.signer) }),
    })
  }

  /** Returns a schema of the registry. Its content must hash to the UID, so a registry cannot forge it. */
  private async registeredSchema(uid: string): Promise<LocationSchema | undefined> {
    const found = await this.options.schema?.(uid)
    if (!found || schemaUid(found) !== uid) return undefined
    const { fields } = found
    try {
      checkLocationFields(fields)
      return { uid, fields }
    } catch (error) {
      if (error instanceof TypeError) return undefined
      throw error
    }
  }

  private async readPayload(
    schema: string,
    data: string,
    proven: Omit<ProvenInput, 'geometry'>,
  ): Promise<ReadInput> {
    const uid = schema.toLowerCase()
    const known = schemaOf(uid, this.options.locationSchemas ?? []) ?? (await this.registeredSchema(uid))
    if (!known) return { refused: `${this.place} has the schema ${uid}, which is not a location schema.` }
    try {
      const geometry = await geometryOf(decodePayload(known, hexToBytes(data as Hex)))
      if (typeof geometry === 'string')
        return { refused: `${this.place} has an ambiguous location: ${geometry}.` }
      return { proven: { ...proven, geometry }, reading: readGeometry(geometry, this.place) }
    } catch (error) {
      if (error instanceof PayloadError)
        return { refused: `${this.place} cannot be decoded: ${error.message}.` }
      throw error
    }
  }
}

const EXPECTED =
  'expected GeoJSON, { geometry, salt }, { attestation } (an offchain one), the content of an attestation with its schema and data, [longitude, latitude], or a UID'

export const invalid = (place: string, problem: string) =>
  invalidInput(`${place}: ${problem.replace(/\.$/, '')}.`)

function readOrThrow(json: unknown, place: string): Reading {
  try {
    return readGeometry(json, place)
  } catch (error) {
    if (error instanceof GeometryError) throw invalid(error.path, error.problem)
    throw error
  }
}

/** Returns the bytes that the UID of an attestation hashes, with room for the bump. */
function packedOf(attested: AttestationContent, place: string): Uint8Array {
  try {
    // Reads the fields by name: a spread would miss the fields of ethers' results.
    const { schema, recipient, attester, revocable, refUID, data } = attested
    const times = { time: BigInt(attested.time), expirationTime: BigInt(attested.expirationTime) }
    return hexToBytes(
      `0x${packUid({ schema, recipient, attester, revocable, refUID, data, ...times })}00000000`,
    )
  } catch (error) {
    if (error instanceof TypeError || error instanceof SyntaxError || error instanceof RangeError)
      throw invalid(place, `expected the content of an attestation: ${error.message}`)
    throw error
  }
}

function withBump(packed: Uint8Array, bump: number): Uint8Array {
  new DataView(packed.buffer, packed.byteOffset).setUint32(packed.length - 4, bump)
  return packed
}

/** Maximum size of all equal attestations in one block, in bytes: storing a byte costs 700 gas. */
const MOST_BYTES_HASHED = 64_000_000

/**
 * Returns true if the content hashes to the UID. Throws an InvalidInputError for a value that is not the
 * content of an attestation.
 */
export function isContentOf(content: AttestationContent, uid: string): boolean {
  return hashesTo(packedOf(content, 'the attestation'), uid.toLowerCase())
}

/** Texts, proofs and attributes of a location attestation, and the time of its event in Unix seconds. */
export type LocationTexts = Pick<
  Payload,
  | ('srs' | 'locationType' | 'location' | 'mediaTypes' | 'mediaData' | 'memo')
  | ('recipeTypes' | 'recipePayloads' | 'attributes' | 'eventTimestamp')
>

/**
 * Decodes the payload of a location attestation; undefined if its schema is not built in. Throws an
 * InvalidInputError if the payload does not match the schema.
 */
export function locationTexts({
  schema,
  data,
}: Pick<AttestationContent, 'schema' | 'data'>): LocationTexts | undefined {
  const known = LOCATION_SCHEMAS.find(({ uid }) => uid === schema.toLowerCase())
  if (!known) return undefined
  try {
    return decodePayload(known, hexToBytes(data as Hex))
  } catch (error) {
    if (error instanceof PayloadError) throw invalid('data', error.message)
    throw error
  }
}

/** Geometry of a location attestation as the service reads it; undefined if it is ambiguous. */
export async function locationGeometry(texts: LocationTexts): Promise<Geometry | undefined> {
  const geometry = await geometryOf(texts)
  return typeof geometry === 'string' ? undefined : geometry
}

/** Reads the geometry of a payload, or the reason why it is ambiguous. */
async function geometryOf(payload: LocationTexts): Promise<Geometry | string> {
  if (locationTypeOf(payload.locationType) === 'h3') await loadH3()
  const location = readLocation(payload)
  // Parses the stored text, as the service does.
  return typeof location === 'string' ? location : (JSON.parse(canonicalJson(location)) as Geometry)
}

/** Tries every bump value for which a block has room. */
function hashesTo(packed: Uint8Array, uid: string): boolean {
  const most = Math.min(MAX_BUMP, Math.ceil(MOST_BYTES_HASHED / packed.length))
  // Only the last bytes differ between bumps, so the others are hashed once.
  const content = keccak_256.create().update(packed.subarray(0, -4))
  for (let bump = 0; bump < most; bump++) {
    if (toHex(content.clone().update(withBump(packed, bump).subarray(-4)).digest()) === uid) return true
  }
  return false
}

function documentOf(value: unknown, place: string): Document {
  let json
  try {
    // The object of eas-sdk contains bigints.
    json = JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each))
  } catch (error) {
    throw invalid(`${place}.attestation`, `expected a value that JSON can represent: ${messageOf(error)}`)
  }
  try {
    return readDocument(JSON.parse(json), true)
  } catch (error) {
    if (error instanceof OffchainError) throw invalid(`${place}.attestation`, error.message)
    throw error
  }
}

/** Returns the lower-case address whose key signed a document; undefined if the signature is not a key's. */
async function signerOf(document: Document): Promise<string | undefined> {
  const { signature: given } = document
  // A signature of a key has the v 0, 1, 27 or 28.
  if (typeof given === 'object' && given.v > 255) return undefined
  const signature =
    typeof given === 'string'
      ? expandSignature(given)
      : `${given.r}${given.s.slice(2)}${toHex(given.v, { size: 1 }).slice(2)}`
  if (!/^0x[0-9a-f]{128}(00|01|1b|1c)$/.test(signature) || signature.slice(66, 130) > HALF_ORDER)
    return undefined
  const hash = offchainDigest(document, keccakDigits) as Hex
  try {
    return (await recoverAddress({ hash, signature: signature as Hex })).toLowerCase()
  } catch {
    return undefined
  }
}

/** Finds the schema with this UID among the service's own and these field lists. */
function schemaOf(uid: string, texts: readonly string[]): LocationSchema | undefined {
  const added = texts.map((fields) => {
    try {
      checkLocationFields(fields)
    } catch (error) {
      throw invalid('locationSchemas', (error as Error).message)
    }
    return { uid: schemaUid({ fields, resolver: ZERO_ADDRESS, revocable: true }), fields }
  })
  return [...LOCATION_SCHEMAS, ...added].find((schema) => schema.uid === uid)
}
