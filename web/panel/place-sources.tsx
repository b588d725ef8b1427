import { useState } from 'preact/hooks'
import { locale, say } from '../messages'
import { ACCEPTED, type FilePlace } from './files'

/** Number of decimals of the device's position in degrees: about ten centimetres. */
const DIGITS = 6
const LOCATE_MS = 30_000

/** Sources of a place other than typing and drawing: this device's position, and files. */
export function PlaceSources({ label, onText }: { label: string; onText: (text: string) => void }) {
  const [note, setNote] = useState('')
  const [choices, setChoices] = useState<readonly FilePlace[]>([])
  const { sources } = say
  const choose = (places: readonly FilePlace[]) => {
    setChoices(places.length > 1 ? places : [])
    if (places[0]) onText(places[0].text)
  }
  const locate = () => {
    setNote(sources.locating)
    navigator.geolocation.getCurrentPosition(
      ({ coords: { longitude, latitude, accuracy } }) => {
        setChoices([])
        setNote(sources.located(Math.ceil(accuracy).toLocaleString(locale)))
        onText([longitude, latitude].map((degrees) => Number(degrees.toFixed(DIGITS))).join(', '))
      },
      ({ code }) => setNote(code === 1 ? sources.locationDenied : sources.locationFailed),
      { enableHighAccuracy: true, timeout: LOCATE_MS },
    )
  }
  const open = async (file: File | undefined) => {
    if (!file) return
    try {
      const { placesIn } = await import('./files')
      const places = await placesIn(file)
      setNote(sources.opened(file.name, places.length))
      choose(places)
    } catch (error) {
      setChoices([])
      setNote((error as Error).message)
    }
  }
  return (
    <div
      class="place-sources"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        void open(event.dataTransfer?.files[0])
      }}
    >
      <div class="shapes">
        {'geolocation' in navigator && (
          <button type="button" aria-label={sources.locateAs(label)} onClick={locate}>
            {sources.locate}
          </button>
        )}
        <label class="file">
          {sources.open}
          <input
            type="file"
            accept={ACCEPTED}
            aria-label={sources.openAs(label)}
            onChange={({ currentTarget }) => {
              void open(currentTarget.files?.[0])
              currentTarget.value = ''
            }}
          />
        </label>
      </div>
      {note && (
        <p class="soft" role="status">
          <bdi>{note}</bdi>
        </p>
      )}
      {choices.length > 1 && (
        <label class="field">
          {sources.choose}
          <select onChange={({ currentTarget }) => onText(choices[Number(currentTarget.value)]!.text)}>
            {choices.map(({ name }, i) => (
              <option key={i} value={i}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
    </div>
  )
}
