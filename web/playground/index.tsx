import type { Answer, Chain, OperationName } from '@geospatial-attestation/client'
import type { Feature, Geometry } from 'geojson'
import { useEffect, useRef, useState } from 'preact/hooks'
import { here, setParameters } from '../location'
import type { Map } from '../map/library'
import { WorldMap } from '../map/world-map'
import { geo } from '../service'
import { AnswerView } from './answer'
import { GeometryField, type FieldState } from './geometry-field'
import { parseInput, recordOf, recordsIn, type Parsed } from './input'
import { addLayers, frame, positionsOf, show } from './layers'
import { ask, OPERATIONS, type Question } from './question'
import type { Drawing } from './shapes'
import { problemOf, type Problem } from './words'
import './playground.css'

/** An address much longer is refused by servers on the way. */
const LONGEST_PARAMETERS = 6_000
const POLAR =
  'Lines and points nearer than 5 degrees to a pole are drawn at 85 degrees: the map has none beyond.'
const FIELDS = ['a', 'b'] as const
const isOperation = (name: string | null): name is OperationName =>
  name !== null && Object.hasOwn(OPERATIONS, name)

/** Asks a question about two geometries, and shows the answer as it was measured. */
export default function Playground() {
  const { parameters } = here.value
  const operation: OperationName = isOperation(parameters.get('op'))
    ? (parameters.get('op') as OperationName)
    : 'distance'
  const { labels, about } = OPERATIONS[operation]
  const [texts, setTexts] = useState(FIELDS.map((name) => parameters.get(name) ?? ''))
  const [radius, setRadius] = useState(parameters.get('radius') ?? '1000')
  const [chains, setChains] = useState<readonly Chain[]>([])
  const [problem, setProblem] = useState<Problem>()
  const [busy, setBusy] = useState(false)
  const [answered, setAnswered] = useState<{ question: Question; answer: Answer }>()
  const [drawing, setDrawing] = useState<Drawing>()
  const [shared, setShared] = useState(true)
  const [map, setMap] = useState<Map>()
  const asking = useRef<AbortController>(undefined)
  const active = useRef(0)

  const chain =
    chains.find(({ id, slug }) => [String(id), slug].includes(parameters.get('chain') ?? '')) ?? chains[0]
  const parsed = labels.map((_, i) => parseInput(texts[i]!))
  const fields = useRecords(parsed)
  const geometries = fields.map(({ geometry }) => geometry)

  useEffect(() => {
    geo.info().then(
      (info) => setChains(info.chains),
      (error: unknown) => setProblem(problemOf(error, operation)),
    )
    return () => asking.current?.abort()
  }, [])
  const ofRecord = fields.find(({ record }) => record)?.record?.chain
  useEffect(() => {
    if (ofRecord !== undefined && !here.value.parameters.has('chain')) setParameters({ chain: ofRecord })
  }, [ofRecord])
  // A step back in the history, or a link to this page.
  useEffect(() => {
    const named = FIELDS.map((name) => here.value.parameters.get(name))
    if (shared && named.some((text, i) => text !== null && text !== texts[i]))
      setTexts(named.map((text, i) => text ?? texts[i]!))
    const given = here.value.parameters.get('radius')
    if (given !== null && given !== radius) setRadius(given)
  }, [here.value])

  const forget = () => {
    asking.current?.abort()
    setAnswered(undefined)
    setDrawing(undefined)
    setProblem(undefined)
  }
  const inAddress = (next: readonly string[]) => {
    const fits = next.reduce((sum, text) => sum + encodeURIComponent(text).length, 0) <= LONGEST_PARAMETERS
    setShared(fits)
    setParameters(Object.fromEntries(FIELDS.map((name, i) => [name, (fits && next[i]) || undefined])))
  }
  const change = (index: number, text: string, settled = true) => {
    forget()
    const next = texts.map((before, i) => (i === index ? text : before))
    setTexts(next)
    if (settled) inAddress(next)
  }

  // The geometries, as soon as they can be read.
  const shown = JSON.stringify(geometries)
  useEffect(() => {
    if (!map) return
    let left = false
    void import('./shapes').then(({ drawGeometry }) => {
      if (left) return
      const features = geometries.flatMap((geometry, i): Feature[] => {
        try {
          return geometry ? drawGeometry(geometry, FIELDS[i]!) : []
        } catch {
          // The service says at the field what is wrong with it.
          return []
        }
      })
      show(map, 'question', features)
      if (!answered) frame(map, features)
    })
    return () => void (left = true)
  }, [map, shown])
  useEffect(() => {
    if (map) show(map, 'measured', drawing?.features ?? [])
    if (map && drawing) frame(map, drawing.features)
  }, [map, drawing])
  useRecordsOnMap(map, chain?.slug, (uid) => change(active.current, uid))

  const submit = async () => {
    forget()
    const wrong = parsed.findIndex(({ kind }) => kind === 'wrong' || kind === 'nothing')
    if (wrong >= 0) {
      const reading = parsed[wrong]!
      const sentence =
        reading.kind === 'wrong'
          ? reading.problem
          : 'Give a geometry: draw it, pick a record on the map, or paste it.'
      return setProblem({ field: wrong as 0 | 1, sentence })
    }
    const metres = operation === 'within' ? Number(radius) : undefined
    if (metres !== undefined && (radius.trim() === '' || !(metres >= 0)))
      return setProblem({ field: 'radius', sentence: 'Expected a radius in metres, at least 0.' })
    if (!chain)
      return setProblem({ field: 'chain', sentence: 'The service has not said yet which chains it has.' })
    inAddress(texts)
    setParameters({ op: operation, radius: metres === undefined ? undefined : radius, chain: chain.slug })
    const inputs = parsed.flatMap((each) => ('input' in each ? [each.input] : []))
    const question: Question = {
      ...{ operation, inputs, chainId: chain.id },
      ...(metres !== undefined && { radius: metres }),
    }
    const controller = new AbortController()
    asking.current = controller
    setBusy(true)
    try {
      const answer = await ask(question, controller.signal)
      setAnswered({ question, answer })
      void draw(question, answer)
    } catch (error) {
      if (!controller.signal.aborted) setProblem(problemOf(error, operation))
    } finally {
      setBusy(false)
    }
  }
  const draw = async ({ operation, radius }: Question, { result }: Answer) => {
    if (geometries.some((each) => each === undefined)) return
    try {
      const { drawMeasured } = await import('./shapes')
      const drawn = drawMeasured(operation, geometries as Geometry[], radius, result)
      const polar = drawn.features.some(({ geometry }) =>
        positionsOf(geometry).some(([, latitude]) => Math.abs(latitude!) > 85),
      )
      setDrawing(polar ? { ...drawn, notes: [...drawn.notes, POLAR] } : drawn)
    } catch (error) {
      setDrawing({ features: [], notes: [`The answer is not drawn: ${(error as Error).message}`] })
    }
  }
  const problemAt = (field: Problem['field']) => (problem?.field === field ? problem.sentence : undefined)

  return (
    <div class="playground">
      <div class="playground-map">
        <WorldMap
          view={{ longitude: 10, latitude: 30, zoom: 1.5 }}
          onReady={(made) => {
            addLayers(made)
            setMap(made)
            return () => setMap(undefined)
          }}
          fallback={() => (
            <p class="waiting">
              This browser shows no WebGL, so there is no map to draw on. Questions are answered all the same:
              paste geometries.
            </p>
          )}
        />
      </div>
      <div class="panel">
        <form
          noValidate
          onSubmit={(event) => {
            event.preventDefault()
            void submit()
          }}
        >
          <h1>Ask about places</h1>
          <label class="field">
            Operation
            <select
              value={operation}
              onChange={({ currentTarget }) => {
                forget()
                setParameters({ op: currentTarget.value })
              }}
            >
              {Object.entries(OPERATIONS).map(([name, { title }]) => (
                <option key={name} value={name}>
                  {title}
                </option>
              ))}
            </select>
            <span class="soft">{about}</span>
          </label>
          {labels.map((label, i) => (
            <GeometryField
              key={i}
              index={i}
              label={label}
              text={texts[i]!}
              state={fields[i]!}
              chain={chain?.slug}
              problem={problemAt(i as 0 | 1)}
              map={map}
              onText={(text, settled) => change(i, text, settled)}
              onActive={() => (active.current = i)}
            />
          ))}
          {operation === 'within' && (
            <label class="field">
              Radius, metres
              <input
                inputMode="decimal"
                value={radius}
                aria-invalid={problemAt('radius') !== undefined}
                aria-describedby="problem-radius"
                onInput={({ currentTarget }) => {
                  forget()
                  setRadius(currentTarget.value)
                }}
              />
              <FieldProblem id="problem-radius" sentence={problemAt('radius')} />
            </label>
          )}
          <label class="field">
            Chain
            <select
              value={chain?.slug}
              aria-describedby="problem-chain"
              onChange={({ currentTarget }) => {
                forget()
                setParameters({ chain: currentTarget.value })
              }}
            >
              {chains.map(({ slug }) => (
                <option key={slug} value={slug}>
                  {slug}
                </option>
              ))}
            </select>
            <FieldProblem id="problem-chain" sentence={problemAt('chain')} />
          </label>
          <button class="primary" disabled={busy}>
            {busy ? 'Asking ...' : 'Ask'}
          </button>
          <FieldProblem id="problem-general" sentence={problemAt('general')} />
          {!shared && (
            <p class="soft">These geometries are too long for a link: the address does not hold them.</p>
          )}
        </form>
        {answered && chain && (
          <AnswerView
            {...answered}
            chain={chain}
            notes={drawing?.notes ?? []}
            drawn={drawing && rolesOf(drawing)}
          />
        )}
      </div>
    </div>
  )
}

