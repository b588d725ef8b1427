import { TerraDraw, TerraDrawLineStringMode, TerraDrawPointMode, TerraDrawPolygonMode } from 'terra-draw'
import { TerraDrawMapLibreGLAdapter } from 'terra-draw-maplibre-gl-adapter'
import type { Geometry, Position } from 'geojson'
import type { Map } from '../map/library'

/** Kinds of geometries that can be drawn. */
export type Shape = 'point' | 'linestring' | 'polygon'

/** Degrees to 7 decimals: a centimetre. */
const rounded = (degrees: number) => Math.round(degrees * 1e7) / 1e7

/** Lets the user draw one geometry on the map. Returns a function that ends it before it is finished. */
export function draw(map: Map, shape: Shape, onDrawn: (geometry: Geometry) => void): () => void {
  const terra = new TerraDraw({
    adapter: new TerraDrawMapLibreGLAdapter({ map }),
    modes: [new TerraDrawPointMode(), new TerraDrawLineStringMode(), new TerraDrawPolygonMode()],
  })
  const stop = () => {
    if (terra.enabled) terra.stop()
  }
  terra.start()
  terra.setMode(shape)
  terra.on('finish', (id) => {
    const drawn = terra.getSnapshotFeature(id)
    // Not within its own event.
    queueMicrotask(() => {
      stop()
      if (drawn) onDrawn(onOneWorld(drawn.geometry))
    })
  })
  return stop
}

/** Longitudes from -180 to 180, whichever copy of the world was drawn on. */
function onOneWorld(geometry: Geometry): Geometry {
  const at = ([longitude = 0, latitude = 0]: Position): Position => [
    rounded(longitude - 360 * Math.round(longitude / 360)),
    rounded(latitude),
  ]
  switch (geometry.type) {
    case 'Point':
      return { type: 'Point', coordinates: at(geometry.coordinates) }
    case 'LineString':
      return { type: 'LineString', coordinates: geometry.coordinates.map(at) }
    case 'Polygon':
      return { type: 'Polygon', coordinates: geometry.coordinates.map((ring) => ring.map(at)) }
    default:
      return geometry
  }
}
