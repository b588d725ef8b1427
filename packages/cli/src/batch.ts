// SPDX-License-Identifier: MIT
import { once } from 'node:events'
import { open, type FileHandle } from 'node:fs/promises'
import {
  ComputationError,
  LandingError,
  isOfRequest,
  type Answer,
  type ApiError,
  type BatchAnswer,
  type Signer,
} from '@geospatial-attestation/client'
import type { AskFlags } from './ask'
import { EXIT, UsageError } from './exit'
import { readSource } from './inputs'
import { openJournal, type Journal, type LandedJson, type Signed } from './journal'
import { landAnswer, landedJson } from './land'
import { grouped, jsonLine } from './output'
import { startProgress } from './progress'
import { linesOf, type Asked, type Line } from './questions'
import type { Session } from './session'

/** Implements `geo batch`: asks the questions of a file, and writes the answers in the order of the lines. */

export interface BatchFlags extends AskFlags {
  output?: string
}
type Result = { answer: Answer; landed?: LandedJson } | { error: { name: string; message: string } }
type AskedLine = Line & { asked: Asked }

/** Maximum numbers of questions in a request, and of simultaneous requests of a client. */
const BATCH = 20
const AT_ONCE = 2

export async function batch(session: Session<BatchFlags>, file: string): Promise<number> {
  const { options, geo, at } = session
  const { stdout, stderr } = session.context
  const { output, land, schema, recipient, submission } = options
  if (land && output === undefined)
    throw new UsageError(
      '--land requires -o FILE. Signed answers are stored next to it, so that none lands twice if ' +
        'you run the command again.',
    )
  const text = await readSource(file, session)
  const lines = await linesOf(text, geo, { chain: session.chain, schema, recipient, submission })
  const journal = output === undefined ? undefined : await openJournal(output, at)
  let sink: FileHandle | undefined
  const progress = options.quiet ? undefined : startProgress(stderr, { unit: 'lines', total: lines.length })

  const results = new Map<string, Result>()
  let [written, refused] = [0, 0]
  /** Writes the results up to the first line that has none. */
  const write = async () => {
    for (let line; (line = lines[written]) && results.has(line.key); written++) {
      const result = results.get(line.key)!
      if ('error' in result) refused++
      const { id } = line.asked as Asked
      const row = { line: line.number, ...(id !== undefined && { id }), ...result }
      progress?.add(1)
      results.delete(line.key)
      if (sink) await sink.appendFile(`${jsonLine(row)}\n`)
      else if (!stdout.write(`${jsonLine(row)}\n`)) await once(stdout, 'drain')
    }
  }
  const walletOf = async (chainId: number) =>
    session.wallet(await geo.chain(chainId, { signal: session.signal }))
  const stop = new AbortController()
  const run = { session, journal, results, stopped: stop.signal, walletOf: land ? walletOf : undefined }

  try {
    for (const { asked, key } of lines)
      if ('problem' in asked) results.set(key, { error: { name: 'UsageError', message: asked.problem } })
    // Checks the key and the RPC endpoints first, so that no question is asked whose answer could not land.
    const chainIds = new Set(lines.flatMap(({ asked }) => ('chainId' in asked ? asked.chainId : [])))
    if (land) for (const chainId of chainIds) await walletOf(chainId)
    const asked = new Set(lines.map(({ key }) => key))
    for (const signed of journal?.signed.splice(0) ?? [])
      // Answers of lines that were removed, or asked for another recipient, must not land.
      if (signed.keys.some((key) => asked.has(key))) await finish(run, signed, true)

    // The output is opened only now, so that an earlier failure leaves that of an earlier run intact.
    if (output !== undefined) sink = await open(at(output), 'w')
    const unanswered = lines.filter((line): line is AskedLine => !results.has(line.key))
    await write()
    // With --land, requests run one after the other: concurrent direct answers would have the same nonces.
    const workers = Array.from({ length: land ? 1 : AT_ONCE }, async () => {
      try {
        for (let chunk; (chunk = unanswered.splice(0, BATCH)).length;)
          try {
            for (const chainId of new Set(chunk.map(({ asked }) => asked.chainId)))
              await answer(
                run,
                chunk.filter(({ asked }) => asked.chainId === chainId),
              )
          } finally {
            await write()
          }
      } catch (error) {
        stop.abort(error)
      }
    })
    await Promise.all(workers)
    stop.signal.throwIfAborted()
  } catch (error) {
    progress?.end()
    const onward =
      output === undefined ? 'use -o FILE to make a run resumable' : 'run the command again to resume'
    session.note(`Stopped after ${grouped(written)} of ${grouped(lines.length)} lines: ${onward}.`)
    throw error
  } finally {
    progress?.end()
    await journal?.close()
    await sink?.close()
  }
  if (lines.length === 0)
    session.note(`${file === '-' ? 'Standard input' : `'${file}'`} contains no questions.`)
  session.note(
    `${grouped(written - refused)} answered, ${grouped(refused)} refused${output ? `, in ${output}` : ''}`,
  )
  return refused ? EXIT.no : EXIT.done
}

