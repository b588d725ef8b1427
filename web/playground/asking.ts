import type { Answer, QuorumAnswer } from '@geospatial-attestation/client'
import type { Feature, Geometry } from 'geojson'
import { useEffect, useRef, useState } from 'preact/hooks'
import { positionsOf } from '../map/extent'
import { frame, show } from '../map/layers'
import type { Map } from '../map/library'
import { reasonOf, say } from '../messages'
import { ask, type Question } from './question'
import { namedQuorum } from './quorum'

export interface Drawn {
  features: Feature[]
  notes: string[]
}

/** Asks questions, one at a time, and draws the measured parts of each answer. */
export function useAsking(
  map: Map | undefined,
  geometries: readonly (Geometry | undefined)[],
  onFailure: (error: unknown) => void,
) {
  const [isBusy, setBusy] = useState(false)
  /** true while a question waits until its chain is known */
  const [isWaiting, setWaiting] = useState(false)
  const [answered, setAnswered] = useState<{ question: Question; answer: Answer | QuorumAnswer }>()
  const [drawing, setDrawing] = useState<Drawn>()
  const [apart, setApart] = useState<number>()
  const asking = useRef<AbortController>(undefined)
  useEffect(() => () => asking.current?.abort(), [])
  const framed = useRef<Drawn>(undefined)
  useEffect(() => {
    if (!map) return
    show(map, 'measured', drawing?.features ?? [])
    // The map does not move when the form is shown again.
    if (drawing && drawing !== framed.current) frame(map, drawing.features)
    framed.current = drawing
  }, [map, drawing])
  useEffect(() => () => map && show(map, 'measured', []), [map])
  // A record that a field names may be loaded after the answer. Another question forgets the answer.
  useEffect(() => {
    if (!answered) return
    let left = false
    const { question, answer } = answered
    if (question.operation === 'within') void apartOf(geometries).then((meters) => left || setApart(meters))
    void measured(question, answer, geometries).then((drawn) => left || (drawn && setDrawing(drawn)))
    return () => void (left = true)
  }, [answered, JSON.stringify(geometries)])

  return {
    ...{ isBusy: isBusy || isWaiting, isWaiting, answered, drawing, apart },
    wait: () => setWaiting(true),
    forget: () => {
      asking.current?.abort()
      setWaiting(false)
      setAnswered(undefined)
      setDrawing(undefined)
      setApart(undefined)
    },
    ask: async (question: Question) => {
      const controller = new AbortController()
      asking.current = controller
      setBusy(true)
      try {
        const answer = await ask(question, controller.signal, namedQuorum())
        setAnswered({ question, answer })
      } catch (error) {
        if (!controller.signal.aborted) onFailure(error)
      } finally {
        // A later question may be waiting.
        if (asking.current === controller) setBusy(false)
      }
    },
  }
}

/** Distance of two geometries in metres; undefined if one of them is unknown or cannot be measured. */
async function apartOf([a, b]: readonly (Geometry | undefined)[]): Promise<number | undefined> {
  if (!a || !b) return undefined
  try {
    const { measurable } = await import('@geospatial-attestation/client/kernel')
    return measurable(a).distance(measurable(b))
  } catch {
    return undefined
  }
}

/** Drawing of the measured parts of an answer; undefined if a geometry is unknown. */
async function measured(
  { operation, numbers }: Question,
  { result }: Pick<Answer, 'result'>,
  geometries: readonly (Geometry | undefined)[],
): Promise<Drawn | undefined> {
  if (geometries.some((each) => each === undefined)) return undefined
  try {
    const { drawMeasured } = await import('../map/shapes')
    const drawn = drawMeasured(operation, geometries as Geometry[], numbers[0], result)
    const notes = drawn.notes.map((note) => say.drawing.notes[note])
    const isPolar = drawn.features.some(({ geometry }) =>
      positionsOf(geometry).some(([, latitude]) => Math.abs(latitude!) > 85),
    )
    return { features: drawn.features, notes: isPolar ? [...notes, say.playground.polar] : notes }
  } catch (error) {
    return { features: [], notes: [say.playground.notDrawn(reasonOf(error))] }
  }
}
