import {
  GeoError,
  InvalidInputError,
  type Attested,
  type LocationRecord,
  type Place,
  type PlaceDetails,
  type Signer,
} from '@geospatial-attestation/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CopyButton } from '../copy-button'
import { here, setParameters } from '../location'
import { frame, show } from '../map/layers'
import { live } from '../map/live'
import { MapWithPanel, type PanelMap } from '../panel'
import { ChainField, useChains } from '../panel/chain-field'
import { FieldProblem } from '../panel/field-problem'
import { GeometryField } from '../panel/geometry-field'
import { parseInput } from '../panel/input'
import { isShareable } from '../panel/shareable'
import { addressOf, geo } from '../service'
import { WithSigner } from '../wallet'
import { MediaFields, type Medium } from './media-fields'
import './attest.css'

/** Maximum number of characters of a parameter. Servers in between refuse much longer addresses. */
const LONGEST_PARAMETER = 6_000

type Field = 'place' | 'memo' | 'time' | 'media' | 'recipient' | 'chain'
interface Problem {
  field: Field
  sentence: string
}
/** Problem of a form field: shown at the field, and nothing is sent. */
class FormError extends GeoError {
  constructor(readonly problem: Problem) {
    super('Nothing was sent. Correct the marked field and try again.')
  }
}

