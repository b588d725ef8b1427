import type { Geometry, MultiPolygon, Position } from 'geojson'
import { useMemo } from 'preact/hooks'
import { useLoaded } from '../loading'
import landUrl from 'virtual:basemap/land'
import { say } from '../messages'
import { successful } from '../service'
import { partsOf } from './extent'
import { keyText, type RecordKey } from './record-layers'
import './plain-map.css'

/** A record on the plain map: its title, position and colour. */
export interface PlainPlace {
  record: RecordKey
  name: string
  colour: string
  faded: boolean
  geometry: Geometry
}

interface PlainMapProps {
  places: readonly PlainPlace[]
  /** geometries that the user searched for, which are marked */
  found: readonly Geometry[]
  selected: RecordKey | undefined
  onSelect: (record: RecordKey) => void
}
/** The world in longitude and latitude, with straight edges, for browsers without WebGL. */
export function PlainMap({ places, found, selected, onSelect }: PlainMapProps) {
  const land = useLoaded(
    'land',
    async (signal) => (await successful(await fetch(landUrl, { signal })).json()) as MultiPolygon,
  )
  const path = useMemo(() => land.data && pathOf(land.data), [land.data])
  const selectedKey = selected && keyText(selected)
  return (
    <svg class="plain-map" viewBox="-180 -90 360 180" role="img" aria-label={say.map.plainName}>
      {path && <path class="plain-land" d={path} />}
      {places.map(({ record, name, colour, faded, geometry }) => (
        <g
          key={keyText(record)}
          class={faded ? 'faded' : undefined}
          fill={colour}
          stroke={colour}
          onClick={() => onSelect(record)}
        >
          <title>{name}</title>
          <PlainShape geometry={geometry} isSelected={keyText(record) === selectedKey} />
        </g>
      ))}
      <g class="plain-found">
        {found.map((geometry, i) => (
          <PlainShape key={i} geometry={geometry} isSelected />
        ))}
      </g>
    </svg>
  )
}

function PlainShape({ geometry, isSelected }: { geometry: Geometry; isSelected: boolean }) {
  const { type } = geometry
  if (type === 'GeometryCollection')
    return (
      <>
        {geometry.geometries.map((each, i) => (
          <PlainShape key={i} geometry={each} isSelected={isSelected} />
        ))}
      </>
    )
  if (type !== 'Point' && type !== 'MultiPoint')
    return <path class={/Polygon$/.test(type) ? 'plain-area' : 'plain-line'} d={pathOf(geometry)} />
  return (
    <>
      {partsOf(geometry).map(([position], i) => (
        <circle key={i} cx={position![0]} cy={-position![1]!} r={isSelected ? 3 : 1.6} />
      ))}
    </>
  )
}

/** Path of lines, or of rings, which are closed. Starts a new path if an edge crosses the antimeridian. */
const pathOf = (geometry: Geometry) =>
  partsOf(geometry)
    .map((part) => `${linePath(part)}${/Polygon$/.test(geometry.type) ? 'Z' : ''}`)
    .join('')

const linePath = (line: readonly Position[]) =>
  line
    .map(([x, y], i) => `${i === 0 || Math.abs(x! - line[i - 1]![0]!) > 180 ? 'M' : 'L'}${x} ${-y!}`)
    .join('')
