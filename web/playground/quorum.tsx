import type { Answer, QuorumAnswer, QuorumError } from '@geospatial-attestation/client'
import { useState } from 'preact/hooks'
import { MOST_OPERATORS } from '../../src/page-header'
import { parametersOf, setParameters } from '../location'
import { say } from '../messages'
import { TextField } from '../panel/field'

/** Operators that the page's address names, and the number of them that must sign the same answer. */
export interface NamedQuorum {
  operators: readonly string[]
  k: number
}

/** Quorum that the address names; undefined without one. */
export function namedQuorum(): NamedQuorum | undefined {
  const parameters = parametersOf('playground')
  const operators = parameters.get('operators')?.split(',') ?? []
  const k = Number(parameters.get('k'))
  return isQuorum({ operators, k }) ? { operators, k } : undefined
}

const isQuorum = ({ operators, k }: NamedQuorum) =>
  operators.length > 0 &&
  operators.length <= MOST_OPERATORS &&
  operators.every((url) => /^https?:\/\//.test(url) && URL.canParse(url)) &&
  Number.isInteger(k) &&
  k >= 1 &&
  k <= operators.length

/** True if a quorum signed the answer, and not the service alone. */
export const isOfQuorum = (answer: Answer | QuorumAnswer): answer is QuorumAnswer => 'signers' in answer

/** Indices of the operators that signed an answer, in the operator set of its epoch. */
export function signersOf({ signers }: QuorumAnswer): number[] {
  const bits = [...BigInt(signers).toString(2)].reverse()
  return bits.flatMap((bit, index) => (bit === '1' ? [index] : []))
}

interface QuorumFieldProps {
  /** false if the form has a place that is not in the address, and would be lost */
  isInAddress: boolean
  disclosure: ReturnType<typeof useDisclosure>
  /** called before the page is loaded again */
  onUse: () => void
  onLeave: () => void
}
/**
 * Fields for the operators of a quorum. The Content-Security-Policy of the page allows requests to the
 * operators that its address names, so requests to other operators are possible only after the page has been
 * loaded again.
 */
export function QuorumField({ isInAddress, disclosure, onUse, onLeave }: QuorumFieldProps) {
  const named = namedQuorum()
  const [operators, setOperators] = useState(named?.operators.join('\n') ?? '')
  const [k, setK] = useState(String(named?.k ?? 2))
  const [problem, setProblem] = useState<string>()
  const { quorum } = say.playground
  const use = () => {
    const listed = operators.split(/[\s,]+/).filter(Boolean)
    if (!isQuorum({ operators: listed, k: Number(k) })) return setProblem(quorum.expected)
    if (!isInAddress) return setProblem(quorum.unsaved)
    onUse()
    setParameters('playground', { operators: listed.join(), k })
    location.reload()
  }
  return (
    <details class="quorum" open={named !== undefined}>
      <summary>{named ? quorum.asks(named.k, named.operators.length) : quorum.title}</summary>
      <TextField
        name="operators"
        label={quorum.operators}
        help={quorum.help}
        rows={3}
        placeholder={quorum.example}
        spellcheck={false}
        value={operators}
        problem={problem}
        onText={(text) => {
          setOperators(text)
          setProblem(undefined)
        }}
      />
      <TextField
        name="k"
        label={quorum.k}
        inputMode="decimal"
        value={k}
        problem={undefined}
        onText={(text) => {
          setK(text)
          setProblem(undefined)
        }}
      />
      {named && <Disclosure {...disclosure} operators={named.operators} />}
      <p class="actions">
        <button type="button" onClick={use}>
          {quorum.use}
        </button>
        {named && (
          <button
            type="button"
            onClick={() => {
              onLeave()
              setParameters('playground', { operators: undefined, k: undefined })
            }}
          >
            {quorum.leave}
          </button>
        )}
      </p>
    </details>
  )
}

/**
 * Consent of the reader to send a private place to the operators of a quorum. `isMissing` is true if the
 * question must not be asked without it.
 */
export function useDisclosure(hasPrivate: boolean) {
  const [isGiven, setGiven] = useState(false)
  const isMissing = hasPrivate && !isGiven && namedQuorum() !== undefined
  return { hasPrivate, isGiven, setGiven, isMissing }
}

function Disclosure({
  hasPrivate,
  isGiven,
  setGiven,
  operators,
}: ReturnType<typeof useDisclosure> & Pick<NamedQuorum, 'operators'>) {
  return hasPrivate ? (
    <label>
      <input
        type="checkbox"
        name="disclose"
        checked={isGiven}
        onChange={({ currentTarget }) => setGiven(currentTarget.checked)}
      />{' '}
      {say.playground.quorum.disclose(operators.map((url) => new URL(url).host).join(', '))}
    </label>
  ) : null
}

/** Operators that did not sign an answer, with their reasons, and other payloads that they signed. */
export function Dissent({ dissent }: Pick<QuorumError, 'dissent'>) {
  return (
    <>
      {dissent.map(({ url, reason, detail }) => (
        <p key={url} class="soft">
          {reason === 'other-payload'
            ? say.answer.quorum.otherPayload(url)
            : say.answer.quorum.dissent(url, reason, detail)}
        </p>
      ))}
      <Evidence dissent={dissent} />
    </>
  )
}

/** Payloads that operators signed, and that differ from those of other operators for the same question. */
export function Evidence({ dissent }: Pick<QuorumError, 'dissent'>) {
  const signed = dissent.filter((each) => each.signed)
  return signed.length === 0 ? null : (
    <details class="snippet" data-snippet="evidence">
      <summary>{say.answer.quorum.evidence}</summary>
      <pre tabIndex={0}>{JSON.stringify(signed, null, 2)}</pre>
    </details>
  )
}