/** A form that attests a place (Location Protocol v0.1) on a chain, by the user's wallet. */
export default function Attest() {
  const { parameters } = here.value
  const [text, setText] = useState(parameters.get('place') ?? '')
  const [memo, setMemo] = useState(parameters.get('memo') ?? '')
  /** Values that the address filled in when the page was opened: the author of the link wrote them. */
  const [linked] = useState({ text, memo })
  const isLinked =
    (linked.text !== '' && text === linked.text) || (linked.memo !== '' && memo === linked.memo)
  const [time, setTime] = useState('')
  const [media, setMedia] = useState<readonly Medium[]>([])
  const [recipient, setRecipient] = useState('')
  const [problem, setProblem] = useState<Problem>()
  const [made, setMade] = useState<PanelMap>()
  const [steps, setSteps] = useState<readonly string[]>([])
  const [attested, setAttested] = useState<Attested>()
  const [record, setRecord] = useState<LocationRecord>()
  const leaving = useRef(new AbortController())
  const progress = useRef<HTMLOListElement>(null)

  const { chains, chain } = useChains((error) =>
    setProblem({ field: 'chain', sentence: `${error.message} Reload the page.` }),
  )
  const parsed = parseInput(text)
  const geometry = parsed.kind === 'geometry' ? parsed.geometry : undefined
  const problemAt = (field: Field) => (problem?.field === field ? problem.sentence : undefined)

  useEffect(() => () => leaving.current.abort(), [])
  useEffect(() => {
    if (steps.length > 0) progress.current?.scrollIntoView({ block: 'nearest' })
  }, [steps])
  const shown = JSON.stringify(geometry)
  useEffect(() => {
    if (!made) return
    let left = false
    void import('../map/shapes').then(({ drawGeometry }) => {
      if (left) return
      let features: ReturnType<typeof drawGeometry> = []
      try {
        features = geometry ? drawGeometry(geometry, 'a') : []
      } catch {
        // Its problem is shown when the user attests it.
      }
      show(made.map, 'given', features)
      frame(made.map, features)
    })
    return () => void (left = true)
  }, [made, shown])

  /** Another place, or the same one in another notation, is a second attestation. */
  const change = () => {
    setProblem(undefined)
    setAttested(undefined)
    setRecord(undefined)
    setSteps([])
  }
  const step = (sentence: string) => setSteps((before) => [...before, sentence])

  /** Place in the form. Throws a FormError. */
  const placeOf = (): Place => {
    const wrong = (field: Field, sentence: string) => new FormError({ field, sentence })
    if (parsed.kind === 'nothing') throw wrong('place', 'Enter a place: draw it on the map, or paste it.')
    if (parsed.kind === 'wrong') throw wrong('place', parsed.problem)
    if (parsed.kind === 'uid')
      throw wrong('place', 'This is the UID of an attestation. Enter a position or GeoJSON.')
    if (parsed.isPrivate)
      throw wrong('place', 'An attestation is public, so a private place (with a salt) cannot be attested.')
    const at = time === '' ? undefined : new Date(time)
    if (at && Number.isNaN(at.getTime())) throw wrong('time', 'Enter a date and a time.')
    const lacks = media.findIndex(({ type, data }) => !type.trim() || !data.trim())
    if (lacks >= 0) throw wrong('media', `File ${lacks + 1} needs a link and a type, such as image/jpeg.`)
    return {
      location: parsed.input as PlaceDetails['location'],
      ...(memo && { memo }),
      ...(at && { time: at }),
      ...(media.length && {
        media: media.map(({ type, data }) => ({ type: type.trim(), data: data.trim() })),
      }),
      ...(recipient.trim() && { recipient: recipient.trim() }),
    }
  }
  /** Runs a step of attesting. Its problem with a field is shown at the field. */
  const atField = async <T,>(run: () => T | Promise<T>): Promise<T> => {
    try {
      return await run()
    } catch (error) {
      const found = error instanceof FormError ? error.problem : problemOf(error)
      if (!found) throw error
      setSteps([])
      setProblem(found)
      throw new FormError(found)
    }
  }
  const attest = async (signer: Signer) => {
    const { signal } = leaving.current
    step('Checking the place ...')
    const done = await atField(() =>
      geo.attest(placeOf(), signer, {
        ...{ chain: chain!.id, signal },
        onStep: (taken) => {
          if (taken.step === 'checked') step('The place is valid. Confirm in your wallet ...')
          if (taken.step === 'sent') step(`Sent as ${taken.transactionHash}. Waiting for its block ...`)
        },
      }),
    )
    setAttested(done)
    step(`Confirmed in block ${done.blockNumber}. Waiting for the map ...`)
    void done.indexed({ signal }).then(
      (found) => {
        setRecord(found)
        step('Indexed.')
        // A live map gets the event itself.
        if (live.value !== 'live') made?.records.refresh()
      },
      (error: Error) => signal.aborted || step(error.message),
    )
  }
  const prepare = async () => {
    change()
    await atField(placeOf)
  }

  return (
    <MapWithPanel isLive onMap={setMade} withoutMap="Paste a place instead.">
      <form noValidate onSubmit={(event) => event.preventDefault()}>
        <h1>Attest a place</h1>
        <p class="soft">
          A signed, public statement about a place on a chain. You can revoke it later, but never remove it.
        </p>
        {isLinked && (
          <p class="from-link" role="note">
            A link filled in this form. Its author chose the place and the memo: read both before you sign.
          </p>
        )}
        <GeometryField
          index={0}
          label="Place"
          text={text}
          state={{}}
          problem={problemAt('place')}
          map={made?.map}
          placeholder="2.2945, 48.8584, or GeoJSON"
          onText={(next) => {
            change()
            setText(next)
            inAddress('place', isShareable(next) ? next : '')
          }}
        />
        <label class="field">
          Memo
          <textarea
            rows={3}
            value={memo}
            aria-invalid={problemAt('memo') !== undefined}
            aria-describedby="problem-memo"
            onInput={({ currentTarget }) => {
              change()
              setMemo(currentTarget.value)
              inAddress('memo', currentTarget.value)
            }}
          />
          <FieldProblem id="problem-memo" sentence={problemAt('memo')} />
        </label>
        <label class="field">
          Time
          <input
            type="datetime-local"
            value={time}
            aria-invalid={problemAt('time') !== undefined}
            aria-describedby="problem-time"
            onInput={({ currentTarget }) => {
              change()
              setTime(currentTarget.value)
            }}
          />
          <span class="soft">
            When this was true, in your local time. Leave blank to use the current time.
          </span>
          <FieldProblem id="problem-time" sentence={problemAt('time')} />
        </label>
        <MediaFields
          media={media}
          problem={problemAt('media')}
          onMedia={(next) => {
            change()
            setMedia(next)
          }}
        />
        <label class="field">
          Recipient
          <input
            value={recipient}
            spellcheck={false}
            placeholder="0x..."
            aria-invalid={problemAt('recipient') !== undefined}
            aria-describedby="problem-recipient"
            onInput={({ currentTarget }) => {
              change()
              setRecipient(currentTarget.value)
            }}
          />
          <span class="soft">The account that this is about (optional).</span>
          <FieldProblem id="problem-recipient" sentence={problemAt('recipient')} />
        </label>
        <ChainField
          chains={chains}
          chain={chain}
          problem={problemAt('chain')}
          onChain={(slug) => {
            change()
            setParameters({ chain: slug })
          }}
        />
      </form>
      {memo && !attested && (
        <section class="whole-memo" aria-label="What everyone will read">
          <p class="soft">
            Full memo, as everyone will read it ({[...memo].length.toLocaleString('en')} characters):
          </p>
          <bdi data-memo>{visibleText(memo)}</bdi>
        </section>
      )}
      {chain && !attested && <WithSigner chain={chain} verb="Attest place" prepare={prepare} act={attest} />}
      <ol ref={progress} class="steps" aria-live="polite">
        {steps.map((each) => (
          <li key={each}>{each}</li>
        ))}
      </ol>
      {attested && chain && (
        <section class="attested-place" aria-label="Attestation" data-indexed={record !== undefined}>
          <p>
            Attested as <code data-uid>{attested.uid}</code> <CopyButton text={attested.uid} what="UID" />
          </p>
          {record && (
            <p class="good">
              It is on the map: <a href={explorerAddress(record)}>open it in the explorer</a>.
            </p>
          )}
          <p>
            <a
              href={`${addressOf('playground')}?${new URLSearchParams({ a: attested.uid, chain: chain.slug })}`}
            >
              Ask about this place
            </a>
          </p>
          <button type="button" onClick={change}>
            Attest another place
          </button>
        </section>
      )}
    </MapWithPanel>
  )
}

