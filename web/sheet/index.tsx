import type { LocationRecord } from '@geospatial-attestation/client'
import type { Geometry } from 'geojson'
import { useEffect } from 'preact/hooks'
import { lacksGeometry } from '../../src/location/event-time'
import { Card } from '../card'
import { chainName } from '../chains'
import { FailureNotice } from '../explorer/notice'
import { isoOf, timeText, titleText } from '../explorer/words'
import { useLoaded, type Loaded } from '../loading'
import { placeTitle } from '../location'
import { keyText, type RecordKey } from '../map/record-layers'
import { say } from '../messages'
import { areaText, lengthText } from '../units'
import { UnitsField } from '../units-field'
import { Actions } from './actions'
import { Attester } from './attester'
import { Checks } from './checks'
import { Media } from './media'
import { Field, RawData, SHOWN } from './raw'
import type { Full } from './full'
import { isOf, type LoadedRecord } from './record'
import { twinsOf } from './twins'

export interface SheetProps {
  chosen: RecordKey
  loaded: Loaded<LoadedRecord | undefined>
  opener: Element | null
  /** moves the map to the record; undefined if there is no map */
  onShow: ((geometry: Geometry) => void) | undefined
  onClose: () => void
  onSelect: (record: RecordKey) => void
  onAttester: (attester: string) => void
  onWatch: (record: LocationRecord) => void
  onChanged: () => void
}

/** Sheet of a place: the attested content, its attester, the checks of this page, and actions. */
export function Sheet(props: SheetProps) {
  const { chosen, opener, onClose } = props
  const { data, isLoading, failure, retry } = props.loaded
  const full = data && isOf(data, chosen) ? data : undefined
  const name = full && titleText(full.record)
  useEffect(() => {
    placeTitle.value = name
    return () => void (placeTitle.value = undefined)
  }, [name])
  const { sheet } = say
  return (
    <Card
      name={sheet.name}
      heading="h1"
      title={
        full ? (
          <bdi>{full.record.memo ? titleText(full.record) : sheet.noMemo}</bdi>
        ) : failure?.retryIn !== undefined ? (
          say.list.noResponse
        ) : isLoading ? (
          say.site.loading
        ) : (
          sheet.notFound
        )
      }
      isBusy={isLoading}
      keys={[chosen.uid, chosen.chain]}
      close={sheet.close}
      {...{ opener, onClose }}
    >
      {failure && <FailureNotice failure={failure} retry={retry} />}
      {full ? (
        <SheetBody key={keyText(full.record)} {...props} full={full} />
      ) : (
        !failure &&
        !isLoading && (
          <p class="notice">
            {sheet.noRecord} <bdi class="hex">{chosen.uid}</bdi> {sheet.missing(chainName(chosen.chain))}
          </p>
        )
      )}
    </Card>
  )
}

function SheetBody({ full, ...props }: SheetProps & { full: Full }) {
  const { record, details } = full
  const { memo, problem, media_data: media } = record
  return (
    <>
      <Standing record={record} details={details} />
      {problem !== null && <Problem problem={problem} />}
      {memo && titleText(record) !== memo && (
        <p class="attested memo" tabIndex={0} role="group" aria-label={say.sheet.memo}>
          <bdi>{memo}</bdi>
        </p>
      )}
      {media.length > 0 && <Media types={record.media_types} data={media} />}
      <Facts full={full} onSelect={props.onSelect} />
      <Actions
        record={record}
        details={details}
        onShow={props.onShow}
        onWatch={() => props.onWatch(record)}
        onChanged={props.onChanged}
      />
      <Checks record={record} details={details} />
      <Attester record={record} onMore={() => props.onAttester(record.prover)} />
      <RawData record={record} details={details} />
    </>
  )
}

function Problem({ problem }: { problem: string }) {
  const reason = <bdi>{problem.slice(0, SHOWN)}</bdi>
  return lacksGeometry(problem) ? (
    <p class="notice">
      <b>{say.sheet.notOnMap}</b> {say.sheet.ambiguous} {reason}. {say.sheet.ambiguousMeaning}
    </p>
  ) : (
    <p class="notice">{reason}.</p>
  )
}

function Facts({
  full: { record, details },
  onSelect,
}: {
  full: Full
} & Pick<SheetProps, 'onSelect'>) {
  const { sheet } = say
  const { data: twins = [] } = useLoaded(`twins ${record.chain} ${record.uid}`, (signal) =>
    twinsOf(record, signal),
  )
  const { longitude, latitude } = record
  return (
    <dl class="fields facts">
      {isObserved(record) && <Fact name={sheet.observed}>{timeText(record.event_timestamp)}</Fact>}
      <Fact name={sheet.attested}>{timeText(record.timestamp)}</Fact>
      <Fact name={sheet.chain}>{chainName(record.chain)}</Fact>
      {twins.length > 0 && (
        <Fact name={sheet.alsoOn}>
          {twins.map((twin) => (
            <button key={keyText(twin)} type="button" class="twin" onClick={() => onSelect(twin)}>
              {chainName(twin.chain)}
            </button>
          ))}
        </Fact>
      )}
      {longitude !== null && latitude !== null && (
        <Fact name={sheet.position}>
          {longitude}, {latitude}
        </Fact>
      )}
      <Size details={details} />
    </dl>
  )
}

/** True if the attester stated a time of observation. Many attesters write 0. */
const isObserved = ({ event_timestamp: observed, timestamp }: LocationRecord) =>
  observed !== timestamp && Date.parse(observed) !== 0

const Fact = ({ name, children }: { name: string; children: preact.ComponentChildren }) => (
  <Field name={name}>
    <bdi>{children}</bdi>
  </Field>
)

/** Area or length as computed by the kernel, in the chosen units. */
function Size({ details }: Pick<Full, 'details'>) {
  const geometry = details?.geometry
  const [, kind] = /(Polygon|LineString)$/.exec(geometry?.type ?? '') ?? []
  const operation = kind === 'Polygon' ? 'area' : 'length'
  /** Size of the geometry; null if it cannot be measured, undefined until it is measured. */
  const { data: size } = useLoaded(kind && JSON.stringify(geometry), () =>
    import('@geospatial-attestation/client/kernel')
      .then(({ measurable }) => measurable(geometry!)[operation]())
      .catch(() => null),
  )
  if (kind === undefined || size === null) return null
  return (
    <Fact name={say.sheet[operation]}>
      {size === undefined ? (
        say.sheet.measuring
      ) : (
        <span data-size={size}>{operation === 'area' ? areaText(size) : lengthText(size)}</span>
      )}{' '}
      <UnitsField />
    </Fact>
  )
}

/** Validity of the record, with an explanation. */
function Standing({ record, details }: Full) {
  const { sheet } = say
  const expires = Number(details?.expirationTime ?? 0)
  if (record.revoked)
    return (
      <p class="standing bad">
        <b>{sheet.revoked(details?.revocationTime ? timeText(details.revocationTime) : undefined)}</b>{' '}
        {sheet.revokedMeaning}
      </p>
    )
  const iso = expires > 0 ? isoOf(expires) : undefined
  const expiry = iso && timeText(iso)
  if (expiry && expires * 1000 < Date.now())
    return (
      <p class="standing bad">
        <b>{sheet.expired(expiry)}</b> {sheet.expiredMeaning}
      </p>
    )
  return (
    <p class="standing good">
      <b>{sheet.notRevoked}</b> {sheet.claim}
      {expiry && sheet.expires(expiry)}
    </p>
  )
}
