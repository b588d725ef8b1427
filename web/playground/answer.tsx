import type { Answer, Chain } from '@geospatial-attestation/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CopyButton } from '../copy-button'
import type { Drawing } from '../map/shapes'
import { Landing } from './landing'
import type { Question } from './question'
import { curlOf, solidityOf, typescriptOf } from './snippets'
import { checkResult, checkSignature, type Check } from './verify'
import { sentenceOf } from './words'

/**
 * Shows an answer as a sentence, its verification in this page, its signed fields, programs that ask the
 * same, and its landing.
 */
export function AnswerView({
  question,
  answer,
  chain,
  drawing,
}: {
  question: Question
  answer: Answer
  chain: Chain
  /** what is drawn on the map; undefined before it is */
  drawing: Drawing | undefined
}) {
  const checks = useChecks(question, answer)
  const section = useRef<HTMLElement>(null)
  useEffect(() => section.current?.scrollIntoView({ block: 'start' }), [answer])
  const solidity = solidityOf(question, answer, chain.eas)
  const refused = checks.some((check) => check?.good === false)
  return (
    <section ref={section} class="answer" aria-label="Answer" data-drawn={drawing && rolesOf(drawing)}>
      <p class={refused ? 'result refused' : 'result'} role="status">
        {refused && <strong>Do not use this answer. </strong>}
        {sentenceOf(question, answer)}
      </p>
      {drawing?.notes.map((note) => (
        <p key={note} class="soft">
          {note}
        </p>
      ))}
      <h2>Checked in your browser</h2>
      <ul class="checks">
        {checks.map((check, i) => (
          <li key={i} data-check={check ? (check.good ? 'good' : 'bad') : 'waiting'}>
            {check ? check.sentence : ['Recovering the signature ...', 'Recomputing the result ...'][i]}
          </li>
        ))}
      </ul>
      {!refused && <Landing key={answer.attestation.signature} answer={answer} chain={chain} />}
      <h2>The signed attestation</h2>
      <Fields answer={answer} />
      <h2>Do this in code</h2>
      <Snippet name="curl" text={curlOf(question)} />
      <Snippet name="TypeScript" text={typescriptOf(question)} />
      {solidity !== undefined && <Snippet name="Solidity" text={solidity} />}
    </section>
  )
}

/** Roles of the drawn features, for tests, which cannot see the map. */
const rolesOf = ({ features }: Drawing) =>
  [...new Set(features.map(({ properties }) => String(properties!.role)))].join(' ')

/** Results of the checks; undefined while a check runs. */
function useChecks(question: Question, answer: Answer): readonly (Check | undefined)[] {
  const [checks, setChecks] = useState<readonly (Check | undefined)[]>([undefined, undefined])
  useEffect(() => {
    let left = false
    setChecks([undefined, undefined])
    const asked = [checkSignature(answer), checkResult(answer, question.inputs)]
    for (const [i, check] of asked.entries())
      void check
        .catch((error: Error): Check => ({
          good: false,
          sentence: `The check failed: ${error.message}`,
        }))
        .then((found) => left || setChecks((before) => before.map((each, j) => (i === j ? found : each))))
    return () => void (left = true)
  }, [answer])
  return checks
}

function Fields({ answer }: { answer: Answer }) {
  const { attestation, delegatedAttestation: delegation } = answer
  const seconds = (value: number) =>
    `${new Date(value * 1000).toISOString().replace('.000Z', 'Z')} (${value})`
  const rows: [name: string, value: string, meaning: string][] = [
    ['operation', answer.operation, 'operation; for within, with the radius in centimetres'],
    ['result', String(answer.result), 'units' in answer ? `in ${answer.units.replace('_', ' ')}` : 'result'],
    ...answer.inputRefs.map((ref, i): [string, string, string] => [
      `inputRefs[${i}]`,
      ref,
      'per input: hash of the geometry, or UID of its attestation',
    ]),
    ['timestamp', seconds(answer.timestamp), 'time of the computation'],
    ['schema', attestation.schema, 'data layout'],
    ['attester', attestation.attester, 'signer'],
    ['recipient', attestation.recipient, 'recipient (zero: none)'],
    ['refUID', attestation.refUID, 'referenced attestation (zero: none)'],
    ['revocable', String(attestation.revocable), 'true if the attester can revoke it'],
    [
      'expirationTime',
      attestation.expirationTime === 0 ? '0' : seconds(attestation.expirationTime),
      'expiration (0: never)',
    ],
    [
      'submission',
      delegation.submission,
      'how to submit it: directly to EAS at a nonce, or through the proxy',
    ],
    ...(delegation.nonce === undefined
      ? []
      : [['nonce', String(delegation.nonce), 'nonce of the attester in EAS'] as [string, string, string]]),
    ['deadline', seconds(delegation.deadline), 'submit before'],
    ['data', attestation.data, 'the fields above, ABI-encoded'],
    ['signature', attestation.signature, 'EIP-712 signature over all of these'],
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
      <CopyButton text={text} what={`the ${name} snippet`} />
      <pre tabIndex={0}>{text}</pre>
    </details>
  )
}
