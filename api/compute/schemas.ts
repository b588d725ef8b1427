import { Type, type Static, type TProperties, type TSchema, type TUnsafe } from '@sinclair/typebox'
import type { Claims as AnswerClaims } from '../../src/answer'
import { SUBMISSIONS, type Submission } from '../../src/config'
import { parseChecksumAddress } from '../../src/eas'
import {
  OPERATION_ROWS,
  TEXTS,
  UNITS,
  type InputRow,
  type OperationName,
  type OperationRow,
  type UnitName,
} from '../../src/operations'
import { ERROR_PAGES } from '../http/error-pages'
import { RATE_HEADERS, answer, errorHeaders, ref as refByName, type Schema } from '../http/openapi-components'
import { COMPUTE_ERRORS, type ComputeErrorKind, type ErrorRow } from '../../src/errors'
import { address, components, constant, named, oneOf, oneOfTexts, orNull, ref, uid } from '../http/schema'
import { unchecked, withRules } from '../http/validation'
import { OFFCHAIN_COMPONENTS, OffchainAttestation } from './offchain-schemas'

/** The requests and answers of the Compute API (docs/spec/interface.md 6): checked, typed and documented. */

const hex = (description: string, pattern = '^0x([0-9a-f]{2})*$') => Type.String({ description, pattern })
const hash = (description: string) => hex(description, '^0x[0-9a-f]{64}$')
const EXPIRATION = Type.Integer({
  description:
    'Unix seconds; 0: never. Of answers for the proxy it is a second after the year 36,000, of each answer another one, so that no two are equal and all land.',
  minimum: 0,
})
const SIGNATURE = hex('r, s and v: 65 bytes in hex, low s, v 27 or 28.', '^0x[0-9a-f]{130}$')

const WHOLE_NUMBER = {
  type: 'expected a whole number',
  test: (value: number) => (Number.isSafeInteger(value) ? undefined : 'expected a whole number'),
}
const chainId = (description: string) =>
  withRules(Type.Integer({ description, examples: [84532] }), {
    missing: 'missing; expected a chain ID as a whole number',
    type: 'expected a chain ID as a whole number',
  })
const DEADLINE = withRules(
  Type.Integer({
    description:
      'Unix seconds after which the signature is no longer taken. (The EAS of sepolia and arbitrum does not enforce it.)',
    minimum: 0,
  }),
  WHOLE_NUMBER,
)
const NONCE = withRules(
  Type.Integer({
    description:
      "The attester's nonce that was signed; answers for the proxy have none. It must be that of EAS when submitted: of results signed at one nonce only one can land.",
    minimum: 0,
  }),
  WHOLE_NUMBER,
)
const TIMESTAMP = Type.Integer({ description: 'Unix seconds of the computation.' })
const RESULT = Type.Unsafe<number | boolean>({
  oneOf: [{ type: 'number' }, { type: 'boolean' }],
  description: 'The computed value.',
})
const inputRefs = (options: { minItems: number; maxItems?: number }) =>
  Type.Array(hash('32 bytes in hex.'), {
    description:
      'One reference per input, in order: the UID of an attestation; keccak256 of the canonical JSON of a raw geometry.',
    ...options,
  })
const INPUT_REFS = inputRefs({ minItems: 1 })

// --- Inputs ---

const object = <P extends TProperties>(title: string, description: string, properties: P) =>
  Type.Object(properties, { title, description, additionalProperties: false })
const ATTESTED_UID = 'UID of an attestation on the chain of the request.'

