import { type Static, Type } from '@sinclair/typebox'
import { type OperationRow, type UnitName, UNITS } from '../../../src/operations'
import { address, components, constant, namedObject, objectOf, oneOfTexts, ref, uid } from '../../http/schema'
import { LogClaim } from '../../log'
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

export const Attestation = namedObject(
  'Attestation',
  'Signed content: the arguments of `attestByDelegation`. Its value is 0.',
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
)
const DelegatedAttestation = namedObject(
  'DelegatedAttestation',
  'Further arguments of the delegated submission.',
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
export const Claims = objectOf('Decoded `data`; null if this service did not sign it.', CLAIMS)

const AttestationRequestData = objectOf('`AttestationRequestData`', {
  recipient: address('The recipient.'),
  expirationTime: EXPIRATION,
  revocable: Type.Boolean({ description: "The schema's own flag." }),
  refUID: uid('Zero.'),
  data: hex('The ABI-encoded result.'),
  value: Type.Unsafe<string>({
    const: '0',
    description: 'Value to send: none. (A decimal string, which ethers, viem and eas-sdk accept.)',
  }),
})
const SplitSignature = objectOf('A signature.', {
  v: Type.Integer({ description: '27 or 28' }),
  r: uid('32 bytes in hex'),
  s: uid('32 bytes in hex'),
})
export const DelegatedRequest = namedObject(
  'DelegatedRequest',
  'Argument of `attestByDelegation` of the contract in `delegatedAttestation`.',
  {
    schema: uid('UID of the schema.'),
    data: AttestationRequestData,
    signature: SplitSignature,
    attester: address('Signer.'),
    deadline: DEADLINE,
  },
)
export const MULTI_ATTEST = Type.Array(
  objectOf('One `MultiDelegatedAttestationRequest`: results of one schema.', {
    schema: uid('UID of the schema.'),
    data: Type.Array(AttestationRequestData, {
      description: 'Data in the order of the nonces.',
      minItems: 1,
    }),
    signatures: Type.Array(SplitSignature, { description: 'Signatures, parallel to `data`.', minItems: 1 }),
    attester: address('Signer.'),
    deadline: DEADLINE,
  }),
  { description: 'Argument of `multiAttestByDelegation`.', minItems: 1 },
)
export const Transaction = namedObject(
  'Transaction',
  'Transaction that submits the answer, as ethers and viem send it. The sender pays the gas.',
  {
    to: address('The contract.'),
    data: hex('The call.'),
    value: Type.Unsafe<number>({
      const: 0,
      description: 'Value to send: none. (A bare EIP-1193 provider expects hex: leave it out there.)',
    }),
  },
)
export type Transaction = Static<typeof Transaction>

const SIGNED = {
  attestation: ref(Attestation),
  delegatedAttestation: ref(DelegatedAttestation),
  attestByDelegation: ref(DelegatedRequest),
  transaction: Type.Optional(ref(Transaction)),
  log: Type.Optional(ref(LogClaim)),
}
export const ComputeResult = namedObject('ComputeResult', 'A computed result with its signed attestation.', {
  ...CLAIMS,
  ...SIGNED,
})
/** Response of a compute endpoint (docs/spec/interface.md 3). */
export type ComputeResult = Static<typeof ComputeResult>

export function resultOf(name: string, { units, parameters, inputs }: OperationRow) {
  return objectOf(`The signed result of ${name}.`, {
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
  })
}

export const BatchResult = namedObject(
  'BatchResult',
  'Results that can all be submitted, in one transaction or one by one: in the order of their ' +
    'consecutive nonces, or through the proxy in any order.',
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
)
export type BatchResult = Static<typeof BatchResult>

export const ANSWER_COMPONENTS = {
  ...components(Attestation, DelegatedAttestation, DelegatedRequest, Transaction),
  ...components(LogClaim, ComputeResult, BatchResult),
}
