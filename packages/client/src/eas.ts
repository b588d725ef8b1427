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
import { AlteredAnswerError, ConnectionError } from './errors'
import { same } from './says'
import { RevertedError, type Call, type ChainReader, type Hex } from './reader'
import type { Answer, Chain, Claims } from './types'

/**
 * The calls, events and errors of EAS and its proxy that the client uses, and the encoding of answers
 * (docs/spec/facts.md).
 */

export const ZERO_HASH: Hex = `0x${'0'.repeat(64)}`

export const field = (type: string, name = ''): AbiParameter => ({ type, name })
export const tuple = (type: string, components: AbiParameter[], name = ''): AbiParameter => ({
  type,
  name,
  components,
})

const DATA = [
  field('address', 'recipient'),
  field('uint64', 'expirationTime'),
  field('bool', 'revocable'),
  field('bytes32', 'refUID'),
  field('bytes', 'data'),
  field('uint256', 'value'),
]
const SIGNATURE = [field('uint8', 'v'), field('bytes32', 'r'), field('bytes32', 's')]
/** The request of a delegated attestation. EAS 0.26 and 1.0 have no deadline in the call (`legacy`). */
const request = (list: '' | '[]', legacy: boolean) =>
  tuple(`tuple${list}`, [
    field('bytes32', 'schema'),
    tuple(`tuple${list}`, DATA, 'data'),
    tuple(`tuple${list}`, SIGNATURE, list ? 'signatures' : 'signature'),
    field('address', 'attester'),
    ...(legacy ? [] : [field('uint64', 'deadline')]),
  ])
const ATTESTATION = tuple('tuple', [
  field('bytes32', 'uid'),
  field('bytes32', 'schema'),
  field('uint64', 'time'),
  field('uint64', 'expirationTime'),
  field('uint64', 'revocationTime'),
  field('bytes32', 'refUID'),
  field('address', 'recipient'),
  field('address', 'attester'),
  field('bool', 'revocable'),
  field('bytes', 'data'),
])

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

/** Encodes a call of a function with these parameters. */
export function encodeCall(name: string, parameters: AbiParameter[], values: unknown[]): Hex {
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
  const data = tuple('tuple', [field('bytes32', 'uid'), field('uint256', 'value')], 'data')
  return encodeCall(
    'revoke',
    [tuple('tuple', [field('bytes32', 'schema'), data])],
    [{ schema, data: { uid, value: 0n } }],
  )
}
export function revokeOffchainCall(uid: string): Hex {
  return encodeCall('revokeOffchain', [field('bytes32')], [uid])
}
/** Encodes a call of the SchemaRegistry's `register`. */
export function registerCall({ fields, resolver, revocable }: Schema): Hex {
  return encodeCall(
    'register',
    [field('string'), field('address'), field('bool')],
    [fields, resolver, revocable],
  )
}

/** Encodes a call of `attestByDelegation` with the argument in an answer. */
export function attestCall(argument: Answer['attestByDelegation'], legacy: boolean): Hex {
  return encodeCall('attestByDelegation', [request('', legacy)], [argument])
}
/** Encodes a call of `multiAttestByDelegation` with the arguments of a batch. */
export function multiAttestCall(argument: unknown[], legacy: boolean): Hex {
  return encodeCall('multiAttestByDelegation', [request('[]', legacy)], [argument])
}

/**
 * Topic of `Attested(address indexed recipient, address indexed attester, bytes32 uid, bytes32 indexed
 * schemaUID)`.
 */
export const ATTESTED = keccak256(stringToHex('Attested(address,address,bytes32,bytes32)'))

/** Errors of EAS, its registry and its proxy, by selector. */
const ERRORS = Object.fromEntries(
  [
    ...['UsedSignature', 'AccessDenied', 'DeadlineExpired', 'InvalidSignature', 'InvalidSchema'],
    ...[
      'InvalidExpirationTime',
      'Irrevocable',
      'NotFound',
      'InvalidLength',
      'NotPayable',
      'InsufficientValue',
    ],
    ...['InvalidAttestation', 'InvalidAttestations', 'InvalidRevocation', 'AlreadyExists'],
    ...['AlreadyRevoked', 'AlreadyRevokedOffchain'],
  ].map((name) => [selector(`${name}()`), name]),
)
/**
 * Returns the selector of the error with which a contract reverted; undefined if the RPC endpoint does not
 * return it.
 */
export const selectorOf = ({ data }: RevertedError) => data?.slice(0, 10).toLowerCase() as Hex | undefined
/**
 * Returns the name of the error with which a contract reverted; undefined for an error that is not EAS's,
 * such as a resolver's (refused.ts).
 */
export function contractError(error: RevertedError): string | undefined {
  return ERRORS[selectorOf(error)!]
}

async function read(reader: ChainReader, to: string, call: Hex, result: AbiParameter): Promise<unknown> {
  const answer = await reader.call({ to, data: call } satisfies Call)
  return decodeAbiParameters([result], answer)[0]
}

