import { type TSchema, type TUnsafe, Type } from '@sinclair/typebox'
import { COMPUTE_ERRORS, type ComputeErrorKind, type ErrorRow } from '../../../src/errors'
import { type OperationName, type OperationRow, TEXTS } from '../../../src/operations'
import { ERROR_PAGES } from '../../http/error-pages'
import { answer, errorHeaders, RATE_HEADERS } from '../../http/openapi-components'
import { components, namedObject, oneOf, oneOfTexts, ref, type Named } from '../../http/schema'
import { withRules } from '../../http/validation'
import { OFFCHAIN_COMPONENTS } from '../offchain-schemas'
import { ANSWER_COMPONENTS, BatchResult, ComputeResult, resultOf } from './answers'
import {
  EarlierAttestation,
  EarlierBatch,
  EarlierDelegation,
  ResignableDelegation,
  ResignRequest,
  Verification,
  VerifyRequest,
} from './earlier'
import { INPUTS, Reference, ReferenceRequest } from './inputs'
import { ZonesRequest, ZonesResult } from './zones'
import { BatchRequest, CHAIN_FIRST, CHAIN_ID, LANDING, type OperationRequest, requestOf } from './requests'
export { LogClaim } from '../../log'
export { CLAIMS, type BatchResult, type ComputeResult, type Transaction } from './answers'
export { CLAIM_NAMES, type EarlierAnswer, type EarlierBatch, type Landed } from './earlier'
export type { Verification, VerifyRequest } from './earlier'
export type { Reference, ReferenceRequest } from './inputs'
export { EXPIRATION, hash, hex, SIGNATURE, WHOLE_NUMBER } from './fields'
export { CHAIN_FIRST, CHAIN_ID, requestOf, type BatchRequest, type OperationRequest } from './requests'
export { EXPECTED_ZONES, type ZonesRequest, type ZonesResult } from './zones'

/** Routes of the Compute API (docs/spec/interface.md 6), checked, typed and documented. */

export const Problem = namedObject('Problem', 'Problem details (RFC 7807).', {
  type: Type.String({
    description: 'URL of a page that explains the error and its remedies.',
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
  detail: Type.String({ description: 'Problem of this request, and the expected value.' }),
  instance: Type.Optional(Type.String({ description: 'The path of the request.' })),
})

export const COMPUTE_COMPONENTS = {
  ...OFFCHAIN_COMPONENTS,
  ...components(...INPUTS.values()),
  ...ANSWER_COMPONENTS,
  ...components(ZonesResult, EarlierAttestation, EarlierDelegation, ResignableDelegation, EarlierBatch),
  ...components(Verification, Problem),
}

export function errorResponses(problem: Named) {
  return Object.fromEntries(
    (Object.entries(COMPUTE_ERRORS) as [ComputeErrorKind, ErrorRow][]).map(([slug, row]) => [
      row.status,
      answer(ref(problem), `\`${slug}\`: ${ERROR_PAGES[slug].meaning}`, {
        type: 'application/problem+json',
        ...(row.retryable && { headers: errorHeaders(row) }),
      }),
    ]),
  )
}
const ERRORS = errorResponses(Problem)

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

export function operationRoute(name: OperationName, operation: OperationRow) {
  const inputs = operation.inputs.map((parameter) => `\`${parameter.name}\``).join(', then ')
  return route(
    name,
    {
      summary: TEXTS[name].summary,
      description: `${TEXTS[name].about}\n\n\`inputRefs\` contains the reference of ${inputs}.`,
      answers: 'Signed result.',
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
      'Computes each operation and signs the results so that all of them can land, directly at ' +
      'consecutive nonces, in order: as one `multiAttestByDelegation`, or one by one in this ' +
      'order. If one operation fails, the request fails with an error that names its position. (An ' +
      'extension to the specification.)',
    answers: 'Signed results, and the call that submits them.',
  },
  BatchRequest,
  ref(BatchResult),
)
export const ZONES_ROUTE = route(
  'zones',
  {
    summary: 'Attested zones that contain a geometry',
    description:
      'Signs one `contains` for each zone of a set that contains the geometry, in the form of a batch. The set is up to 1,000 UIDs, or all valid attestations of an attester, a location schema or both. The index selects candidates by their boxes, and `contains` decides each exactly, with the checks of a single request. `complete` is true if no other zone of the set contains the geometry: zones that may contain it and cannot be measured, or not in time, are named in `undecided`. A request with more than 100 candidates or 20 answers is refused, not answered in part. A set by attester or schema needs an index that agrees with the chain; otherwise the request is refused with Retry-After. (An extension to the specification.)',
    answers: 'The answers of the zones that contain the geometry, signed, and the call that submits them.',
  },
  ZonesRequest,
  ref(ZonesResult),
)
export const RESIGN_ROUTE = route(
  'resign',
  {
    summary: 'Re-signs earlier results',
    description:
      'Returns the same data with a new nonce, deadline and signature, for a result whose nonce ' +
      'another one has used or whose deadline has passed, or for the results of a batch at ' +
      'consecutive nonces. Nothing is computed again, so `timestamp` stays the same. The ' +
      'attestations of its inputs must still be valid, and it must not be too old. (An extension ' +
      'to the specification.)',
    answers: 'The re-signed result, or results of the batch.',
  },
  ResignRequest,
  oneOf([ref(ComputeResult), ref(BatchResult)]),
)
export const REFERENCE_ROUTE = route(
  'reference',
  {
    summary: 'Returns the reference of a geometry',
    description:
      'Returns the entry of `inputRefs` for this geometry. A contract that knows a geometry ' +
      'in advance can require this hash. The same geometry in another notation (`1.0` for ' +
      '`1`, spaces, foreign members) has the same reference. Other coordinates, or another ' +
      'order of vertices, have a different one. (An extension to the specification.)',
    answers: 'The reference.',
  },
  ReferenceRequest,
  Reference,
)
export const VERIFY_ROUTE = route(
  'verify',
  {
    summary: 'Verifies an earlier result, and reports if it has landed or can still be submitted',
    description:
      'Checks the signature, the nonce (or whether the proxy has accepted the signature) and the ' +
      'deadline against the current state of the contract, decodes the data, and finds the ' +
      'attestation that contains it. An invalid result is reported in the response, not as an ' +
      'error. (An extension to the specification.)',
    answers: 'Validity of the result.',
  },
  VerifyRequest,
  ref(Verification),
)
