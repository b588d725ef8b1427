import type { RecordFeatureCollection } from '@geospatial-attestation/client'
import { useEffect } from 'preact/hooks'
import { chainColour, kindOf } from '../chains'
import { useLoaded } from '../loading'
import { PlainMap, type PlainPlace } from '../map/plain-map'
import { geoOnce } from '../service'
import { seenQuery } from './list'
import { FailureNotice } from './notice'
import { colouring, hidden, select, selected } from './state'
import { titleText } from './words'
import './fallback.css'

/** Maximum number of features of the plain map. */
const PLAIN_PLACES = 1_000

/** Replaces the map if there is no WebGL: a plain map, with the same filters. */
export function Fallback({ version, onUsed }: { version: number; onUsed: () => void }) {
  useEffect(onUsed, [])
  const query = seenQuery(undefined)
  const { data, failure, retry } = useLoaded(`plain ${query} ${version}`, async (signal) => {
    const stream = await geoOnce.records.export({
      ...Object.fromEntries(new URLSearchParams(query)),
      ...{ format: 'geojson', limit: PLAIN_PLACES, signal },
    })
    return (await new Response(stream).json()) as RecordFeatureCollection
  })
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
    <div class="plain">
      <p class="notice">
        This browser cannot show the full map (no WebGL 2). This simple map shows the newest{' '}
        {PLAIN_PLACES.toLocaleString('en')} places; the list has all of them.
      </p>
      {failure && <FailureNotice failure={failure} retry={retry} />}
      <PlainMap
        places={places}
        selected={selected.value && `${selected.value.chain}-${selected.value.uid}`}
        onSelect={(key) => {
          const at = key.lastIndexOf('-')
          select({ chain: key.slice(0, at), uid: key.slice(at + 1) })
        }}
      />
    </div>
  )
}
