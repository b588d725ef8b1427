import type { ComponentChildren } from 'preact'
import { chainName, usePages } from '../chains'
import { CopyButton } from '../copy-button'
import { shortHex, timeText } from '../explorer/words'
import { locale, say } from '../messages'
import { addressOf } from '../service'
import type { Event, Full } from './full'

const NO_UID = `0x${'0'.repeat(64)}`
/** Maximum number of shown characters of a payload. Copying includes all of it. */
export const SHOWN = 2_000

/** All data about a record: fields, history, payload, and links to other formats. */
export function RawData({ record, details }: Full) {
  const pages = usePages(record.chain)
  const events = details?.events.nodes ?? []
  const payload = events.find(({ kind }) => kind === 'ATTESTED')?.data
  return (
    <details class="raw">
      <summary>{say.sheet.rawData}</summary>
      <RecordFields record={record} details={details} pages={pages} />
      <History events={events} pages={pages} />
      {payload && (
        <details>
          <summary>{say.raw.payloadOf((payload.length - 2) / 2)}</summary>
          <CopyButton text={payload} what={say.raw.copied.payload} />
          <pre class="attested" tabIndex={0}>
            {payload.slice(0, SHOWN)}
            {payload.length > SHOWN && '…'}
          </pre>
        </details>
      )}
      <Exports chain={record.chain} uid={record.uid} />
    </details>
  )
}

type Pages = ReturnType<typeof usePages>

function RecordFields({ record, details, pages }: Full & { pages: Pages }) {
  const { prover, subject, location, attributes, longitude, latitude } = record
  const hex = (name: 'uid' | 'attester' | 'recipient' | 'schema', value: string, href?: string) => (
    <Field name={say.raw[name]}>
      <Hex value={value} what={say.raw.copied[name]} href={href} />
    </Field>
  )
  const long = (name: 'location' | 'attributes', text: string, whole = text) => (
    <Field name={say.raw[name]}>
      <span class="attested" tabIndex={0} role="group" aria-label={say.raw[name]}>
        <bdi>{text.slice(0, SHOWN)}</bdi>
        {text.length > SHOWN && '…'}
      </span>
      <CopyButton text={whole} what={say.raw.copied[name]} />
    </Field>
  )
  const shortened = (name: 'type' | 'srs', text: string) => (
    <Field name={say.raw[name]}>
      <bdi>{text.slice(0, SHOWN)}</bdi>
    </Field>
  )
  return (
    <dl class="fields">
      <Field name={say.sheet.attested}>{timeText(record.timestamp)}</Field>
      <Field name={say.raw.eventTime}>{timeText(record.event_timestamp)}</Field>
      <Field name={say.sheet.chain}>{chainName(record.chain)}</Field>
      {hex('uid', record.uid, pages?.attestation(record.uid))}
      {hex('attester', prover, pages?.address(prover))}
      {hex('recipient', subject, pages?.address(subject))}
      {shortened('type', record.location_type)}
      {long('location', location)}
      {shortened('srs', record.srs)}
      {attributes && long('attributes', JSON.stringify(attributes, null, 1), JSON.stringify(attributes))}
      {longitude !== null && latitude !== null && (
        <Field name={say.sheet.position}>
          {longitude}, {latitude}
          <CopyButton text={`${longitude}, ${latitude}`} what={say.raw.copied.position} />
        </Field>
      )}
      {record.recipe_types.length > 0 && (
        <Field name={say.raw.proofs}>
          <bdi>{record.recipe_types.join(', ').slice(0, SHOWN)}</bdi>
          <CopyButton text={JSON.stringify(record.recipe_payloads)} what={say.raw.copied.proofs} />
        </Field>
      )}
      {details && (
        <>
          {hex('schema', details.schemaUid)}
          {details.refUid !== NO_UID && (
            <Field name={say.raw.refersTo}>
              <Hex
                value={details.refUid}
                what={say.raw.copied.reference}
                href={pages?.attestation(details.refUid)}
              />
            </Field>
          )}
          <Field name={say.raw.revocable}>{details.revocable ? say.raw.byAttester : say.raw.no}</Field>
        </>
      )}
      <Field name={say.raw.indexed}>
        {timeText(record.created_at)}
        {record.updated_at !== record.created_at && say.raw.changed(timeText(record.updated_at))}
      </Field>
    </dl>
  )
}

function History({ events, pages }: { events: readonly Event[]; pages: Pages }) {
  return (
    <>
      <h3>{say.raw.history}</h3>
      <ol class="history">
        {events.map((event) => (
          <li key={event.kind}>
            <b>{event.kind === 'REVOKED' ? say.raw.revoked : say.sheet.attested}</b>{' '}
            {timeText(event.blockTimestamp)}
            <br />
            <span class="soft">{say.raw.transaction(event.blockNumber.toLocaleString(locale))}</span>{' '}
            <Hex
              value={event.transactionHash}
              what={say.raw.copied.transaction}
              href={pages?.transaction(event.transactionHash)}
            />
          </li>
        ))}
      </ol>
    </>
  )
}

function Exports({ chain, uid }: { chain: string; uid: string }) {
  const rest = `api/v0/location-records/${uid}?chain=${chain}`
  return (
    <p class="exports">
      {say.raw.viewAs} <a href={addressOf(`${rest}&format=json`)}>{say.raw.formats.json}</a>
      <a href={addressOf(`${rest}&format=geojson`)}>{say.raw.formats.geojson}</a>
      <a href={addressOf(`graphql?query=${encodeURIComponent(graphqlOf(chain, uid))}`)}>
        {say.raw.formats.graphql}
      </a>
    </p>
  )
}

const graphqlOf = (chain: string, uid: string) =>
  `{ locationRecordByChainAndUid(chain: "${chain}", uid: "${uid}") { memo geometry revoked events { nodes { kind blockTimestamp } } } }`

export function Field({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

export function Hex({ value, what, href }: { value: string; what: string; href?: string }) {
  return (
    <span class="hex">
      {href ? (
        <a href={href} title={href} rel="noreferrer noopener" target="_blank">
          {shortHex(value)}
        </a>
      ) : (
        <span title={value}>{shortHex(value)}</span>
      )}
      <CopyButton text={value} what={what} />
    </span>
  )
}
