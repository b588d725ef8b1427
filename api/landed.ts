import { ZeroHash } from 'ethers'
import type { Chain } from '../src/chains'
import { attestationUid } from '../src/eas'
import type { ServedChain, Statement } from './attester'
import type { AttestedLog, ChainReader } from './chain-reader'
import { UnavailableError } from './problems'

/** Whether an answer is an attestation on its chain, and which one: of several with this content, the first. */
export interface Landed {
  /** `unknown` where the node does not give the logs that tell it. */
  status: 'landed' | 'not landed' | 'unknown'
  uid: string | null
  transactionHash: string | null
  blockNumber: number | null
  /** Whether it was revoked since. */
  revoked: boolean | null
}

const NOWHERE = { uid: null, transactionHash: null, blockNumber: null, revoked: null }
/** So far the time of a block may be behind the clock that answers are dated by. */
const SKEW_SECONDS = 120
/** A local chain of fewer blocks is searched whole. */
const SHORT_CHAIN = 100_000
/** A search asks the node no more often; what it has not seen by then it does not know. */
const MAX_CALLS = 40

/**
 * Finds the attestation that holds an answer. A UID commits to the content and to the time of its block: the event whose UID
 * is that of this content at its block's time is this attestation, and no other one is. (Equal content within one block gets
 * further UIDs; the first of them has this one.)
 * @param timestamp of the answer's computation, Unix seconds: it cannot have landed before
 */
export async function findLanded(
  { attester, reader }: ServedChain,
  statement: Statement,
  timestamp: number,
): Promise<Landed> {
  const { schema, recipient, revocable, data } = statement
  const content = {
    schema,
    recipient,
    attester: attester.address,
    expirationTime: 0n,
    revocable,
    refUID: ZeroHash,
    data,
  }
  try {
    for await (const { uid, time, transactionHash, blockNumber } of attestedSince(
      reader,
      attester.chain,
      content,
      timestamp - SKEW_SECONDS,
    )) {
      if (attestationUid({ ...content, time: BigInt(time) }) !== uid) continue
      const attestation = await reader.attestation(uid)
      if (attestation)
        return {
          status: 'landed',
          uid,
          transactionHash,
          blockNumber,
          revoked: attestation.revocationTime !== 0n,
        }
    }
    return { status: 'not landed', ...NOWHERE }
  } catch (error) {
    if (error instanceof UnavailableError) return { status: 'unknown', ...NOWHERE }
    throw error
  }
}

/** The attestations of this schema, attester and recipient since a time, oldest first. Throws UnavailableError when MAX_CALLS do not show all. */
async function* attestedSince(
  reader: ChainReader,
  chain: Chain,
  filter: { schema: string; attester: string; recipient: string },
  seconds: number,
): AsyncGenerator<Required<AttestedLog>> {
  let calls = 0
  const ask = <T>(call: () => Promise<T>): Promise<T> => {
    if (++calls > MAX_CALLS) throw new UnavailableError(`The node of ${chain.slug} gives too little at once.`)
    return call()
  }
  const head = await ask(() => reader.block('latest'))
  let from = head.number
  // A local chain's clock may be set to any time; a node of one's own for a real chain tells the right one.
  if (
    reader.local &&
    head.time < Date.now() / 1000 - SKEW_SECONDS &&
    head.number - chain.firstBlock < SHORT_CHAIN
  )
    from = chain.firstBlock
  else
    for (let back = Math.ceil(((head.time - seconds) * 1000) / chain.blockMs); back > 0; back *= 2) {
      from = Math.max(head.number - back, chain.firstBlock)
      if (from === chain.firstBlock || (await ask(() => reader.block(from))).time <= seconds) break
    }
  let known: { number: number; time: number } | undefined
  // More than the node gave last: it may have been busy then.
  for (let span = 2 * reader.logSpan; from <= head.number;) {
    const to = Math.min(from + span - 1, head.number)
    let logs: AttestedLog[]
    try {
      logs = await ask(() => reader.attested(filter, from, to))
    } catch (error) {
      if (from === to || calls > MAX_CALLS) throw error
      reader.logSpan = span = Math.ceil((to - from + 1) / 2)
      continue
    }
    for (const log of logs) {
      if (log.time === undefined && known?.number !== log.blockNumber)
        known = await ask(() => reader.block(log.blockNumber))
      yield { ...log, time: log.time ?? known!.time }
    }
    if (to - from + 1 === span) reader.logSpan = span
    from = to + 1
  }
}
