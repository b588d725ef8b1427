/** Problem of a field, with its remedy. The field names it in aria-describedby. */
export function FieldProblem({ id, sentence }: { id: string; sentence: string | undefined }) {
  return (
    <span id={id} class="problem" role={sentence === undefined ? undefined : 'alert'}>
      {sentence}
    </span>
  )
}
