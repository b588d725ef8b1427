import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { lacksGeometry } from '../../src/location/event-time'
import { chainName, usePages } from '../chains'
import { CopyButton } from '../copy-button'
import type { Loaded } from '../loading'
import { addressOf } from '../service'
import { Media } from './media'
import { FailureNotice } from './notice'
import { middleOf, type Full } from './record'
import { select, setFilters } from './state'
import { shortHex, timeText } from './words'
import './card.css'

const NO_UID = `0x${'0'.repeat(64)}`
/** Number of characters of a payload that are shown; copying includes all. */
const SHOWN = 2_000

/** Card of a record with everything known about it. */
export function Card({
  chosen,
  loaded: { data, isLoading, failure, retry },
  onShow,
}: {
  chosen: { chain: string; uid: string }
  loaded: Loaded<Full | undefined>
  /** moves the map to the record */
  onShow: ((at: [number, number]) => void) | undefined
}) {
  const title = useRef<HTMLHeadingElement>(null)
  // Focused before it is painted, so that a key pressed at its first sight applies to the card.
  useLayoutEffect(() => title.current?.focus(), [chosen.uid, chosen.chain])
  const close = () => {
    select(undefined)
    document.querySelector<HTMLElement>(`[data-record="${chosen.chain}-${chosen.uid}"]`)?.focus()
  }
  const full = data?.record.uid === chosen.uid.toLowerCase() ? data : undefined
  const middle = middleOf(full?.details?.geometry)
  return (
    <aside
      class="card"
      aria-label="Record"
      aria-busy={isLoading}
      onKeyDown={({ key }) => key === 'Escape' && close()}
    >
      <div class="card-head">
        <h2 ref={title} tabIndex={-1}>
          {full ? 'Attested place' : failure ? 'No response' : isLoading ? 'Loading ...' : 'Not found'}
        </h2>
        {onShow && middle && (
          <button type="button" onClick={() => onShow(middle)}>
            Zoom to place
          </button>
        )}
        <button type="button" aria-label="Close the record" onClick={close}>
          ✕
        </button>
      </div>
      {failure && <FailureNotice failure={failure} retry={retry} />}
      {full ? (
        <CardBody {...full} />
      ) : (
        !failure &&
        !isLoading && (
          <p class="notice">
            There is no record <bdi class="hex">{chosen.uid}</bdi> on {chainName(chosen.chain)}. A reorg may
            have removed it, or it is not indexed yet. See the chain's status.
          </p>
        )
      )}
    </aside>
  )
}

function CardBody({ record, details }: Full) {
  const { chain, uid, memo, problem, media_data: media } = record
  const pages = usePages(chain)
  const events = details?.events.nodes ?? []
  const payload = events.find(({ kind }) => kind === 'ATTESTED')?.data
  return (
    <>
      <Standing record={record} details={details} />
      {lacksGeometry(problem) ? (
        <p class="notice">
          <b>Not on the map.</b> Its location is ambiguous: <bdi>{problem!.slice(0, SHOWN)}</bdi>. Filters on
          other fields find it, but spatial filters do not, and operations on it are refused.
        </p>
      ) : (
        problem !== null && (
          <p class="notice">
            <bdi>{problem.slice(0, SHOWN)}</bdi>.
          </p>
        )
      )}
      <p class="attested memo" tabIndex={0} role="group" aria-label="Memo">
        <bdi>{memo || 'No memo'}</bdi>
      </p>
      {media.length > 0 && <Media types={record.media_types} data={media} />}
      <p class="card-actions">
        <a class="button" href={addressOf(`playground?a=${uid}`)}>
          Ask about this place
        </a>
        <button type="button" onClick={() => setFilters({ prover: record.prover })}>
          More from this attester
        </button>
      </p>
      <RecordFields record={record} details={details} pages={pages} />
      <History events={events} pages={pages} />
      {payload && (
        <details>
          <summary>Raw on-chain data ({((payload.length - 2) / 2).toLocaleString('en')} bytes)</summary>
          <CopyButton text={payload} what="the payload" />
          <pre class="attested" tabIndex={0}>
            {payload.slice(0, SHOWN)}
            {payload.length > SHOWN && '…'}
          </pre>
        </details>
      )}
      <Exports chain={chain} uid={uid} />
    </>
  )
}

type Pages = ReturnType<typeof usePages>

