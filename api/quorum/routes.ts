import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { QUORUM_REFUSALS, type QuorumRefusal } from '../../src/errors'
import { GeometryError } from '../../src/geodesy'
import { requestValidator, type ComputeParts } from '../compute'
import {
  ComputeError,
  computeErrorHandler,
  SlowRequestError,
  StoppedError,
  UnavailableError,
} from '../http/problems'
import { withTypes } from '../http/schema'
import { workOf } from '../http/work'
import { quorumsOf } from './epochs'
import { QUORUMS_ROUTE, SIGN_ROUTE, type Quorums } from './schemas'
import { signForQuorum } from './sign'

/** Number of requests to sign that this process has refused, by kind. */
export type Refusals = Record<QuorumRefusal, number>

export function noRefusals(): Refusals {
  return Object.fromEntries(Object.keys(QUORUM_REFUSALS).map((kind) => [kind, 0])) as Refusals
}

/** Registers /quorum/v0 (docs/reference/quorum.md), and counts the refusals of /sign. */
export function quorumRoutes(parts: ComputeParts, refusals: Refusals) {
  return (scope: FastifyInstance, _options: object, done: () => void): void => {
    const app = withTypes(scope)
    const quorums = quorumsOf(parts.attesters)
    const onError = computeErrorHandler(parts.publicBaseUrl, (error) => ({ refusal: refusalOf(error) }))
    app.setErrorHandler(onError)
    app.setValidatorCompiler(requestValidator(parts))
    const onRefusal = (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      refusals[refusalOf(error)]++
      void onError(error, request, reply)
    }
    app.post('/sign', { schema: SIGN_ROUTE, errorHandler: onRefusal }, (request) =>
      signForQuorum(parts, quorums, request.body, workOf(request)),
    )
    app.get('/', { schema: QUORUMS_ROUTE }, (): Promise<Quorums> => {
      const listed = [...quorums].map(async ([chainId, quorum]) => ({
        ...{ chainId, chain: quorum.chain.attester.chain.slug, quorum: quorum.address },
        ...{ operator: quorum.chain.attester.address, epochs: await quorum.epochs().catch(() => []) },
      }))
      return Promise.all(listed)
    })
    done()
  }
}

function refusalOf(error: Error): QuorumRefusal {
  if (error instanceof StoppedError) return 'failed'
  if (error instanceof UnavailableError) return 'not-indexed-yet'
  if (error instanceof GeometryError) return 'invalid-input'
  if (error instanceof SlowRequestError) return 'busy'
  if (!(error instanceof ComputeError)) return 'statusCode' in error ? 'invalid-input' : 'failed'
  if (error.refusal) return error.refusal
  switch (error.slug) {
    case 'attestation-not-found':
      return 'unknown-input'
    case 'rate-limited':
      return 'busy'
    case 'computation-error':
      return error.retryAfter === undefined ? 'failed' : 'busy'
    default:
      return 'invalid-input'
  }
}
