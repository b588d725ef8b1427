// SPDX-License-Identifier: MIT
import { QUORUM_FIELDS } from '../../../../src/eas/layouts'
import type { Context, Landed, LandOptions } from '../context'
import { ATTESTED, encodeCall, field, getAttestation, read, tuple, type OnchainAttestation } from '../eas'
import { AlteredAnswerError, LandingError, LostTransactionError, refuseUnknown, SignerError } from '../errors'
import { attestationsIn, isContentOf, landedAs } from '../landed'
import { timeOf } from '../../../../src/eas/times'
import { same } from '../says'
import {
  BEHIND_MS,
  connected,
  inTurn,
  readLate,
  reasonFor,
  refusal,
  sentOf,
  transact,
  type Refused,
} from '../send'
import { RevertedError, type ChainReader } from '../reader'
import type { Signer, Wallet } from '../signer'
import type { Chain, QuorumAnswer } from '../types'
import { pause, untilAborted } from '../waiting'
import { signersOf } from './signatures'

/** Landing of a quorum's answers. */

/** Parameters of `GeoQuorum.land`. */
const LAND = [
  tuple(
    'tuple',
    QUORUM_FIELDS.map(({ name, type }) => field(type, name)),
  ),
  'uint256',
  'bytes',
]

/**
 * Lands an answer of a quorum, or finds its earlier attestation. Throws an AlteredAnswerError if the answer
 * was altered or is not for `contract`, and a LandingError if its deadline has passed or the contract rejects
 * it.
 */
export async function landQuorum(
  context: Pick<Context, 'chain'>,
  quorumAnswer: QuorumAnswer,
  signer: Signer,
  given: LandOptions = {},
  contract = quorumAnswer.quorum,
): Promise<Landed> {
  refuseUnknown('land', given, { signal: true, onStep: true, resigns: true })
  const { chainId, quorum } = quorumAnswer
  const { signal } = given
  if (!same(contract, quorum))
    throw new AlteredAnswerError(
      `The answer is for the quorum ${quorum}, not for ${contract}. Nothing was sent.`,
    )
  await signersOf(quorumAnswer)
  const { wallet, reader, chain: named } = await connected(context, chainId, signer, 'The answer is', signal)
  // The service may be that of a single operator, which must not decide where attestations are read.
  const chain = { ...named, eas: await untilAborted(easOf(reader, quorum), signal) }
  // The transaction of a second landing of this answer would revert and cost gas.
  return inTurn(quorumAnswer, signal, () => submit({ wallet, reader, chain, signer, given }, quorumAnswer))
}

interface Landing {
  wallet: Wallet
  reader: ChainReader
  chain: Chain
  signer: Signer
  given: LandOptions
}

async function submit(landing: Landing, quorumAnswer: QuorumAnswer): Promise<Landed> {
  const { wallet, reader, chain, signer, given } = landing
  const { quorum, answer, digest, signers, signatures } = quorumAnswer
  const { signal, onStep = () => {} } = given
  const before = () => untilAborted(landedBefore(reader, chain, quorumAnswer, signal), signal)
  // Without a new block, the contract accepts the answer in a simulation and rejects the transaction.
  if (answer.deadline < Math.floor(Date.now() / 1000)) {
    const found = await before()
    if (!found) throw tooLate(quorumAnswer)
    return found
  }
  const landedOtherwise = async (error: LandingError): Promise<Landed> => {
    const found = await reasonFor(error, before(), signal)
    if (!found) throw error
    return found
  }
  const content = {
    ...answer,
    ...{ expirationTime: BigInt(answer.expirationTime), deadline: BigInt(answer.deadline) },
  }
  const data = encodeCall('land', LAND, [content, BigInt(signers), signatures])
  const onSent = (transactionHash: string) => onStep({ step: 'sent', transactionHash })
  const outcome = await inTurn(signer, signal, (release) =>
    transact(wallet, chain, { to: quorum, data }, { signal, release, onSent }),
  ).catch(async (error: unknown) => {
    // A wallet replaces a transaction by the same one with a higher fee.
    if (error instanceof LostTransactionError) return { found: await landedOtherwise(error) }
    throw error
  })
  if ('found' in outcome) return outcome.found
  if ('refused' in outcome) {
    const error = await refusal(outcome, 'The answer did not land')
    if (error.contractError === 'EpochNotValid' && (await isBehind(reader, quorumAnswer))) {
      await pause(BLOCK_MS, signal)
      return submit(landing, quorumAnswer)
    }
    // The resolver of a schema may have an error AlreadyUsed as well, with another key.
    if (error.contractError === 'AlreadyUsed' && same(error.revertData!.slice(10), digest.slice(2)))
      return readLate('The answer has landed, but its attestation', before, {
        ...{ signal, transactionHash: error.transactionHash, interval: SEARCH_MS },
      })
    if (error.contractError !== 'DeadlinePassed') throw error
    // The contract checks the deadline first, so an answer that has landed is refused for its deadline later.
    const found = await before()
    if (!found) throw tooLate(quorumAnswer, outcome)
    return found
  }
  const { receipt } = outcome
  try {
    const [attestation] = await attestationsIn(receipt, reader, chain, quorum, [answer], signal)
    return landedAs(attestation!, chain, receipt.transactionHash, receipt.blockNumber)
  } catch (error) {
    if (!(error instanceof LandingError)) throw error
    // Another account may have landed the answer before the call of a smart account.
    return landedOtherwise(error)
  }
}