/**
 * Text with its hiding characters made visible: invisible characters as their code points, and the number of
 * consecutive line breaks.
 */
function visibleText(text: string): string {
  return text
    .replace(
      /(?![\n\t ])[\p{C}\p{Z}\p{Variation_Selector}]/gu,
      (character) => `[U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`,
    )
    .replace(/\n{4,}/g, (breaks) => `\n[${breaks.length} line breaks]\n`)
}

/** Writes a text into the address for sharing, if it fits. */
function inAddress(name: 'place' | 'memo', text: string): void {
  setParameters({ [name]: text.length <= LONGEST_PARAMETER ? text || undefined : undefined })
}

/** Address of the explorer with the record open. */
function explorerAddress({ chain, uid, longitude, latitude }: LocationRecord): string {
  const parameters = new URLSearchParams({ record: `${chain}-${uid}` })
  if (longitude !== null && latitude !== null) parameters.set('at', `${longitude},${latitude},12`)
  return `${addressOf('')}?${parameters}`
}

/** Problem that the client reports, with the field that it names; undefined for other errors. */
function problemOf(error: unknown): Problem | undefined {
  if (!(error instanceof InvalidInputError)) return undefined
  const [, name] = /^place\.(\w+)/.exec(error.detail) ?? []
  const field = (['memo', 'time', 'media', 'recipient'] as const).find((each) => each === name) ?? 'place'
  // A position in the geometry stays: "the edge that starts here" means nothing without it.
  const sentence = error.detail
    .replace(/^place(?!\.location\.)[.\w[\]]*: /, '')
    .replaceAll('place.location.', '')
  return { field, sentence }
}
