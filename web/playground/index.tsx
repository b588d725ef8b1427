import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { OPERATION_ROWS, type OperationName } from '../../src/operations/table'
import { askedChain } from '../explorer/state'
import { isLocked, setParameters } from '../location'
import type { Map } from '../map/library'
import { useMarked } from '../focus'
import { say } from '../messages'
import { Options } from '../options'
import { ChainField, useChains } from '../panel/chain-field'
import { FieldProblem, TextField } from '../panel/field'
import { GeometryField, type FieldState } from '../panel/geometry-field'
import { FIELDS, useGiven } from '../panel/given'
import { pickers } from '../panel/picking'
import { isShareable } from '../panel/shareable'
import { useUnsaved } from '../panel/unsaved'
import { AnswerView } from './answer'
import { useAsking } from './asking'
import { questionOf, useForm } from './form'
import { namesOf } from './names'
import { Evidence, QuorumField, useDisclosure } from './quorum'
import { hasChain, useRecords } from './records'
import { problemOf, type Problem } from './words'
import '../panel/panel.css'
import './playground.css'

/** Form that asks a question about geometries, and draws the measured parts of the answer. */
export default function Playground({ map }: { map: Map | undefined }) {
  const form = useForm()
  const { operation, parsed } = form
  const [problem, setProblem] = useState<Problem>()
  useMarked(problem)
  const active = useRef(0)
  const disclosure = useDisclosure(parsed.some((each) => 'isPrivate' in each && each.isPrivate))
  useUnsaved('playground', isLocked('playground') || !form.texts.every(isShareable))

  const choice = useChains('playground')
  const { chain } = choice
  useEffect(() => void (askedChain.value = chain?.slug), [chain?.slug])
  const { fields, isUnsure, unread, lookAgain } = useRecords(parsed, choice)
  const geometries = fields.map(({ geometry }) => geometry)
  const asking = useAsking(map, geometries, (error) => setProblem(problemOf(error, operation)))
  const { isBusy, isWaiting, answered, drawing } = asking
  useGiven(map, geometries, !answered)

  const forget = () => {
    asking.forget()
    setProblem(undefined)
  }
  const change = (index: number, text: string) => {
    if (isLocked('playground')) return
    forget()
    form.setText(index, text)
  }
  pickers.playground = ({ uid, chain }) => {
    change(active.current, uid)
    if (!hasChain() && !isLocked('playground')) setParameters('playground', { chain })
  }
  const submit = async (event?: Event) => {
    event?.preventDefault()
    // The button has no attribute disabled, which would take the focus from it.
    if (event && (isBusy || isLocked('playground'))) return
    forget()
    const read = questionOf(form, chain, disclosure.isMissing)
    if ('problem' in read && read.problem.field !== 'chain') return setProblem(read.problem)
    if (isUnsure) return asking.wait()
    if ('problem' in read) return setProblem(read.problem)
    if (unread >= 0 && !event) return setProblem({ field: unread, sentence: fields[unread]!.note! })
    lookAgain()
    if (unread >= 0) return asking.wait()
    form.shareAll(read.chain)
    await asking.ask(read.question)
  }
  useEffect(() => {
    if (isWaiting && !isUnsure) void submit()
  }, [isWaiting, isUnsure])
  const problemAt = (field: Problem['field']) => (problem?.field === field ? problem.sentence : undefined)

  return (
    <>
      <form noValidate onSubmit={(event) => void submit(event)}>
        <h1>{say.playground.title}</h1>
        <QuestionFields
          {...{ form, fields, map, problemAt, forget }}
          chain={chain?.slug}
          onText={change}
          onActive={(index) => (active.current = index)}
        >
          <ChainField page="playground" {...choice} problem={problemAt('chain')} onChange={forget} />
          <QuorumField
            isInAddress={form.isShared && !disclosure.hasPrivate}
            disclosure={disclosure}
            onUse={() => chain && form.shareAll(chain)}
            onLeave={forget}
          />
        </QuestionFields>
        <button class="primary" aria-disabled={isBusy || isLocked('playground')}>
          {isBusy ? say.playground.asking : say.playground.action}
        </button>
        <Notes problem={problem} isAnswered={answered !== undefined} isShared={form.isShared} />
      </form>
      {answered && chain && (
        <AnswerView
          {...{ ...answered, chain, drawing, apart: asking.apart }}
          names={namesOf(parsed, fields)}
        />
      )}
    </>
  )
}

/** Notes about the whole question. */
function Notes({
  problem,
  isAnswered,
  isShared,
}: {
  problem: Problem | undefined
  isAnswered: boolean
  /** true if the address contains the question */
  isShared: boolean
}) {
  return (
    <>
      <FieldProblem
        id="problem-general"
        sentence={problem?.field === 'general' ? problem.sentence : undefined}
      />
      {problem?.dissent && <Evidence dissent={problem.dissent} />}
      {isLocked('playground') && !isAnswered && <p role="status">{say.wallet.waiting}</p>}
      {!isShared && <p class="soft">{say.playground.tooLong}</p>}
    </>
  )
}

/** Fields of the question. They are locked while a wallet lands its answer, which a change would drop. */
function QuestionFields({
  form,
  fields,
  map,
  chain,
  problemAt,
  forget,
  onText,
  onActive,
  children,
}: {
  form: ReturnType<typeof useForm>
  fields: readonly FieldState[]
  map: Map | undefined
  chain: string | undefined
  problemAt: (field: Problem['field']) => string | undefined
  /** called before the question changes */
  forget: () => void
  onText: (index: number, text: string) => void
  onActive: (index: number) => void
  /** fields after those of the operation, its geometries and its numbers */
  children: ComponentChildren
}) {
  const isLanding = isLocked('playground')
  return (
    <fieldset class="whole" disabled={isLanding}>
      <OperationField
        operation={form.operation}
        onOperation={(op) => {
          forget()
          setParameters('playground', { op })
        }}
      />
      {say.operations[form.operation].inputs.map((label, i) => (
        <GeometryField
          key={i}
          name={FIELDS[i]!}
          label={label}
          // Without the map, a drawing in progress ends.
          map={isLanding ? undefined : map}
          text={form.texts[i]!}
          state={fields[i]!}
          chain={chain}
          problem={problemAt(i)}
          mayBePrivate
          placeholder={say.playground.example}
          onText={(text) => onText(i, text)}
          onActive={() => onActive(i)}
        />
      ))}
      {form.numbers.map(({ name }) => (
        <TextField
          key={name}
          name={name}
          label={say.playground.number(say.numbers[name]!.label, say.numbers[name]!.unit)}
          inputMode="decimal"
          value={form.numberText(name)}
          problem={problemAt(name)}
          onText={(text) => {
            forget()
            form.setNumber(name, text)
          }}
        />
      ))}
      {children}
    </fieldset>
  )
}

function OperationField({
  operation,
  onOperation,
}: {
  operation: OperationName
  onOperation: (name: string) => void
}) {
  return (
    <label class="field">
      {say.playground.operation}
      <select value={operation} onChange={({ currentTarget }) => onOperation(currentTarget.value)}>
        <Options of={OPERATION_ROWS.map(([name]) => [name, say.operations[name].name])} />
      </select>
      <span class="soft">{say.operations[operation].summary}</span>
    </label>
  )
}
