import { ZeroHash } from 'ethers/constants'
import type { Chain } from '../../src/chains'
import { attestationUid } from '../../src/eas'
import type { ServedChain, Statement, Terms } from './attester'
import type { AttestedLog, Block, ChainReader } from '../contracts'
import { UnavailableError } from '../http/problems'
import type { Landed } from './schemas'

const NOWHERE = { uid: null, transactionHash: null, blockNumber: null, revoked: null }
/** Maximum lag of a block's time behind the clock of this service, in seconds. */
const SKEW_SECONDS = 120
/** Number of blocks below which a local chain is searched from its first block. */
const SHORT_CHAIN = 100_000
/** Maximum number of RPC calls per search; a search that needs more ends as `unknown`. */
const MAX_CALLS = 40

/**
 * Finds the attestation that holds an answer: the event whose UID is that of this content at its block's
 * time. (Equal content within one block gets further UIDs; the first of them has this one.)
 * @param timestamp of the answer's computation, Unix seconds: it cannot have landed before
 * @param isDecisive false if an answer that is not found up to this head may have landed in a later block,
 *   because the endpoint lags behind another one; the status is then `unknown`
 */
export async function findLanded(
  { attester, reader }: ServedChain,
  statement: Statement & Pick<Terms, 'expirationTime'>,
  /** Attester that EAS records: the signer of the answer, or the proxy that the answer was signed for. */
  recorded: string,
  timestamp: number,
  isDecisive: (head: Block) => boolean | Promise<boolean>,
): Promise<Landed> {
  const expirationTime = BigInt(statement.expirationTime)
  const content = { ...statement, attester: recorded, expirationTime, refUID: ZeroHash }
  try {
    const head = await reader.block('latest')
    for await (const { uid, time, transactionHash, blockNumber } of attestedSince(
      reader,
      attester.chain,
      content,
      timestamp - SKEW_SECONDS,
      head,
    )) {
      if (attestationUid({ ...content, time: BigInt(time) }) !== uid) continue
      const attestation = await reader.attestation(uid)
      // EAS deletes no attestation, so a node lags, or the block was replaced.
      if (!attestation) return { status: 'unknown', ...NOWHERE }
      const revoked = attestation.revocationTime !== 0n
      return { status: 'landed', uid, transactionHash, blockNumber, revoked }
    }
    return { status: (await isDecisive(head)) ? 'not landed' : 'unknown', ...NOWHERE }
  } catch (error) {
    if (error instanceof UnavailableError) return { status: 'unknown', ...NOWHERE }
    throw error
  }
}

/** Yields attestations since a time, oldest first. Throws an UnavailableError after MAX_CALLS. */
async function* attestedSince(
  reader: ChainReader,
  chain: Chain,
  filter: { schema: string; attester: string; recipient: string },
  seconds: number,
  head: Block,
): AsyncGenerator<Required<AttestedLog>> {
  let calls = 0
  const ask = <T>(call: () => Promise<T>): Promise<T> => {
    if (++calls > MAX_CALLS)
      throw new UnavailableError(`The RPC endpoint of ${chain.slug} returns too few logs per request.`)
    return call()
  }
  let from = head.number
  // The clock of a local chain may be set to any time.
  if (
    (await reader.isLocal()) &&
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
  // Starts with more blocks than the RPC endpoint last returned logs for, and doubles them until it refuses,
  // because it may have been busy at that time.
  let tooMany = Infinity
  for (let span = 2 * reader.logs.span; from <= head.number;) {
    const to = Math.min(from + span - 1, head.number)
    let logs: AttestedLog[]
    try {
      logs = await ask(() => reader.attested(filter, from, to))
    } catch (error) {
      // Only an error of the endpoint shrinks the span, and not a disconnected client, a full queue or
      // MAX_CALLS.
      if (from === to || !(error as Error).cause) throw error
      tooMany = to - from + 1
      reader.logs.span = span = Math.ceil(tooMany / 2)
      continue
    }
    for (const log of logs) {
      if (log.time === undefined && known?.number !== log.blockNumber)
        known = await ask(() => reader.block(log.blockNumber))
      yield { ...log, time: log.time ?? known!.time }
    }
    if (to - from + 1 === span) reader.logs.span = span
    if (2 * span < tooMany) span *= 2
    from = to + 1
  }
}
