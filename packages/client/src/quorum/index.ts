// SPDX-License-Identifier: MIT
import { isAddress } from 'viem'
import type { AskOptions, Context, Landed, LandOptions } from '../context'
import { plain, withPoints } from '../body'
import { ConnectionError, invalidInput, LandingError, refuseUnknown } from '../errors'
import { methodsOf } from '../questions'
import type { Signer } from '../signer'
import type { Arguments } from '../openapi'
import type { Chain, Input, Question, QuorumAnswer } from '../types'
import { limitOf, pause, untilAborted } from '../waiting'
import { collect } from './collect'
import { landQuorum } from './land'
import { currentEpoch, Operator, QuorumError, type NamedEpoch, type QuorumOptions } from './operators'
import { verifySignature, type Expected } from './signatures'
import { verifySigned, type QuorumVerification, type VerifyQuorumOptions } from './verify'

export { QuorumError, type QuorumOptions } from './operators'
export { landQuorum } from './land'
export { verifyQuorum, type QuorumVerification, type VerifyQuorumOptions } from './verify'

/**
 * Coordinator of a quorum (docs/reference/quorum.md): asks all operators the same question with the same
 * terms, verifies each signature, and returns an answer once k operators signed the same bytes. Operators do
 * not communicate with each other, and the coordinator is not trusted: the contract verifies the signatures.
 */

/** Questions to a quorum, and landing of its answers. */
export interface Quorum extends QuorumQuestions {
  /** Asks a question whose operation is chosen at run time. Throws a QuorumError. */
  ask(question: Question, options?: QuorumAskOptions): Promise<QuorumAnswer>
  /** Submits an answer to the contract, and waits until it is in a block. */
  land(answer: QuorumAnswer, signer: Signer, options?: LandOptions): Promise<Landed>
  /**
   * Verifies the signatures of an answer like `Geo.verifyQuorum`, but trusts the contract and the current
   * epoch that k operators name. Throws a QuorumError if fewer do.
   */
  verify(answer: QuorumAnswer, options?: VerifyQuorumOptions): Promise<QuorumVerification>
}
/** Options of a question to a quorum. */
export type QuorumAskOptions = Omit<AskOptions, 'submission'>
/** One method for each operation. */
type QuorumQuestions = {
  [Name in keyof Arguments<Input>]: (
    ...given: [...Arguments<Input>[Name], options?: QuorumAskOptions]
  ) => Promise<QuorumAnswer>
}

const DEADLINE_SECONDS = 600
const TIMEOUT_MS = 30_000
/** Time in milliseconds for which the operator set of a chain is reused, unless it causes an error. */
const EPOCH_MS = 60_000
/** Seconds of the year 36,812. A random expiration after it makes otherwise equal answers differ. */
const NEVER_SECONDS = 2 ** 40

/** Implements `Geo.quorum`. */
export function quorumOf(context: Context, named: QuorumOptions): Quorum {
  refuseUnknown('quorum', named, {
    ...{ operators: true, k: true, contract: true, chain: true, deadlineSeconds: true, timeout: true },
  })
  const options = { ...named, contract: named.contract ?? context.options.attester }
  const { operators, k } = options
  if (!(operators?.length > 0)) throw invalidInput('operators: expected a list of URLs')
  if (!(Number.isInteger(k) && k >= 1 && k <= operators.length))
    throw invalidInput(
      `k: expected a whole number from 1 to ${operators.length}, the number of operators, got ${k}`,
    )
  checkOptions(named)
  const all = operators.map((url) => new Operator(url, context.options))
  const twice = all.find(({ url }, i) => all.findIndex((each) => each.url === url) < i)
  if (twice) throw invalidInput(`operators: '${twice.url}' is named twice`)
  const epochs: Epochs = new Map()
  const own: Context = {
    ...{ ...context, options: { ...context.options, attester: options.contract } },
    chain: (which) => chainOf(context, operators, which),
  }
  const ask = async (question: Question, given: QuorumAskOptions = {}) => {
    const asked = performance.now()
    try {
      return await askQuorum(context, all, options, epochs, question, given)
    } catch (error) {
      const refused =
        error instanceof QuorumError && error.dissent.some(({ reason }) => reason === 'wrong-epoch')
      const wasReused = [...epochs.values()].some(({ at }) => at < asked)
      epochs.clear()
      if (!refused || !wasReused) throw error
      return askQuorum(context, all, options, epochs, question, given)
    }
  }
  return {
    ...methodsOf<QuorumQuestions>((operation, question, given) =>
      ask({ operation, ...question } as Question, given),
    ),
    ask,
    land: async (answer, signer, given) => {
      try {
        return await landQuorum(own, answer, signer, given, options.contract)
      } catch (error) {
        // The contract may have removed an operator of a known epoch.
        if (error instanceof LandingError) epochs.clear()
        throw error
      }
    },
    verify: (answer, given = {}) => {
      const namedOn = (chainId: number) =>
        limited(options, given.signal, async (signal) => {
          const { quorum, epoch } = await currentEpoch(all, options, chainId, signal)
          return { quorum, epochs: [epoch] }
        })
      return verifySigned(own, answer, namedOn, given, 'verify')
    },
  }
}

