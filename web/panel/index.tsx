import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { addLayers } from '../map/layers'
import type { Map } from '../map/library'
import { followChanges, live } from '../map/live'
import { addRecords, type RecordKey, type RecordsOnMap, type Shown } from '../map/records'
import { WorldMap } from '../map/world-map'
import './panel.css'

export interface PanelMap {
  map: Map
  /** The records of the service. */
  records: RecordsOnMap
}

/** A page with a form and its results beside a map of all records. */
export function MapWithPanel({
  onMap,
  onPick = () => {},
  chain,
  isLive = false,
  withoutMap,
  children,
}: {
  /** Told the map once it can be drawn on, and undefined when it is gone. */
  onMap: (made: PanelMap | undefined) => void
  /** Told of the record that was clicked, unless something is being drawn. */
  onPick?: (record: RecordKey) => void
  /** Slug of the chain whose records are shown; all, where it is not given. */
  chain?: string | undefined
  /** Whether changes of records are shown as they happen. */
  isLive?: boolean
  /** what can be done where the browser has no WebGL */
  withoutMap: string
  children: ComponentChildren
}) {
  const [shown, setShown] = useState<Shown>()
  const shownRecords = useRef<RecordsOnMap>(undefined)
  const query = `revoked=false${chain === undefined ? '' : `&chain=${chain}`}`
  // The map is made later, and once.
  const latestQuery = useRef(query)
  latestQuery.current = query
  useEffect(() => void shownRecords.current?.setQuery(query), [query])
  return (
    <div class="with-panel">
      <div class="panel-map" data-places={shown?.places} data-live={isLive ? live.value : undefined}>
        <WorldMap
          view={{ longitude: 10, latitude: 30, zoom: 1.5 }}
          onReady={(map) => {
            const records = addRecords(
              map,
              { query: latestQuery.current, look: { by: 'chain', hidden: [] } },
              {
                onSelect: (record) => onPick(record),
                // The records are an offer: the form works without.
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
            <p class="waiting">This browser shows no WebGL, so there is no map to draw on. {withoutMap}</p>
          )}
        />
      </div>
      <div class="panel">{children}</div>
    </div>
  )
}