/** GeoJSON of these types: a geometry, or a Feature or FeatureCollection of one. */
function geoJsonOf(types: InputRow['accepts']): Schema[] {
  if (!types) return ['Geometry', 'Feature', 'FeatureCollection'].map(refByName)
  const geometries = types.map(refByName)
  const narrowed = (name: string, properties: Schema): Schema => ({
    ...{ title: name, allOf: [refByName(name), { type: 'object', properties }] },
  })
  const feature = narrowed('Feature', { geometry: { anyOf: geometries } })
  return [
    ...geometries,
    feature,
    narrowed('FeatureCollection', { features: { type: 'array', items: feature } }),
  ]
}
const salted = (types: InputRow['accepts']) =>
  object(
    'GeoJSON with a salt',
    'Its reference is the keccak256 of the salt and the plain reference, so that an answer on a chain does not give the place away.',
    {
      geometry: { anyOf: geoJsonOf(types) } as unknown as TSchema,
      salt: Type.String({
        description: '32 random bytes; not zeros.',
        pattern: '^0x(?!0{64}$)[0-9a-fA-F]{64}$',
      }),
    },
  )

const FORMS =
  'in one of five forms: the UID of an onchain attestation (as a string, or as `{"uid"}`); GeoJSON; GeoJSON with a salt, whose reference tells nothing of the place (`{"geometry", "salt"}`); an offchain attestation behind a URI (`{"uid", "uri"}`); an offchain attestation itself (`{"attestation"}`).'
const inputName = (types: InputRow['accepts'] = []) => `${types.join('Or')}Input`
/** An input of any type, or of these. The resolver and the kernel read it, and name places in it. */
const inputOf = (types?: InputRow['accepts']) =>
  named(
    inputName(types),
    unchecked({
      description: `A ${types?.join(' or ') ?? 'geometry'}, ${FORMS}`,
      anyOf: [
        uid(ATTESTED_UID, { title: 'UID' }),
        object('UID as object', 'The same as an object.', { uid: uid(ATTESTED_UID) }),
        ...geoJsonOf(types),
        salted(types),
        object(
          'UID and URI',
          'An offchain attestation that the service fetches: over https on port 443, or from IPFS.',
          {
            uid: uid('Its UID, which the document must have.'),
            uri: Type.String({
              description: 'Where it is.',
              format: 'uri',
              examples: [
                'https://example.org/attestation.json',
                'ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi',
              ],
            }),
          },
        ),
        object('Offchain attestation', 'An offchain attestation, whole.', {
          attestation: ref(OffchainAttestation),
        }),
      ],
    } as unknown as TSchema),
  )
/** Inputs by the types that they accept. */
const INPUTS = new Map(
  OPERATION_ROWS.flatMap(([, { inputs }]) =>
    inputs.map(({ accepts }) => [inputName(accepts), inputOf(accepts)]),
  ),
)

// --- Requests of the operations ---

const EXPECTED_ADDRESS =
  'expected an address, 0x and 40 hex digits, in one letter case or with its right checksum'
const LEAVE_OUT = 'expected a string; leave it out for the default'
const schemaUid = (description: string) =>
  Type.Optional(
    withRules(uid(description), {
      type: LEAVE_OUT,
      form: 'expected a schema UID, 0x and 64 hex digits',
    }),
  )
const recipient = (description: string) =>
  Type.Optional(
    withRules(address(description), {
      type: LEAVE_OUT,
      form: EXPECTED_ADDRESS,
      test: (text) => (parseChecksumAddress(text) === undefined ? EXPECTED_ADDRESS : undefined),
    }),
  )
const ATTEST_AS = {
  schema: schemaUid(
    "UID of the schema to attest under. Its registered types must be those of the payload, in order. Default: the deployment's own (`GET /`).",
  ),
  recipient: recipient(
    'Address that receives the attestation. In mixed letter case its checksum must be right. Default: the zero address.',
  ),
}
const CHAIN_ID = chainId(
  'The chain whose EAS shall accept the answer, and on which all UIDs lie. `GET /` lists the ones that can be signed for.',
)

