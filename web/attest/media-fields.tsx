import { useState } from 'preact/hooks'
import { FieldProblem } from '../panel/field'

/** A medium of a place: a URI, or base64, and its media type. */
export interface Medium {
  type: string
  data: string
  /** name of a file, whose data is not shown */
  name?: string
}

/**
 * Maximum number of bytes of a file. On chain each costs some 720 gas, and a block of Ethereum has 36 million
 * and more.
 */
const MOST_BYTES = 12_000

/** Media of a place: URLs of files elsewhere, or small files that are attested completely. */
export function MediaFields({
  media,
  problem,
  onMedia,
}: {
  media: readonly Medium[]
  problem: string | undefined
  onMedia: (media: readonly Medium[]) => void
}) {
  const [refused, setRefused] = useState<string>()
  const set = (index: number, change: Partial<Medium>) =>
    onMedia(media.map((each, i) => (i === index ? { ...each, ...change } : each)))
  const add = async (input: HTMLInputElement) => {
    const file = input.files?.[0]
    input.value = ''
    if (!file) return
    if (file.size > MOST_BYTES)
      return setRefused(
        `'${file.name}' has ${file.size.toLocaleString('en')} bytes, but on-chain storage is expensive. Store files of more than ${MOST_BYTES.toLocaleString('en')} bytes elsewhere, such as on IPFS, and add a link.`,
      )
    setRefused(undefined)
    const bytes = new Uint8Array(await file.arrayBuffer())
    const data = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
    onMedia([...media, { type: file.type || 'application/octet-stream', data, name: file.name }])
  }
  return (
    <fieldset class="field media-fields" aria-describedby="problem-media">
      <legend>Media</legend>
      {media.map(({ type, data, name }, i) => (
        <div key={i} class="medium">
          {name === undefined ? (
            <input
              aria-label={`Link to file ${i + 1}`}
              placeholder="ipfs://... or https://..."
              value={data}
              onInput={({ currentTarget }) => set(i, { data: currentTarget.value })}
            />
          ) : (
            <bdi>{name}</bdi>
          )}
          <input
            aria-label={`Type of file ${i + 1}`}
            placeholder="image/jpeg"
            list="media-types"
            value={type}
            onInput={({ currentTarget }) => set(i, { type: currentTarget.value })}
          />
          <button
            type="button"
            aria-label={`Remove file ${i + 1}`}
            onClick={() => onMedia(media.filter((_, other) => other !== i))}
          >
            Remove
          </button>
        </div>
      ))}
      <datalist id="media-types">
        {['image/jpeg', 'image/png', 'image/webp', 'video/mp4', 'text/plain', 'application/pdf'].map(
          (type) => (
            <option key={type} value={type} />
          ),
        )}
      </datalist>
      <div class="shapes">
        <button type="button" onClick={() => onMedia([...media, { type: '', data: '' }])}>
          Add a link
        </button>
        <label class="file">
          Add a small file
          <input type="file" onChange={({ currentTarget }) => void add(currentTarget)} />
        </label>
      </div>
      <FieldProblem id="problem-media" sentence={problem ?? refused} />
    </fieldset>
  )
}
