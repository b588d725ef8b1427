import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { usePages } from '../chains'
import { CopyButton } from '../copy-button'
import { useFocus } from '../focus'
import { isLocked } from '../location'
import type { Map } from '../map/library'
import { reasonOf, say } from '../messages'
import { ChainField, useChains } from '../panel/chain-field'
import { TextField } from '../panel/field'
import { GeometryField } from '../panel/geometry-field'
import { useGiven } from '../panel/given'
import { parseInput, recordOf, textOf } from '../panel/input'
import { pickers } from '../panel/picking'
import { isShareable } from '../panel/shareable'
import { useUnsaved } from '../panel/unsaved'
import { addressOf } from '../service'
import { Steps, WithSigner } from '../wallet'
import { useAttesting } from './attesting'
import { useForm, type Fields } from './form'
import { MediaFields } from './media-fields'
import type { Sent } from './sent'
import { visibleText } from './visible-text'
import '../panel/panel.css'
import './attest.css'

/** A form that attests a place (Location Protocol v0.1) on a chain, by the user's wallet. */
export default function Attest({
  map,
  refresh,
}: {
  map: Map | undefined
  /** reloads the records on the map */
  refresh: () => void
}) {
  const form = useForm()
  const attesting = useAttesting(form, refresh)
  const { fields } = form
  const choice = useChains('attest')
  const { chain } = choice
  const parsed = parseInput(fields.place)
  useGiven(map, [parsed.kind === 'geometry' ? parsed.geometry : undefined])

  /** Another place, or the same one in another notation, is a second attestation. */
  const forget = () => {
    form.setProblem(undefined)
    attesting.forget()
  }
  const isAttesting = isLocked('attest')
  /** true if the last render had no place, for results that arrive later */
  const isEmpty = useRef(true)
  isEmpty.current = parsed.kind === 'nothing'
  /** Changes the form, except while its place is attested: the page would show another place. */
  const edit = (apply: () => void) => {
    if (isLocked('attest')) return
    forget()
    apply()
  }
  const change = (changes: Partial<Fields>) => edit(() => form.set(changes))
  /** last record that was clicked on the map */
  const picked = useRef<object>(undefined)
  // Fills only an empty field, so that a click on the map replaces no text of the user.
  pickers.attest = (record) => {
    if (!isEmpty.current) return
    picked.current = record
    const isWanted = () => isEmpty.current && picked.current === record
    void recordOf(record.uid, record.chain).then(
      (found) => isWanted() && found?.geometry && change({ place: textOf(found.geometry) }),
      (error: Error) => isWanted() && form.setProblem({ field: 'place', sentence: reasonOf(error) }),
    )
  }
  const { attested, sent } = attesting
  const hasUnsaved = !isShareable(fields.place) || fields.media.length > 0
  useUnsaved('attest', isAttesting || (!attested && hasUnsaved))
  return (
    <>
      <PlaceForm
        form={form}
        // Without the map, a drawing in progress ends.
        map={isAttesting ? undefined : map}
        // A disabled field cannot be focused.
        isDisabled={isAttesting && !form.problem}
        change={change}
        edit={edit}
        chainField={<ChainField page="attest" {...choice} onChange={forget} />}
      />
      {fields.memo && !attested && <WholeMemo memo={fields.memo} />}
      {chain && !attested && (
        <WithSigner
          chain={chain}
          verb={say.attest.action}
          isDisabled={form.isReading || sent !== undefined}
          page="attest"
          prepare={async () => {
            forget()
            await attesting.check()
          }}
          act={(signer, confirm) => attesting.attest(signer, chain, confirm)}
        />
      )}
      <Steps steps={attesting.steps} />
      {sent && !isAttesting && (
        <SentBefore sent={sent} lookAgain={attesting.lookAgain} onForget={attesting.forgetSent} />
      )}
      {attested && <AttestedPlace attested={attested} onMore={forget} />}
    </>
  )
}