const SUBMISSION = oneOfTexts(
  SUBMISSIONS,
  "How the answer lands. `direct`: in the chain's EAS at the attester's nonce, so that of the answers of one moment one lands. `proxy`: through the chain's EIP-712 proxy before EAS, each answer once and in any order; EAS then shows the proxy as the attester, and `getAttester(uid)` of the proxy shows us.",
)
const LANDING = {
  submission: Type.Optional(
    Type.Unsafe<Static<typeof SUBMISSION>>({
      ...SUBMISSION,
      description: `${SUBMISSION.description} Default: the deployment's own (\`GET /\`), \`direct\` on a chain without a proxy.`,
    }),
  ),
  include: Type.Optional(
    withRules(
      Type.Array(oneOfTexts(['transaction'], 'What the answer carries besides.'), {
        description: '`transaction`: the transaction that submits the answer.',
        minItems: 0,
        maxItems: 1,
      }),
      { type: 'expected a list: ["transaction"], or []' },
    ),
  ),
}

/**
 * Of a chain that is not usable nothing else is worth a look. An earlier answer that is malformed is refused
 * without a look at its chain.
 */
const CHAIN_FIRST = { first: 'chainId' }

/**
 * What to attest under and for whom; beside it the parameters of the operation, by the names that were given.
 */
export interface OperationRequest {
  schema?: string
  recipient?: string
  submission?: Submission
  include?: 'transaction'[]
  [parameter: string]: unknown
}

/** The parameters of an operation, out of its row in the table. */
function parametersOf({ inputs, parameters = [] }: OperationRow): TProperties {
  const taken = ({ accepts, usual }: InputRow) =>
    accepts
      ? `A ${accepts.join(' or ')}; others are refused.`
      : `Any geometry${usual ? `, typically a ${usual[0]}` : ''}.`
  return {
    ...Object.fromEntries(
      inputs.map((input: InputRow) => [
        input.name,
        withRules(
          unchecked({
            allOf: [ref(INPUTS.get(inputName(input.accepts))!)],
            description: taken(input),
          } as unknown as TSchema),
          {
            missing: 'missing; expected an attestation UID or a GeoJSON geometry',
            aliases: input.aliases,
          },
        ),
      ]),
    ),
    ...Object.fromEntries(
      parameters.map(({ name, about, unit, range }) => [
        name,
        withRules(Type.Number({ description: about, ...range }), {
          missing: 'missing; expected a number',
          type: 'expected a number',
          form: `expected ${unit}, above ${range.exclusiveMinimum} and at most ${range.maximum}`,
        }),
      ]),
    ),
  }
}