function FieldProblem({ id, sentence }: { id: string; sentence: string | undefined }) {
  return (
    <span id={id} class="problem" role={sentence === undefined ? undefined : 'alert'}>
      {sentence}
    </span>
  )
}

/** What is drawn, for those who do not see it: tests. */
const rolesOf = ({ features }: Drawing) =>
  [...new Set(features.map(({ properties }) => String(properties!.role)))].join(' ')

/** What the fields stand for; records are looked up. */
function useRecords(parsed: readonly Parsed[]): readonly FieldState[] {
  const [found, setFound] = useState<Readonly<Record<string, FieldState>>>({})
  const wanted = parsed.flatMap((each) => (each.kind === 'uid' ? [each.uid] : []))
  useEffect(() => {
    for (const uid of wanted)
      if (!found[uid])
        void recordOf(uid)
          .then((record): FieldState =>
            record
              ? { record, ...(record.geometry && { geometry: record.geometry }) }
              : { note: 'The index has no such record; the service looks it up on the chain.' },
          )
          .catch((): FieldState => ({ note: 'The record cannot be shown now: the service does not answer.' }))
          .then((state) => setFound((before) => ({ ...before, [uid]: state })))
  }, [wanted.join()])
  return parsed.map((each) => {
    if (each.kind === 'uid') return found[each.uid] ?? { note: 'Looking the record up ...' }
    return each.kind === 'geometry' ? { geometry: each.geometry } : {}
  })
}

