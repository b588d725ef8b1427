import type { Answer, QuorumAnswer, QuorumOperator } from '@geospatial-attestation/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import {
  TlogError,
  beginsWith,
  formatNote,
  formatVerifierKey,
  fromHex,
  openProof,
  parseCheckpoint,
  parsePolicy,
  signersOf,
  tilePath,
  toHex,
  type Checkpoint,
  type Policy,
  type VerifierKey,
} from '../../src/tlog'
import { isoOf } from '../explorer/words'
import { locale, reasonOf, say } from '../messages'
import { BASE, geo, request } from '../service'
import { storage, store } from '../storage'
import './log.css'

/** Seconds between two reads of the checkpoint. */
const EVERY_SECONDS = 5

/** Number of these reads after which the page reads again whether the log is closed. */
const DESCRIBED_EVERY = 3

interface State extends Awaited<ReturnType<typeof signersOf>> {
  checkpoint: Checkpoint
  policy: Policy
  /** number of entries when the page was opened */
  first: number
  /** number of entries of the checkpoint that this browser saw before the page was opened, if it saw one */
  earlier: number | undefined
  /** size of the last checkpoint that each witness has cosigned since the page was opened, by name */
  last: ReadonlyMap<string, number>
}

async function get(path: string, cache: RequestCache = 'default'): Promise<Response> {
  const response = await request(path, { cache })
  if (response.ok) return response
  const { detail, message } = (await response.json().catch(() => ({}))) as {
    detail?: string
    message?: string
  }
  throw new Error(detail ?? message ?? say.failures.http(response.status))
}

const text = async (path: string) => (await get(path)).text()

/** Policy of the log, with its key: the first one that was read, so that another key fails verification. */
let policyText: string | undefined
async function policyOf(): Promise<string> {
  if (!isSecureContext) throw new Error(say.log.insecure)
  if (policyText === undefined) await closedBy()
  return policyText!
}

/** Reads why the service signs nothing; undefined if the log is open. */
async function closedBy(): Promise<string | undefined> {
  const { policy, reason } = JSON.parse(await text('log/v0/')) as { policy: string; reason?: string }
  policyText ??= policy
  return reason
}

/** Two checkpoints that the log signed, of which the later tree does not contain the earlier one. */
class HistoryError extends Error {
  readonly evidence: string
  /** false if the later checkpoint may also be an old one */
  readonly isFork: boolean
  constructor(earlier: Checkpoint, checkpoint: Checkpoint) {
    const isFork = checkpoint.size >= earlier.size
    super((isFork ? say.log.forked : say.log.shrunk)(earlier.size, checkpoint.size))
    this.isFork = isFork
    this.evidence = [earlier, checkpoint].map(({ note }) => formatNote(note)).join('\n')
  }
}

/** Verifies that the tree of a checkpoint begins with the tree of an earlier one. Throws a HistoryError. */
async function compare(earlier: Checkpoint, checkpoint: Checkpoint): Promise<void> {
  const isContinued = (cache?: RequestCache) =>
    beginsWith(
      (tiles) =>
        Promise.all(
          tiles.map(async (tile) => {
            const response = await get(`log/v0/${tilePath(tile)}`, cache)
            return new Uint8Array(await response.arrayBuffer())
          }),
        ),
      earlier,
      checkpoint,
    )
  // The browser may have cached tiles of another log at this URL.
  const reload = (error: unknown) => {
    if (error instanceof TlogError) return isContinued('reload')
    throw error
  }
  const fits = earlier.size <= checkpoint.size && (await isContinued().catch(reload))
  if (!fits) throw new HistoryError(earlier, checkpoint)
}

/** Last checkpoint of the policy's log that this browser has seen; undefined if there is none. */
async function seenBefore(policy: Policy): Promise<Checkpoint | undefined> {
  try {
    const checkpoint = parseCheckpoint(storage()?.getItem(nameOf(policy.logs[0]!.key)) ?? '')
    await signersOf(checkpoint, policy)
    return checkpoint
  } catch {
    return undefined
  }
}
function remember(key: VerifierKey, { note }: Checkpoint): void {
  store(nameOf(key), formatNote(note))
}
const nameOf = (key: VerifierKey) => `log ${formatVerifierKey(key)}`

/**
 * Reads the checkpoint. Verifies the signatures of the log and of the witnesses of its policy, and that the
 * tree contains the one that this browser saw last: if not, throws a HistoryError.
 */
