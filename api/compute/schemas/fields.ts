import { type TProperties, Type } from '@sinclair/typebox'
import { withRules } from '../../http/validation'

export const hex = (description: string, pattern = '^0x([0-9a-f]{2})*$') =>
  Type.String({ description, pattern })
export const hash = (description: string) => hex(description, '^0x[0-9a-f]{64}$')
export const EXPIRATION = Type.Integer({
  description:
    'Unix seconds; 0: never. Answers for the proxy have a different second each, after the year ' +
    '36,000, so that no two are equal and all can land.',
  minimum: 0,
})
export const SIGNATURE = hex('r, s and v: 65 bytes in hex, low s, v 27 or 28.', '^0x[0-9a-f]{130}$')

export const WHOLE_NUMBER = {
  type: 'expected a whole number',
  test: (value: number) => (Number.isSafeInteger(value) ? undefined : 'expected a whole number'),
}
export const chainId = (description: string) =>
  withRules(Type.Integer({ description, examples: [84532] }), {
    missing: 'missing; expected a chain ID as a whole number',
    type: 'expected a chain ID as a whole number',
  })
export const DEADLINE = withRules(
  Type.Integer({
    description:
      'Unix seconds after which the signature is not accepted. (EAS 0.26 and 1.0 do not enforce it: ' +
      'sepolia, arbitrum, and base while its EAS is 1.0.1.)',
    minimum: 0,
  }),
  WHOLE_NUMBER,
)
export const NONCE = withRules(
  Type.Integer({
    description:
      'Signed nonce of the attester; answers for the proxy have none. It must be the current nonce ' +
      'in EAS when submitted, so only one of the results with the same nonce can land.',
    minimum: 0,
  }),
  WHOLE_NUMBER,
)
export const TIMESTAMP = Type.Integer({
  description: 'Time of the computation in Unix seconds, at which no input had expired.',
})
export const RESULT = Type.Unsafe<number | boolean>({
  oneOf: [{ type: 'number' }, { type: 'boolean' }],
  description: 'The computed value.',
})
export const inputRefs = (options: { minItems: number; maxItems?: number }) =>
  Type.Array(hash('32 bytes in hex.'), {
    description:
      'One reference per input, in order: the UID of an attestation, or keccak256 of the canonical ' +
      'JSON of a raw geometry.',
    ...options,
  })
export const INPUT_REFS = inputRefs({ minItems: 1 })

export const object = <P extends TProperties>(title: string, description: string, properties: P) =>
  Type.Object(properties, { title, description, additionalProperties: false })
