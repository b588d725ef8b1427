import type { FastifySchemaCompiler, SafePromiseLike } from 'fastify'
import type { TSchema } from '@sinclair/typebox'
import { invalidInput } from '../http/problems'
import { compileCheck, rulesOf, type RequestProblem } from '../http/validation'
import { servedChain, usableChainIds, type ComputeParts } from './compute'

/** Checks bodies by the schemas of their routes. */
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

/**
 * Throws the problem of a body. A chain that is not usable is reported first, which may require an RPC call.
 * Fastify reads what an asynchronous check throws, not what it returns.
 */
async function refuse(
  parts: ComputeParts,
  { chainId }: { chainId: number },
  { place, problem, property }: RequestProblem,
): Promise<never> {
  if (property === 'chainId')
    throw invalidInput(`${place}: ${problem}, one of: ${await usableChainIds(parts)}`)
  await servedChain(parts, chainId)
  throw invalidInput(`${place}: ${problem}`)
}
