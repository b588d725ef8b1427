import type { Geometry } from 'geojson'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Map } from '../map/library'
import type { Shape } from './drawing'
import { CopyButton } from '../copy-button'
import { FieldProblem } from './field'
import { privateText, type Found, type Parsed } from './input'

/** Known content of a field. */
export interface FieldState {
  geometry?: Geometry
  record?: Found
  note?: string
}

const SHAPES: readonly { shape: Shape; name: string; how: string }[] = [
  { shape: 'point', name: 'point', how: 'Click the map.' },
  {
    shape: 'linestring',
    name: 'line',
    how: 'Click to add points. Click the last one again, or press Enter, to finish.',
  },
  {
    shape: 'polygon',
    name: 'polygon',
    how: 'Click to add corners. Click the first or last one again, or press Enter, to finish.',
  },
]

interface Props {
  index: number
  label: string
  text: string
  state: FieldState
  /** chain of the request */
  chain?: string | undefined
  problem: string | undefined
  /** undefined if nothing can be drawn */
  map: Map | undefined
  placeholder: string
  /** meaning of the text, if a place may be private */
  mayBePrivate?: Parsed
  onText: (text: string) => void
  /** called when the field becomes the target of a record picked on the map */
  onActive?: () => void
}

/** One geometry: typed, pasted, drawn, or a record that is picked on the map (for the request's chain). */
export function GeometryField({
  index,
  label,
  text,
  state,
  chain,
  problem,
  map,
  placeholder,
  mayBePrivate,
  onText,
  onActive = () => {},
}: Props) {
  const id = `geometry-${index}`
  const { record, note } = state
  return (
    <fieldset class={`field geometry-${'ab'[index]}`} onFocusIn={onActive}>
      <legend>{label}</legend>
      <textarea
        id={id}
        aria-label={label}
        rows={text.length > 60 ? 4 : 2}
        spellcheck={false}
        autocomplete="off"
        placeholder={placeholder}
        value={text}
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-problem`}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
      {map && <DrawButtons map={map} label={label} onActive={onActive} onText={onText} />}
      {mayBePrivate?.kind === 'geometry' && (
        <Privacy label={label} text={text} place={mayBePrivate} onText={onText} />
      )}
      {note && <p class="soft">{note}</p>}
      {record && <RecordNote record={record} chain={chain} />}
      <FieldProblem id={`${id}-problem`} sentence={problem} />
    </fieldset>
  )
}

/** Buttons that let the user draw the geometry on the map. */
function DrawButtons({
  map,
  label,
  onActive,
  onText,
}: Pick<Required<Props>, 'label' | 'onActive' | 'onText'> & { map: Map }) {
  const [drawing, setDrawing] = useState<Shape>()
  const stop = useRef<(() => void) | undefined>(undefined)
  const end = () => {
    stop.current?.()
    stop.current = undefined
    map.getContainer().removeAttribute('data-drawing')
    setDrawing(undefined)
  }
  useEffect(() => end, [map])
  const start = async (shape: Shape) => {
    end()
    onActive()
    const { draw } = await import('./drawing')
    map.getContainer().setAttribute('data-drawing', '')
    stop.current = draw(map, shape, (geometry) => {
      end()
      onText(textOf(geometry))
    })
    setDrawing(shape)
  }
  return (
    <>
      <div class="shapes">
        {SHAPES.map(({ shape, name }) => (
          <button
            key={shape}
            type="button"
            aria-pressed={drawing === shape}
            aria-label={`Draw a ${name} as ${label}`}
            onClick={() => (drawing === shape ? end() : void start(shape))}
          >
            Draw a {name}
          </button>
        ))}
      </div>
      {drawing && <p role="status">{SHAPES.find(({ shape }) => shape === drawing)!.how}</p>}
    </>
  )
}

/** Button that makes the place private, and the ways to save a place that is. */
function Privacy({
  label,
  text,
  place,
  onText,
}: Pick<Props, 'label' | 'text' | 'onText'> & { place: Parsed & { kind: 'geometry' } }) {
  if (!place.isPrivate)
    return (
      <button
        type="button"
        class="private"
        aria-label={`Make private: ${label}`}
        title="Signs only a salted hash, which reveals nothing about the place"
        onClick={() => onText(privateText(place))}
      >
        Make private
      </button>
    )
  return (
    <p class="soft private" role="status">
      Only a salted hash of this place is signed. Save the text: without it nobody can prove what the answer
      is about. Links never contain it, but the browser history may contain what you typed before.{' '}
      <CopyButton text={text} what={`the private ${label}`} />{' '}
      <a
        download="private-place.json"
        href={`data:application/json,${encodeURIComponent(text)}`}
        aria-label={`Save the private ${label}`}
      >
        Save
      </a>
    </p>
  )
}

/** Record that a field names, and why it cannot be used, if it cannot. */
function RecordNote({ record, chain }: Pick<Props, 'chain'> & { record: Found }) {
  return (
    <p class="soft record">
      Record on {record.chain}: <bdi>{record.memo.slice(0, 200) || 'no memo'}</bdi>
      {record.revoked && <strong> It is revoked, so it cannot be used.</strong>}
      {chain !== undefined && record.chain !== chain && (
        <strong>
          {' '}
          The question is for {chain}: select {record.chain} as chain.
        </strong>
      )}
    </p>
  )
}

/** Geometry in the form that a person would type. */
function textOf(geometry: Geometry): string {
  return geometry.type === 'Point' ? geometry.coordinates.join(', ') : JSON.stringify(geometry)
}
