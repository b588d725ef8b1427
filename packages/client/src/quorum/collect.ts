// SPDX-License-Identifier: MIT
import { ApiError } from '../errors'
import { decodeClaims } from '../eas'
import type { Hex } from '../reader'
import type { Dissent, QuorumAnswer, QuorumSignature } from '../types'
import { pause } from '../waiting'
import { AGAIN_MS, dissentOf, QuorumError, summaryOf, type Operator } from './operators'
import type { Verdict } from './signatures'

/** Collects the signatures of operators for one request. */

type Complete = Omit<QuorumAnswer, 'chainId' | 'quorum'>

/**
 * Asks all operators in parallel. Resolves once `k` of them signed the same digest; rejects with a
 * QuorumError after all responses otherwise.
 */
export function collect(
  operators: readonly Operator[],
  k: number,
  body: object,
  signal: AbortSignal,
  verify: (signed: QuorumSignature) => Promise<Verdict>,
): Promise<Complete> {
  const request = JSON.stringify(body)
  const signed = new Map<string, { url: string; signed: QuorumSignature }[]>()
  const dissent: Dissent[] = []
  const others = (digest: string) => [
    ...dissent,
    ...[...signed]
      .filter(([other]) => other !== digest)
      .flatMap(([, group]) => group)
      .map(({ url, signed: each }): Dissent => {
        return { url, reason: 'failed', detail: 'signed another payload for the same request', signed: each }
      }),
  ]
  return new Promise((resolve, reject) => {
    let left = operators.length
    // Rejects only after the last response, so that the error can name the operators that differ from the
    // others.
    const ended = () => {
      if (--left > 0) return
      const [digest, most] = [...signed].reduce<[string, number]>(
        (largest, [each, group]) => (group.length > largest[1] ? [each, group.length] : largest),
        ['', 0],
      )
      const all = others(digest)
      reject(
        new QuorumError(
          `${most} of ${operators.length} operators signed the same answer, and ${k} are needed. ${summaryOf(all)}`,
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
          if (group.length >= k) resolve(completed(group.slice(0, k), others(given.digest)))
        }
      } catch (error) {
        dissent.push(dissentOf(url, error))
      }
      ended()
    }
    for (const operator of operators) void one(operator)
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

function completed(group: readonly { signed: QuorumSignature }[], dissent: Dissent[]): Complete {
  const ascending = group.map((each) => each.signed).sort((a, b) => a.index - b.index)
  const { answer, digest } = ascending[0]!
  // The claims are decoded from the signed payload.
  const { whole: _, ...claims } = decodeClaims(answer.data as Hex)!
  return {
    ...claims,
    ...{ answer, digest, dissent },
    signers: `0x${ascending.reduce((bits, { index }) => bits | (1n << BigInt(index)), 0n).toString(16)}`,
    signatures: `0x${ascending.map(({ signature }) => signature.slice(2)).join('')}`,
  }
}