function requestOf(title: string, operation: OperationRow, first: TProperties, last: TProperties = {}) {
  return object(title, `With ${operation.inputs.map(({ name }) => `\`${name}\``).join(', ')}.`, {
    ...first,
    ...ATTEST_AS,
    ...parametersOf(operation),
    ...last,
  })
}

const BatchRequest = withRules(
  Type.Object(
    {
      chainId: CHAIN_ID,
      schema: schemaUid('Schema of the operations that name none.'),
      recipient: recipient('Recipient of the operations that name none.'),
      ...LANDING,
      operations: Type.Array(
        withRules(
          Type.Unsafe<OperationRequest & { operation: OperationName }>({
            oneOf: OPERATION_ROWS.map(([name, operation]) =>
              requestOf(name, operation, { operation: constant(name, 'The operation.') }),
            ),
          }),
          { discriminator: 'operation' },
        ),
        {
          description: 'What to compute, each with the parameters of its own endpoint.',
          minItems: 1,
          maxItems: 20,
        },
      ),
    },
    { title: 'Request of batch', additionalProperties: false },
  ),
  CHAIN_FIRST,
)
export type BatchRequest = Static<typeof BatchRequest>

// --- Answers ---

const Attestation = named(
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
const DelegatedAttestation = named(
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

const CLAIMS = {
  result: RESULT,
  units: Type.Optional(oneOfTexts(Object.keys(UNITS) as UnitName[], 'Of numeric results.')),
  operation: Type.String({
    description: 'Name of the operation; for within `within:<radius in centimetres>`.',
  }),
  timestamp: TIMESTAMP,
  inputRefs: INPUT_REFS,
}
const Claims = Type.Object(CLAIMS, {
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
const DelegatedRequest = named(
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
const MULTI_ATTEST = Type.Array(
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
const Transaction = named(
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
const ComputeResult = named(
  'ComputeResult',
  Type.Object({ ...CLAIMS, ...SIGNED }, { description: 'A computed result with its signed attestation.' }),
)
/** What a compute endpoint answers (docs/spec/interface.md 3). */
export type ComputeResult = Static<typeof ComputeResult>

/** The result of one operation. */
function resultOf(name: string, { units, parameters, inputs }: OperationRow) {
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

const BatchResult = named(
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

// --- Requests that hand an answer back ---

const hexBytes = (count: string, description: string, expected: string) =>
  withRules(hex(description, `^0x([0-9a-fA-F]{2}){${count}}$`), { type: `expected ${expected}` })
const EarlierAttestation = named(
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
/** Values given twice, and claims beside the payload, are compared with what was signed (earlier.ts). */
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
const EarlierDelegation = named(
  'EarlierDelegation',
  Type.Object(
    { ...DELEGATION, resignToken: Type.Optional(RESIGN_TOKEN) },
    { description: '`delegatedAttestation` of an earlier answer.' },
  ),
)
const ResignableDelegation = named(
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
const EarlierBatch = named(
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

const VerifyRequest = withRules(earlierAnswer('Request of verify', ref(EarlierDelegation), {}), {
  instead: {
    results: 'one answer is verified at a time: send each of the results by itself, with the chainId',
  },
})
export type VerifyRequest = Static<typeof VerifyRequest>
/** An answer that was handed back, with or without its chain. */
export type EarlierAnswer = Omit<VerifyRequest, 'chainId'>
const OneAnswer = earlierAnswer('One answer', ref(ResignableDelegation), RESIGN_LANDING)
const ResignRequest = withRules(oneOf([OneAnswer, ref(EarlierBatch)], { title: 'Request of resign' }), {
  marker: 'results',
})

const Verification = named(
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
/** Whether an answer is an attestation on its chain, and which one. */
export type Landed = NonNullable<Verification['landed']>

const ReferenceRequest = Type.Object(
  {
    chainId: Type.Optional(
      chainId('Accepted as in the requests of answers. A geometry has the same reference on every chain.'),
    ),
    geometry: withRules(
      unchecked({
        description: 'A GeoJSON geometry, or a Feature or FeatureCollection of one; with a salt or without.',
        anyOf: [...geoJsonOf(undefined), salted(undefined)],
      } as unknown as TSchema),
      { missing: 'missing; expected a GeoJSON geometry' },
    ),
  },
  { title: 'Request of reference', additionalProperties: false },
)
export type ReferenceRequest = Static<typeof ReferenceRequest>
const Reference = Type.Object(
  { inputRef: hash('keccak256 of the canonical JSON (RFC 8785) of the geometry.') },
  { description: 'What `inputRefs` of answers hold for this geometry.' },
)
export type Reference = Static<typeof Reference>

const Problem = named(
  'Problem',
  Type.Object(
    {
      type: Type.String({
        description: 'Leads to a page that says what it means and what to do.',
        format: 'uri',
        pattern: `/errors/(${Object.keys(COMPUTE_ERRORS).join('|')})$`,
      }),
      title: oneOfTexts(
        Object.values(COMPUTE_ERRORS).map(({ title }) => title),
        'The kind of error.',
      ),
      status: Type.Unsafe<number>({
        enum: Object.values(COMPUTE_ERRORS).map(({ status }) => status),
        description: 'The HTTP status.',
      }),
      detail: Type.String({ description: 'What is wrong with this request, and what would be right.' }),
      instance: Type.Optional(Type.String({ description: 'The path of the request.' })),
    },
    { description: 'Problem details (RFC 7807).' },
  ),
)

export const COMPUTE_COMPONENTS = {
  ...OFFCHAIN_COMPONENTS,
  ...components(...INPUTS.values(), Attestation, DelegatedAttestation, DelegatedRequest, Transaction),
  ...components(ComputeResult, BatchResult),
  ...components(EarlierAttestation, EarlierDelegation, ResignableDelegation, EarlierBatch),
  ...components(Verification, Problem),
}

// --- Routes ---

/** Every error of the Compute API, from its tables. */
const ERRORS = Object.fromEntries(
  (Object.entries(COMPUTE_ERRORS) as [ComputeErrorKind, ErrorRow][]).map(([slug, row]) => [
    row.status,
    answer(ref(Problem), `\`${slug}\`: ${ERROR_PAGES[slug].meaning}`, {
      type: 'application/problem+json',
      ...(row.retryable && { headers: errorHeaders(row) }),
    }),
  ]),
)

