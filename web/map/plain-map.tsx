import type { Geometry, MultiPolygon, Position } from 'geojson'
import { useMemo } from 'preact/hooks'
import { useLoaded } from '../loading'
import landUrl from 'virtual:basemap/land'
import { say } from '../messages'
import './plain-map.css'

/** A record on the plain map: its title, position and colour. */
export interface PlainPlace {
  key: string
  name: string
  colour: string
  faded: boolean
  geometry: Geometry
}

/**
 * The world as a plain drawing of longitude and latitude, for browsers without WebGL. Straight lines connect
 * the vertices of lines and areas.
 */
export function PlainMap({
  places,
  found,
  selected,
  onSelect,
}: {
  places: readonly PlainPlace[]
  /** geometries that the user searched for, which are marked */
  found: readonly Geometry[]
  selected: string | undefined
  onSelect: (key: string) => void
}) {
  const land = useLoaded(
    'land',
    async (signal) => (await (await fetch(landUrl, { signal })).json()) as MultiPolygon,
  )
  const path = useMemo(() => land.data && areaPath(land.data), [land.data])
  return (
    <svg class="plain-map" viewBox="-180 -90 360 180" role="img" aria-label={say.map.plainName}>
      {path && <path class="plain-land" d={path} />}
      {places.map(({ key, name, colour, faded, geometry }) => (
        <g
          key={key}
          class={faded ? 'faded' : undefined}
          fill={colour}
          stroke={colour}
          onClick={() => onSelect(key)}
        >
          <title>{name}</title>
          <PlainShape geometry={geometry} isSelected={key === selected} />
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
  const radius = isSelected ? 3 : 1.6
  switch (geometry.type) {
    case 'Point':
    case 'MultiPoint': {
      const positions = geometry.type === 'Point' ? [geometry.coordinates] : geometry.coordinates
      return (
        <>
          {positions.map(([x, y], i) => (
            <circle key={i} cx={x} cy={-y!} r={radius} />
          ))}
        </>
      )
    }
    case 'LineString':
    case 'MultiLineString': {
      const lines = geometry.type === 'LineString' ? [geometry.coordinates] : geometry.coordinates
      return <path class="plain-line" d={lines.map(linePath).join('')} />
    }
    case 'Polygon':
    case 'MultiPolygon': {
      const coordinates = geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates
      return <path class="plain-area" d={areaPath({ type: 'MultiPolygon', coordinates })} />
    }
    case 'GeometryCollection':
      return (
        <>
          {geometry.geometries.map((each, i) => (
            <PlainShape key={i} geometry={each} isSelected={isSelected} />
          ))}
        </>
      )
  }
}

const areaPath = ({ coordinates }: MultiPolygon) =>
  coordinates.flatMap((rings) => rings.map((ring) => `${linePath(ring)}Z`)).join('')

/** Starts a new path if an edge crosses the antimeridian. */
const linePath = (line: readonly Position[]) =>
  line
    .map(([x, y], i) => `${i === 0 || Math.abs(x! - line[i - 1]![0]!) > 180 ? 'M' : 'L'}${x} ${-y!}`)
    .join('')
