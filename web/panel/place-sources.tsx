import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { locale, say } from '../messages'
import { ACCEPTED, type FilePlace } from './files'
import { handed, useDroppedFile } from './handed'
import { PlaceChoice } from './place-choice'
import { isShareable } from './shareable'

/** Number of decimals of the device's position in degrees: about ten centimetres. */
const DIGITS = 6
const LOCATE_MS = 30_000

/** Sources of a place other than typing and drawing: this device's position, and files. */
export function PlaceSources({
  label,
  text,
  onText,
}: {
  label: string
  text: string
  onText: (text: string) => void
}) {
  const [note, setNote] = useState('')
  const [choices, setChoices] = useState<readonly FilePlace[]>([])
  const { sources } = say
  const { read, stop } = useReading(text, () => setNote(''))
  const choose = (places: readonly FilePlace[]) => {
    stop()
    setChoices(places)
    if (places[0]) onText(places[0].text)
  }
  const locate = () => {
    setNote(sources.locating)
    const isCurrent = read()
    navigator.geolocation.getCurrentPosition(
      ({ coords: { longitude, latitude, accuracy } }) => {
        if (!isCurrent()) return
        setChoices([])
        setNote(sources.located(Math.ceil(accuracy).toLocaleString(locale)))
        onText([longitude, latitude].map((degrees) => Number(degrees.toFixed(DIGITS))).join(', '))
      },
      ({ code }) => isCurrent() && setNote(code === 1 ? sources.locationDenied : sources.locationFailed),
      { enableHighAccuracy: true, timeout: LOCATE_MS },
    )
  }
  const open = async (file: File) => {
    setChoices([])
    const isCurrent = read()
    try {
      const { placesIn } = await import('./files')
      const places = await placesIn(file)
      if (!isCurrent()) return
      choose(places)
      setNote(sources.opened(file.name, places.length))
    } catch (error) {
      if (isCurrent()) setNote((error as Error).message)
    }
  }
  const zone = useRef<HTMLDivElement>(null)
  useDroppedFile((file, target) => {
    if (zone.current && fieldFor(target)?.contains(zone.current)) void open(file)
  })
  /** A form is locked while a wallet is asked to sign its content. */
  const isLocked = () => zone.current?.matches('fieldset:disabled *') === true
  useLayoutEffect(() => {
    if (isLocked()) stop()
  })
  const given = handed.value
  /** handed place, until the form is unlocked */
  const taken = useRef<FilePlace>(undefined)
  useEffect(() => {
    if (given && zone.current && fieldFor()?.contains(zone.current)) {
      handed.value = undefined
      taken.current = given
    }
    const place = taken.current
    if (!place || isLocked()) return
    taken.current = undefined
    if (!isShareable(text) && !confirm(say.place.lose)) return
    choose([place])
    setNote(sources.opened(place.name, 1))
  })
  return (
    <div ref={zone} class="place-sources">
      <Buttons label={label} onLocate={locate} onFile={(file) => void open(file)} />
      {note && (
        <p class="soft" role="status">
          <bdi>{note}</bdi>
        </p>
      )}
      <PlaceChoice places={choices} onChoose={(index) => onText(choices[index]!.text)} />
    </div>
  )
}

/** Reads one source at a time, until the text changes or `stop` is called while it is being read. */
function useReading(text: string, onStop: () => void) {
  const reading = useRef<object>(undefined)
  const stop = () => {
    if (reading.current) onStop()
    reading.current = undefined
  }
  useLayoutEffect(stop, [text])
  /** Starts to read a source. The result is a function that ends it, and is false if it is outdated. */
  const read = () => {
    const own = (reading.current = {})
    return () => {
      if (reading.current !== own) return false
      reading.current = undefined
      return true
    }
  }
  return { read, stop }
}

function Buttons({
  label,
  onLocate,
  onFile,
}: {
  label: string
  onLocate: () => void
  onFile: (file: File) => void
}) {
  const { sources } = say
  return (
    <div class="shapes">
      {'geolocation' in navigator && (
        <button type="button" aria-label={sources.locateAs(label)} onClick={onLocate}>
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
            const [file] = currentTarget.files ?? []
            if (file) onFile(file)
            currentTarget.value = ''
          }}
        />
      </label>
    </div>
  )
}

/** Field that receives a dropped place: the one that contains `target`, the first empty or the last one. */
function fieldFor(target?: Node): Element | undefined {
  const zones = [...document.querySelectorAll<HTMLElement>('.place-sources')]
  // Elements of hidden forms have no offset parent.
  const fields = zones.flatMap((each) => (each.offsetParent && each.closest('fieldset')) || [])
  return (
    fields.find((each) => target && each.contains(target)) ??
    fields.find((each) => each.querySelector('textarea')?.value === '') ??
    fields.at(-1)
  )
}
