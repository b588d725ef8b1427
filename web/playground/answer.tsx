import type { Answer, Chain, QuorumAnswer } from '@geospatial-attestation/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CopyButton } from '../copy-button'
import { isoOf } from '../explorer/words'
import { reasonOf, say } from '../messages'
import type { Drawn } from './asking'
import { Landing } from './landing'
import type { Question } from './question'
import { Dissent, isOfQuorum, signersOf } from './quorum'
import { curlOf, typescriptOf } from './snippets'
import { solidityOf } from './solidity'
import { UnitsField } from '../units-field'
import type { Check } from '../sheet/verify'
import { checkResult, checkSignature } from './verify'
import { sentenceOf } from './words'

interface AnswerViewProps {
  question: Question
  answer: Answer | QuorumAnswer
  chain: Chain
  /** drawing of the measured parts on the map; undefined until it is shown */
  drawing: Drawn | undefined
  /** names of the places in the answer */
  names: readonly string[]
  /** distance of the two places in metres, for the operation `within` */
  apart: number | undefined
}
/**
 * Shows an answer as a sentence, its verification in this page, its signed fields, programs that ask the same
 * question, and the steps that land it on chain.
 */
export function AnswerView({ question, answer, chain, drawing, names, apart }: AnswerViewProps) {
  const { checks, retry } = useChecks(question, answer)
  const section = useRef<HTMLElement>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => section.current?.scrollIntoView({ block: 'start' }), [answer])
  const refused = checks.some((check) => check?.state === 'bad')
  /** Repeats the checks, which removes the button: the focus moves to their heading. */
  const repeat = () => {
    heading.current?.focus()
    retry()
  }
  const verified = checks.every((check) => check?.state === 'good' || check?.state === 'claimed')
  return (
    <section
      ref={section}
      class="answer"
      aria-label={say.answer.title}
      data-drawn={drawing && rolesOf(drawing)}
    >
      <p class={refused ? 'result refused' : 'result'} role="status">
        {refused && <strong>{say.answer.doNotUse} </strong>}
        <bdi>{sentenceOf(question, answer, names, apart)}</bdi>
      </p>
      <UnitsField />
      {drawing?.notes.map((note) => (
        <p key={note} class="soft">
          {note}
        </p>
      ))}
      <h2 ref={heading} tabIndex={-1}>
        {say.answer.checked}
      </h2>
      <ul class="checks">
        {checks.map((check, i) => (
          <li key={i} data-check={check?.state ?? 'waiting'}>
            {check ? check.sentence : say.answer.checking[i === checks.length - 1 ? 1 : 0]}
          </li>
        ))}
      </ul>
      {checks.some((check) => check?.state === 'unknown') && (
        <button type="button" onClick={repeat}>
          {say.failures.retry}
        </button>
      )}
      {isOfQuorum(answer) && (
        <>
          <Dissent dissent={answer.dissent} />
          <p class="soft">{say.answer.quorum.contract(answer.quorum, chain.slug)}</p>
        </>
      )}
      {verified && (
        <Landing
          key={isOfQuorum(answer) ? answer.digest : answer.attestation.signature}
          answer={answer}
          chain={chain}
        />
      )}
      {isOfQuorum(answer) ? (
        <Snippet name={say.answer.quorum.file} text={JSON.stringify(answer, null, 2)} />
      ) : (
        <OwnAnswer question={question} answer={answer} chain={chain} />
      )}
    </section>
  )
}

/** Signed fields of an answer of this service, and programs that ask the same question. */
function OwnAnswer({ question, answer, chain }: { question: Question; answer: Answer; chain: Chain }) {
  const solidity = solidityOf(question, answer, chain.eas)
  return (
    <>
      <h2>{say.answer.attestation}</h2>
      <Fields answer={answer} />
      <h2>{say.answer.code}</h2>
      <Snippet name={say.answer.snippets.curl} text={curlOf(question)} />
      <Snippet name={say.answer.snippets.typescript} text={typescriptOf(question)} />
      {solidity !== undefined && <Snippet name={say.answer.snippets.solidity} text={solidity} />}
    </>
  )
}

/** Roles of the drawn features, for tests, which cannot inspect the map. */
const rolesOf = ({ features }: Drawn) =>
  [...new Set(features.map(({ properties }) => String(properties!.role)))].join(' ')

/** Results of the checks, and a function that repeats them. A result is undefined while its check runs. */
function useChecks(question: Question, answer: Answer | QuorumAnswer) {
  const [tries, setTries] = useState(0)
  const [checks, setChecks] = useState<readonly (Check | undefined)[]>([undefined, undefined])
  useEffect(() => {
    let left = false
    const signatures = isOfQuorum(answer)
      ? // The client has verified each of these signatures, and counts no others.
        signersOf(answer).map((operator): Promise<Check> => {
          const sentence = say.answer.quorum.signed(operator, answer.answer.epoch)
          return Promise.resolve({ state: 'claimed', sentence })
        })
      : [checkSignature(answer)]
    const asked = [...signatures, checkResult(answer, question.inputs)]
    setChecks(asked.map(() => undefined))
    for (const [i, check] of asked.entries())
      void check
        .catch((error: Error): Check => ({
          state: 'unknown',
          sentence: say.checks.failed(reasonOf(error)),
        }))
        .then((found) => left || setChecks((before) => before.map((each, j) => (i === j ? found : each))))
    return () => void (left = true)
  }, [answer, tries])
  function retry() {
    // The effect runs only after the next frame: until then, the button would stay.
    setChecks(checks.map(() => undefined))
    setTries(tries + 1)
  }
  return { checks, retry }
}

function Fields({ answer }: { answer: Answer }) {
  const { attestation, delegatedAttestation: delegation } = answer
  const { resultIn, inputRef, ...meanings } = say.answer.fields
  const seconds = (value: number) => [isoOf(value), `(${value})`].filter(Boolean).join(' ')
  const { schema, attester, recipient, refUID, revocable, expirationTime, data, signature } = attestation
  const values: Partial<Record<keyof typeof meanings, string>> = {
    ...{ schema, attester, recipient, refUID, revocable: String(revocable) },
    expirationTime: expirationTime === 0 ? '0' : seconds(expirationTime),
    submission: delegation.submission,
    ...(delegation.nonce !== undefined && { nonce: String(delegation.nonce) }),
    ...{ deadline: seconds(delegation.deadline), data, signature },
  }
  const rows: [name: string, value: string, meaning: string][] = [
    ['operation', answer.operation, meanings.operation],
    [
      'result',
      String(answer.result),
      'units' in answer ? resultIn(answer.units.replace('_', ' ')) : meanings.result,
    ],
    ...answer.inputRefs.map((ref, i) => [`inputRefs[${i}]`, ref, inputRef] as [string, string, string]),
    ['timestamp', seconds(answer.timestamp), meanings.timestamp],
    ...Object.entries(values).map(
      ([name, value]) => [name, value, meanings[name as keyof typeof meanings]] as [string, string, string],
    ),
  ]
  return (
    <dl class="fields">
      {rows.map(([name, value, meaning]) => (
        <div key={name}>
          <dt>
            <code>{name}</code> <span class="soft">{meaning}</span>
          </dt>
          <dd>
            <code tabIndex={value.length > 200 ? 0 : undefined}>{value}</code>
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Snippet({ name, text }: { name: string; text: string }) {
  return (
    <details class="snippet" data-snippet={name}>
      <summary>{name}</summary>
      <CopyButton text={text} what={say.answer.snippetOf(name)} />
      <pre tabIndex={0}>{text}</pre>
    </details>
  )
}
