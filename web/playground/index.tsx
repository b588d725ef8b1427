import type { Answer } from '@geospatial-attestation/client'
import type { Feature, Geometry } from 'geojson'
import { useEffect, useRef, useState } from 'preact/hooks'
import { readMeters } from '../../src/geodesy/centimeters'
import { isOperation, OPERATION_ROWS, rowOf, TEXTS, type OperationName } from '../../src/operations/table'
import { here, setParameters } from '../location'
import { frame, positionsOf, show } from '../map/layers'
import type { Map } from '../map/library'
import type { Drawing } from '../map/shapes'
import type { RecordKey } from '../map/records'
import { MapWithPanel } from '../panel'
import { ChainField, useChains } from '../panel/chain-field'
import { FieldProblem } from '../panel/field-problem'
import { GeometryField, type FieldState } from '../panel/geometry-field'
import { parseInput, recordOf, type Parsed } from '../panel/input'
import { isShareable } from '../panel/shareable'
import { AnswerView } from './answer'
import { ask, type Question } from './question'
import { problemOf, type Problem } from './words'
import './playground.css'

/** Characters of the geometries in the page's address. Some servers reject much longer addresses. */
const LONGEST_PARAMETERS = 6_000
const POLAR =
  'Lines and points nearer than 5 degrees to a pole are drawn at 85 degrees: the map has none beyond.'
const FIELDS = ['a', 'b'] as const
/** Value of a number that the page's address does not contain. */
const USUAL_NUMBER = '1000'

/** Address parameters that remove the numbers of all operations. */
const withoutNumbers = () =>
  Object.fromEntries(
    OPERATION_ROWS.flatMap(([, row]) => (row.parameters ?? []).map(({ name }) => [name, undefined])),
  )