/** Reads the EAS contract of a quorum. Throws a SignerError if the contract is not a GeoQuorum. */
async function easOf(reader: ChainReader, quorum: string): Promise<string> {
  try {
    return await read<string>(reader, quorum, 'eas', [], [], field('address'))
  } catch (error) {
    if (!(error instanceof RevertedError)) throw error
    throw new SignerError(`The contract ${quorum} is not a GeoQuorum. Nothing was sent.`, { cause: error })
  }
}

function tooLate({ answer }: QuorumAnswer, refusal?: Refused): LandingError {
  const clock = refusal ? '' : ', by the clock of this computer'
  const passed = `its deadline passed at ${timeOf(answer.deadline)}${clock}`
  const isCertain = Date.now() > answer.deadline * 1000 + BEHIND_MS
  return new LandingError(
    (isCertain
      ? `The answer did not land: ${passed}. Repeat the question. `
      : `The RPC endpoint does not show that the answer landed, and ${passed}. In a minute, land the same ` +
        'answer again, and repeat the question only if it has not landed then. ') + sentOf(refusal ?? {}),
    'DeadlinePassed',
    refusal?.transactionHash,
    refusal?.refused.data,
  )
}

/** Milliseconds between two searches for an attestation, each of which sends many requests. */
const SEARCH_MS = 5_000
/** Milliseconds between two attempts to land an answer of an epoch that begins with the next block. */
const BLOCK_MS = 1_000

/** True if the newest block is older than a recent answer, whose epoch may begin with the next block. */
async function isBehind(reader: ChainReader, { timestamp }: QuorumAnswer): Promise<boolean> {
  return timestamp > Date.now() / 1000 - SKEW_SECONDS && (await reader.block('latest')).timestamp < timestamp
}

/**
 * Numbers of blocks per request for logs. If the RPC endpoint refuses a request twice, the next one: some
 * endpoints allow only 10 blocks. After some successes the previous one, because an outage refuses as well.
 */
const RANGES = [2_000, 500, 10] as const
/** Number of successes. At an endpoint that allows only 10 blocks, it costs two refusals each time. */
const SUCCESSES = 10
/** Maximum difference in seconds between the timestamp of an answer and the operators' clocks. */
const SKEW_SECONDS = 60

/**
 * Finds the attestation of an answer that may have landed, in the blocks from its timestamp to its deadline.
 * A digest is used once, so there is at most one attestation with this content. Returns undefined if the RPC
 * endpoint returns none.
 */
async function landedBefore(
  reader: ChainReader,
  chain: Chain,
  quorumAnswer: QuorumAnswer,
  signal: AbortSignal | undefined,
): Promise<Landed | undefined> {
  const { answer, quorum, timestamp } = quorumAnswer
  const topics = [ATTESTED, wordOf(answer.recipient), wordOf(quorum), answer.schema]
  const head = await reader.block('latest')
  const first = await firstBlockAt(reader, timestamp - SKEW_SECONDS, head.number)
  let [narrowed, failures, successes] = [0, 0, 0]
  for (let fromBlock = first; fromBlock <= head.number;) {
    signal?.throwIfAborted()
    if (fromBlock !== first && (await reader.block(fromBlock)).timestamp > answer.deadline) return undefined
    const toBlock = Math.min(fromBlock + RANGES[narrowed]! - 1, head.number)
    const logs = await reader
      .logs({ address: chain.eas, topics, fromBlock, toBlock })
      .catch((error: unknown) => {
        successes = 0
        if (++failures % 2 === 0 && ++narrowed === RANGES.length) throw error
      })
    if (!logs) continue
    failures = 0
    if (++successes % SUCCESSES === 0) narrowed = Math.max(0, narrowed - 1)
    for (const log of logs) {
      const attestation = await getAttestation(reader, chain.eas, log.data)
      if (attestation && holds(attestation, quorumAnswer))
        return { ...landedAs(attestation, chain, log.transactionHash, log.blockNumber), already: true }
    }
    fromBlock = toBlock + 1
  }
  return undefined
}

/** Returns the number of the first block at or after a time in Unix seconds, at most `head`. */
async function firstBlockAt(reader: ChainReader, time: number, head: number): Promise<number> {
  let [before, after] = [head, head]
  // Doubling steps find a recent block with few requests, and need no state of the genesis block.
  for (let step = 64; before > 0 && (await reader.block(before)).timestamp >= time; step *= 2) {
    after = before
    before = Math.max(0, before - step)
  }
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if ((await reader.block(middle)).timestamp >= time) after = middle
    else before = middle
  }
  return before === 0 ? 0 : after
}

/** Pads an address to 32 bytes, as in a topic of a log. */
const wordOf = (address: string) => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`

/** True if an attestation has the content of an answer, and the quorum's contract as its attester. */
function holds(attestation: OnchainAttestation, { answer, quorum }: QuorumAnswer): boolean {
  return isContentOf(attestation, answer) && same(attestation.attester, quorum)
}
