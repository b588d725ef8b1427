// SPDX-License-Identifier: MIT
import {
  decodeAbiParameters,
  encodeAbiParameters,
  encodePacked,
  hashTypedData,
  keccak256,
  recoverAddress,
  stringToHex,
  type AbiParameter,
} from 'viem'
import { expandSignature, isCanonicalSignature } from '../../../src/eas/compact'
import { ATTEST_FIELDS, type AttestLayout } from '../../../src/eas/layouts'
import { unitOf, UNITS } from '../../../src/operations/table'
import { AlteredAnswerError, ConnectionError, SignerError, messageOf } from './errors'
import { same } from './says'
import type { ChainReader, Hex, RevertedError } from './reader'
import type { Answer, Chain, Claims } from './types'

/** Calls, events and errors of EAS and its proxy, and the encoding of answers (docs/spec/facts.md). */

export const ZERO_HASH: Hex = `0x${'0'.repeat(64)}`

export const field = (type: string, name = ''): AbiParameter => ({ type, name })
/** Fields as Solidity declares them, such as `address recipient, bytes data`. */
export const fieldsOf = (declared: string): AbiParameter[] =>
  declared.split(',').map((each) => field(...(each.trim().split(' ') as [string, string?])))
export const tuple = (type: string, components: AbiParameter[], name = ''): AbiParameter => ({
  type,
  name,
  components,
})

const DATA = fieldsOf(
  'address recipient, uint64 expirationTime, bool revocable, bytes32 refUID, bytes data, uint256 value',
)
const SIGNATURE = fieldsOf('uint8 v, bytes32 r, bytes32 s')
/** The request of a delegated attestation. EAS 0.26 and 1.0 have no deadline in the call (`legacy`). */
const request = (list: '' | '[]', legacy: boolean) =>
  tuple(`tuple${list}`, [
    field('bytes32', 'schema'),
    tuple(`tuple${list}`, DATA, 'data'),
    tuple(`tuple${list}`, SIGNATURE, list ? 'signatures' : 'signature'),
    field('address', 'attester'),
    ...(legacy ? [] : [field('uint64', 'deadline')]),
  ])
const ATTESTATION = tuple(
  'tuple',
  fieldsOf(
    'bytes32 uid, bytes32 schema, uint64 time, uint64 expirationTime, uint64 revocationTime, bytes32 refUID, ' +
      'address recipient, address attester, bool revocable, bytes data',
  ),
)

/** An attestation as `getAttestation` returns it. Times are Unix seconds; 0 means never. */
export interface OnchainAttestation {
  uid: Hex
  schema: Hex
  time: bigint
  expirationTime: bigint
  revocationTime: bigint
  refUID: Hex
  recipient: Hex
  attester: Hex
  revocable: boolean
  data: Hex
}

/** Returns the canonical type of a parameter, which the selector hashes. */
function typeOf(parameter: AbiParameter): string {
  const { type, components } = parameter as { type: string; components?: readonly AbiParameter[] }
  return components ? `(${components.map(typeOf).join()})${type.slice('tuple'.length)}` : type
}
export const selector = (signature: string) => keccak256(stringToHex(signature)).slice(0, 10) as Hex

/** Encodes a call of a function. A string is the type of a parameter that is not a tuple. */
export function encodeCall(name: string, types: readonly (string | AbiParameter)[], values: unknown[]): Hex {
  const parameters = types.map((type) => (typeof type === 'string' ? field(type) : type))
  const signature = `${name}(${parameters.map(typeOf).join()})`
  return `${selector(signature)}${encodeAbiParameters(parameters, values).slice(2)}`
}

/** The fields of an attestation request, as EAS names them. Times are Unix seconds; 0 means never. */
export interface AttestationData {
  recipient: string
  expirationTime: bigint
  revocable: boolean
  refUID: string
  data: Hex
}
/** Encodes a call of `attest`, or of `multiAttest` for several attestations under one schema. */
export function attestationCall(schema: Hex, contents: readonly AttestationData[]): Hex {
  const list = contents.map((content) => ({ ...content, value: 0n }))
  const [only, ...more] = list
  const attestation = (several: '' | '[]') => [
    field('bytes32', 'schema'),
    tuple(`tuple${several}`, DATA, 'data'),
  ]
  return more.length === 0
    ? encodeCall('attest', [tuple('tuple', attestation(''))], [{ schema, data: only }])
    : encodeCall('multiAttest', [tuple('tuple[]', attestation('[]'))], [[{ schema, data: list }]])
}
export function revokeCall(schema: string, uid: string): Hex {
  const data = tuple('tuple', fieldsOf('bytes32 uid, uint256 value'), 'data')
  return encodeCall(
    'revoke',
    [tuple('tuple', [field('bytes32', 'schema'), data])],
    [{ schema, data: { uid, value: 0n } }],
  )
}
export function revokeOffchainCall(uid: string): Hex {
  return encodeCall('revokeOffchain', ['bytes32'], [uid])
}
export function registerCall({ fields, resolver, revocable }: Schema): Hex {
  return encodeCall('register', ['string', 'address', 'bool'], [fields, resolver, revocable])
}

