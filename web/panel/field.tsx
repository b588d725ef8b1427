import type { ComponentChildren, RefObject } from 'preact'

/** Problem of a field, with its remedy. The field refers to it by aria-describedby. */
export function FieldProblem({ id, sentence }: { id: string; sentence: string | undefined }) {
  return (
    <span id={id} class="problem" role={sentence === undefined ? undefined : 'alert'}>
      {sentence}
    </span>
  )
}

/** Text field of a form with its label, help and problem; a text area if it has several rows. */
export function TextField({
  name,
  label,
  help,
  problem,
  onText,
  rows,
  timeInput,
  ...rest
}: {
  name: string
  label: ComponentChildren
  value: string
  help?: string
  problem: string | undefined
  onText: (text: string) => void
  rows?: number
  /** receives the input of a date and time by the user's clock */
  timeInput?: RefObject<HTMLInputElement | null>
  inputMode?: 'decimal'
  placeholder?: string
  spellcheck?: boolean
}) {
  const shared = {
    ...rest,
    'aria-invalid': problem !== undefined,
    'aria-describedby': `problem-${name}`,
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement | HTMLTextAreaElement }) =>
      onText(currentTarget.value),
  }
  return (
    <label class="field">
      {label}
      {timeInput ? (
        <input ref={timeInput} type="datetime-local" {...shared} />
      ) : rows ? (
        <textarea rows={rows} {...shared} />
      ) : (
        <input {...shared} />
      )}
      {help && <span class="soft">{help}</span>}
      <FieldProblem id={`problem-${name}`} sentence={problem} />
    </label>
  )
}
