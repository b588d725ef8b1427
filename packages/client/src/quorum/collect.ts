// SPDX-License-Identifier: MIT
import { ApiError } from '../errors'
import { decodeClaims } from '../eas'
import type { Hex } from '../reader'
import type { Dissent, QuorumAnswer, QuorumSignature } from '../types'
import { pause } from '../waiting'
import { AGAIN_MS, dissentOf, QuorumError, summaryOf, type Operator } from './operators'
import { contentOf, type Verdict } from './signatures'

/** Collects the signatures of operators for one request. */

type Complete = Omit<QuorumAnswer, 'chainId' | 'quorum'>
interface Signed {
  url: string
  signed: QuorumSignature
}

/**
 * Fraction of the time until k operators agreed, for which the other operators may still contradict them. The
 * 99th percentile of three of five was 1.37 times that of one operator without it (bench/README.md, quorum):
 * with it, it is at most 1.37 * 1.08 = 1.48 times, and the limit is 1.5.
 */
const GRACE = 0.08

/**
 * Asks all operators in parallel. Resolves once `k` of them signed the same digest, and the others have
 * responded or the time of GRACE has passed. Rejects with a QuorumError after all responses otherwise.
 */
export function collect(
  operators: readonly Operator[],
  k: number,
  body: object,
  signal: AbortSignal,
  verify: (signed: QuorumSignature) => Promise<Verdict>,
): Promise<Complete> {
  const request = JSON.stringify(body)
  const begun = performance.now()
  const signed = new Map<string, Signed[]>()
  const dissent: Dissent[] = []
  return new Promise((resolve, reject) => {
    let left = operators.length
    let complete: (() => void) | undefined
    // Rejects only after the last response, so that the error can name the operators that differ from the
    // others.
    const ended = () => {
      if (--left > 0) return
      if (complete) return complete()
      const groups = [...signed.values()]
      const most = Math.max(0, ...groups.map((group) => group.length))
      const isContradicted = groups.length > 1 || dissent.some((each) => each.signed)
      const all = [...dissent, ...(isContradicted ? otherPayloads(groups) : [])]
      reject(
        new QuorumError(
          [
            `${most} of ${operators.length} operators signed the same answer, and ${k} are needed.`,
            ...(operators.length < k ? ['List more operators.'] : []),
            ...(all.length > 0 ? [summaryOf(all)] : []),
          ].join(' '),
          all,
        ),
      )
    }
    const one = async (operator: Operator) => {
      const { url } = operator
      try {
        const given = await patiently(operator, request, signal)
        const { problem, isSigned } = await verify(given)
        if (problem !== undefined)
          dissent.push({
            ...{ url, reason: 'invalid-signature', detail: problem },
            ...(isSigned && { signed: given }),
          })
        else {
          const group = signed.get(given.digest) ?? []
          // Two URLs of one operator count as one signature.
          if (!group.some((each) => each.signed.index === given.index)) group.push({ url, signed: given })
          signed.set(given.digest, group)
          if (!complete && group.length >= k) {
            const others = () => [...signed.values()].filter((each) => each !== group)
            const timer = setTimeout(() => complete!(), GRACE * (performance.now() - begun))
            complete = () => {
              clearTimeout(timer)
              resolve(completed(group.slice(0, k), [...dissent, ...otherPayloads(others())]))
            }
          }
        }
      } catch (error) {
        dissent.push(dissentOf(url, error))
      }
      ended()
    }
    for (const operator of operators) void one(operator)
  })
}

/** Describes signed payloads that differ from those of other operators for the same request. */
function otherPayloads(groups: readonly Signed[][]): Dissent[] {
  return groups.flat().map(({ url, signed }): Dissent => {
    const detail = `signed the payload with the digest ${signed.digest}`
    return { url, reason: 'other-payload', detail, signed }
  })
}

/**
 * Asks an operator again while its refusal is temporary. After a minute, operators refuse the timestamp of
 * the question with `skew`: the earlier refusal is then the reason.
 */
async function patiently(operator: Operator, body: string, signal: AbortSignal): Promise<QuorumSignature> {
  for (let earlier: unknown; ;)
    try {
      return await operator.sign(body, signal)
    } catch (error) {
      const { reason } = dissentOf(operator.url, error)
      if (reason === 'skew') throw earlier ?? error
      earlier = error
      if (signal.aborted || (reason !== 'not-indexed-yet' && reason !== 'busy')) throw error
      const after = error instanceof ApiError ? (error.retryAfter ?? 0) * 1_000 : 0
      await pause(Math.max(AGAIN_MS, after), signal).catch(() => {
        throw error
      })
    }
}

function completed(group: readonly Signed[], dissent: Dissent[]): Complete {
  const ascending = [...group].sort((a, b) => a.signed.index - b.signed.index)
  const { answer, digest } = ascending[0]!.signed
  // The claims are decoded from the signed payload.
  const { whole: _, ...claims } = decodeClaims(answer.data as Hex)!
  return {
    ...claims,
    ...{ answer: contentOf(answer), digest, dissent },
    signers: `0x${ascending.reduce((bits, { signed }) => bits | (1n << BigInt(signed.index)), 0n).toString(16)}`,
    signatures: `0x${ascending.map(({ signed }) => signed.signature.slice(2)).join('')}`,
    operators: ascending.map(({ url, signed: { index, operator, log } }) => ({
      ...{ url, index, operator },
      ...(log && { log }),
    })),
  }
}