interface PlaceFormProps {
  form: ReturnType<typeof useForm>
  map: Map | undefined
  isDisabled: boolean
  change: (changes: Partial<Fields>) => void
  edit: (apply: () => void) => void
  chainField: ComponentChildren
}
function PlaceForm({ form, map, isDisabled, change, edit, chainField }: PlaceFormProps) {
  const { fields } = form
  const parsed = parseInput(fields.place)
  const textField = (name: 'memo' | 'time' | 'recipient') => ({
    ...{ name, value: fields[name], problem: form.problemAt(name) },
    onText: (text: string) => change({ [name]: text }),
  })
  return (
    <form noValidate onSubmit={(event) => event.preventDefault()}>
      <h1>{say.attest.title}</h1>
      <p class="soft">{say.attest.meaning}</p>
      {form.isLinked && (
        <p class="from-link" role="note">
          {say.attest.fromLink}
        </p>
      )}
      <fieldset class="whole" disabled={isDisabled}>
        <GeometryField
          name="place"
          label={say.attest.place}
          text={fields.place}
          state={{}}
          problem={form.problemAt('place')}
          map={map}
          placeholder={say.attest.placeExample}
          onText={(place) => change({ place })}
        />
        {parsed.kind === 'geometry' && parsed.isPrivate && (
          <div class="from-link" role="note">
            <p>{say.publish.warning}</p>
            <button type="button" onClick={() => change({ place: textOf(parsed.geometry) })}>
              {say.publish.confirm}
            </button>
          </div>
        )}
        <TextField {...textField('memo')} label={say.attest.memo} rows={3} />
        <TextField
          {...textField('time')}
          label={say.attest.time}
          timeInput={form.timeInput}
          help={say.attest.timeHelp}
        />
        <MediaFields
          media={fields.media}
          problem={form.problemAt('media')}
          onMedia={(media) => edit(() => form.setMedia(media))}
          reads={form.reads}
          onPosition={(place) => change({ place })}
          onTime={(time) => change({ time })}
        />
        <TextField
          {...textField('recipient')}
          label={say.attest.recipient}
          placeholder={say.attest.recipientExample}
          spellcheck={false}
          help={say.attest.recipientHelp}
        />
        {chainField}
      </fieldset>
    </form>
  )
}

/** Memo with its hidden characters made visible, so that the signer sees what every reader will see. */
function WholeMemo({ memo }: { memo: string }) {
  return (
    <section class="whole-memo" aria-label={say.attest.wholeMemo}>
      <p class="soft">{say.attest.wholeMemoOf([...memo].length)}</p>
      <bdi data-memo>{visibleText(memo, say.attest.lineBreaks)}</bdi>
    </section>
  )
}

/** Transaction of an earlier attempt, whose result is unknown: a second one may attest the place twice. */
function SentBefore({
  sent: { transactionHash, chain },
  lookAgain,
  onForget,
}: {
  sent: Sent
  lookAgain: () => Promise<boolean>
  onForget: () => void
}) {
  const page = usePages(chain)?.transaction(transactionHash)
  const [note, setNote] = useState('')
  const look = () => {
    setNote('')
    lookAgain().then(
      (found) => found || setNote(say.attest.sent.notIndexed),
      (error: Error) => setNote(reasonOf(error)),
    )
  }
  return (
    <section class="attested-place" aria-label={say.attest.sent.transaction}>
      <p>
        {say.attest.sent.earlier(chain)}{' '}
        {page ? (
          <a href={page} rel="noreferrer noopener" target="_blank">
            {transactionHash}
          </a>
        ) : (
          <code>{transactionHash}</code>
        )}
      </p>
      <p>{say.attest.sent.meaning}</p>
      <button type="button" onClick={look}>
        {say.attest.sent.lookAgain}
      </button>{' '}
      <button type="button" onClick={onForget}>
        {say.attest.sent.forget}
      </button>
      <p role="status">{note}</p>
    </section>
  )
}

function AttestedPlace({
  attested: { uid, chain, isIndexed },
  onMore,
}: {
  attested: NonNullable<ReturnType<typeof useAttesting>['attested']>
  /** called when the user wants to attest another place */
  onMore: () => void
}) {
  const another = () => {
    onMore()
    document.querySelector<HTMLElement>('.geometry-place textarea')?.focus()
  }
  // The pressed button has been removed.
  const section = useRef<HTMLElement>(null)
  useFocus(section, null)
  return (
    <section
      ref={section}
      tabIndex={-1}
      class="attested-place"
      aria-label={say.attest.attestation}
      data-indexed={isIndexed}
    >
      <p>
        {say.wallet.attestedAs} <code data-uid>{uid}</code> <CopyButton text={uid} what={say.copy.uid} />
      </p>
      {isIndexed && (
        <p class="good">
          {say.attest.onMap} <a href={addressOf(`r/${chain}/${uid}`)}>{say.attest.openIt}</a>.
        </p>
      )}
      <p>
        <a href={`${addressOf('playground')}?${new URLSearchParams({ a: uid, chain })}`}>{say.attest.ask}</a>
      </p>
      <button type="button" onClick={another}>
        {say.attest.another}
      </button>
    </section>
  )
}
