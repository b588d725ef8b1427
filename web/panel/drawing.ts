import {
  TerraDraw,
  TerraDrawLineStringMode,
  TerraDrawModeUndoRedo,
  TerraDrawPointMode,
  TerraDrawPolygonMode,
  TerraDrawSelectMode,
  TerraDrawSessionUndoRedo,
  TerraDrawUndoRedoKeyboardShortcuts,
} from 'terra-draw'
import { TerraDrawMapLibreGLAdapter } from 'terra-draw-maplibre-gl-adapter'
import type { Geometry, Position } from 'geojson'
import type { Map } from '../map/library'
import { say } from '../messages'

/** Kinds of geometries that can be drawn. */
export type Shape = 'point' | 'linestring' | 'polygon'

/** Maximum number of decimals of degrees that the drawing library accepts: a tenth of a millimetre. */
const PRECISION = 9
/** Rounds degrees to 7 decimals: a centimetre. */
const rounded = (degrees: number) => Math.round(degrees * 1e7) / 1e7

/** A drawing in progress. */
export interface Drawing {
  /** removes the last position; returns false if there is no position */
  undo(): boolean
  /** ends the drawing without a geometry */
  stop(): void
}

/** Lets the user draw one geometry on the map. Ctrl+Z undoes the last position. */
export function draw(map: Map, shape: Shape, onDrawn: (geometry: Geometry) => void): Drawing {
  const terra = new TerraDraw({
    adapter: new TerraDrawMapLibreGLAdapter({ map }),
    modes: [new TerraDrawPointMode(), new TerraDrawLineStringMode(), new TerraDrawPolygonMode()],
    undoRedo: {
      modeLevel: new TerraDrawModeUndoRedo(),
      keyboardShortcuts: new TerraDrawUndoRedoKeyboardShortcuts(),
    },
  })
  const stop = () => {
    if (terra.enabled) terra.stop()
  }
  terra.start()
  terra.setMode(shape)
  terra.on('finish', (id) => {
    const drawn = terra.getSnapshotFeature(id)
    // The drawing library cannot be stopped within its own event.
    queueMicrotask(() => {
      stop()
      if (drawn) onDrawn(onOneWorld(drawn.geometry))
    })
  })
  return { undo: () => terra.undo(), stop }
}

/** Geometries whose vertices can be edited on the map, by their type. */
const EDITABLE = { Point: 'point', LineString: 'linestring', Polygon: 'polygon' } as const

/**
 * Lets the user move, add and remove vertices of a geometry. `onChange` receives the geometry after each
 * change.
 */
export function edit(map: Map, geometry: Geometry, onChange: (geometry: Geometry) => void): Drawing {
  const coordinates = { midpoints: true, draggable: true, deletable: true }
  const flags = { feature: { draggable: true, coordinates } }
  const terra = new TerraDraw({
    adapter: new TerraDrawMapLibreGLAdapter({ map, coordinatePrecision: PRECISION }),
    modes: [
      new TerraDrawPointMode(),
      new TerraDrawLineStringMode(),
      new TerraDrawPolygonMode(),
      new TerraDrawSelectMode({
        flags: { point: { feature: { draggable: true } }, linestring: flags, polygon: flags },
      }),
    ],
    undoRedo: { sessionLevel: new TerraDrawSessionUndoRedo() },
  })
  terra.start()
  const mode = EDITABLE[geometry.type as keyof typeof EDITABLE]
  const [added] = terra.addFeatures([
    { type: 'Feature', properties: { mode }, geometry: rounding(geometry) as never },
  ])
  const id = added?.id
  if (!added?.valid || id === undefined) {
    terra.stop()
    throw new Error(added?.reason ?? say.drawing.notEditable)
  }
  terra.setMode('select')
  terra.selectFeature(id)
  const report = () => {
    const changed = terra.getSnapshotFeature(id)
    if (changed) onChange(onOneWorld(changed.geometry))
  }
  terra.on('finish', report)
  return {
    undo: () => {
      const isUndone = terra.undo()
      if (isUndone) report()
      return isUndone
    },
    stop: () => {
      if (terra.enabled) terra.stop()
    },
  }
}

/** Geometry without altitudes, and with as many decimals as the drawing library accepts. */
const rounding = (geometry: Geometry): Geometry =>
  JSON.parse(JSON.stringify(geometry), (_, value: unknown) =>
    Array.isArray(value) && typeof value[0] === 'number'
      ? (value as Position).slice(0, 2).map((each) => Number(each.toFixed(PRECISION)))
      : value,
  ) as Geometry

/** Geometry with longitudes from -180 to 180, whichever copy of the world the user drew on. */
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
