import type { ComponentChildren } from 'preact'
import { chainName, usePages } from '../chains'
import { CopyButton } from '../copy-button'
import { shortHex, timeText } from '../explorer/words'
import { locale, say } from '../messages'
import { addressOf } from '../service'
import type { Full } from './full'

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

/** Fields of the attestation and of its record. */
function RecordFields({ record, details, pages }: Full & { pages: Pages }) {
  return (
    <dl class="fields">
      <Field name={say.raw.attested}>{timeText(record.timestamp)}</Field>
      <Field name={say.raw.eventTime}>{timeText(record.event_timestamp)}</Field>
      <Field name={say.raw.chain}>{chainName(record.chain)}</Field>
      <Field name={say.raw.uid}>
        <Hex value={record.uid} what={say.raw.copied.uid} href={pages?.attestation(record.uid)} />
      </Field>
      <Field name={say.raw.attester}>
        <Hex value={record.prover} what={say.raw.copied.attester} href={pages?.address(record.prover)} />
      </Field>
      <Field name={say.raw.recipient}>
        <Hex value={record.subject} what={say.raw.copied.recipient} href={pages?.address(record.subject)} />
      </Field>
      <Field name={say.raw.type}>
        <bdi>{record.location_type.slice(0, SHOWN)}</bdi>
      </Field>
      <Field name={say.raw.location}>
        <span class="attested" tabIndex={0} role="group" aria-label={say.raw.location}>
          <bdi>{record.location.slice(0, SHOWN)}</bdi>
          {record.location.length > SHOWN && '…'}
        </span>
        <CopyButton text={record.location} what={say.raw.copied.location} />
      </Field>
      <Field name={say.raw.srs}>
        <bdi>{record.srs.slice(0, SHOWN)}</bdi>
      </Field>
      {record.attributes && (
        <Field name={say.raw.attributes}>
          <span class="attested" tabIndex={0} role="group" aria-label={say.raw.attributes}>
            <bdi>{JSON.stringify(record.attributes, null, 1).slice(0, SHOWN)}</bdi>
          </span>
          <CopyButton text={JSON.stringify(record.attributes)} what={say.raw.copied.attributes} />
        </Field>
      )}
      {record.longitude !== null && record.latitude !== null && (
        <Field name={say.raw.position}>
          {record.longitude}, {record.latitude}
          <CopyButton text={`${record.longitude}, ${record.latitude}`} what={say.raw.copied.position} />
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
          <Field name={say.raw.schema}>
            <Hex value={details.schemaUid} what={say.raw.copied.schema} />
          </Field>
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

function History({
  events,
  pages,
}: {
  events: NonNullable<Full['details']>['events']['nodes']
  pages: Pages
}) {
  return (
    <>
      <h3>{say.raw.history}</h3>
      <ol class="history">
        {events.map((event) => (
          <li key={event.kind}>
            <b>{event.kind === 'REVOKED' ? say.raw.revoked : say.raw.attested}</b>{' '}
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

/** Links to the record in other formats. */
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

function Field({ name, children }: { name: string; children: ComponentChildren }) {
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
