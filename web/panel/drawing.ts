import {
  TerraDraw,
  TerraDrawLineStringMode,
  TerraDrawModeUndoRedo,
  TerraDrawPointMode,
  TerraDrawPolygonMode,
  TerraDrawSelectMode,
  TerraDrawUndoRedoKeyboardShortcuts,
} from 'terra-draw'
import { TerraDrawMapLibreGLAdapter } from 'terra-draw-maplibre-gl-adapter'
import type { Geometry, LineString, Point, Polygon, Position } from 'geojson'
import { isField } from '../focus'
import { mapPositions } from '../map/extent'
import { Marker, type Map } from '../map/library'
import { say } from '../messages'

/** Kinds of geometries that can be drawn. */
export type Shape = 'point' | 'linestring' | 'polygon'
type Drawn = Point | LineString | Polygon
const shapeModes = () => [new TerraDrawPointMode(), new TerraDrawLineStringMode(), new TerraDrawPolygonMode()]

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
    modes: shapeModes(),
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
/** Distance in pixels from a vertex to a click or touch that selects it. */
const REACH = 20

const PRESSES = ['mousedown', 'touchstart', 'click'] as const

/** Vertices of the edited geometry. */
export interface Vertices {
  /** 0 for a point */
  count: number
  /** index of the selected vertex */
  selected: number | undefined
  /** position of the selected vertex */
  position: Position | undefined
  /** false if the geometry needs all vertices */
  isRemovable: boolean
}
/** Editing of the vertices of a geometry. */
export interface Editing extends Drawing {
  select(index: number): void
  /** removes the selected vertex */
  remove(): void
}

/**
 * Lets the user move, add and remove vertices of a geometry. `onChange` receives the geometry after each
 * change, and `onVertices` its vertices after each change and selection. The map selects the vertex that is
 * pressed. The Delete key removes the selected one, except in a field.
 */
export function edit(
  map: Map,
  geometry: Geometry,
  onChange: (geometry: Geometry) => void,
  onVertices: (vertices: Vertices) => void,
): Editing {
  const { terra, mode, id } = selecting(map, geometry)
  const current = () => terra.getSnapshotFeature(id)!.geometry
  const vertices = () => verticesOf(current())
  const fewest = mode === 'polygon' ? 3 : 2
  const mark = new Marker({ element: markElement() })
  let selected: number | undefined
  const showVertices = () => {
    const all = vertices()
    if (selected !== undefined && selected >= all.length) selected = undefined
    const position = selected === undefined ? undefined : all[selected]
    if (position) mark.setLngLat(position as [number, number]).addTo(map)
    else mark.remove()
    const isRemovable = position !== undefined && all.length > fewest
    onVertices({ count: all.length, selected, position, isRemovable })
  }
  const select = (index: number | undefined) => {
    selected = index
    showVertices()
  }
  /** Geometries before each change. The library's own undo would end with the removal of the geometry. */
  const past: ReturnType<typeof current>[] = []
  let last = current()
  const report = () => {
    past.push(last)
    last = current()
    onChange(onOneWorld(last))
    showVertices()
  }
  const remove = () => {
    const all = vertices()
    if (selected === undefined || all.length <= fewest) return
    all.splice(selected, 1)
    selected = Math.min(selected, all.length - 1)
    terra.updateFeatureGeometry(id, geometryOf(all, mode === 'polygon'))
    report()
  }
  terra.on('finish', (_, { action }) => {
    // A removed or added vertex changes the indexes of the others. A click selects the added one afterwards.
    if (action !== 'dragCoordinate' && action !== 'dragFeature') selected = undefined
    report()
  })
  terra.on('change', (ids) => {
    if (selected !== undefined && ids.includes(id)) showVertices()
  })
  const press = ({ point }: { point: { x: number; y: number } }) => {
    select(nearest(map, vertices(), point))
  }
  const key = ({ key: name, target }: KeyboardEvent) => {
    if ((name === 'Delete' || name === 'Backspace') && !isField(target as Element)) remove()
  }
  for (const event of PRESSES) map.on(event, press)
  addEventListener('keydown', key)
  showVertices()
  return {
    undo: () => {
      const before = past.pop()
      if (!before) return false
      terra.updateFeatureGeometry(id, before)
      last = before
      onChange(onOneWorld(before))
      select(undefined)
      return true
    },
    stop: () => {
      for (const event of PRESSES) map.off(event, press)
      removeEventListener('keydown', key)
      mark.remove()
      if (terra.enabled) terra.stop()
    },
    select,
    remove,
  }
}

/** Starts TerraDraw with a geometry that is selected. Throws an Error if it cannot be edited. */
function selecting(map: Map, geometry: Geometry) {
  const coordinates = { midpoints: true, draggable: true, deletable: true }
  const flags = { feature: { draggable: true, coordinates } }
  const terra = new TerraDraw({
    adapter: new TerraDrawMapLibreGLAdapter({ map, coordinatePrecision: PRECISION }),
    modes: [
      ...shapeModes(),
      new TerraDrawSelectMode({
        flags: { point: { feature: { draggable: true } }, linestring: flags, polygon: flags },
        // Its Delete key would remove the whole geometry, and a click next to it would end the editing.
        keyEvents: null,
        allowManualDeselection: false,
      }),
    ],
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
  return { terra, mode, id }
}

/** Geometry of these vertices, the inverse of `verticesOf`. */
const geometryOf = (vertices: Position[], isPolygon: boolean): LineString | Polygon =>
  isPolygon
    ? { type: 'Polygon', coordinates: [[...vertices, vertices[0]!]] }
    : { type: 'LineString', coordinates: vertices }

/** Vertices of a line or of a polygon without holes, each one once; empty for a point. */
function verticesOf(geometry: Geometry): Position[] {
  if (geometry.type === 'LineString') return [...geometry.coordinates]
  return geometry.type === 'Polygon' ? geometry.coordinates[0]!.slice(0, -1) : []
}

/** Index of the vertex nearest to a pixel, within REACH. */
function nearest(
  map: Map,
  vertices: readonly Position[],
  point: { x: number; y: number },
): number | undefined {
  return vertices
    .map((position, index) => ({ index, at: map.project(position as [number, number]) }))
    .map(({ index, at }) => ({ index, distance: Math.hypot(at.x - point.x, at.y - point.y) }))
    .filter(({ distance }) => distance <= REACH)
    .sort((a, b) => a.distance - b.distance)[0]?.index
}

function markElement(): HTMLElement {
  const element = document.createElement('div')
  element.className = 'selected-corner'
  return element
}

/** Geometry without altitudes, and with as many decimals as the drawing library accepts. */
const rounding = (geometry: Geometry) =>
  mapPositions(geometry, (position) => position.slice(0, 2).map((each) => Number(each.toFixed(PRECISION))))

/** Geometry with longitudes from -180 to 180, whichever copy of the world the user drew on. */
const onOneWorld = ({ type, coordinates }: Drawn): Geometry =>
  mapPositions({ type, coordinates } as Geometry, ([longitude = 0, latitude = 0]) => [
    rounded(longitude - 360 * Math.round(longitude / 360)),
    rounded(latitude),
  ])