interface Run {
  session: Session<BatchFlags>
  journal?: Journal
  results: Map<string, Result>
  /** aborts after the first error; requests under way continue, because their answers are signed */
  stopped: AbortSignal
  /** set with --land */
  walletOf?: (chainId: number) => Promise<Signer>
}

/** Asks the questions of lines on one chain. Splits the lines if the service or a contract rejects some. */
async function answer(run: Run, lines: readonly AskedLine[]): Promise<void> {
  const { session, journal, results, stopped } = run
  stopped.throwIfAborted()
  const { submission } = session.options
  const refuse = ({ key }: Line, { name, message }: Error) => results.set(key, { error: { name, message } })
  const halves = async () => {
    const middle = Math.ceil(lines.length / 2)
    for (const half of [lines.slice(0, middle), lines.slice(middle)]) await answer(run, half)
  }
  let given: BatchAnswer
  try {
    const questions = lines.map(({ asked }) => asked.question)
    const { chainId } = lines[0]!.asked
    given = await session.geo.batch(questions, { chain: chainId, submission, signal: session.signal })
  } catch (error) {
    if (!ofTheQuestion(error)) throw error
    // The service names the first operation that it rejects.
    const place = /^operations\[(\d+)\]\.?:? ?/.exec(error.detail)
    const wrong = lines.length === 1 ? lines[0] : place && lines[Number(place[1])]
    if (!wrong) return halves()
    refuse(wrong, {
      name: error.name,
      message: `${error.title}: ${error.detail.slice(place?.[0].length ?? 0)}`,
    })
    const others = lines.filter((line) => line !== wrong)
    return others.length ? answer(run, others) : undefined
  }
  const keys = lines.map(({ key }) => key)
  const { id } = (await journal?.sign(keys, given)) ?? { id: 0 }
  // The client knows that answers of this object are new, and does not ask the service if they have landed.
  const refused = await finish(run, { id, keys, answer: given }, false)
  // A contract that rejects one answer reverts the whole transaction.
  if (refused && lines.length > 1) return halves()
  if (refused) refuse(lines[0]!, refused)
}

function ofTheQuestion(error: unknown): error is ApiError {
  // A 500 is caused by the database or an RPC endpoint if it has Retry-After; otherwise, by the geometry.
  return isOfRequest(error) || (error instanceof ComputationError && error.retryAfter === undefined)
}

/**
 * Lands signed answers, if the run has a wallet, and sets the results of their lines. Answers that an earlier
 * run signed (`recalled`) may have landed without that run noticing. If the answers will never land, removes
 * them from the journal and returns the reason.
 */
async function finish(
  { session, journal, results, walletOf }: Run,
  { id, keys, answer, landed }: Signed,
  recalled: boolean,
): Promise<Error | undefined> {
  const { chainId } = answer
  let underWay = recalled
  if (walletOf && !landed)
    try {
      const all = await landAnswer(session, answer, await walletOf(chainId), async (step) => {
        if (step.step === 'sent') underWay = true
        else await journal!.sign(keys, step.answer as BatchAnswer, id)
      })
      landed = all.map(landedJson)
      await journal!.land(id, landed)
    } catch (error) {
      if (!neverLands(error, underWay)) throw error
      await journal!.drop(id)
      return error
    }
  for (const [i, key] of keys.entries()) {
    const one = { ...(answer.results[i] as Answer), chainId }
    results.set(key, { answer: one, ...(landed && { landed: landed[i]! }) })
  }
  return undefined
}

/** Returns true if answers will certainly never land; `underWay` is true if they may have been sent. */
function neverLands(error: unknown, underWay: boolean): error is Error {
  if (!(error instanceof LandingError) || error.transactionHash || error.contractError === 'UsedSignature')
    return false
  return error.contractError !== undefined || !underWay
}
