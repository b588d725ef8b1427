import { ApiError } from './errors'
import type { BatchAnswer } from './types'

/** Batches of any length: the service answers, and one transaction lands, this many questions at most. */
const BATCH_SIZE = 20

/** A list in parts that the service takes; an empty one is one part, which the service refuses. */
export function partsOf<T>(items: readonly T[]): (readonly T[])[] {
  if (!Array.isArray(items) || items.length <= BATCH_SIZE) return [items]
  const all: readonly T[] = items
  return Array.from({ length: Math.ceil(all.length / BATCH_SIZE) }, (_, i) =>
    all.slice(i * BATCH_SIZE, (i + 1) * BATCH_SIZE),
  )
}

/** The answers of a batch in parts that land in one transaction each. */
export function answersInParts({ chainId, results, deadline }: BatchAnswer): BatchAnswer[] {
  return partsOf(results).map((part) => ({ chainId, results: part, deadline }) as BatchAnswer)
}

/** Parts as one batch, which is good until the first deadline. */
export function joined(parts: readonly BatchAnswer[]): BatchAnswer {
  if (parts.length === 1) return parts[0]!
  return {
    chainId: parts[0]!.chainId,
    results: parts.flatMap(({ results }) => results),
    deadline: Math.min(...parts.map(({ deadline }) => deadline)),
    multiAttestByDelegation: parts.flatMap(({ multiAttestByDelegation }) => multiAttestByDelegation),
  }
}

/** Runs the request of a part; its errors name the index that a question or answer has in the whole list. */
export async function inPart<T>(part: number, request: () => Promise<T>): Promise<T> {
  try {
    return await request()
  } catch (error) {
    if (part === 0 || !(error instanceof ApiError)) throw error
    const detail = error.detail.replace(
      /\b(operations|results)\[(\d+)\]/g,
      (_, list: string, i: string) => `${list}[${Number(i) + part * BATCH_SIZE}]`,
    )
    throw new (error.constructor as typeof ApiError)({ ...error, detail })
  }
}