function route<B extends TSchema>(
  operationId: string,
  texts: { summary: string; description: string; answers: string },
  body: B,
  result: TSchema,
) {
  const { answers, ...said } = texts
  return {
    ...{ operationId, tags: ['Compute'], ...said, body },
    response: { 200: answer(result, answers, { headers: RATE_HEADERS }), ...ERRORS },
  }
}

/** The route of an operation, out of its row. */
export function operationRoute(name: OperationName, operation: OperationRow) {
  const inputs = operation.inputs.map((parameter) => `\`${parameter.name}\``).join(', then ')
  return route(
    name,
    {
      summary: TEXTS[name].summary,
      description: `${TEXTS[name].about}\n\n\`inputRefs\` holds the reference of ${inputs}.`,
      answers: 'The result, signed.',
    },
    withRules(
      requestOf(`Request of ${name}`, operation, { chainId: CHAIN_ID }, LANDING),
      CHAIN_FIRST,
    ) as TSchema as TUnsafe<OperationRequest & { chainId: number }>,
    resultOf(name, operation),
  )
}

export const BATCH_ROUTE = route(
  'batch',
  {
    summary: 'Up to 20 results that can be submitted together',
    description:
      'Computes each operation and signs the results so that all of them can land, directly at consecutive nonces, in order: as one `multiAttestByDelegation`, or one by one in this order. An operation that is refused refuses the request, and names its place. (An extension to the specification.)',
    answers: 'The results, signed, and the call that submits them.',
  },
  BatchRequest,
  ref(BatchResult),
)
export const RESIGN_ROUTE = route(
  'resign',
  {
    summary: 'Earlier results, signed anew',
    description:
      'The same data with a fresh nonce, deadline and signature: for a result whose nonce was used up by another one, or whose deadline has passed; or for those of a batch, at consecutive nonces. Nothing is computed again, so `timestamp` stays; but the attestations that it rests on must still stand, and it must not be too old. (An extension to the specification.)',
    answers: 'The same result, or those of the batch, signed anew.',
  },
  ResignRequest,
  oneOf([ref(ComputeResult), ref(BatchResult)]),
)
export const REFERENCE_ROUTE = route(
  'reference',
  {
    summary: "A geometry's reference, without an answer",
    description:
      'What `inputRefs` holds for this geometry: a contract that knows a place beforehand pins it by this hash. Equal geometries in other writing (`1.0` for `1`, spaces, foreign members) have the same one; other coordinates, another order of vertices or a Feature of another geometry do not. (An extension to the specification.)',
    answers: 'The reference.',
  },
  ReferenceRequest,
  Reference,
)
export const VERIFY_ROUTE = route(
  'verify',
  {
    summary: 'Whether an earlier result is ours, has landed, and can still be submitted',
    description:
      'Checks the signature, the nonce or whether the proxy has taken it, and the deadline against the contract as it is now, says what the data means, and finds the attestation that holds it. A result that does not hold is an answer, not an error. (An extension to the specification.)',
    answers: 'What it is worth.',
  },
  VerifyRequest,
  ref(Verification),
)