/** Page that asks a question about geometries, and draws what the answer measured. */
export default function Playground() {
  const { parameters } = here.value
  const named = parameters.get('op') ?? ''
  const operation: OperationName = isOperation(named) ? named : 'distance'
  const { inputs: places, parameters: numbers = [] } = rowOf(operation)
  const [texts, setTexts] = useState(FIELDS.map((name) => parameters.get(name) ?? ''))
  const [written, setWritten] = useState<Readonly<Record<string, string>>>({})
  const numberText = (name: string) => written[name] ?? parameters.get(name) ?? USUAL_NUMBER
  const [problem, setProblem] = useState<Problem>()
  const [busy, setBusy] = useState(false)
  const [answered, setAnswered] = useState<{ question: Question; answer: Answer }>()
  const [drawing, setDrawing] = useState<Drawing>()
  const [shared, setShared] = useState(true)
  const [map, setMap] = useState<Map>()
  const asking = useRef<AbortController>(undefined)
  const active = useRef(0)

  const { chains, chain } = useChains((error) => setProblem(problemOf(error, operation)))
  const parsed = places.map((_, i) => parseInput(texts[i]!))
  const fields = useRecords(parsed)
  const geometries = fields.map(({ geometry }) => geometry)

  useEffect(() => () => asking.current?.abort(), [])
  const ofRecord = fields.find(({ record }) => record)?.record?.chain
  useEffect(() => {
    if (ofRecord !== undefined && !here.value.parameters.has('chain')) setParameters({ chain: ofRecord })
  }, [ofRecord])
  // The address changes by a step back in the history or a link to this page.
  useEffect(() => {
    const named = FIELDS.map((name) => here.value.parameters.get(name))
    if (shared && named.some((text, i) => text !== null && text !== texts[i]))
      setTexts(named.map((text, i) => text ?? texts[i]!))
  }, [here.value])
  const inAddressNow = numbers.map(({ name }) => parameters.get(name)).join()
  useEffect(() => setWritten({}), [inAddressNow])

  const forget = () => {
    asking.current?.abort()
    setAnswered(undefined)
    setDrawing(undefined)
    setProblem(undefined)
  }
  const inAddress = (next: readonly string[]) => {
    const open = next.map((text) => (isShareable(text) ? text : ''))
    const fits = open.reduce((sum, text) => sum + encodeURIComponent(text).length, 0) <= LONGEST_PARAMETERS
    setShared(fits)
    setParameters(Object.fromEntries(FIELDS.map((name, i) => [name, (fits && open[i]) || undefined])))
  }
  const change = (index: number, text: string) => {
    forget()
    const next = texts.map((before, i) => (i === index ? text : before))
    setTexts(next)
    inAddress(next)
  }

  // Draws each geometry when its text can be parsed.
  const shown = JSON.stringify(geometries)
  useEffect(() => {
    if (!map) return
    let left = false
    void import('../map/shapes').then(({ drawGeometry }) => {
      if (left) return
      const features = geometries.flatMap((geometry, i): Feature[] => {
        try {
          return geometry ? drawGeometry(geometry, FIELDS[i]!) : []
        } catch {
          // The service rejects the geometry with a reason, which is shown at the field.
          return []
        }
      })
      show(map, 'given', features)
      if (!answered) frame(map, features)
    })
    return () => void (left = true)
  }, [map, shown])
  useEffect(() => {
    if (map) show(map, 'measured', drawing?.features ?? [])
    if (map && drawing) frame(map, drawing.features)
  }, [map, drawing])
  const pick = useRef((_: RecordKey) => {})
  pick.current = ({ uid }) => change(active.current, uid)

  const submit = async () => {
    forget()
    const wrong = parsed.findIndex(({ kind }) => kind === 'wrong' || kind === 'nothing')
    if (wrong >= 0) {
      const reading = parsed[wrong]!
      const sentence =
        reading.kind === 'wrong'
          ? reading.problem
          : 'Give a geometry: draw it, pick a record on the map, or paste it.'
      return setProblem({ field: wrong, sentence })
    }
    for (const { name, label, unit } of numbers)
      if (numberText(name).trim() === '' || !(Number(numberText(name)) >= 0))
        return setProblem({
          ...{ field: name, sentence: `Expected a ${label.toLowerCase()} in ${unit}, at least 0.` },
        })
    if (!chain)
      return setProblem({ field: 'chain', sentence: 'The service has not said yet which chains it has.' })
    inAddress(texts)
    const values = numbers.map(({ name }) => [name, numberText(name)] as const)
    setParameters({ ...withoutNumbers(), ...Object.fromEntries(values), op: operation, chain: chain.slug })
    const question: Question = {
      ...{ operation, chainId: chain.id },
      inputs: parsed.flatMap((each) => ('input' in each ? [each.input] : [])),
      numbers: values.map(([, text]) => readMeters(text)),
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
  const draw = async ({ operation, numbers }: Question, { result }: Answer) => {
    if (geometries.some((each) => each === undefined)) return
    try {
      const { drawMeasured } = await import('../map/shapes')
      const drawn = drawMeasured(operation, geometries as Geometry[], numbers[0], result)
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
    <MapWithPanel
      onMap={(made) => setMap(made?.map)}
      onPick={(record) => pick.current(record)}
      chain={chain?.slug}
      withoutMap="Questions are answered all the same: paste geometries."
    >
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
            {OPERATION_ROWS.map(([name]) => (
              <option key={name} value={name}>
                {name[0]!.toUpperCase() + name.slice(1)}
              </option>
            ))}
          </select>
          <span class="soft">{TEXTS[operation].summary}</span>
        </label>
        {places.map(({ label }, i) => (
          <GeometryField
            key={i}
            index={i}
            label={label}
            text={texts[i]!}
            state={fields[i]!}
            chain={chain?.slug}
            problem={problemAt(i)}
            map={map}
            mayBePrivate={parsed[i]}
            placeholder="2.2945, 48.8584, GeoJSON, or the UID of a record"
            onText={(text) => change(i, text)}
            onActive={() => (active.current = i)}
          />
        ))}
        {numbers.map(({ name, label, unit }) => (
          <label key={name} class="field">
            {label}, {unit}
            <input
              inputMode="decimal"
              value={numberText(name)}
              aria-invalid={problemAt(name) !== undefined}
              aria-describedby={`problem-${name}`}
              onInput={({ currentTarget }) => {
                forget()
                setWritten((before) => ({ ...before, [name]: currentTarget.value }))
              }}
            />
            <FieldProblem id={`problem-${name}`} sentence={problemAt(name)} />
          </label>
        ))}
        <ChainField
          chains={chains}
          chain={chain}
          problem={problemAt('chain')}
          onChain={(slug) => {
            forget()
            setParameters({ chain: slug })
          }}
        />
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
    </MapWithPanel>
  )
}

/** Roles of the drawn features, for tests, which cannot see the map. */
const rolesOf = ({ features }: Drawing) =>
  [...new Set(features.map(({ properties }) => String(properties!.role)))].join(' ')

/** Geometries, records or notes of the fields. Looks up records by UID. */
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
