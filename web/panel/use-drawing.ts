import type { Geometry } from 'geojson'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Map } from '../map/library'
import type { Drawing, Editing, Shape, Vertices } from './drawing'
import { textOf } from './input'

/** Presses on the map until `signal` is aborted. A move of the map clears them: they are in pixels. */
function pressesOn(map: Map, signal: AbortSignal): readonly PointerEvent[] {
  const events: PointerEvent[] = []
  const collect = (event: PointerEvent) => {
    if (event.type === 'pointerdown' || events.length > 0) events.push(event)
  }
  for (const type of ['pointerdown', 'pointermove', 'pointerup'] as const)
    map.getCanvas().addEventListener(type, collect, { signal })
  const moved = map.on('move', () => void events.splice(0))
  signal.addEventListener('abort', () => moved.unsubscribe())
  return events
}

/** Last drawing of each map, which its signal ends. The drawing library supports one at a time. */
const drawings = new WeakMap<Map, AbortController>()

/**
 * Drawing or editing on the map. It ends when the text of the field is changed elsewhere, or when another
 * drawing starts on the map.
 */
export function useDrawing(map: Map, text: string, onActive: () => void, onText: (text: string) => void) {
  const [drawing, setDrawing] = useState<Shape | 'edit'>()
  const [problem, setProblem] = useState('')
  const [vertices, setVertices] = useState<Vertices>()
  const running = useRef<Drawing | Editing | undefined>(undefined)
  const ending = useRef<AbortController>(undefined)
  const end = () => ending.current?.abort()
  useEffect(() => end, [map])
  /** text of the edited geometry */
  const edited = useRef('')
  useLayoutEffect(() => {
    if (drawing === 'edit' && text !== edited.current) end()
  }, [text])
  const start = async (begin: (library: typeof import('./drawing')) => Drawing, kind: Shape | 'edit') => {
    drawings.get(map)?.abort()
    ending.current = new AbortController()
    drawings.set(map, ending.current)
    const { signal } = ending.current
    /** ends the collection of the presses for the drawing that is starting */
    const starting = new AbortController()
    signal.addEventListener('abort', () => {
      starting.abort()
      running.current?.stop()
      running.current = undefined
      setVertices(undefined)
      map.getContainer().removeAttribute('data-drawing')
      map.doubleClickZoom.enable()
      setDrawing(undefined)
    })
    setProblem('')
    onActive()
    // The state is set before the library is loaded, so that a click in the meantime selects no record.
    map.getContainer().setAttribute('data-drawing', '')
    // A double click ends a line. The zoom would clear the presses.
    map.doubleClickZoom.disable()
    setDrawing(kind)
    const pressed = pressesOn(map, starting.signal)
    try {
      const library = await import('./drawing')
      // The user has ended this drawing, or has started another one.
      if (signal.aborted) return
      starting.abort()
      running.current = begin(library)
      for (const event of pressed) map.getCanvas().dispatchEvent(new PointerEvent(event.type, event))
    } catch (error) {
      if (signal.aborted) return
      end()
      setProblem((error as Error).message)
    }
  }
  const draw = (shape: Shape) =>
    start(
      (library) =>
        library.draw(map, shape, (geometry) => {
          end()
          onText(textOf(geometry))
        }),
      shape,
    )
  return {
    drawing,
    problem,
    draw,
    vertices,
    edit: (geometry: Geometry) => {
      edited.current = text
      const onChange = (changed: Geometry) => {
        edited.current = textOf(changed)
        onText(edited.current)
      }
      return start((library) => library.edit(map, geometry, onChange, setVertices), 'edit')
    },
    editing: () => running.current as Editing | undefined,
    undo: () => void running.current?.undo(),
    end,
  }
}