export function attestCall(argument: Answer['attestByDelegation'], legacy: boolean): Hex {
  return encodeCall('attestByDelegation', [request('', legacy)], [argument])
}
export function multiAttestCall(argument: unknown[], legacy: boolean): Hex {
  return encodeCall('multiAttestByDelegation', [request('[]', legacy)], [argument])
}

/** Topic of `Attested(address recipient, address attester, bytes32 uid, bytes32 schemaUID)`. */
export const ATTESTED = keccak256(stringToHex('Attested(address,address,bytes32,bytes32)'))
/** Topic of `Revoked(address recipient, address attester, bytes32 uid, bytes32 schemaUID)`. */
export const REVOKED = keccak256(stringToHex('Revoked(address,address,bytes32,bytes32)'))
/** Topic of `RevokedOffchain(address revoker, bytes32 uid, uint64 timestamp)`. */
export const REVOKED_OFFCHAIN = keccak256(stringToHex('RevokedOffchain(address,bytes32,uint64)'))

/** Errors of EAS, its registry and its proxy, by selector. */
const ERRORS = Object.fromEntries(
  [
    ...['UsedSignature', 'AccessDenied', 'DeadlineExpired', 'InvalidSignature', 'InvalidSchema'],
    ...['InvalidExpirationTime', 'Irrevocable', 'NotFound', 'InvalidLength', 'NotPayable'],
    ...['InsufficientValue', 'InvalidAttestation', 'InvalidAttestations', 'InvalidRevocation'],
    ...['AlreadyExists', 'AlreadyRevoked', 'AlreadyRevokedOffchain'],
  ].map((name) => [selector(`${name}()`), name]),
)
/** Returns the selector of a contract's error; undefined if the RPC endpoint does not return it. */
export const selectorOf = ({ data }: RevertedError) => data?.slice(0, 10).toLowerCase() as Hex | undefined
/** Returns the name of a contract's error; undefined if it is not EAS's, but a resolver's (refused.ts). */
export function contractError(error: RevertedError): string | undefined {
  return ERRORS[selectorOf(error)!]
}

/** Calls a function of a contract. Throws a SignerError if the response is not its result. */
export async function read<T>(
  reader: ChainReader,
  to: string,
  name: string,
  types: string[],
  values: unknown[],
  result: AbiParameter,
): Promise<T> {
  const answer = await reader.call({ to, data: encodeCall(name, types, values) })
  try {
    return decodeAbiParameters([result], answer)[0] as T
  } catch (cause) {
    throw new SignerError(
      `The RPC endpoint has no contract with ${name} at ${to}. Check that it is an endpoint of this chain, and the address.`,
      { cause },
    )
  }
}

/** Reads the attestation with this UID; undefined if EAS has no such attestation. */
export async function getAttestation(
  reader: ChainReader,
  eas: string,
  uid: string,
): Promise<OnchainAttestation | undefined> {
  const found = await read<OnchainAttestation>(reader, eas, 'getAttestation', ['bytes32'], [uid], ATTESTATION)
  return found.uid === ZERO_HASH ? undefined : found
}
/** A registered schema; `fields` is its field list, such as `string memo`. */
export interface Schema {
  uid: Hex
  resolver: Hex
  revocable: boolean
  fields: string
}
const SCHEMA = tuple('tuple', fieldsOf('bytes32 uid, address resolver, bool revocable, string fields'))
/** Computes the UID that the registry assigns to a schema (SchemaRegistry.sol, _getUID). */
export function schemaUid({ fields, resolver, revocable }: Omit<Schema, 'uid'>): Hex {
  return keccak256(encodePacked(['string', 'address', 'bool'], [fields, resolver, revocable]))
}
/**
 * Reads the schema with this UID; undefined if the registry has no such schema. The UID is the hash of the
 * content, so the service cannot name a registry with another one.
 */
export async function getSchema(
  reader: ChainReader,
  registry: string,
  uid: string,
): Promise<Schema | undefined> {
  const found = await read<Schema>(reader, registry, 'getSchema', ['bytes32'], [uid], SCHEMA)
  return same(schemaUid(found), uid) ? found : undefined
}
/** Reads when an account revoked an offchain attestation, in Unix seconds; 0 means never. */
export async function getRevokeOffchain(
  reader: ChainReader,
  eas: string,
  revoker: string,
  uid: string,
): Promise<number> {
  const types = ['address', 'bytes32']
  return Number(await read(reader, eas, 'getRevokeOffchain', types, [revoker, uid], field('uint64')))
}
/** Reads the nonce that EAS expects in the attester's next signature. */
export async function getNonce(reader: ChainReader, eas: string, attester: string): Promise<number> {
  return Number(await read(reader, eas, 'getNonce', ['address'], [attester], field('uint256')))
}
/** Reads the attester on whose behalf the proxy attested. */
export function getProxiedAttester(reader: ChainReader, proxy: string, uid: string): Promise<string> {
  return read(reader, proxy, 'getAttester', ['bytes32'], [uid], field('address'))
}

