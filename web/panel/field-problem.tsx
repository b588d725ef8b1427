/** What is wrong with a field, and what would be right; the field names it in aria-describedby. */
export function FieldProblem({ id, sentence }: { id: string; sentence: string | undefined }) {
  return (
    <span id={id} class="problem" role={sentence === undefined ? undefined : 'alert'}>
      {sentence}
    </span>
  )
}
