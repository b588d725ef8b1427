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
      attester: address("Who signed: the deployment's attester address."),
      recipient: address('The recipient asked for, or the zero address.'),
      data: hex(
        'The ABI-encoded result, by the schema: `uint256 result,string units,bytes32[] inputRefs,uint256 timestamp,string operation` in whole centimeters or square_centimeters; for booleans `bool result,bytes32[] inputRefs,uint256 timestamp,string operation`.',
      ),
      signature: SIGNATURE,
      revocable: Type.Boolean({ description: "The schema's own flag; EAS refuses another." }),
      refUID: uid('Zero.'),
      expirationTime: EXPIRATION,
    },
    {
      description: 'What was signed: the arguments of `attestByDelegation`. value is 0.',
    },
  ),
)
export const DelegatedAttestation = named(
  'DelegatedAttestation',
  Type.Object(
    {
      signature: SIGNATURE,
      attester: address('Who signed.'),
      deadline: DEADLINE,
      nonce: Type.Optional(NONCE),
      submission: SUBMISSION,
      contract: address('The contract that takes it: EAS, or the proxy of the chain.'),
      ifNonceUsed: Type.Optional(
        Type.String({ description: 'What to do when another answer has used up the nonce, as a sentence.' }),
      ),
      resignToken: Type.String({
        description:
          'What the inputs were, in a form that only this service can have written: hand it back to have the same result signed anew (`/compute/v0/resign`).',
      }),
    },
    { description: 'What the delegated submission needs besides.' },
  ),
)

export const CLAIMS = {
  result: RESULT,
  units: Type.Optional(oneOfTexts(Object.keys(UNITS) as UnitName[], 'Of numeric results.')),
  operation: Type.String({
    description: 'Name of the operation; for within `within:<radius in centimetres>`.',
  }),
  timestamp: TIMESTAMP,
  inputRefs: INPUT_REFS,
}
export const Claims = Type.Object(CLAIMS, {
  description: 'What `data` says, decoded; null where it is not ours.',
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
      description: 'Nothing is paid. (A decimal string, which ethers, viem and eas-sdk all take.)',
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
      attester: address('Who signed.'),
      deadline: DEADLINE,
    },
    {
      description:
        'The argument of `attestByDelegation`, as it is, of the contract that `delegatedAttestation` names.',
    },
  ),
)
export const MULTI_ATTEST = Type.Array(
  Type.Object(
    {
      schema: uid('UID of the schema.'),
      data: Type.Array(AttestationRequestData, { description: 'In the order of the nonces.', minItems: 1 }),
      signatures: Type.Array(SplitSignature, { description: 'Parallel to `data`.', minItems: 1 }),
      attester: address('Who signed.'),
      deadline: DEADLINE,
    },
    { description: 'One `MultiDelegatedAttestationRequest`: results of one schema.' },
  ),
  { description: 'The argument of `multiAttestByDelegation`, as it is.', minItems: 1 },
)
export const Transaction = named(
  'Transaction',
  Type.Object(
    {
      to: address('The contract.'),
      data: hex('The call.'),
      value: Type.Unsafe<number>({
        const: 0,
        description: 'Nothing is paid. (A bare EIP-1193 provider wants hex: leave it out there.)',
      }),
    },
    {
      description:
        'The transaction that submits the answer, as ethers and viem send it; whoever sends it pays the gas.',
    },
  ),
)
export type Transaction = Static<typeof Transaction>

const SIGNED = {
  attestation: ref(Attestation),
  delegatedAttestation: ref(DelegatedAttestation),
  attestByDelegation: ref(DelegatedRequest),
  transaction: Type.Optional(ref(Transaction)),
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
            description: `\`${name}:\` and the parameter; match it by its prefix.`,
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
        description: 'One per operation, in order.',
        minItems: 1,
        maxItems: 20,
      }),
      deadline: DEADLINE,
      multiAttestByDelegation: MULTI_ATTEST,
      transaction: Type.Optional(ref(Transaction)),
    },
    {
      description:
        'Results that can all be submitted, in one transaction or one after the other: in the order of their consecutive nonces, those for the proxy in any order.',
    },
  ),
)
export type BatchResult = Static<typeof BatchResult>
