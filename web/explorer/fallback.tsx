import type { Feature } from 'geojson'
import { useEffect, useState } from 'preact/hooks'
import { chainColour, kindOf } from '../chains'
import { followFlights } from '../map/flight'
import { PlainMap, type PlainPlace } from '../map/plain-map'
import { PLAIN_PLACES, recordOfKey, usePlainRecords } from '../map/plain-records'
import { say } from '../messages'
import type { RecordKey } from '../map/record-layers'
import { FailureNotice } from './notice'
import { colouring, hidden, mapQuery, selected } from './state'
import { titleText } from './words'
import './fallback.css'

/** Plain map of the same records, which replaces the map if there is no WebGL. */
export function Fallback({
  version,
  onUsed,
  onSelect,
}: {
  version: number
  onUsed: () => void
  onSelect: (record: RecordKey) => void
}) {
  const [found, setFound] = useState<readonly Feature[]>([])
  useEffect(onUsed, [])
  useEffect(() => followFlights(setFound), [])
  const { data, failure, retry } = usePlainRecords(mapQuery.value, version)
  const by = colouring.value
  const places = (data?.features ?? []).flatMap(({ geometry, properties }): PlainPlace[] => {
    const { chain, uid, location_type: type, revoked } = properties
    const isHidden = hidden.value.includes(by === 'chain' ? chain : kindOf(type).name)
    if (geometry === null || isHidden) return []
    return [
      {
        key: `${chain}-${uid}`,
        name: titleText(properties),
        colour: by === 'chain' ? chainColour(chain) : kindOf(type).colour,
        faded: revoked,
        geometry: geometry,
      },
    ]
  })
  return (
    <div class="plain-page">
      <p class="notice">{say.map.plain(PLAIN_PLACES)}</p>
      {failure && <FailureNotice failure={failure} retry={retry} />}
      <PlainMap
        places={places}
        found={found.map(({ geometry }) => geometry)}
        selected={selected.value && `${selected.value.chain}-${selected.value.uid}`}
        onSelect={(key) => onSelect(recordOfKey(key))}
      />
    </div>
  )
}
