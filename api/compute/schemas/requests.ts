import { type Static, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { type Submission, SUBMISSIONS } from '../../../src/config'
import { parseChecksumAddress } from '../../../src/eas'
import { type InputRow, OPERATION_ROWS, type OperationName, type OperationRow } from '../../../src/operations'
import { address, constant, oneOfTexts, ref, uid } from '../../http/schema'
import { unchecked, withRules } from '../../http/validation'
import { chainId, object } from './fields'
import { inputName, INPUTS } from './inputs'

const EXPECTED_ADDRESS =
  'expected an address, 0x and 40 hex digits, in one letter case or with a correct checksum'
const LEAVE_OUT = 'expected a string. Leave it out for the default.'
const schemaUid = (description: string) =>
  Type.Optional(
    withRules(uid(description), { type: LEAVE_OUT, form: 'expected a schema UID, 0x and 64 hex digits' }),
  )
const recipient = (description: string) =>
  Type.Optional(
    withRules(address(description), {
      type: LEAVE_OUT,
      form: EXPECTED_ADDRESS,
      test: (text) => (parseChecksumAddress(text) === undefined ? EXPECTED_ADDRESS : undefined),
    }),
  )
export const ATTEST_AS = {
  schema: schemaUid(
    "UID of the schema to attest under. Its registered types must be those of the payload, in order. Default: the deployment's own (`GET /`).",
  ),
  recipient: recipient(
    'Address that receives the attestation. In mixed letter case its checksum must be correct. ' +
      'Default: the zero address.',
  ),
}
export const CHAIN_ID = chainId(
  'Chain whose EAS should accept the answer, and on which all UIDs exist. `GET /` lists ' +
    'the chains that can be signed for.',
)

export const SUBMISSION = oneOfTexts(
  SUBMISSIONS,
  "How the answer lands. `direct`: in the chain's EAS at the attester's nonce, so that " +
    "only one of the answers with the same nonce can land. `proxy`: through the chain's " +
    'EIP-712 proxy of EAS, each answer once and in any order. EAS then shows the proxy as the ' +
    "attester, and `getAttester(uid)` of the proxy returns this service's attester.",
)
export const LANDING = {
  submission: Type.Optional(
    Type.Unsafe<Static<typeof SUBMISSION>>({
      ...SUBMISSION,
      description: `${SUBMISSION.description} Default: the deployment's own (\`GET /\`), \`direct\` on a chain without a proxy.`,
    }),
  ),
  include: Type.Optional(
    withRules(
      Type.Array(oneOfTexts(['transaction'], 'Additional parts of the answer.'), {
        description: '`transaction`: the transaction that submits the answer.',
        minItems: 0,
        maxItems: 1,
      }),
      { type: 'expected a list: ["transaction"], or []' },
    ),
  ),
}

/**
 * Checks `chainId` first: other problems do not matter if the chain is not usable. A malformed earlier answer
 * is refused without a check of its chain.
 */
export const CHAIN_FIRST = { first: 'chainId' }

/** Schema and recipient, and the parameters of the operation by their names in the request. */
export interface OperationRequest {
  schema?: string
  recipient?: string
  submission?: Submission
  include?: 'transaction'[]
  [parameter: string]: unknown
}

/** Returns the parameters of an operation, from its row in the table. */
export function parametersOf({ inputs, parameters = [] }: OperationRow): TProperties {
  const taken = ({ accepts, usual }: InputRow) =>
    accepts
      ? `A ${accepts.join(' or ')}; other types are rejected.`
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
          { missing: 'missing; expected an attestation UID or a GeoJSON geometry', aliases: input.aliases },
        ),
      ]),
    ),
    ...Object.fromEntries(
      parameters.map(({ name, about, unit, range }) => {
        const type = `expected ${unit} as a number, above ${range.exclusiveMinimum} and at most ${range.maximum}`
        return [
          name,
          withRules(Type.Number({ description: about, ...range }), { missing: `missing; ${type}`, type }),
        ]
      }),
    ),
  }
}

export function requestOf(
  title: string,
  operation: OperationRow,
  first: TProperties,
  last: TProperties = {},
) {
  return object(title, `With ${operation.inputs.map(({ name }) => `\`${name}\``).join(', ')}.`, {
    ...first,
    ...ATTEST_AS,
    ...parametersOf(operation),
    ...last,
  })
}

export const BatchRequest = withRules(
  Type.Object(
    {
      chainId: CHAIN_ID,
      schema: schemaUid('Default schema of the operations.'),
      recipient: recipient('Default recipient of the operations.'),
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
          description: 'Operations to compute, each with the parameters of its own endpoint.',
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
