import { setWorkerUrl } from 'maplibre-gl'
import workerUrl from 'virtual:map-worker-url'

setWorkerUrl(workerUrl)

export {
  AttributionControl,
  GlobeControl,
  LngLatBounds,
  Map,
  NavigationControl,
  ScaleControl,
  type GeoJSONSource,
  type LngLatLike,
  type MapMouseEvent,
  type StyleSpecification,
} from 'maplibre-gl'
