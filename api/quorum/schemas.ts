import { type Static, Type } from '@sinclair/typebox'
import { QUORUM_REFUSALS, type QuorumRefusal } from '../../src/errors'
import { OPERATION_ROWS, type OperationName } from '../../src/operations'
import {
  CHAIN_FIRST,
  CHAIN_ID,
  CLAIMS,
  errorResponses,
  EXPIRATION,
  hash,
  hex,
  LogClaim,
  Problem,
  requestOf,
  SIGNATURE,
  WHOLE_NUMBER,
  type OperationRequest,
} from '../compute'
import { answer, RATE_HEADERS } from '../http/openapi-components'
import {
  address,
  components,
  constant,
  named,
  namedObject,
  objectOf,
  oneOfTexts,
  ref,
  uid,
} from '../http/schema'
import { withRules } from '../http/validation'

const seconds = (description: string) => withRules(Type.Integer({ description, minimum: 0 }), WHOLE_NUMBER)
const DEADLINE = seconds(
  "Unix seconds; the last time at which the contract accepts the answer. At most the lifetime of the operator's signatures from now.",
)
const EPOCH = withRules(
  Type.Integer({ description: 'Number of the operator set.', minimum: 1, maximum: 2 ** 32 - 1 }),
  WHOLE_NUMBER,
)
const TERMS = {
  timestamp: seconds("Unix seconds of the computation, at most 60 s from the operator's clock."),
  deadline: DEADLINE,
  expirationTime: seconds(
    'Unix seconds at which the attestation expires; 0 for never. Choose a random time after the year 36,000 to keep answers to one question apart.',
  ),
  epoch: EPOCH,
}

/** A compute request, and the timestamp, deadline and expiration with which all operators sign its answer. */
export type QuorumRequest = OperationRequest & { operation: OperationName } & Record<
    'chainId' | keyof typeof TERMS,
    number
  >
const QuorumRequest = withRules(
  Type.Unsafe<QuorumRequest>({
    oneOf: OPERATION_ROWS.map(([name, operation]) =>
      withRules(
        requestOf(name, operation, { operation: constant(name, 'The operation.'), chainId: CHAIN_ID }, TERMS),
        CHAIN_FIRST,
      ),
    ),
  }),
  { discriminator: 'operation', ...CHAIN_FIRST },
)

const QuorumAnswer = namedObject('QuorumAnswer', 'Argument `answer` of `GeoQuorum.land`.', {
  schema: uid('UID of the schema.'),
  recipient: address('The recipient, or the zero address.'),
  expirationTime: EXPIRATION,
  revocable: Type.Boolean({ description: "The schema's own flag." }),
  refUID: uid('Zero.'),
  data: hex('The ABI-encoded result, as in answers of the Compute API.'),
  deadline: DEADLINE,
  epoch: EPOCH,
})
const QuorumSignature = namedObject('QuorumSignature', 'An answer, and the signature of one operator.', {
  ...CLAIMS,
  answer: ref(QuorumAnswer),
  operator: address("Account of the operator's key."),
  index: Type.Integer({
    description: 'Index of the operator in the epoch: its bit in `signers`.',
    minimum: 0,
  }),
  quorum: address('GeoQuorum contract.'),
  digest: hash('EIP-712 digest that was signed.'),
  signature: SIGNATURE,
  log: Type.Optional(ref(LogClaim)),
})
export type QuorumSignature = Static<typeof QuorumSignature>

const Epoch = objectOf('An operator set.', {
  epoch: EPOCH,
  validFrom: Type.Integer({ description: 'Unix seconds, included.' }),
  validUntil: Type.Integer({ description: 'Unix seconds, excluded.' }),
  threshold: Type.Integer({ description: 'Number of signatures that an answer needs.' }),
  operators: Type.Array(address('Account of an operator; zero if it was removed.'), {
    description: 'In the order of the indices.',
  }),
})
const Quorums = Type.Array(
  objectOf('A quorum to which the operator belongs.', {
    chainId: Type.Integer({ description: 'Id of the chain.' }),
    chain: Type.String({ description: 'Its slug.' }),
    quorum: address('GeoQuorum contract.'),
    operator: address('Account of this operator.'),
    epochs: Type.Array(Epoch, {
      description: 'The epochs that are or will be valid; none while the operator cannot read the contract.',
    }),
  }),
  { description: 'One entry per chain with a quorum.' },
)
export type Quorums = Static<typeof Quorums>

const QuorumProblem = named(
  'QuorumProblem',
  Type.Composite([
    Problem as unknown as ReturnType<typeof Type.Object>,
    Type.Object({
      refusal: oneOfTexts(
        Object.keys(QUORUM_REFUSALS) as QuorumRefusal[],
        Object.entries(QUORUM_REFUSALS)
          .map(([kind, text]) => `\`${kind}\`: ${text}.`)
          .join(' '),
      ),
    }),
  ]),
)
export const QUORUM_COMPONENTS = components(QuorumAnswer, QuorumSignature, QuorumProblem)

const ERRORS = errorResponses(QuorumProblem)

export const SIGN_ROUTE = {
  ...{ operationId: 'signForQuorum', tags: ['Quorum'], summary: 'Signature of this operator for an answer' },
  description:
    "Computes one operation from this operator's own index and RPC endpoints, and signs it for the GeoQuorum contract of the chain. Operators that compute the same result sign the same bytes. Nothing is signed unless the request fits the epoch and the clock of the operator.",
  body: QuorumRequest,
  response: {
    200: answer(ref(QuorumSignature), 'The answer, signed.', { headers: RATE_HEADERS }),
    ...ERRORS,
  },
}
export const QUORUMS_ROUTE = {
  ...{ operationId: 'listQuorums', tags: ['Quorum'], summary: 'Quorums of this operator, and their epochs' },
  response: { 200: answer(Quorums, 'The quorums.', { headers: RATE_HEADERS }), ...ERRORS },
}