async function read(before: State | undefined): Promise<State> {
  const policy = parsePolicy(await policyOf())
  // Read first: another tab may store a newer checkpoint than the one that this read returns.
  const earlier = before?.checkpoint ?? (await seenBefore(policy))
  const checkpoint = parseCheckpoint(await text('log/v0/checkpoint'))
  const signers = await signersOf(checkpoint, policy)
  const { size } = checkpoint
  if (earlier) await compare(earlier, checkpoint)
  remember(signers.log.key, checkpoint)
  const last = new Map([
    ...(before?.last ?? []),
    ...[...signers.cosigned.keys()].map((name) => [name, size] as const),
  ])
  return {
    ...{ ...signers, checkpoint, policy, last },
    ...(before
      ? { first: before.first, earlier: before.earlier }
      : { first: size, earlier: earlier?.size || undefined }),
  }
}

/** Page of the transparency log: its checkpoint and the proof of any answer, verified in the browser. */
export default function Log() {
  const [state, setState] = useState<State>()
  const [problem, setProblem] = useState<string>()
  /** Evidence of a rewritten log. It stays even if the log later returns its earlier history. */
  const [rewriting, setRewriting] = useState<HistoryError>()
  const [reason, setReason] = useState<string>()
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>
    let left = false
    let latest: State | undefined
    let reads = 0
    const again = async () => {
      try {
        // Read before the verification, which may fail while the log is closed.
        if (reads++ % DESCRIBED_EVERY === 0) setReason(await closedBy())
        latest = await read(latest)
        if (left) return
        setState(latest)
        setProblem(undefined)
      } catch (error) {
        reads = 0
        const isRewriting = error instanceof HistoryError
        setProblem(isRewriting ? undefined : reasonOf(error))
        if (isRewriting) setRewriting((kept) => (kept?.isFork ? kept : error))
      }
      if (!left) timer = setTimeout(() => void again(), EVERY_SECONDS * 1000)
    }
    void again()
    return () => {
      left = true
      clearTimeout(timer)
    }
  }, [])
  return (
    <section class="log">
      <h1>{say.log.title}</h1>
      <p>{say.log.meaning}</p>
      {reason !== undefined && <p role="alert">{say.log.closed(reason)}</p>}
      {problem !== undefined && <p role="alert">{problem}</p>}
      {rewriting && (
        <>
          <p role="alert">{reasonOf(rewriting)}</p>
          <pre>{rewriting.evidence}</pre>
        </>
      )}
      {state && !rewriting && <Head state={state} />}
      <Proof />
    </section>
  )
}

function Head({ state }: { state: State }) {
  const { checkpoint, log, policy, cosigned, isQuorum, first, earlier } = state
  const { origin, size, root } = checkpoint
  return (
    <dl>
      <dt>{say.log.origin}</dt>
      <dd>{origin}</dd>
      <dt>{say.log.key}</dt>
      <dd class="code">{formatVerifierKey(log.key)}</dd>
      <dt>{say.log.entries}</dt>
      <dd data-size={size}>
        {size.toLocaleString(locale)}
        {size > first && say.log.since((size - first).toLocaleString(locale))}
      </dd>
      <dt>{say.log.root}</dt>
      <dd class="code">{toHex(root)}</dd>
      <dt>{say.log.signature}</dt>
      <dd class="good">{say.log.verified}</dd>
      <dt>{say.log.history}</dt>
      <dd class={earlier === undefined ? undefined : 'good'} data-earlier={earlier}>
        {earlier === undefined ? say.log.noHistory : say.log.continued(earlier)}
      </dd>
      <dt>{say.log.witnesses}</dt>
      <dd>
        {policy.witnesses.size === 0 ? (
          say.log.noWitnesses
        ) : (
          <>
            <span class={isQuorum ? 'good' : 'bad'}>
              {say.log.cosigned(
                cosigned.size,
                policy.witnesses.size,
                policy.quorum === undefined ? undefined : isQuorum,
              )}
            </span>
            <ul>
              {[...policy.witnesses.keys()].map((name) => (
                <li key={name} data-witness={name}>
                  {name}: {standingOf(name, state)}
                </li>
              ))}
            </ul>
          </>
        )}
      </dd>
    </dl>
  )
}

