import { useEffect, useState } from 'preact/hooks'
import { Card } from '../card'
import { goTo, hrefOf } from '../location'
import type { Map } from '../map/library'
import { say } from '../messages'
import { placesIn, type FilePlace } from '../panel/files'
import { useGiven } from '../panel/given'
import { handed } from '../panel/handed'
import { parseInput } from '../panel/input'
import { PlaceChoice } from '../panel/place-choice'

/** Card of a file that was dropped on the explorer: shows its place on the map, and opens a form with it. */
export function Dropped({
  file,
  map,
  onClose,
}: {
  file: File
  /** undefined if the browser cannot show a map */
  map: Map | undefined
  onClose: () => void
}) {
  const [places, setPlaces] = useState<readonly FilePlace[]>([])
  const [chosen, setChosen] = useState(0)
  const [note, setNote] = useState('')
  useEffect(() => {
    let left = false
    setPlaces([])
    setChosen(0)
    setNote(say.site.loading)
    placesIn(file).then(
      (found) => {
        if (left) return
        setPlaces(found)
        setNote(say.sources.opened(file.name, found.length))
      },
      (error: Error) => left || setNote(error.message),
    )
    return () => void (left = true)
  }, [file])
  const place = places[chosen]
  const parsed = parseInput(place?.text ?? '')
  useGiven(map, [parsed.kind === 'geometry' ? parsed.geometry : undefined])
  const hand = (page: 'playground' | 'attest') => {
    handed.value = place
    goTo(hrefOf(page))
    onClose()
  }
  return (
    <Card
      kind="dropped"
      name={say.dropped.title}
      close={say.dropped.close}
      opener={document.activeElement}
      onClose={onClose}
    >
      <p role="status">
        <bdi>{note}</bdi>
      </p>
      <PlaceChoice places={places} onChoose={setChosen} />
      {place && parsed.kind === 'wrong' && <p class="notice">{parsed.problem}</p>}
      {place && (
        <p class="card-actions">
          <button type="button" onClick={() => hand('playground')}>
            {say.dropped.ask}
          </button>
          <button type="button" onClick={() => hand('attest')}>
            {say.dropped.attest}
          </button>
        </p>
      )}
    </Card>
  )
}
