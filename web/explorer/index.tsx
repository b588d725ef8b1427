import { WorldMap } from '../map/world-map'

export default function Explorer() {
  return (
    <WorldMap
      view={{ longitude: 10, latitude: 30, zoom: 1.5 }}
      onReady={() => {}}
      fallback={() => <p>This browser shows no WebGL.</p>}
    />
  )
}
