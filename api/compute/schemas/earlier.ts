import { type Static, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import type { Claims as AnswerClaims } from '../../../src/answer'
import { parseChecksumAddress } from '../../../src/eas'
import { address, named, namedObject, objectOf, oneOf, oneOfTexts, orNull, ref, uid } from '../../http/schema'
import { unchecked, withRules } from '../../http/validation'
import { LogClaim } from '../../log'
import { Attestation, Claims, CLAIMS, DelegatedRequest, MULTI_ATTEST, Transaction } from './answers'
import { chainId, DEADLINE, EXPIRATION, hex, NONCE, object, WHOLE_NUMBER } from './fields'
import { LANDING, SUBMISSION } from './requests'

const hexBytes = (count: string, description: string, expected: string) =>
  withRules(hex(description, `^0x([0-9a-fA-F]{2}){${count}}$`), { type: `expected ${expected}` })
export const EarlierAttestation = namedObject('EarlierAttestation', '`attestation` of an earlier answer.', {
  schema: withRules(Attestation.properties.schema, { type: 'expected a schema UID' }),
  attester: withRules(Attestation.properties.attester, { type: 'expected an address' }),
  recipient: withRules(Attestation.properties.recipient, {
    type: 'expected an address',
    test: (text) => (parseChecksumAddress(text) === undefined ? 'its checksum is not correct' : undefined),
  }),
  data: hexBytes('160,2048', 'The ABI-encoded result.', 'the payload of a result, in hex'),
  signature: hexBytes(
    '64,65',
    'Signature as in the response, or in the 64 bytes of EIP-2098.',
    '65 bytes in hex',
  ),
  revocable: withRules(Attestation.properties.revocable, { type: 'expected true or false' }),
  refUID: Type.Optional(unchecked(Attestation.properties.refUID)),
  expirationTime: Type.Optional(withRules(EXPIRATION, WHOLE_NUMBER)),
})
/** Repeated fields, which earlier.ts compares with what was signed. */
const DELEGATION = {
  signature: Type.Optional(unchecked(Type.String({ description: 'As in `attestation`.' }))),
  attester: Type.Optional(unchecked(address('As in `attestation`.'))),
  deadline: DEADLINE,
  nonce: Type.Optional(NONCE),
  submission: Type.Optional({ ...SUBMISSION, description: 'As in the response. Default: `direct`.' }),
  contract: Type.Optional(unchecked(address('Optional; must be the contract that it was signed for.'))),
  ifNonceUsed: Type.Optional(unchecked(Type.String({ description: 'Optional; ignored.' }))),
}
const RESIGN_TOKEN = withRules(Type.String({ description: 'As in the response. Required by `resign`.' }), {
  missing: 'missing; expected the value in the earlier answer',
  type: 'expected a string',
})
export const EarlierDelegation = namedObject(
  'EarlierDelegation',
  '`delegatedAttestation` of an earlier answer.',
  { ...DELEGATION, resignToken: Type.Optional(RESIGN_TOKEN) },
)
export const ResignableDelegation = namedObject(
  'ResignableDelegation',
  '`delegatedAttestation` of an earlier answer to re-sign.',
  { ...DELEGATION, resignToken: RESIGN_TOKEN },
)
const LEFT_IN = {
  result: Type.Optional(
    unchecked({
      description: 'Optional, like the next four; must be the signed value.',
    } as unknown as TSchema),
  ),
  units: Type.Optional(unchecked(CLAIMS.units)),
  operation: Type.Optional(unchecked(CLAIMS.operation)),
  timestamp: Type.Optional(unchecked(CLAIMS.timestamp)),
  inputRefs: Type.Optional(unchecked(CLAIMS.inputRefs)),
}
export const CLAIM_NAMES = Object.keys(LEFT_IN) as readonly (keyof AnswerClaims)[]
const REST_LEFT_IN = {
  attestByDelegation: Type.Optional(
    unchecked({ ...ref(DelegatedRequest), description: 'Optional; must be the call of this answer.' }),
  ),
  transaction: Type.Optional(
    unchecked({ ...ref(Transaction), description: 'Optional; must be the transaction of this answer.' }),
  ),
  log: Type.Optional(unchecked({ ...ref(LogClaim), description: 'Optional; ignored.' })),
}
const AS_NEEDED = 'complete, or reduced to the required fields.'

const earlierAnswer = <D extends TSchema, M extends TProperties>(title: string, delegation: D, more: M) =>
  object(title, `An earlier answer of this service, ${AS_NEEDED}`, {
    chainId: chainId('The chain that it was signed for.'),
    attestation: ref(EarlierAttestation),
    delegatedAttestation: delegation,
    ...more,
    ...LEFT_IN,
    ...REST_LEFT_IN,
  })
const EarlierResult = Type.Object(
  {
    attestation: ref(EarlierAttestation),
    delegatedAttestation: ref(ResignableDelegation),
    ...LEFT_IN,
    ...REST_LEFT_IN,
  },
  { description: `An earlier answer, ${AS_NEEDED}`, additionalProperties: false },
)
const RESIGN_LANDING = {
  submission: Type.Optional({
    ...SUBMISSION,
    description: 'Form in which it should land. Default: as before.',
  }),
  include: LANDING.include,
}
export const EarlierBatch = named(
  'EarlierBatch',
  Type.Object(
    {
      chainId: chainId('The chain that they were signed for.'),
      results: Type.Array(EarlierResult, {
        description: 'Results, in the order of their new nonces.',
        minItems: 1,
        maxItems: 20,
      }),
      deadline: Type.Optional(
        unchecked({ ...DEADLINE, description: 'Optional; must be the deadline of the results.' }),
      ),
      multiAttestByDelegation: Type.Optional(
        unchecked({ ...MULTI_ATTEST, description: 'Optional; must be the call of these results.' }),
      ),
      transaction: REST_LEFT_IN.transaction,
      ...RESIGN_LANDING,
    },
    {
      description: 'Answer of an earlier batch, or any earlier answers that should land together.',
      additionalProperties: false,
    },
  ),
)
export type EarlierBatch = Static<typeof EarlierBatch>

export const VerifyRequest = withRules(earlierAnswer('Request of verify', ref(EarlierDelegation), {}), {
  instead: {
    results:
      'only one answer can be verified per request. Send each of the results separately, with the chainId.',
  },
})
export type VerifyRequest = Static<typeof VerifyRequest>
/** An answer that a client sent back, with or without its chain. */
export type EarlierAnswer = Omit<VerifyRequest, 'chainId'>
const OneAnswer = earlierAnswer('One answer', ref(ResignableDelegation), RESIGN_LANDING)
export const ResignRequest = withRules(
  oneOf([OneAnswer, ref(EarlierBatch)], { title: 'Request of resign' }),
  { marker: 'results' },
)

export const Verification = namedObject('Verification', 'Validity of an earlier answer.', {
  ours: Type.Boolean({
    description: "True if this deployment's key signed exactly this content for this chain.",
  }),
  submittable: Type.Boolean({ description: 'True if the contract would accept it now.' }),
  reasons: Type.Array(Type.String({ description: 'A sentence.' }), {
    description: 'Reasons, if one of the two is false.',
  }),
  says: orNull(Claims),
  landed: orNull(
    objectOf(
      'Attestation on the chain that contains this answer, if any; the first of several with the ' +
        'same content. Null if this service did not sign it.',
      {
        status: oneOfTexts(
          ['landed', 'not landed', 'unknown'],
          "`unknown` if the chain's RPC endpoint does not return the logs that show it.",
        ),
        uid: orNull(uid('UID of the attestation.')),
        transactionHash: orNull(uid('Transaction that created it.')),
        blockNumber: orNull(Type.Integer({ description: 'Its block.' })),
        revoked: orNull(Type.Boolean({ description: 'True if it was revoked.' })),
      },
    ),
  ),
  attester: address('Signer of the answer; the attester of this chain if it is not of this service.'),
  submission: SUBMISSION,
  contract: address('Contract that it was signed for.'),
  nonce: orNull(
    objectOf('Signed nonce, and the current one of the contract; null for the proxy, which has none.', {
      signed: Type.Integer({ description: 'Nonce of the answer.' }),
      current: Type.Integer({ description: 'Nonce of the next signature that the contract accepts.' }),
    }),
  ),
  deadline: DEADLINE,
})
export type Verification = Static<typeof Verification>
/** State of an answer on its chain: if it landed, and as which attestation. */
export type Landed = NonNullable<Verification['landed']>
