import { type Static, Type } from '@sinclair/typebox'
import { type OperationRow, type UnitName, UNITS } from '../../../src/operations'
import { address, constant, named, oneOfTexts, ref, uid } from '../../http/schema'
import {
  DEADLINE,
  EXPIRATION,
  hex,
  INPUT_REFS,
  inputRefs,
  NONCE,
  RESULT,
  SIGNATURE,
  TIMESTAMP,
} from './fields'
import { SUBMISSION } from './requests'

/** Answers of the operations, and of a batch. */

export const Attestation = named(
  'Attestation',
  Type.Object(
    {
      schema: uid('UID of the schema.'),
      attester: address("Signer: the deployment's attester address."),
      recipient: address('Recipient in the request, or the zero address.'),
      data: hex(
        'The ABI-encoded result, by the schema: `uint256 result,string units,bytes32[] inputRefs,uint256 timestamp,string operation` in whole centimeters or square_centimeters; for booleans `bool result,bytes32[] inputRefs,uint256 timestamp,string operation`.',
      ),
      signature: SIGNATURE,
      revocable: Type.Boolean({ description: "The schema's flag; EAS rejects any other value." }),
      refUID: uid('Zero.'),
      expirationTime: EXPIRATION,
    },
    {
      description: 'Signed content: the arguments of `attestByDelegation`. Its value is 0.',
    },
  ),
)
export const DelegatedAttestation = named(
  'DelegatedAttestation',
  Type.Object(
    {
      signature: SIGNATURE,
      attester: address('Signer.'),
      deadline: DEADLINE,
      nonce: Type.Optional(NONCE),
      submission: SUBMISSION,
      contract: address('Contract that accepts it: EAS, or the proxy of the chain.'),
      ifNonceUsed: Type.Optional(
        Type.String({ description: 'Remedy if another answer has used the nonce, as a sentence.' }),
      ),
      resignToken: Type.String({
        description:
          'Inputs, in a form that only this service can write. Send it back to re-sign the same result ' +
          '(`/compute/v0/resign`).',
      }),
    },
    { description: 'Further arguments of the delegated submission.' },
  ),
)

export const CLAIMS = {
  result: RESULT,
  units: Type.Optional(oneOfTexts(Object.keys(UNITS) as UnitName[], 'Unit of numeric results.')),
  operation: Type.String({
    description: 'Name of the operation; for `within`, `within:<radius in centimetres>`.',
  }),
  timestamp: TIMESTAMP,
  inputRefs: INPUT_REFS,
}
export const Claims = Type.Object(CLAIMS, {
  description: 'Decoded `data`; null if this service did not sign it.',
})

const AttestationRequestData = Type.Object(
  {
    recipient: address('The recipient.'),
    expirationTime: EXPIRATION,
    revocable: Type.Boolean({ description: "The schema's own flag." }),
    refUID: uid('Zero.'),
    data: hex('The ABI-encoded result.'),
    value: Type.Unsafe<string>({
      const: '0',
      description: 'Value to send: none. (A decimal string, which ethers, viem and eas-sdk accept.)',
    }),
  },
  { description: '`AttestationRequestData`' },
)
const SplitSignature = Type.Object(
  { v: Type.Integer({ description: '27 or 28' }), r: uid('32 bytes in hex'), s: uid('32 bytes in hex') },
  { description: 'A signature.' },
)
export const DelegatedRequest = named(
  'DelegatedRequest',
  Type.Object(
    {
      schema: uid('UID of the schema.'),
      data: AttestationRequestData,
      signature: SplitSignature,
      attester: address('Signer.'),
      deadline: DEADLINE,
    },
    {
      description: 'Argument of `attestByDelegation` of the contract in `delegatedAttestation`.',
    },
  ),
)
export const MULTI_ATTEST = Type.Array(
  Type.Object(
    {
      schema: uid('UID of the schema.'),
      data: Type.Array(AttestationRequestData, {
        description: 'Data in the order of the nonces.',
        minItems: 1,
      }),
      signatures: Type.Array(SplitSignature, {
        description: 'Signatures, parallel to `data`.',
        minItems: 1,
      }),
      attester: address('Signer.'),
      deadline: DEADLINE,
    },
    { description: 'One `MultiDelegatedAttestationRequest`: results of one schema.' },
  ),
  { description: 'Argument of `multiAttestByDelegation`.', minItems: 1 },
)
export const Transaction = named(
  'Transaction',
  Type.Object(
    {
      to: address('The contract.'),
      data: hex('The call.'),
      value: Type.Unsafe<number>({
        const: 0,
        description: 'Value to send: none. (A bare EIP-1193 provider expects hex: leave it out there.)',
      }),
    },
    {
      description:
        'Transaction that submits the answer, as ethers and viem send it. The sender pays the gas.',
    },
  ),
)
export type Transaction = Static<typeof Transaction>

export const LogClaim = named(
  'LogClaim',
  Type.Object(
    {
      origin: Type.String({ description: 'Identity of the log.' }),
      leaf: Type.String({
        description: 'Leaf hash of the entry of this answer, in hex: `GET /log/v0/proof/<leaf>` proves it.',
        pattern: '^[0-9a-f]{64}$',
      }),
      by: Type.Integer({ description: 'Unix seconds by which the log includes the entry.' }),
    },
    { description: 'Promise of the transparency log. Absent if the deployment has no log.' },
  ),
)

const SIGNED = {
  attestation: ref(Attestation),
  delegatedAttestation: ref(DelegatedAttestation),
  attestByDelegation: ref(DelegatedRequest),
  transaction: Type.Optional(ref(Transaction)),
  log: Type.Optional(ref(LogClaim)),
}
export const ComputeResult = named(
  'ComputeResult',
  Type.Object({ ...CLAIMS, ...SIGNED }, { description: 'A computed result with its signed attestation.' }),
)
/** Response of a compute endpoint (docs/spec/interface.md 3). */
export type ComputeResult = Static<typeof ComputeResult>

/** Schema of the result of one operation. */
export function resultOf(name: string, { units, parameters, inputs }: OperationRow) {
  return Type.Object(
    {
      result: units
        ? Type.Number({
            description: `In ${units.replace('_', ' ')}, to ${1 / UNITS[units].perAnswerUnit}.`,
            minimum: 0,
          })
        : Type.Boolean({ description: 'The answer.' }),
      ...(units && { units: constant(units, 'The unit of `result`.') }),
      operation: parameters
        ? Type.String({
            description: `\`${name}:\` and the parameter. Match it by this prefix.`,
            pattern: `^${name}:[0-9]+$`,
          })
        : constant(name, 'The operation.'),
      timestamp: TIMESTAMP,
      inputRefs: inputRefs({ minItems: inputs.length, maxItems: inputs.length }),
      ...SIGNED,
    },
    { description: `The signed result of ${name}.` },
  )
}

export const BatchResult = named(
  'BatchResult',
  Type.Object(
    {
      results: Type.Array(ref(ComputeResult), {
        description: 'One result per operation, in order.',
        minItems: 1,
        maxItems: 20,
      }),
      deadline: DEADLINE,
      multiAttestByDelegation: MULTI_ATTEST,
      transaction: Type.Optional(ref(Transaction)),
    },
    {
      description:
        'Results that can all be submitted, in one transaction or one by one: in the order of their ' +
        'consecutive nonces, or through the proxy in any order.',
    },
  ),
)
export type BatchResult = Static<typeof BatchResult>