/** Throws an InvalidInputError unless the optional values of a quorum have the right form. */
function checkOptions({ contract, deadlineSeconds = 1, timeout = 1 }: QuorumOptions): void {
  if (contract !== undefined && !isAddress(contract))
    throw invalidInput(
      `contract: expected an address, 0x and 40 hex digits in lower case or with a correct checksum, got ${String(contract)}`,
    )
  if (!(Number.isSafeInteger(deadlineSeconds) && deadlineSeconds > 0))
    throw invalidInput(
      `deadlineSeconds: expected a whole number of seconds from 1 to ${Number.MAX_SAFE_INTEGER}, got ${deadlineSeconds}`,
    )
  if (!(timeout > 0 && typeof timeout === 'number'))
    throw invalidInput(`timeout: expected milliseconds above 0, got ${timeout}`)
}

/**
 * Returns the description of a chain by the client's service or, if that is unavailable, by any operator. Its
 * contracts are not trusted: a landing reads those of the quorum.
 */
async function chainOf(
  context: Context,
  operators: readonly string[],
  which: number | string | undefined,
): Promise<Chain> {
  try {
    return await context.chain(which)
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error
    const { connect } = await import('../service')
    const others = operators.map((url) => connect({ ...context.options, url }).chain(which))
    return Promise.any(others).catch(() => {
      throw error
    })
  }
}

/** Runs work with a signal that aborts after the time limit of a quorum, and at the end of the work. */
async function limited<T>(
  { timeout = TIMEOUT_MS }: QuorumOptions,
  signal: AbortSignal | undefined,
  work: (ending: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = limitOf(timeout, signal, new Error('no response in time'))
  return work(limit.signal).finally(limit.end)
}

/** Remaining milliseconds of an epoch that are too short for an answer to land. The next epoch is awaited. */
const LAST_MS = 5_000
const leftOf = ({ epoch }: NamedEpoch) => epoch.validUntil * 1000 - Date.now()

/** Operator sets by chain id, with the time by `performance.now` at which they were read. */
type Epochs = Map<number, NamedEpoch & { at: number }>

async function askQuorum(
  context: Context,
  operators: readonly Operator[],
  options: QuorumOptions,
  epochs: Epochs,
  question: Question,
  given: QuorumAskOptions,
): Promise<QuorumAnswer> {
  refuseUnknown('quorum', given, { chain: true, schema: true, recipient: true, signal: true })
  const { chain: which = options.chain ?? context.options.chain, signal, ...rest } = given
  // A numeric id needs no request. The client's service may itself be an unavailable operator.
  const chainId = typeof which === 'number' ? which : (await context.chain(which, { signal })).id
  return limited(options, signal, async (ending) => {
    const read = () => untilAborted(currentEpoch(operators, options, chainId, ending), signal)
    const known = epochs.get(chainId)
    let named: NamedEpoch | undefined =
      known && performance.now() - known.at < EPOCH_MS && leftOf(known) >= LAST_MS ? known : undefined
    if (!named) {
      named = await read()
      // The deadline must be before the end of the epoch, and operators refuse a deadline in the past.
      if (leftOf(named) < LAST_MS) {
        // After an abort, the second reading reports the operators that do not respond.
        await pause(Math.max(0, Math.ceil(leftOf(named)) + 1), ending).catch(() => {})
        named = await read()
      }
      epochs.set(chainId, { ...named, at: performance.now() })
    }
    const { quorum, epoch } = named
    const now = Math.floor(Date.now() / 1000)
    const wanted = now + (options.deadlineSeconds ?? DEADLINE_SECONDS)
    const terms = {
      ...{ chainId, timestamp: now, deadline: Math.min(wanted, epoch.validUntil - 1) },
      ...{ epoch: epoch.epoch, expirationTime: NEVER_SECONDS + Math.floor(Math.random() * NEVER_SECONDS) },
    }
    const asked = { ...withPoints(question), ...rest, ...terms }
    const collected = collect(
      operators,
      Math.max(options.k, epoch.threshold),
      plain(asked),
      ending,
      (signed) => verifySignature(signed, { ...asked, quorum, operators: epoch.operators } as Expected),
    )
    const complete = await untilAborted(collected, signal)
    // The account in a response is not signed.
    const signers = complete.operators!.map((each) => ({ ...each, operator: epoch.operators[each.index]! }))
    return { ...complete, operators: signers, chainId, quorum }
  })
}
