import { useEffect, useState } from 'preact/hooks'
import {
  formatVerifierKey,
  fromHex,
  openProof,
  parseCheckpoint,
  parsePolicy,
  signersOf,
  toHex,
  type Checkpoint,
  type Policy,
} from '../../src/tlog'
import { locale, reasonOf, say } from '../messages'
import { addressOf, geo } from '../service'
import './log.css'

/** Seconds between two reads of the checkpoint. */
const EVERY_SECONDS = 5

interface State extends Awaited<ReturnType<typeof signersOf>> {
  checkpoint: Checkpoint
  policy: Policy
  /** number of entries when the page was opened */
  first: number
  /** size of the last checkpoint that each witness has cosigned since the page was opened, by name */
  last: ReadonlyMap<string, number>
}

async function text(path: string): Promise<string> {
  const response = await fetch(addressOf(path))
  if (response.ok) return response.text()
  const { detail, message } = (await response.json().catch(() => ({}))) as {
    detail?: string
    message?: string
  }
  throw new Error(detail ?? message ?? say.failures.http(response.status))
}

let policyText: string | undefined
/**
 * Policy of the log, with the log's key. It is read once, so that a service that later uses another key fails
 * verification.
 */
async function policyOf(): Promise<string> {
  return (policyText ??= (JSON.parse(await text('log/v0/')) as { policy: string }).policy)
}

/** Reads the checkpoint, and verifies the signatures of the log and of the witnesses of its policy. */
async function read(before: State | undefined): Promise<State> {
  const policy = parsePolicy(await policyOf())
  const checkpoint = parseCheckpoint(await text('log/v0/checkpoint'))
  const signers = await signersOf(checkpoint, policy)
  const { size } = checkpoint
  const last = new Map([
    ...(before?.last ?? []),
    ...[...signers.cosigned.keys()].map((name) => [name, size] as const),
  ])
  return { ...signers, checkpoint, policy, last, first: before?.first ?? size }
}

/** Page of the transparency log: its checkpoint and the proof of any answer, verified in the browser. */
export default function Log() {
  const [state, setState] = useState<State>()
  const [problem, setProblem] = useState('')
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>
    let latest: State | undefined
    const again = async () => {
      try {
        setState((latest = await read(latest)))
        setProblem('')
      } catch (error) {
        setProblem(reasonOf(error))
      }
      timer = setTimeout(() => void again(), EVERY_SECONDS * 1000)
    }
    void again()
    return () => clearTimeout(timer)
  }, [])
  return (
    <section class="log">
      <h1>{say.log.title}</h1>
      <p>{say.log.meaning}</p>
      {problem && <p role="alert">{problem}</p>}
      {state && <Head state={state} />}
      <Proof />
    </section>
  )
}

function Head({ state }: { state: State }) {
  const { checkpoint, log, policy, cosigned, isQuorum, first } = state
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
  if (time !== undefined) return say.log.cosignedAt(new Date(1000 * time).toISOString())
  const seen = last.get(name)
  return seen === undefined ? say.log.lags : say.log.lagsBy(size - seen)
}

/** Verifies the pasted answer or proof. Returns the result as a sentence. */
async function verify(pasted: string): Promise<string> {
  if (/^[0-9a-f]{64}$/.test(pasted)) {
    const proof = await text(`log/v0/proof/${pasted}`)
    const { index, checkpoint } = await openProof(
      proof,
      fromHex('leaf', pasted),
      parsePolicy(await policyOf()),
    )
    return say.log.included(index, checkpoint.size)
  }
  let given: unknown
  try {
    given = JSON.parse(pasted)
  } catch {
    throw new Error(say.log.notJson)
  }
  if (typeof given !== 'object' || given === null) throw new Error(say.log.notJson)
  if (!('log' in given)) throw new Error(say.log.notLogged)
  const answer = given as Parameters<typeof geo.logged>[0]
  const chainId = answer.chainId ?? (await chainIdOf(answer))
  // The result is undefined only without a policy.
  const logged = (await geo.logged({ ...answer, chainId }, { policy: await policyOf() }))!
  if (logged.state === 'included') return say.log.included(logged.index!, logged.size!)
  throw new Error(say.log[logged.state](logged.reason ?? ''))
}

/**
 * Chain of an answer that does not contain its chain id, found by the contract that verifies the signature.
 */
async function chainIdOf({
  delegatedAttestation: delegated,
}: Partial<Parameters<typeof geo.logged>[0]>): Promise<number> {
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
  const submit = async (event: Event) => {
    event.preventDefault()
    setResult(undefined)
    setResult(
      await verify(pasted.trim()).then(
        (sentence) => ({ sentence, isGood: true }),
        (error: unknown) => ({ sentence: reasonOf(error), isGood: false }),
      ),
    )
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <label for="pasted">{say.log.field}</label>
      <textarea
        id="pasted"
        rows={6}
        spellcheck={false}
        value={pasted}
        onInput={(event) => setPasted(event.currentTarget.value)}
      />
      <button>{say.log.verify}</button>
      <p role="status" class={result?.isGood ? 'good' : 'bad'}>
        {result?.sentence}
      </p>
    </form>
  )
}
