import type { TSchema } from '@sinclair/typebox'
import type { FastifyInstance, FastifySchemaCompiler, SafePromiseLike } from 'fastify'
import { OPERATIONS, OPERATION_ROWS } from '../../src/operations'
import { clientOf } from '../http/limits'
import { computeErrorHandler, invalidInput, ownShareUsed } from '../http/problems'
import { withTypes } from '../http/schema'
import { Semaphore } from '../http/semaphore'
import { compileCheck, rulesOf, type RequestProblem } from '../http/validation'
import { OWN_WORK, workOf } from '../http/work'
import { compute, computeBatch, reference, servedChain, usableChains, type ComputeParts } from './compute'
import { resign, resignBatch, verify } from './earlier'
import {
  BATCH_ROUTE,
  REFERENCE_ROUTE,
  RESIGN_ROUTE,
  VERIFY_ROUTE,
  ZONES_ROUTE,
  operationRoute,
  type ZonesRequest,
} from './schemas'
import type { Store } from '../store'
import { computeZones } from './zones'

export const COMPUTE_ENDPOINTS = [
  ...Object.keys(OPERATIONS),
  'batch',
  'zones',
  'reference',
  'resign',
  'verify',
]

/** Maximum number of concurrent batches per client: each may make forty RPC calls. */
const BATCHES_AT_ONCE = 2

/** Registers the Compute API (docs/spec/interface.md 6), mounted at /compute/v0. */
export function computeRoutes(parts: ComputeParts & { store: Store }) {
  return (scope: FastifyInstance, _options: object, done: () => void): void => {
    const app = withTypes(scope)
    app.setErrorHandler(computeErrorHandler(parts.publicBaseUrl))
    app.setValidatorCompiler(requestValidator(parts))
    for (const [name, operation] of OPERATION_ROWS)
      app.post(`/${name}`, { schema: operationRoute(name, operation) }, (request) =>
        compute(parts, name, request.body, workOf(request)),
      )
    const oneOfFewBatches = batchLimiter()
    app.post('/batch', { schema: BATCH_ROUTE }, (request) =>
      oneOfFewBatches(clientOf(request), () => computeBatch(parts, request.body, workOf(request))),
    )
    app.post('/zones', { schema: ZONES_ROUTE }, (request) =>
      oneOfFewBatches(clientOf(request), () =>
        computeZones(parts, request.body as ZonesRequest, workOf(request)),
      ),
    )
    app.post('/resign', { schema: RESIGN_ROUTE }, (request) => {
      const { body } = request
      const work = workOf(request)
      if (!('results' in body)) return resign(parts, body, work)
      return oneOfFewBatches(clientOf(request), () => resignBatch(parts, body, work))
    })
    app.post('/reference', { schema: REFERENCE_ROUTE }, ({ body }) => reference(parts, body))
    app.post('/verify', { schema: VERIFY_ROUTE }, (request) => verify(parts, request.body, workOf(request)))
    done()
  }
}

export function requestValidator(parts: ComputeParts): FastifySchemaCompiler<TSchema> {
  return ({ schema }) => {
    const check = compileCheck(schema)
    const chainFirst = rulesOf(schema).first === 'chainId'
    return (body: unknown) => {
      const found = check(body)
      if (!found) return true
      if (found.property !== 'chainId' && !(chainFirst && found.property !== undefined))
        return { error: invalidInput(`${found.place}: ${found.problem}`) }
      return refuse(parts, body as { chainId: number }, found) as PromiseLike<never> as SafePromiseLike<never>
    }
  }
}

/** Throws the problem of a body, or that of its chain: Fastify reads what an asynchronous check throws. */
async function refuse(
  parts: ComputeParts,
  { chainId }: { chainId: number },
  { place, problem, property }: RequestProblem,
): Promise<never> {
  if (property === 'chainId') throw invalidInput(`${place}: ${problem}. ${await usableChains(parts)}`)
  await servedChain(parts, chainId, OWN_WORK)
  throw invalidInput(`${place}: ${problem}`)
}

function batchLimiter() {
  const semaphore = new Semaphore({ all: Infinity, each: BATCHES_AT_ONCE })
  return async <T>(client: string, work: () => Promise<T>): Promise<T> => {
    const release = semaphore.tryAcquire(client)
    if (!release)
      throw ownShareUsed(
        `${BATCHES_AT_ONCE} of your batches are being computed. Retry after one of them has finished.`,
      )
    return work().finally(release)
  }
}
