import { ZeroHash } from 'ethers/constants'
import { computeUnsigned, servedChain, type ComputeParts } from '../compute'
import { ComputeError, invalidInput } from '../http/problems'
import type { Work } from '../http/work'
import type { Quorum } from './epochs'
import type { QuorumRequest, QuorumSignature } from './schemas'

/** Maximum difference between the clocks of the coordinator and of this operator, in seconds. */
const SKEW_SECONDS = 60

/** Signs an answer for the quorum of its chain. Throws a ComputeError whose `refusal` names the reason. */
export async function signForQuorum(
  parts: ComputeParts,
  quorums: ReadonlyMap<number, Quorum>,
  { chainId, timestamp, deadline, expirationTime, epoch, operation, ...question }: QuorumRequest,
  work: Work,
): Promise<QuorumSignature> {
  const chain = await servedChain(parts, chainId, work)
  const quorum = quorums.get(chainId)
  if (!quorum)
    throw invalidInput(
      `chainId: this operator has no quorum on chain ${chainId}. Chains with one: ${[...quorums.keys()].join(', ')}.`,
    )
  const now = Math.floor(parts.clock() / 1000)
  if (Math.abs(timestamp - now) > SKEW_SECONDS)
    throw skew(
      `timestamp: expected at most ${SKEW_SECONDS} s from ${now}, this operator's clock, got ${timestamp}. Correct the clock that differs.`,
    )
  const latest = now + parts.deadlineSeconds + SKEW_SECONDS
  if (deadline <= now || deadline > latest)
    throw skew(`deadline: expected a time after ${now}, at most ${latest}, got ${deadline}.`)
  if (expirationTime !== 0 && expirationTime <= deadline)
    throw invalidInput(
      `expirationTime: expected 0 or a time after the deadline ${deadline}, got ${expirationTime}.`,
    )
  const index = await quorum.indexIn(epoch, timestamp, deadline)
  // The coordinator's clock may be ahead: an input must not expire before the time that the answer names.
  const dated = { ...parts, resolver: parts.resolver.validUntil(timestamp) }
  const { statement, claims, stillValid } = await computeUnsigned(dated, chain, operation, question, {
    at: timestamp,
  })
  const { schema, recipient, revocable, data } = statement
  const answer = { schema, recipient, expirationTime, revocable, refUID: ZeroHash, data, deadline, epoch }
  const { attester } = chain
  return {
    ...claims,
    answer,
    operator: attester.address,
    index,
    quorum: quorum.address,
    ...(await attester.signForQuorum(quorum.address, answer, work, stillValid)),
  }
}

function skew(detail: string): ComputeError {
  return new ComputeError('invalid-input', detail, undefined, 'skew')
}
