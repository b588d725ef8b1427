import type { Geometry, Point } from 'geojson'
import { isAcross, isWellFormed } from '../map/extent'
import type { Map } from '../map/library'
import { lineText } from '../explorer/words'
import { say } from '../messages'
import type { Shape, Vertices } from './drawing'
import { CopyButton } from '../copy-button'
import { FieldProblem } from './field'
import { parseInput, privateText, type Found, type Parsed } from './input'
import { PlaceSources } from './place-sources'
import { useDrawing } from './use-drawing'

/** Geometry, record or note that the text of a field stands for, as far as known. */
export interface FieldState {
  geometry?: Geometry
  record?: Found
  note?: string
}

const SHAPES: readonly Shape[] = ['point', 'linestring', 'polygon']

/** The drawing library reads an edge across the antimeridian as the long way around. */
const isEditable = (geometry: Geometry) =>
  /^(Point|LineString|Polygon)$/.test(geometry.type) && isWellFormed(geometry) && !isAcross(geometry)

interface Props {
  /** name of the field's address parameter */
  name: 'a' | 'b' | 'place'
  label: string
  text: string
  state: FieldState
  /** chain of the request */
  chain?: string | undefined
  problem: string | undefined
  /** undefined if the browser cannot show a map to draw on */
  map: Map | undefined
  placeholder: string
  /** true if the field accepts private places */
  mayBePrivate?: boolean
  onText: (text: string) => void
  /** called when the field is focused: a record picked on the map is then written into it */
  onActive?: () => void
}

/** Field of one geometry: typed, pasted, drawn, or a record that is picked on the map. */
export function GeometryField({
  name,
  label,
  text,
  state,
  chain,
  problem,
  map,
  placeholder,
  mayBePrivate = false,
  onText,
  onActive = () => {},
}: Props) {
  const [problemId, readId] = [`problem-${name}`, `read-${name}`]
  const { record, note } = state
  const parsed = parseInput(text)
  return (
    <fieldset class={`field geometry-${name}`} onFocusIn={onActive}>
      <legend>{label}</legend>
      <textarea
        aria-label={label}
        rows={text.length > 60 ? 4 : 2}
        spellcheck={false}
        autocomplete="off"
        placeholder={placeholder}
        value={text}
        aria-invalid={problem !== undefined}
        aria-describedby={`${problemId} ${readId}`}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
      <ReadAs id={readId} parsed={parsed} />
      {map && <DrawButtons {...{ map, label, text, parsed, onActive, onText }} />}
      <PlaceSources
        label={label}
        text={text}
        onText={(found) => {
          onActive()
          onText(found)
        }}
      />
      {mayBePrivate && parsed.kind === 'geometry' && (
        <Privacy label={label} text={text} place={parsed} onText={onText} />
      )}
      {note && problem === undefined && <p class="soft">{note}</p>}
      {record && <RecordNote record={record} chain={chain} />}
      <FieldProblem id={problemId} sentence={problem} />
    </fieldset>
  )
}

/** Longitude and latitude of a point, as they were read: notations differ in their order. */
function ReadAs({ id, parsed }: { id: string; parsed: Parsed }) {
  const isPoint = parsed.kind === 'geometry' && parsed.geometry.type === 'Point'
  const [longitude, latitude] = isPoint ? (parsed.geometry as Point).coordinates : []
  return (
    <span id={id} class="soft">
      {latitude !== undefined && say.place.readAs(longitude!, latitude)}
    </span>
  )
}