/** A record as the point where it begins, to be clicked. */
function marked({ geometry, ...record }: Feature): Feature[] {
  const [first] = geometry ? positionsOf(geometry) : []
  return first ? [{ ...record, geometry: { type: 'Point', coordinates: first } }] : []
}

/** Shows the chain's records in view, to be picked. */
function useRecordsOnMap(
  map: Map | undefined,
  chain: string | undefined,
  onPick: (uid: string) => void,
): void {
  const pick = useRef(onPick)
  pick.current = onPick
  useEffect(() => {
    if (!map || chain === undefined) return
    let controller = new AbortController()
    const load = () => {
      controller.abort()
      controller = new AbortController()
      const bounds = map.getBounds()
      const wide = bounds.getEast() - bounds.getWest() >= 360
      const side = (longitude: number) =>
        wide ? Math.sign(longitude) * 180 : longitude - 360 * Math.round(longitude / 360)
      const [west, east] = wide ? [-180, 180] : [side(bounds.getWest()), side(bounds.getEast())]
      const bbox = [west, Math.max(-90, bounds.getSouth()), east, Math.min(90, bounds.getNorth())].join()
      recordsIn(chain, bbox, controller.signal).then(
        ({ features }) => show(map, 'records', features.flatMap(marked)),
        // The records are an offer: the question can be asked without.
        () => {},
      )
    }
    const click = ({ features }: { features?: { properties: { uid?: unknown } }[] }) => {
      const uid = features?.[0]?.properties.uid
      if (typeof uid === 'string' && !map.getContainer().closest('[data-drawing]')) pick.current(uid)
    }
    map.on('moveend', load)
    map.on('click', 'records', click)
    load()
    return () => {
      controller.abort()
      map.off('moveend', load)
      map.off('click', 'records', click)
    }
  }, [map, chain])
}