const NUMERIC = ['uint256', 'string', 'bytes32[]', 'uint256', 'string'].map((type) => field(type))
const BOOLEAN = ['bool', 'bytes32[]', 'uint256', 'string'].map((type) => field(type))

/**
 * Decodes the payload of an answer into the units of answers; `whole` is the signed integer. Returns
 * undefined for bytes that are not the exact encoding of a numeric or boolean answer.
 */
export function decodeClaims(data: Hex): (Claims & { whole?: bigint }) | undefined {
  const numeric = decodeExactly(NUMERIC, data) as [bigint, string, Hex[], bigint, string] | undefined
  if (numeric) {
    const [whole, unitsOfData, inputRefs, timestamp, operation] = numeric
    const units = unitOf(unitsOfData)
    if (!units) return undefined
    const claims = { operation, timestamp: Number(timestamp), inputRefs: [...inputRefs] }
    return { result: Number(whole) / UNITS[units].perAnswerUnit, units, ...claims, whole }
  }
  const boolean = decodeExactly(BOOLEAN, data) as [boolean, Hex[], bigint, string] | undefined
  if (!boolean) return undefined
  const [result, inputRefs, timestamp, operation] = boolean
  return { result, operation, timestamp: Number(timestamp), inputRefs: [...inputRefs] }
}

function decodeExactly(parameters: AbiParameter[], data: Hex): readonly unknown[] | undefined {
  try {
    const values = decodeAbiParameters(parameters, data)
    return encodeAbiParameters(parameters, values) === data.toLowerCase() ? values : undefined
  } catch {
    return undefined
  }
}

export interface Domain {
  name: string
  version: string
  chainId: number
  verifyingContract: string
}

/**
 * Returns the address that must have signed an answer that names the attester `named`: that address if the
 * service lists it as one of its own (there are two during a change of keys), otherwise the service's
 * attester.
 */
export function expectedAttester(
  { attester, otherAttesters = [] }: Pick<Chain, 'attester' | 'otherAttesters'>,
  named: string,
): string {
  return otherAttesters.find((other) => same(other, named)) ?? attester
}

/** Creates the error for an answer that differs from its signed content. */
export const altered = (problem: string) => new AlteredAnswerError(`The answer was altered: ${problem}.`)
/** Rejects with an AlteredAnswerError for an answer that cannot be read, such as one with missing members. */
export function orAltered<T>(reading: Promise<T>): Promise<T> {
  return reading.catch((error: unknown) => {
    throw error instanceof AlteredAnswerError ? error : altered(`it cannot be read (${messageOf(error)})`)
  })
}

const CLAIMS = ['result', 'units', 'operation', 'timestamp', 'inputRefs'] as const

/** Describes a claim that is not the signed one; undefined if all are. A reduced answer may lack some. */
export function otherClaim(given: Partial<Claims>, says: Claims, isReduced: boolean): string | undefined {
  for (const name of CLAIMS) {
    // Compares JSON, because a program would read the text "false" as true.
    const [value, signed] = [given[name], says[name]].map((each) => JSON.stringify(each))
    if (value !== signed && !(isReduced && given[name] === undefined))
      return `its ${name} is ${value}, but the signed value is ${signed}`
  }
  return undefined
}

/** Adds the signed fields that earlier versions of the service left out, and reduced answers may lack. */
export function withAllFields<C extends { expirationTime?: unknown; refUID?: unknown }>(content: C) {
  return { ...content, expirationTime: content.expirationTime ?? 0, refUID: content.refUID ?? ZERO_HASH } as C
}

/**
 * Checks an answer as `checkSigned` does, for its contract on this chain and the attester `pinned`; default:
 * an attester of the service. Throws a ConnectionError while the service does not name the contract.
 */
export async function checkSignedOn(
  chain: Chain,
  answer: Parameters<typeof checkSigned>[0],
  pinned: string | undefined,
): Promise<{ attester: string; domain: Domain; layout: AttestLayout }> {
  const { attestation, delegatedAttestation: delegation } = answer
  const contract: { domain?: Domain } | null = delegation?.submission === 'proxy' ? chain.proxy : chain
  if (!contract) throw new AlteredAnswerError(`The service has no contract of ${chain.slug} for this answer.`)
  const { domain } = contract
  if (!domain)
    throw new ConnectionError(
      `The service cannot sign for ${chain.slug} at the moment${chain.reason ? ` (${chain.reason})` : ''}, ` +
        'and does not describe the contract that verifies the answer. Retry in a minute.',
    )
  const attester = pinned ?? expectedAttester(chain, attestation.attester)
  return { attester, domain, ...(await checkSigned(answer, domain, attester)) }
}

