import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import { locale, say } from '../messages'
import { Options } from '../options'
import { FieldProblem } from '../panel/field'
import type { PhotoPreview } from './photo'

/** A media item of a place: a URI, or base64, and its media type. */
export interface Medium {
  type: string
  data: string
  /** name of a file, which is shown instead of its data */
  name?: string
  /** preview of a photo, whose position and time the form offers */
  photo?: PhotoPreview
}

/** Maximum bytes of a file. Each costs about 720 gas; an Ethereum block has a limit of 36 million or more. */
const MOST_BYTES = 12_000

const SUGGESTED = ['image/jpeg', 'image/png', 'image/webp', 'video/mp4', 'text/plain', 'application/pdf']

interface MediaFieldsProps {
  media: readonly Medium[]
  problem: string | undefined
  onMedia: (change: (media: readonly Medium[]) => readonly Medium[]) => void
  /** keeps the form from being attested until a file is read */
  reads: <T>(file: Promise<T>) => Promise<T>
  /** uses the position of a photo, as `longitude, latitude` */
  onPosition: (text: string) => void
  /** uses the time of a photo, in the format of an input of type datetime-local */
  onTime: (text: string) => void
}
/** Media of a place: URLs of files elsewhere, or small files that are attested completely. */
export function MediaFields({ media, problem, onMedia, reads, onPosition, onTime }: MediaFieldsProps) {
  const [refused, setRefused] = useState<string>()
  /** number of photos that are being reduced */
  const [reducing, setReducing] = useState(0)
  const set = (index: number, change: Partial<Medium>) =>
    onMedia((media) => media.map((each, i) => (i === index ? { ...each, ...change } : each)))
  /** handler of a file input, which can be used again for the same file */
  const chosen = (mediumOf: (file: File) => Promise<Medium>) => (event: Event) => {
    const input = event.currentTarget as HTMLInputElement
    const file = input.files?.[0]
    input.value = ''
    setRefused(undefined)
    if (file)
      reads(mediumOf(file)).then(
        (medium) => onMedia((media) => [...media, { ...medium, name: file.name }]),
        (error: Error) => setRefused(error.message),
      )
  }
  const whole = async (file: File): Promise<Medium> => {
    if (file.size > MOST_BYTES) throw new Error(say.media.tooLarge(file.name, file.size, MOST_BYTES))
    const data = base64Of(new Uint8Array(await file.arrayBuffer()))
    return { type: file.type || 'application/octet-stream', data }
  }
  const reduced = async (file: File): Promise<Medium> => {
    setReducing((photos) => photos + 1)
    try {
      const { previewOf } = await import('./photo')
      const photo = await previewOf(file, MOST_BYTES)
      return { type: photo.type, data: base64Of(photo.bytes), photo }
    } finally {
      setReducing((photos) => photos - 1)
    }
  }
  return (
    <fieldset class="field media-fields" aria-describedby="problem-media">
      <legend>{say.media.title}</legend>
      {media.map((medium, i) => (
        <Fragment key={i}>
          <MediumRow
            medium={medium}
            number={i + 1}
            onChange={(change) => set(i, change)}
            onRemove={() => onMedia((media) => media.filter((_, other) => other !== i))}
          />
          {medium.photo && <AboutPhoto photo={medium.photo} onPosition={onPosition} onTime={onTime} />}
        </Fragment>
      ))}
      <datalist id="media-types">
        <Options of={SUGGESTED} />
      </datalist>
      <div class="shapes">
        <button type="button" onClick={() => onMedia((media) => [...media, { type: '', data: '' }])}>
          {say.media.link}
        </button>
        <label class="file">
          {say.photo.add}
          <input type="file" accept="image/*" onChange={chosen(reduced)} />
        </label>
        <label class="file">
          {say.media.file}
          <input type="file" onChange={chosen(whole)} />
        </label>
      </div>
      {reducing > 0 && <p role="status">{say.photo.reducing}</p>}
      <FieldProblem id="problem-media" sentence={problem ?? refused} />
    </fieldset>
  )
}

/** One media item: its link or its file, and its type. */
function MediumRow({
  medium: { type, data, name },
  number,
  onChange,
  onRemove,
}: {
  medium: Medium
  number: number
  onChange: (change: Partial<Medium>) => void
  onRemove: () => void
}) {
  return (
    <div class="medium">
      {name === undefined ? (
        <input
          aria-label={say.media.linkOf(number)}
          placeholder={say.media.linkExample}
          value={data}
          onInput={({ currentTarget }) => onChange({ data: currentTarget.value })}
        />
      ) : (
        <bdi>{name}</bdi>
      )}
      <input
        aria-label={say.media.typeOf(number)}
        placeholder={say.media.typeExample}
        list="media-types"
        value={type}
        onInput={({ currentTarget }) => onChange({ type: currentTarget.value })}
      />
      <button type="button" aria-label={say.media.removeOf(number)} onClick={onRemove}>
        {say.media.remove}
      </button>
    </div>
  )
}

const base64Of = (bytes: Uint8Array) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))

/** Size of a photo's preview, and its position and time, which are used only if the user chooses to. */
function AboutPhoto({
  photo,
  onPosition,
  onTime,
}: {
  photo: PhotoPreview
  onPosition: (text: string) => void
  onTime: (text: string) => void
}) {
  const { type, bytes, width, height, position, time } = photo
  return (
    <div class="photo" role="status">
      <img src={`data:${type};base64,${base64Of(bytes)}`} alt="" width={width / 2} height={height / 2} />
      <p class="soft">{say.photo.reduced(width, height, bytes.length.toLocaleString(locale))}</p>
      {(position || time) && <p class="soft">{say.photo.offers}</p>}
      {position && (
        <button type="button" onClick={() => onPosition(position.join(', '))}>
          {say.photo.position(position.join(', '))}
        </button>
      )}
      {time && (
        <button type="button" onClick={() => onTime(time.local)}>
          {(time.isCertain ? say.photo.time : say.photo.cameraTime)(time.local.replace('T', ' '))}
        </button>
      )}
    </div>
  )
}
