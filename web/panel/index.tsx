import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { lazy } from '../lazy'
import { addLayers } from '../map/layers'
import type { Map } from '../map/library'
import { followChanges, live } from '../map/live'
import { addRecords, type RecordKey, type RecordsOnMap, type Shown } from '../map/records'
import { viewOr, WorldMap } from '../map/world-map'
import { say } from '../messages'
import './panel.css'

const PlainRecords = lazy(async () => (await import('../map/plain-records')).PlainRecords)

export interface PanelMap {
  map: Map
  /** records of the service */
  records: RecordsOnMap
}

/** A page with a form and its results next to a map of all records. */
export function MapWithPanel({
  onMap,
  onPick = () => {},
  chain,
  isLive = false,
  withoutMap,
  children,
}: {
  /** called with the map when it can be drawn on, and with undefined when it is removed */
  onMap: (made: PanelMap | undefined) => void
  /** called with the clicked record, unless the user is drawing */
  onPick?: (record: RecordKey) => void
  /** slug of the chain whose records are shown; records of all chains if it is undefined */
  chain?: string | undefined
  /** true if changes of records are shown live */
  isLive?: boolean
  /** help for users whose browser has no WebGL */
  withoutMap: string
  children: ComponentChildren
}) {
  const [shown, setShown] = useState<Shown>()
  const shownRecords = useRef<RecordsOnMap>(undefined)
  const query = `revoked=false${chain === undefined ? '' : `&chain=${chain}`}`
  // A ref, because the map is created once, after the query may have changed.
  const latestQuery = useRef(query)
  latestQuery.current = query
  useEffect(() => void shownRecords.current?.setQuery(query), [query])
  return (
    <div class="with-panel">
      <div class="panel-map" data-places={shown?.places} data-live={isLive ? live.value : undefined}>
        <WorldMap
          view={viewOr({ longitude: 10, latitude: 30, zoom: 1.5 })}
          onReady={(map) => {
            const records = addRecords(
              map,
              { query: latestQuery.current, look: { by: 'chain', hidden: [] } },
              {
                onSelect: (record) => onPick(record),
                // Ignored: the form works without the records.
                onFailure: () => {},
                onShown: setShown,
              },
            )
            shownRecords.current = records
            addLayers(map)
            onMap({ map, records })
            const leaveChanges = isLive
              ? followChanges({}, records.change, () => records.refresh())
              : () => {}
            return () => {
              shownRecords.current = undefined
              leaveChanges()
              records.remove()
              onMap(undefined)
            }
          }}
          fallback={() => (
            <>
              <p class="waiting">
                {say.map.noWebGL} {withoutMap}
              </p>
              <PlainRecords query={query} onSelect={onPick} />
            </>
          )}
        />
      </div>
      <div class="panel">{children}</div>
    </div>
  )
}
