import { say } from '../messages'

/** Note below a map at a zoom for which it has no streets, with a link to a map that has them. */
export function StreetNote({
  longitude,
  latitude,
  zoom,
}: {
  longitude: number
  latitude: number
  zoom: number
}) {
  const at = `${Math.round(zoom + 1)}/${latitude.toFixed(5)}/${longitude.toFixed(5)}`
  return (
    <p class="street-note">
      {say.map.noStreets}{' '}
      <a href={`https://www.openstreetmap.org/#map=${at}`} target="_blank" rel="noopener noreferrer">
        {say.map.openStreetMap}
      </a>
    </p>
  )
}
