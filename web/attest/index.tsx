import type { Attested, Chain, LocationRecord } from '@geospatial-attestation/client'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { CopyButton } from '../copy-button'
import type { Map } from '../map/library'
import { MapWithPanel, type PanelMap } from '../panel'
import { ChainField, useChains } from '../panel/chain-field'
import { TextField } from '../panel/field'
import { GeometryField } from '../panel/geometry-field'
import { useGiven } from '../panel/given'
import { parseInput } from '../panel/input'
import { addressOf } from '../service'
import { WithSigner } from '../wallet'
import { useAttesting } from './attesting'
import { useForm, type Fields } from './form'
import { MediaFields } from './media-fields'
import './attest.css'

/** A form that attests a place (Location Protocol v0.1) on a chain, by the user's wallet. */
export default function Attest() {
  const [made, setMade] = useState<PanelMap>()
  const form = useForm()
  const attesting = useAttesting(form, () => made?.records.refresh())
  const { fields } = form
  const { chains, chain } = useChains((error) =>
    form.setProblem({ field: 'chain', sentence: `${error.message} Reload the page.` }),
  )
  const parsed = parseInput(fields.place)
  useGiven(made?.map, [parsed.kind === 'geometry' ? parsed.geometry : undefined])

  /** Another place, or the same one in another notation, is a second attestation. */
  const forget = () => {
    form.setProblem(undefined)
    attesting.forget()
  }
  const change = (changes: Partial<Fields>) => {
    forget()
    form.set(changes)
  }
  const { attested } = attesting
  return (
    <MapWithPanel isLive onMap={setMade} withoutMap="Paste a place instead.">
      <PlaceForm
        form={form}
        map={made?.map}
        change={change}
        chainField={
          <ChainField chains={chains} chain={chain} problem={form.problemAt('chain')} onChange={forget} />
        }
      />
      {fields.memo && !attested && <WholeMemo memo={fields.memo} />}
      {chain && !attested && (
        <WithSigner
          chain={chain}
          verb="Attest place"
          prepare={async () => {
            forget()
            await attesting.check()
          }}
          act={(signer) => attesting.attest(signer, chain)}
        />
      )}
      <Steps steps={attesting.steps} />
      {attested && chain && (
        <AttestedPlace attested={attested} record={attesting.record} chain={chain} onMore={forget} />
      )}
    </MapWithPanel>
  )
}

/** Fields of the form. */
function PlaceForm({
  form,
  map,
  change,
  chainField,
}: {
  form: ReturnType<typeof useForm>
  map: Map | undefined
  change: (changes: Partial<Fields>) => void
  chainField: ComponentChildren
}) {
  const { fields } = form
  const textField = (name: 'memo' | 'time' | 'recipient') => ({
    ...{ name, value: fields[name], problem: form.problemAt(name) },
    onText: (text: string) => change({ [name]: text }),
  })
  return (
    <form noValidate onSubmit={(event) => event.preventDefault()}>
      <h1>Attest a place</h1>
      <p class="soft">
        A signed, public statement about a place on a chain. You can revoke it later, but never remove it.
      </p>
      {form.isLinked && (
        <p class="from-link" role="note">
          A link filled in this form. Its author chose the place and the memo: read both before you sign.
        </p>
      )}
      <GeometryField
        index={0}
        label="Place"
        text={fields.place}
        state={{}}
        problem={form.problemAt('place')}
        map={map}
        placeholder="2.2945, 48.8584, or GeoJSON"
        onText={(place) => change({ place })}
      />
      <TextField {...textField('memo')} label="Memo" rows={3} />
      <TextField
        {...textField('time')}
        label="Time"
        isTime
        help="When this was true, in your local time. Leave blank to use the current time."
      />
      <MediaFields
        media={fields.media}
        problem={form.problemAt('media')}
        onMedia={(media) => change({ media })}
      />
      <TextField
        {...textField('recipient')}
        label="Recipient"
        placeholder="0x..."
        spellcheck={false}
        help="The account that this is about (optional)."
      />
      {chainField}
    </form>
  )
}

/** Memo without hidden characters, so that its signer sees what everyone will read. */
function WholeMemo({ memo }: { memo: string }) {
  return (
    <section class="whole-memo" aria-label="What everyone will read">
      <p class="soft">
        Full memo, as everyone will read it ({[...memo].length.toLocaleString('en')} characters):
      </p>
      <bdi data-memo>{visibleText(memo)}</bdi>
    </section>
  )
}

/** Steps of attesting so far. The newest one is scrolled into view. */
function Steps({ steps }: { steps: readonly string[] }) {
  const list = useRef<HTMLOListElement>(null)
  useEffect(() => {
    if (steps.length > 0) list.current?.scrollIntoView({ block: 'nearest' })
  }, [steps])
  return (
    <ol ref={list} class="steps" aria-live="polite">
      {steps.map((each) => (
        <li key={each}>{each}</li>
      ))}
    </ol>
  )
}

function AttestedPlace({
  attested: { uid },
  record,
  chain,
  onMore,
}: {
  attested: Attested
  /** undefined until the service has indexed it */
  record: LocationRecord | undefined
  chain: Chain
  /** called when the user wants to attest another place */
  onMore: () => void
}) {
  return (
    <section class="attested-place" aria-label="Attestation" data-indexed={record !== undefined}>
      <p>
        Attested as <code data-uid>{uid}</code> <CopyButton text={uid} what="UID" />
      </p>
      {record && (
        <p class="good">
          It is on the map: <a href={explorerAddress(record)}>open it in the explorer</a>.
        </p>
      )}
      <p>
        <a href={`${addressOf('playground')}?${new URLSearchParams({ a: uid, chain: chain.slug })}`}>
          Ask about this place
        </a>
      </p>
      <button type="button" onClick={onMore}>
        Attest another place
      </button>
    </section>
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

/** Address of the explorer with the record open. */
function explorerAddress({ chain, uid, longitude, latitude }: LocationRecord): string {
  const parameters = new URLSearchParams({ record: `${chain}-${uid}` })
  if (longitude !== null && latitude !== null) parameters.set('at', `${longitude},${latitude},12`)
  return `${addressOf('')}?${parameters}`
}