/** State of a witness, as a phrase of a sentence. */
function standingOf(name: string, { cosigned, last, checkpoint: { size } }: State): string {
  const time = cosigned.get(name)
  if (time !== undefined) return say.log.cosignedAt(isoOf(time) ?? `${time} s`)
  const seen = last.get(name)
  return seen === undefined ? say.log.lags : say.log.lagsBy(size - seen)
}

/** Verifies the pasted answer or proof. Returns the result as a sentence. */
async function verify(pasted: string): Promise<string> {
  if (/^[0-9a-f]{64}$/i.test(pasted)) {
    const leaf = pasted.toLowerCase()
    const proof = await text(`log/v0/proof/${leaf}`)
    const { index, checkpoint } = await openProof(proof, fromHex('leaf', leaf), parsePolicy(await policyOf()))
    return say.log.included(index, checkpoint.size)
  }
  let given: unknown
  try {
    given = JSON.parse(pasted)
  } catch {
    throw new Error(say.log.notJson)
  }
  if (typeof given !== 'object' || given === null) throw new Error(say.log.notJson)
  if ('signers' in given) return verifyQuorum(given as QuorumAnswer)
  if (!('log' in given)) throw new Error(say.log.notLogged)
  const answer = given as Answer
  const chainId = answer.chainId ?? (await chainIdOf(answer))
  // The result is undefined only without a policy.
  const logged = (await geo.logged({ ...answer, chainId }, { policy: await policyOf() }))!
  if (logged.state === 'included') return say.log.included(logged.index!, logged.size!)
  throw new Error(say.log[logged.state](logged.reason ?? ''))
}

/**
 * Verifies the entries of a quorum's answer in this log. Content-Security-Policy forbids requests to the
 * other operators.
 */
async function verifyQuorum(answer: QuorumAnswer): Promise<string> {
  const policy = await policyOf()
  const { name } = parsePolicy(policy).logs[0]!.key
  const operators = answer.operators ?? []
  const isHere = (each?: QuorumOperator) => each?.log?.origin === name
  // The service may have another address in the answer than in this page.
  const own = operators.map((each) => (isHere(each) ? { ...each, url: BASE } : each))
  const logged = await geo.logged({ ...answer, ...(answer.operators && { operators: own }) }, { policy })
  const found = logged.filter((_, i) => isHere(operators[i]))
  if (found.length === 0) throw new Error(say.log.otherLogs(operators.map(({ url }) => url)))
  const ofState = (state: string) => found.find(({ log }) => log?.state === state)
  const worst = ofState('missing') ?? found.find(({ problem }) => problem !== undefined) ?? ofState('pending')
  if (worst?.log && worst.log.state !== 'included')
    throw new Error(say.log[worst.log.state](worst.log.reason ?? ''))
  if (worst) throw new Error(worst.problem)
  return found
    .map(
      ({ log, operator }) => `${say.log.included(log!.index!, log!.size!)} ${say.log.ofOperator(operator)}`,
    )
    .join(' ')
}

/** Chain of an answer without a chain id, found by the contract that verifies the signature. */
async function chainIdOf({ delegatedAttestation: delegated }: Partial<Answer>): Promise<number> {
  const { chains } = await geo.info()
  const same = chains.filter(
    ({ eas, proxy }) => delegated && [eas, proxy?.address].includes(delegated.contract),
  )
  if (same.length === 1) return same[0]!.id
  throw new Error(say.log.addChain)
}

function Proof() {
  const [pasted, setPasted] = useState('')
  const [result, setResult] = useState<{ sentence: string; isGood: boolean }>()
  /** Number of changes and submissions of the text: a result belongs to one of them. */
  const turn = useRef(0)
  const submit = async (event: Event) => {
    event.preventDefault()
    const own = ++turn.current
    setResult(undefined)
    const found = await verify(pasted.trim()).then(
      (sentence) => ({ sentence, isGood: true }),
      (error: unknown) => ({ sentence: reasonOf(error), isGood: false }),
    )
    if (own === turn.current) setResult(found)
  }
  const change = (text: string) => {
    turn.current++
    setPasted(text)
    setResult(undefined)
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <label for="pasted">{say.log.field}</label>
      <textarea
        id="pasted"
        rows={6}
        spellcheck={false}
        value={pasted}
        onInput={(event) => change(event.currentTarget.value)}
      />
      <button>{say.log.verify}</button>
      <p role="status" class={result?.isGood ? 'good' : 'bad'}>
        {result?.sentence}
      </p>
    </form>
  )
}
