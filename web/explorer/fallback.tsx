import type { Feature } from 'geojson'
import { useEffect, useState } from 'preact/hooks'
import { followFlights } from '../map/flight'
import { PlainMap, type PlainPlace } from '../map/plain-map'
import { PLAIN_PLACES, usePlainRecords } from '../map/plain-records'
import { say } from '../messages'
import type { RecordKey } from '../map/record-layers'
import { FailureNotice } from './notice'
import { entryOf, hidden, mapQuery, selected } from './state'
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
  const places = (data?.features ?? []).flatMap(({ geometry, properties: record }): PlainPlace[] => {
    const { name, colour } = entryOf(record)
    if (geometry === null || hidden.value.includes(name)) return []
    return [{ record, name: titleText(record), colour, faded: record.revoked, geometry }]
  })
  return (
    <div class="plain-page" tabIndex={0}>
      <p class="notice">{say.map.plain(PLAIN_PLACES)}</p>
      {failure && <FailureNotice failure={failure} retry={retry} />}
      <PlainMap
        places={places}
        found={found.map(({ geometry }) => geometry)}
        selected={selected.value}
        onSelect={onSelect}
      />
    </div>
  )
}