/**
 * Checks that the attester signed the content of `attestation` for this contract, and that
 * `attestByDelegation`, if present, and the answer's claims match that content. Throws an AlteredAnswerError
 * if they do not.
 * @returns layout of the typed data that was signed, and true in `legacy` if the contract's call has no
 * deadline (EAS 0.26 and 1.0)
 */
export function checkSigned(
  answer: Pick<Answer, 'attestation' | 'delegatedAttestation'> &
    Partial<Pick<Answer, 'attestByDelegation'> & Claims>,
  domain: Domain,
  attester: string,
): Promise<{ legacy: boolean; layout: AttestLayout }> {
  return orAltered(layoutOf(answer, domain, attester))
}

/** True for a member of the signed type, which the call encodes as the signed value: not 0X, nor a list. */
function isSame(given: unknown, signed: unknown): boolean {
  if (typeof given !== 'string' || typeof signed !== 'string') return given === signed
  return same(given, signed) && given.startsWith(signed.slice(0, 2))
}

async function layoutOf(...[answer, domain, attester]: Parameters<typeof checkSigned>) {
  const { delegatedAttestation: delegation, attestByDelegation: call } = answer
  const attestation = withAllFields(answer.attestation)
  if (!isSame(attestation.attester, attester))
    throw altered(`its attester is ${attestation.attester}, not ${attester}`)
  for (const name of ['attester', 'signature'] as const)
    if (
      delegation[name] !== undefined &&
      !isSame(expandSignature(delegation[name]), expandSignature(attestation[name]))
    )
      throw altered(`${name} of delegatedAttestation differs from its attestation`)
  const signature = expandSignature(attestation.signature)
  // Recovery also accepts the equivalent signature with the larger s, which the contracts reject.
  if (!isCanonicalSignature(signature))
    throw altered('its signature is not 65 bytes with the lower s and v 27 or 28, or the 64 of EIP-2098')
  const { deadline, submission } = delegation
  const nonce = submission === 'proxy' ? (delegation.nonce ?? 0) : delegation.nonce
  const { schema, recipient, expirationTime, revocable, refUID, data } = attestation
  // A text has the hash of its number, but is never equal to it. Only the proxy has no nonces.
  for (const [name, value] of Object.entries({ nonce, deadline, expirationTime }))
    if (typeof value !== 'number') throw altered(`its ${name} is not a number`)
  const content = { schema, attester, recipient, revocable, refUID, data }
  const message = () => ({
    ...{ ...content, expirationTime: BigInt(expirationTime), value: 0n },
    ...{ nonce: BigInt(nonce!), deadline: BigInt(deadline) },
  })
  const layouts: AttestLayout[] = submission === 'proxy' ? ['proxy'] : ['v2', 'v1', 'legacy']
  let layout: AttestLayout | undefined
  for (const each of layouts) {
    const types = { Attest: ATTEST_FIELDS[each] }
    try {
      const hash = hashTypedData({ domain, types, primaryType: 'Attest', message: message() } as never)
      if (same(await recoverAddress({ hash, signature: signature as Hex }), attester)) {
        layout = each
        break
      }
    } catch {
      // A value that does not fit its type, such as a nonce of 1e99, cannot have been signed.
    }
  }
  if (!layout) throw altered(`its signature is not by ${attester} over this content`)

  const v = parseInt(signature.slice(130), 16)
  const parts = { r: signature.slice(0, 66), s: `0x${signature.slice(66, 130)}`, v }
  const expected = { ...content, expirationTime, deadline, value: '0', ...parts }
  const given = call && {
    ...withAllFields(call.data),
    ...{ schema: call.schema, attester: call.attester, deadline: call.deadline },
    ...{ r: call.signature.r, s: call.signature.s, v: call.signature.v },
  }
  for (const [name, value] of Object.entries(expected))
    if (given && !isSame(given[name as keyof typeof given], value))
      throw altered(`${name} of attestByDelegation differs from its attestation`)

  const says = decodeClaims(data as Hex)
  if (!says) throw altered('its data is not the payload of an answer')
  const problem = otherClaim(answer, says, true)
  if (problem) throw altered(problem)
  return { legacy: layout === 'legacy', layout }
}

/** Returns the keccak256 hash of bytes, both as hex without 0x. */
export function keccakDigits(digits: string): string {
  return keccak256(`0x${digits}`).slice(2)
}
