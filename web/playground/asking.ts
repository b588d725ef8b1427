import type { Answer } from '@geospatial-attestation/client'
import type { Geometry } from 'geojson'
import { useEffect, useRef, useState } from 'preact/hooks'
import { frame, positionsOf, show } from '../map/layers'
import type { Map } from '../map/library'
import type { Drawing } from '../map/shapes'
import { ask, type Question } from './question'

const POLAR = 'Lines and points within 5 degrees of a pole are drawn at 85 degrees, where the map ends.'

/** Asks questions, one at a time, and draws what each answer measured. */
export function useAsking(
  map: Map | undefined,
  geometries: readonly (Geometry | undefined)[],
  onFailure: (error: unknown) => void,
) {
  const [isBusy, setBusy] = useState(false)
  const [answered, setAnswered] = useState<{ question: Question; answer: Answer }>()
  const [drawing, setDrawing] = useState<Drawing>()
  const asking = useRef<AbortController>(undefined)
  useEffect(() => () => asking.current?.abort(), [])
  useEffect(() => {
    if (map) show(map, 'measured', drawing?.features ?? [])
    if (map && drawing) frame(map, drawing.features)
  }, [map, drawing])

  return {
    ...{ isBusy, answered, drawing },
    forget: () => {
      asking.current?.abort()
      setAnswered(undefined)
      setDrawing(undefined)
    },
    ask: async (question: Question) => {
      const controller = new AbortController()
      asking.current = controller
      setBusy(true)
      try {
        const answer = await ask(question, controller.signal)
        setAnswered({ question, answer })
        void measured(question, answer, geometries).then((drawn) => drawn && setDrawing(drawn))
      } catch (error) {
        if (!controller.signal.aborted) onFailure(error)
      } finally {
        setBusy(false)
      }
    },
  }
}

/** Drawing of what an answer measured; undefined if a geometry is unknown. */
async function measured(
  { operation, numbers }: Question,
  { result }: Answer,
  geometries: readonly (Geometry | undefined)[],
): Promise<Drawing | undefined> {
  if (geometries.some((each) => each === undefined)) return undefined
  try {
    const { drawMeasured } = await import('../map/shapes')
    const drawn = drawMeasured(operation, geometries as Geometry[], numbers[0], result)
    const isPolar = drawn.features.some(({ geometry }) =>
      positionsOf(geometry).some(([, latitude]) => Math.abs(latitude!) > 85),
    )
    return isPolar ? { ...drawn, notes: [...drawn.notes, POLAR] } : drawn
  } catch (error) {
    return { features: [], notes: [`Could not draw the answer: ${(error as Error).message}`] }
  }
}
