import { setWorkerUrl } from 'maplibre-gl'
import workerUrl from 'virtual:map-worker-url'

setWorkerUrl(workerUrl)

export {
  addProtocol,
  AttributionControl,
  GlobeControl,
  Map,
  Marker,
  NavigationControl,
  Popup,
  ScaleControl,
  type GeoJSONSource,
  type MapMouseEvent,
  type VectorTileSource,
} from 'maplibre-gl'