/** Reads the attestation with this UID; undefined if EAS has no such attestation. */
export async function getAttestation(
  reader: ChainReader,
  eas: string,
  uid: string,
): Promise<OnchainAttestation | undefined> {
  const call = encodeCall('getAttestation', [field('bytes32')], [uid])
  const found = (await read(reader, eas, call, ATTESTATION)) as OnchainAttestation
  return found.uid === ZERO_HASH ? undefined : found
}
/** A registered schema; `fields` is its field list, such as `string memo`. */
export interface Schema {
  uid: Hex
  resolver: Hex
  revocable: boolean
  fields: string
}
/** Computes the UID that the registry assigns to a schema (SchemaRegistry.sol, _getUID). */
export function schemaUid({ fields, resolver, revocable }: Omit<Schema, 'uid'>): Hex {
  return keccak256(encodePacked(['string', 'address', 'bool'], [fields, resolver, revocable]))
}
/** Reads the schema with this UID; undefined if the registry has no such schema. */
export async function getSchema(
  reader: ChainReader,
  registry: string,
  uid: string,
): Promise<Schema | undefined> {
  const call = encodeCall('getSchema', [field('bytes32')], [uid])
  const record = tuple('tuple', [
    ...[field('bytes32', 'uid'), field('address', 'resolver')],
    ...[field('bool', 'revocable'), field('string', 'schema')],
  ])
  const found = (await read(reader, registry, call, record)) as Omit<Schema, 'fields'> & { schema: string }
  const { schema: fields, ...rest } = found
  return found.uid === ZERO_HASH ? undefined : { ...rest, fields }
}
/** Reads when an account revoked an offchain attestation, in Unix seconds; 0 means never. */
export async function getRevokeOffchain(
  reader: ChainReader,
  eas: string,
  revoker: string,
  uid: string,
): Promise<number> {
  const call = encodeCall('getRevokeOffchain', [field('address'), field('bytes32')], [revoker, uid])
  return Number(await read(reader, eas, call, field('uint64')))
}

/** Reads the nonce that EAS expects in the attester's next signature. */
export async function getNonce(reader: ChainReader, eas: string, attester: string): Promise<number> {
  return Number(
    await read(reader, eas, encodeCall('getNonce', [field('address')], [attester]), field('uint256')),
  )
}
/** Reads the attester on whose behalf the proxy attested. */
export async function getProxiedAttester(reader: ChainReader, proxy: string, uid: string): Promise<string> {
  return (await read(
    reader,
    proxy,
    encodeCall('getAttester', [field('bytes32')], [uid]),
    field('address'),
  )) as string
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
  const contract: { domain?: Domain } | null = delegation.submission === 'proxy' ? chain.proxy : chain
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
export async function checkSigned(
  answer: Pick<Answer, 'attestation' | 'delegatedAttestation'> &
    Partial<Pick<Answer, 'attestByDelegation'> & Claims>,
  domain: Domain,
  attester: string,
): Promise<{ legacy: boolean; layout: AttestLayout }> {
  const { delegatedAttestation: delegation, attestByDelegation: call } = answer
  const attestation = withAllFields(answer.attestation)
  const altered = (what: string) => new AlteredAnswerError(`The answer was altered: ${what}.`)
  if (!same(attestation.attester, attester))
    throw altered(`its attester is ${attestation.attester}, not ${attester}`)
  for (const name of ['attester', 'signature'] as const)
    if (
      delegation[name] !== undefined &&
      !same(expandSignature(String(delegation[name])), expandSignature(attestation[name]))
    )
      throw altered(`${name} of delegatedAttestation differs from its attestation`)
  const signature = expandSignature(attestation.signature)
  // Recovery also accepts the equivalent signature with the larger s, which the contracts reject.
  if (!isCanonicalSignature(signature))
    throw altered('its signature is not 65 bytes with the lower s and v 27 or 28, or the 64 of EIP-2098')
  const message = () => ({
    ...{ attester, schema: attestation.schema, recipient: attestation.recipient, value: 0n },
    ...{ expirationTime: BigInt(attestation.expirationTime), revocable: attestation.revocable },
    ...{ refUID: attestation.refUID, data: attestation.data },
    ...{ nonce: BigInt(delegation.nonce ?? 0), deadline: BigInt(delegation.deadline) },
  })
  const layouts: AttestLayout[] = delegation.submission === 'proxy' ? ['proxy'] : ['legacy', 'v1', 'v2']
  // A value that does not fit its type, such as a nonce of 1e99, cannot have been signed.
  const signers = await Promise.all(
    layouts.map(async (layout) => {
      const types = { Attest: ATTEST_FIELDS[layout] }
      try {
        const hash = hashTypedData({ domain, types, primaryType: 'Attest', message: message() } as never)
        return await recoverAddress({ hash, signature: signature as Hex })
      } catch {
        return ''
      }
    }),
  )
  const layout = layouts[signers.findIndex((signer) => same(signer, attester))]
  if (!layout) throw altered(`its signature is not by ${attester} over this content`)

  const expected = {
    ...{ schema: attestation.schema, attester, deadline: delegation.deadline },
    ...{ recipient: attestation.recipient, expirationTime: attestation.expirationTime },
    ...{ revocable: attestation.revocable, refUID: attestation.refUID, data: attestation.data, value: '0' },
    signature,
  }
  const given = call && {
    ...withAllFields(call.data),
    ...{ schema: call.schema, attester: call.attester, deadline: call.deadline },
    signature: `${call.signature.r}${call.signature.s.slice(2)}${call.signature.v.toString(16)}`,
  }
  for (const [name, value] of Object.entries(expected))
    if (given && !same(String(value), String(given[name as keyof typeof given])))
      throw altered(`${name} of attestByDelegation differs from its attestation`)

  const says = decodeClaims(attestation.data as Hex)
  if (!says) throw altered('its data is not the payload of an answer')
  for (const name of ['result', 'units', 'operation', 'timestamp', 'inputRefs'] as const)
    if (answer[name] !== undefined && String(answer[name]) !== String(says[name]))
      throw altered(`its ${name} is ${String(answer[name])}, but the signed value is ${String(says[name])}`)
  return { legacy: layout === 'legacy', layout }
}

/** Returns the keccak256 hash of bytes, both as hex without 0x. */
export function keccakDigits(digits: string): string {
  return keccak256(`0x${digits}`).slice(2)
}
