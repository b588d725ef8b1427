/** Options of a `select` or a `datalist`: values, with their texts if they differ. */
export function Options({ of }: { of: readonly (string | readonly [value: string, text: string])[] }) {
  return (
    <>
      {of.map((each) => {
        const [value, text] = typeof each === 'string' ? [each] : each
        return (
          <option key={value} value={value}>
            {text}
          </option>
        )
      })}
    </>
  )
}