/** Fields of the attestation and of its record. */
function RecordFields({ record, details, pages }: Full & { pages: Pages }) {
  return (
    <dl class="fields">
      <Field name="Attested">{timeText(record.timestamp)}</Field>
      <Field name="Time of event">{timeText(record.event_timestamp)}</Field>
      <Field name="Chain">{chainName(record.chain)}</Field>
      <Field name="UID">
        <Hex value={record.uid} what="the UID" href={pages?.attestation(record.uid)} />
      </Field>
      <Field name="Attester">
        <Hex value={record.prover} what="the attester" href={pages?.address(record.prover)} />
      </Field>
      <Field name="Recipient">
        <Hex value={record.subject} what="the recipient" href={pages?.address(record.subject)} />
      </Field>
      <Field name="Location format">
        <bdi>{record.location_type.slice(0, SHOWN)}</bdi>
      </Field>
      <Field name="Location">
        <span class="attested" tabIndex={0} role="group" aria-label="Location">
          <bdi>{record.location.slice(0, SHOWN)}</bdi>
          {record.location.length > SHOWN && '…'}
        </span>
        <CopyButton text={record.location} what="the location" />
      </Field>
      <Field name="Coordinate system">
        <bdi>{record.srs.slice(0, SHOWN)}</bdi>
      </Field>
      {record.attributes && (
        <Field name="Attributes">
          <span class="attested" tabIndex={0} role="group" aria-label="Attributes">
            <bdi>{JSON.stringify(record.attributes, null, 1).slice(0, SHOWN)}</bdi>
          </span>
          <CopyButton text={JSON.stringify(record.attributes)} what="the attributes" />
        </Field>
      )}
      {record.longitude !== null && record.latitude !== null && (
        <Field name="Longitude, latitude">
          {record.longitude}, {record.latitude}
          <CopyButton text={`${record.longitude}, ${record.latitude}`} what="longitude and latitude" />
        </Field>
      )}
      {record.recipe_types.length > 0 && (
        <Field name="Proofs">
          <bdi>{record.recipe_types.join(', ').slice(0, SHOWN)}</bdi>
          <CopyButton text={JSON.stringify(record.recipe_payloads)} what="the payloads of the proofs" />
        </Field>
      )}
      {details && (
        <>
          <Field name="Schema">
            <Hex value={details.schemaUid} what="the schema" />
          </Field>
          {details.refUid !== NO_UID && (
            <Field name="Refers to">
              <Hex
                value={details.refUid}
                what="the UID it refers to"
                href={pages?.attestation(details.refUid)}
              />
            </Field>
          )}
          <Field name="Revocable">{details.revocable ? 'Yes, by the attester' : 'No'}</Field>
        </>
      )}
      <Field name="Indexed">
        {timeText(record.created_at)}
        {record.updated_at !== record.created_at && `, changed ${timeText(record.updated_at)}`}
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
      <h3>History</h3>
      <ol class="history">
        {events.map((event) => (
          <li key={event.kind}>
            <b>{event.kind === 'REVOKED' ? 'Revoked' : 'Attested'}</b> {timeText(event.blockTimestamp)}
            <br />
            <span class="soft">Block {event.blockNumber.toLocaleString('en')}, transaction</span>{' '}
            <Hex
              value={event.transactionHash}
              what="the transaction"
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
      View as <a href={addressOf(`${rest}&format=json`)}>JSON</a>
      <a href={addressOf(`${rest}&format=geojson`)}>GeoJSON</a>
      <a href={addressOf(`graphql?query=${encodeURIComponent(graphqlOf(chain, uid))}`)}>GraphQL</a>
      <CopyButton text={location.href} what="the address of this view" />
    </p>
  )
}

const graphqlOf = (chain: string, uid: string) =>
  `{ locationRecordByChainAndUid(chain: "${chain}", uid: "${uid}") { memo geometry revoked events { nodes { kind blockTimestamp } } } }`

/** Validity of the record, and its meaning. */
function Standing({ record, details }: Full) {
  const expires = Number(details?.expirationTime ?? 0)
  if (record.revoked)
    return (
      <p class="standing bad">
        <b>Revoked{details?.revocationTime && ` on ${timeText(details.revocationTime)}`}.</b> Its attester
        withdrew it: do not rely on it. It stays readable, because nothing on a chain is erased. Contracts
        that ask EAS see the revocation.
      </p>
    )
  if (expires > 0 && expires * 1000 < Date.now())
    return (
      <p class="standing bad">
        <b>Expired on {timeText(new Date(expires * 1000).toISOString())}.</b> Its attester limited its
        validity.
      </p>
    )
  return (
    <p class="standing good">
      <b>Not revoked.</b> This is the attester's claim, and nobody has checked it. Anyone can attest anything:
      check who attested it.
      {expires > 0 &&
        expires < 8.64e12 &&
        ` It expires on ${timeText(new Date(expires * 1000).toISOString())}.`}
    </p>
  )
}

function Field({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Hex({ value, what, href }: { value: string; what: string; href?: string }) {
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