/** Buttons that let the user draw the geometry on the map, or edit its vertices. */
function DrawButtons({
  map,
  label,
  text,
  parsed,
  onActive,
  onText,
}: Pick<Required<Props>, 'label' | 'text' | 'onActive' | 'onText'> & { map: Map; parsed: Parsed }) {
  const { drawing, problem, draw, edit, editing, vertices, undo, end } = useDrawing(
    map,
    text,
    onActive,
    onText,
  )
  const editable = parsed.kind === 'geometry' && !parsed.isPrivate && isEditable(parsed.geometry)
  return (
    <>
      <div class="shapes">
        {SHAPES.map((shape) => (
          <button
            key={shape}
            type="button"
            aria-pressed={drawing === shape}
            aria-label={say.place.shapeAs(say.place.shapes[shape], label)}
            onClick={() => (drawing === shape ? end() : void draw(shape))}
          >
            {say.place.shapes[shape]}
          </button>
        ))}
        {(drawing === 'edit' || (editable && !drawing)) && (
          <button
            type="button"
            aria-label={drawing ? undefined : say.drawing.editAs(label)}
            onClick={() => (drawing ? end() : void edit((parsed as { geometry: Geometry }).geometry))}
          >
            {drawing ? say.drawing.done : say.drawing.edit}
          </button>
        )}
        {drawing && drawing !== 'point' && (
          <button type="button" onClick={undo}>
            {say.drawing.undo}
          </button>
        )}
        {vertices?.selected !== undefined && (
          // Not the attribute disabled, with which the button would lose the focus to the page.
          <button type="button" aria-disabled={!vertices.isRemovable} onClick={() => editing()?.remove()}>
            {say.drawing.remove}
          </button>
        )}
      </div>
      {vertices && vertices.count > 0 && (
        <VertexChoice
          vertices={vertices}
          onSelect={(index) => editing()?.select(index)}
          onRemove={() => editing()?.remove()}
        />
      )}
      {drawing && <p role="status">{drawing === 'edit' ? say.drawing.editing : say.place.how[drawing]}</p>}
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </>
  )
}

/** Slider that selects a vertex of the edited geometry. The Delete key removes the vertex. */
function VertexChoice({
  vertices: { count, selected, position = [] },
  onSelect,
  onRemove,
}: {
  vertices: Vertices
  onSelect: (index: number) => void
  onRemove: () => void
}) {
  const text = selected === undefined ? '' : say.drawing.cornerOf(selected + 1, count, position.join(', '))
  return (
    <label class="field corner">
      {say.drawing.corner}
      <input
        type="range"
        min={1}
        max={count}
        value={(selected ?? 0) + 1}
        aria-label={say.drawing.corner}
        aria-valuetext={text}
        onFocus={() => selected === undefined && onSelect(0)}
        onInput={({ currentTarget }) => onSelect(currentTarget.valueAsNumber - 1)}
        onKeyDown={(event) => {
          if (event.key !== 'Delete' && event.key !== 'Backspace') return
          event.preventDefault()
          onRemove()
        }}
      />
      <span class="soft">{text}</span>
    </label>
  )
}

/** Button that makes the place private, or the actions that save a place that is private already. */
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
        aria-label={say.place.makePrivateOf(label)}
        title={say.place.privateMeaning}
        onClick={() => onText(privateText(place))}
      >
        {say.place.makePrivate}
      </button>
    )
  return (
    <p class="soft private" role="status">
      {say.place.isPrivate} <CopyButton text={text} what={say.place.privateOf(label)} />{' '}
      <a
        download="private-place.json"
        href={`data:application/json,${encodeURIComponent(text)}`}
        aria-label={say.place.saveOf(label)}
      >
        {say.place.save}
      </a>
    </p>
  )
}

/** Record that a field names, and the reason why it cannot be used, if there is one. */
function RecordNote({ record, chain }: Pick<Props, 'chain'> & { record: Found }) {
  return (
    <p class="soft record">
      {say.place.recordOn(record.chain)} <bdi>{lineText(record.memo) || say.place.noMemo}</bdi>
      {record.revoked && <strong> {say.place.revoked}</strong>}
      {chain !== undefined && record.chain !== chain && (
        <strong> {say.place.otherChain(chain, record.chain)}</strong>
      )}
    </p>
  )
}
