import { say } from '../messages'
import { Options } from '../options'
import type { FilePlace } from './files'

/** Choice among the places of a file; nothing if there is only one. */
export function PlaceChoice({
  places,
  onChoose,
}: {
  places: readonly FilePlace[]
  onChoose: (index: number) => void
}) {
  if (places.length < 2) return null
  return (
    <label class="field">
      {say.sources.choose} {/* Other places need another element, whose choice is the first of them. */}
      <select key={places} onChange={({ currentTarget }) => onChoose(Number(currentTarget.value))}>
        <Options of={places.map(({ name }, i) => [String(i), name])} />
      </select>
    </label>
  )
}
