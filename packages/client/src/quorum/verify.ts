// SPDX-License-Identifier: MIT
import type { Context } from '../context'
import { fieldsOf, read, tuple } from '../eas'
import { refuseUnknown } from '../errors'
import { loggedByOperators, logProblems, type LoggedOptions, type OperatorLogged } from '../log'
import { RevertedError, type ChainReader } from '../reader'
import { timeOf } from '../../../../src/eas/times'
import { same } from '../says'
import { readerOfChain } from '../send'
import type { Connection } from '../service'
import type { Provider } from '../signer'
import type { QuorumAnswer } from '../types'
import { untilAborted } from '../waiting'
import { quorumOfService, type Epoch, type Listed } from './operators'
import { signersOf, type Signer } from './signatures'

/** Verification of an answer of a quorum that has not landed. */

export interface VerifyQuorumOptions extends LoggedOptions {
  /** RPC endpoint from which the operators are read; default: that of createGeo({ providers }) */
  provider?: Provider
  /**
   * false: the transparency logs are not read. Anyone can have written the URLs of the operators in an answer
   */
  logs?: boolean
}

/** Result of verifying an answer of a quorum. */
export interface QuorumVerification {
  /** true if all checks passed */
  valid: boolean
  /** one sentence for each check that failed or could not be done */
  problems: string[]
  /** true if no check failed, but the operators of the epoch or the log of an operator could not be read */
  unknown: boolean
  /**
   * operators that signed, and the state of their signatures in their transparency logs, which are read only
   * if the operators are those of the quorum, and not with `logs: false`
   */
  operators: OperatorLogged[]
}

/**
 * Implements `Geo.verifyQuorum`. It trusts the contract that createGeo({ attester }) or the service names,
 * and reads the operators from the contract or, without an RPC endpoint, from the service.
 */
export function verifyQuorum(
  connection: Connection,
  answer: QuorumAnswer,
  given: VerifyQuorumOptions = {},
): Promise<QuorumVerification> {
  const named = (chainId: number) => quorumOfService(connection, chainId, given.signal)
  return verifySigned(connection, answer, named, given)
}

/** Contract of a chain and its epochs, as trusted services name them. */
type Named = (chainId: number) => Promise<Pick<Listed, 'quorum' | 'epochs'> | undefined>

/**
 * Verifies an answer by the contract that createGeo({ attester }) or `namedOn` names, and by the operators of
 * its epoch, which it reads from the contract or, without an RPC endpoint, from `namedOn`.
 */
export async function verifySigned(
  context: Pick<Context, 'options' | 'chain'>,
  answer: QuorumAnswer,
  namedOn: Named,
  given: VerifyQuorumOptions,
  method = 'verifyQuorum',
): Promise<QuorumVerification> {
  refuseUnknown(method, given, { policy: true, provider: true, logs: true, signal: true })
  const { provider, logs = true, ...options } = given
  const signers = await signersOf(answer).catch((error: Error) => error)
  if (signers instanceof Error)
    return { valid: false, unknown: false, problems: [signers.message], operators: [] }
  const { unknown, problems: untrusted } = await untilAborted(
    signerProblems(context, answer, signers, namedOn, provider),
    given.signal,
  )
  // Anyone can have written the URLs in an answer that is not of the quorum, so they are not read.
  if (!logs || untrusted.length > 0) {
    const operators = signers.map(({ signature: _, log: __, ...operator }) => operator)
    return { valid: untrusted.length === 0, unknown, problems: untrusted, operators }
  }
  const operators = await loggedByOperators(context, answer, options)
  const problems = logProblems(operators)
  const isUnread = operators.every(({ log }) => log?.state !== 'missing')
  return { valid: problems.length === 0, unknown: problems.length > 0 && isUnread, problems, operators }
}

/** Describes why the contract, or the accounts that signed, are not those of a trusted quorum. */
async function signerProblems(
  { options, chain: chainOf }: Pick<Context, 'options' | 'chain'>,
  { chainId, quorum, timestamp, answer: { epoch: number } }: QuorumAnswer,
  signers: readonly Signer[],
  namedOn: Named,
  provider: Provider | undefined,
): Promise<Pick<QuorumVerification, 'unknown' | 'problems'>> {
  const named = await namedOn(chainId)
  const expected = options.attester ?? named?.quorum
  if (expected === undefined || !same(expected, quorum))
    return failed(
      expected === undefined
        ? `The answer is for the quorum ${quorum}, which neither the service nor the option attester names.`
        : `The answer is for the quorum ${quorum}, not for ${expected}.`,
    )
  const node = provider ?? options.providers?.[chainId]
  let epoch: Epoch | undefined
  if (node !== undefined) {
    epoch = await epochOf(await readerOfChain(node, await chainOf(chainId)), quorum, number)
  } else if (named && same(named.quorum, quorum)) epoch = named.epochs.find((each) => each.epoch === number)
  if (!epoch && node === undefined)
    return {
      unknown: true,
      problems: [
        `The operators of epoch ${number} are unknown without an RPC endpoint of the chain. Set one.`,
      ],
    }
  if (!epoch) return failed(`The contract has no epoch ${number}.`)
  const { threshold, operators, validFrom, validUntil } = epoch
  // A later rotation may end an epoch before the deadline of its answers, which stay valid.
  const isCurrent = validFrom <= timestamp && timestamp < validUntil
  return failed(
    !isCurrent &&
      `The answer was computed at ${timeOf(timestamp)}, but epoch ${number} is valid from ${timeOf(validFrom)} to ${timeOf(validUntil)}.`,
    ...signers.map(
      ({ index, operator }) =>
        !same(operators[index] ?? '', operator) &&
        `${operator} signed as operator ${index} of epoch ${number}, and is not this operator.`,
    ),
    signers.length < threshold &&
      `${signers.length} operators signed, and epoch ${number} requires ${threshold}.`,
  )
}

const failed = (...problems: (string | false)[]) => ({
  ...{ unknown: false, problems: problems.filter((problem) => problem !== false) },
})

const EPOCH = tuple(
  'tuple',
  fieldsOf('uint64 validFrom, uint64 validUntil, uint8 threshold, address[] operators'),
)

/** Reads an epoch from the contract; undefined if it has no such epoch. */
async function epochOf(reader: ChainReader, quorum: string, number: number): Promise<Epoch | undefined> {
  type Read = { validFrom: bigint; validUntil: bigint; threshold: number; operators: readonly string[] }
  try {
    const found = await read<Read>(reader, quorum, 'epochOf', ['uint32'], [number], EPOCH)
    const { validFrom, validUntil, threshold, operators } = found
    const times = { validFrom: Number(validFrom), validUntil: Number(validUntil) }
    return { epoch: number, ...times, threshold, operators }
  } catch (error) {
    if (error instanceof RevertedError) return undefined
    throw error
  }
}
