import { type Static, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import type { Claims as AnswerClaims } from '../../../src/answer'
import { parseChecksumAddress } from '../../../src/eas'
import { address, named, oneOf, oneOfTexts, orNull, ref, uid } from '../../http/schema'
import { unchecked, withRules } from '../../http/validation'
import { Attestation, Claims, CLAIMS, DelegatedRequest, MULTI_ATTEST, Transaction } from './answers'
import { chainId, DEADLINE, EXPIRATION, hex, NONCE, object, WHOLE_NUMBER } from './fields'
import { LANDING, SUBMISSION } from './requests'

/** Requests that send an answer back, and the response of verify. */

const hexBytes = (count: string, description: string, expected: string) =>
  withRules(hex(description, `^0x([0-9a-fA-F]{2}){${count}}$`), { type: `expected ${expected}` })
export const EarlierAttestation = named(
  'EarlierAttestation',
  Type.Object(
    {
      schema: withRules(Attestation.properties.schema, { type: 'expected a schema UID' }),
      attester: withRules(Attestation.properties.attester, { type: 'expected an address' }),
      recipient: withRules(Attestation.properties.recipient, {
        type: 'expected an address',
        test: (text) => (parseChecksumAddress(text) === undefined ? 'its checksum is wrong' : undefined),
      }),
      data: hexBytes('160,2048', 'The ABI-encoded result.', 'the payload of a result, in hex'),
      signature: hexBytes('64,65', 'As it was answered; or in the 64 bytes of EIP-2098.', '65 bytes in hex'),
      revocable: withRules(Attestation.properties.revocable, { type: 'expected true or false' }),
      refUID: Type.Optional(unchecked(Attestation.properties.refUID)),
      expirationTime: Type.Optional(withRules(EXPIRATION, WHOLE_NUMBER)),
    },
    { description: '`attestation` of an earlier answer.' },
  ),
)
/**
 * Fields that repeat a value, and claims next to the payload. They are compared with what was signed
 * (earlier.ts).
 */
const DELEGATION = {
  signature: Type.Optional(unchecked(Type.String({ description: 'As in `attestation`.' }))),
  attester: Type.Optional(unchecked(address('As in `attestation`.'))),
  deadline: DEADLINE,
  nonce: Type.Optional(NONCE),
  submission: Type.Optional({ ...SUBMISSION, description: 'As it was answered. Default: `direct`.' }),
  contract: Type.Optional(unchecked(address('May be left in; must then be the one that it was signed for.'))),
  ifNonceUsed: Type.Optional(unchecked(Type.String({ description: 'May be left in.' }))),
}
const RESIGN_TOKEN = withRules(Type.String({ description: 'As it was answered. `resign` needs it.' }), {
  missing: 'missing; expected the one of the earlier answer',
  type: 'expected a string',
})
export const EarlierDelegation = named(
  'EarlierDelegation',
  Type.Object(
    { ...DELEGATION, resignToken: Type.Optional(RESIGN_TOKEN) },
    { description: '`delegatedAttestation` of an earlier answer.' },
  ),
)
export const ResignableDelegation = named(
  'ResignableDelegation',
  Type.Object(
    { ...DELEGATION, resignToken: RESIGN_TOKEN },
    { description: '`delegatedAttestation` of an earlier answer that is to be signed again.' },
  ),
)
const LEFT_IN = {
  result: Type.Optional(
    unchecked({
      description: 'May be left in; must then be what was signed, as the four below.',
    } as unknown as TSchema),
  ),
  units: Type.Optional(unchecked(CLAIMS.units)),
  operation: Type.Optional(unchecked(CLAIMS.operation)),
  timestamp: Type.Optional(unchecked(CLAIMS.timestamp)),
  inputRefs: Type.Optional(unchecked(CLAIMS.inputRefs)),
}
export const CLAIM_NAMES = Object.keys(LEFT_IN) as readonly (keyof AnswerClaims)[]
const CALLS_LEFT_IN = {
  attestByDelegation: Type.Optional(
    unchecked({
      ...ref(DelegatedRequest),
      description: 'May be left in; must then be the call of this answer.',
    }),
  ),
  transaction: Type.Optional(unchecked({ ...ref(Transaction), description: 'May be left in.' })),
}
const AS_NEEDED = 'whole or as much of it as is needed.'

const earlierAnswer = <D extends TSchema, M extends TProperties>(title: string, delegation: D, more: M) =>
  object(title, `An earlier answer of this service, ${AS_NEEDED}`, {
    chainId: chainId('The chain that it was signed for.'),
    attestation: ref(EarlierAttestation),
    delegatedAttestation: delegation,
    ...more,
    ...LEFT_IN,
    ...CALLS_LEFT_IN,
  })
const EarlierResult = Type.Object(
  {
    attestation: ref(EarlierAttestation),
    delegatedAttestation: ref(ResignableDelegation),
    ...LEFT_IN,
    ...CALLS_LEFT_IN,
  },
  { description: `An earlier answer, ${AS_NEEDED}`, additionalProperties: false },
)
const RESIGN_LANDING = {
  submission: Type.Optional({ ...SUBMISSION, description: 'How it is to land now. Default: as before.' }),
  include: LANDING.include,
}
export const EarlierBatch = named(
  'EarlierBatch',
  Type.Object(
    {
      chainId: chainId('The chain that they were signed for.'),
      results: Type.Array(EarlierResult, {
        description: 'In the order of their new nonces.',
        minItems: 1,
        maxItems: 20,
      }),
      deadline: Type.Optional(
        unchecked({ ...DEADLINE, description: 'May be left in; must then be that of the results.' }),
      ),
      multiAttestByDelegation: Type.Optional(
        unchecked({
          ...MULTI_ATTEST,
          description: 'May be left in; must then be the call of these results.',
        }),
      ),
      transaction: CALLS_LEFT_IN.transaction,
      ...RESIGN_LANDING,
    },
    {
      description: 'The answer of an earlier batch, or any earlier answers that are to land together.',
      additionalProperties: false,
    },
  ),
)
export type EarlierBatch = Static<typeof EarlierBatch>

export const VerifyRequest = withRules(earlierAnswer('Request of verify', ref(EarlierDelegation), {}), {
  instead: {
    results: 'one answer is verified at a time: send each of the results by itself, with the chainId',
  },
})
export type VerifyRequest = Static<typeof VerifyRequest>
/** An answer that a client sent back, with or without its chain. */
export type EarlierAnswer = Omit<VerifyRequest, 'chainId'>
const OneAnswer = earlierAnswer('One answer', ref(ResignableDelegation), RESIGN_LANDING)
export const ResignRequest = withRules(
  oneOf([OneAnswer, ref(EarlierBatch)], { title: 'Request of resign' }),
  {
    marker: 'results',
  },
)

export const Verification = named(
  'Verification',
  Type.Object(
    {
      ours: Type.Boolean({
        description: "Whether this deployment's key signed exactly this for this chain.",
      }),
      submittable: Type.Boolean({ description: 'Whether the contract would take it now.' }),
      reasons: Type.Array(Type.String({ description: 'A sentence.' }), {
        description: 'Why not, where one of the two is false.',
      }),
      says: orNull(Claims),
      landed: orNull(
        Type.Object(
          {
            status: oneOfTexts(
              ['landed', 'not landed', 'unknown'],
              "`unknown` where the chain's node does not give the logs that tell it.",
            ),
            uid: orNull(uid('UID of the attestation.')),
            transactionHash: orNull(uid('The transaction that made it.')),
            blockNumber: orNull(Type.Integer({ description: 'Its block.' })),
            revoked: orNull(Type.Boolean({ description: 'Whether it was revoked since.' })),
          },
          {
            description:
              'Whether an attestation on the chain holds this answer, and which one: of several with the same content, the first. Null where it is not ours.',
          },
        ),
      ),
      attester: address('Who signs for this chain.'),
      submission: SUBMISSION,
      contract: address('The contract that it was signed for.'),
      nonce: orNull(
        Type.Object(
          {
            signed: Type.Integer({ description: 'The one of the answer.' }),
            current: Type.Integer({
              description: 'The one at which the contract takes the next signature.',
            }),
          },
          {
            description:
              "The nonce that was signed, and the contract's now; null for the proxy, which has none.",
          },
        ),
      ),
      deadline: DEADLINE,
    },
    { description: 'What an earlier answer is worth now.' },
  ),
)
export type Verification = Static<typeof Verification>
/** State of an answer on its chain: if it landed, and as which attestation. */
export type Landed = NonNullable<Verification['landed']>
