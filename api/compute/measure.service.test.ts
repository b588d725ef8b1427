import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { GeometryError, readGeometry } from '../../src/geodesy'
import { MEASURE_WORKER } from '../../test/api'
import { Measurer, ReadGeometry, referenceOf, type MeasureInput } from './measure'
import { ComputeError } from '../http/problems'
import { OWN_WORK } from '../http/work'
import { sentence, testSentences } from '../../test/sentences'

const measurers = [new Measurer(60_000, MEASURE_WORKER), new Measurer(300, MEASURE_WORKER)] as const
const WORK = { ...OWN_WORK, client: 'a client' }
afterAll(() => Promise.all(measurers.map((measurer) => measurer.close())))

const ring = (vertices: number, radius: number, height?: number) => {
  const open = Array.from({ length: vertices }, (_, i) => [
    10 + radius * Math.cos((2 * Math.PI * i) / vertices),
    50 + radius * Math.sin((2 * Math.PI * i) / vertices),
    ...(height === undefined ? [] : [height]),
  ])
  return { type: 'Polygon', coordinates: [[...open, open[0]!]] }
}
const input = (value: unknown, path = 'geometry') => ({ reading: readGeometry(value, path) })

describe('the measurer', () => {
  test('returns the same result and references in a worker as in the main thread', async () => {
    const measure = (operation: string, ...inputs: MeasureInput[]) =>
      measurers[0].measure({ operation, inputs, numbers: [] }, WORK)
    // The 900 repeated positions make the input large without changing the polygon.
    const large = {
      type: 'Polygon',
      coordinates: ring(900, 1, 5).coordinates.map((positions) => positions.flatMap((each) => [each, each])),
    }
    const refOf = (value: unknown) => referenceOf(readGeometry(value, 'geometry'))
    const { outcome } = await measure('area', input(ring(900, 1, 5)))
    expect(await measure('area', input(large))).toEqual({ outcome, refs: [await refOf(large)] })
    const both = [input(ring(2_000, 1, 5)), { ref: '0x12', ...input(ring(900, 2)) }]
    expect(await measure('intersects', ...both)).toEqual({
      ...{ outcome: true, refs: [await refOf(ring(2_000, 1, 5)), '0x12'] },
    })
  })
  test('leaves the geometries of a task in this thread, so that they can be measured again', async () => {
    const inputs = [input(ring(900, 2)), input(ring(600, 1, 5))]
    const readings = JSON.stringify(inputs)
    const measure = (operation: string) => measurers[0].measure({ operation, inputs, numbers: [] }, WORK)
    for (const outcome of [true, true])
      expect(await measure('contains')).toEqual({ outcome, refs: [expect.any(String), expect.any(String)] })
    expect((await measure('distance')).outcome).toBe(0n)
    expect(JSON.stringify(inputs)).toBe(readings)
  })
  test('returns the same error text for a refused polygon in a worker', async () => {
    const crossed = ring(3_000, 1)
    ;[crossed.coordinates[0]![100], crossed.coordinates[0]![102]] = [
      crossed.coordinates[0]![102]!,
      crossed.coordinates[0]![100]!,
    ]
    const error = (await measurers[0]
      .measure({ operation: 'area', inputs: [input(crossed)], numbers: [] }, WORK)
      .catch((error: unknown) => error)) as GeometryError
    expect(error).toBeInstanceOf(GeometryError)
    expect(error.message).toEqual(sentence())
  })
  test('moves a geometry of few positions to a worker if it takes long to measure', async () => {
    const parallel = (lat: number) =>
      input({
        type: 'LineString',
        coordinates: Array.from({ length: 480 }, (_, i) => [(360 * i) / 480 - 180, lat]),
      })
    const error = await measurers[1]
      .measure({ operation: 'distance', inputs: [parallel(80), parallel(89.9999999)], numbers: [] }, WORK)
      .catch((error: unknown) => error)
    expect(error).toBeInstanceOf(ComputeError)
  })
  // Two interleaved combs with long teeth: each edge is close to every other edge.
  const comb = (shift: number) => ({
    type: 'MultiLineString',
    coordinates: Array.from({ length: 50_000 }, (_, i) => [
      [i / 1e6 + shift, 0],
      [i / 1e6 + shift + 1, 1],
    ]),
  })
  let combs: ReturnType<typeof input>[] | undefined
  test.each<[share: number, budgetMs: number | undefined, names: RegExp]>([
    [1, undefined, /Send fewer positions/],
    [1, 200, /previous operations/],
    [0.6, undefined, /Send fewer positions/],
    [0.4, undefined, /overloaded/],
    [0, 200, /overloaded/],
  ])(
    'ends a slow measurement on %d of a processor with the reason, and runs the next measurement',
    async (share, budgetMs, names) => {
      let calls = 0
      // The second call starts when the time of the batch is used up.
      const measurer = new Measurer(300, MEASURE_WORKER, () => 1_000 * share * (budgetMs ?? 300) * calls++)
      const inputs = (combs ??= [input(comb(0)), input(comb(1e-7))])
      const error = await measurer
        .measure({ operation: 'contains', inputs, numbers: [] }, WORK, budgetMs)
        .catch((error: unknown) => error)
      await measurer.close()
      expect(error).toBeInstanceOf(ComputeError)
      expect((error as ComputeError).slug).toBe('computation-error')
      expect((error as ComputeError).message).toEqual(sentence('', names))
      const next = await measurers[0].measure(
        { operation: 'intersects', inputs: [input(ring(2_000, 1)), input(ring(2_000, 2))], numbers: [] },
        WORK,
      )
      expect(next.outcome).toBe(true)
    },
  )
})

describe('the body reader in a worker', () => {
  const read = async (body: unknown) =>
    (await measurers[0].read(
      [Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))],
      WORK,
    )) as Record<string, unknown>
  const line = (...coordinates: number[][]) => ({ type: 'LineString', coordinates })
  test('reads geometries of a body and of a batch as in the main thread, and leaves other fields unchanged', async () => {
    const feature = { type: 'Feature', properties: { type: 'x' }, geometry: ring(50, 1) }
    const { from, to, rest, operations } = await read({
      from: feature,
      to: '0x12',
      rest: { uid: 'a', uri: 'b' },
      operations: [{ operation: 'area', geometry: ring(50, 1) }, null, 'x'],
    })
    expect([to, rest]).toEqual(['0x12', { uid: 'a', uri: 'b' }])
    const reading = readGeometry(feature, 'from')
    expect((from as ReadGeometry).input).toEqual({ reading, ref: await referenceOf(reading) })
    const [first, ...others] = operations as [{ operation: string; geometry: ReadGeometry }]
    expect([first.operation, first.geometry.input.ref, others]).toEqual([
      'area',
      await referenceOf(reading),
      [null, 'x'],
    ])
    expect(first.geometry.input.reading.path).toBe('geometry')
  })
  test('never uses a cached reference for another geometry', async () => {
    // References of smaller geometries are not cached.
    const tail = Array.from({ length: 1_000 }, (_, i) => [i / 100, 7])
    const low = [[1, 2], [3, 4], [5, 6], ...tail]
    const high = low.map((position) => [...position, 8])
    const alike = [
      line(...low),
      { type: 'MultiPoint', coordinates: low },
      { type: 'MultiLineString', coordinates: [low] },
      line(...high),
      line(high[0]!, low[1]!, ...high.slice(2)),
      line(...low.with(2, [5, 6.000000000000001])),
      line(...low.with(0, [0, 2])),
      line(...low.with(0, [-0, 2])),
    ]
    for (let round = 0; round < 4; round++)
      for (const geometry of alike) {
        const text = JSON.stringify({ geometry }).replace(
          '[[0,2]',
          Object.is((geometry.coordinates[0] as number[])[0], -0) ? '[[-0,2]' : '[[0,2]',
        )
        expect(((await read(text)).geometry as ReadGeometry).input.ref).toBe(
          await referenceOf(readGeometry((JSON.parse(text) as { geometry: unknown }).geometry, 'geometry')),
        )
      }
  })
  test('moves the memory of a body to the worker, returns its geometries, and counts its time', async () => {
    let spent = 0
    const body = Buffer.from(JSON.stringify({ geometry: ring(5_000, 1) }))
    const { geometry } = (await measurers[0].read([body], {
      ...WORK,
      spend: (ms) => (spent += ms),
    })) as { geometry: ReadGeometry }
    expect(body).toHaveLength(0)
    expect(spent).toBeGreaterThan(0)
    expect(geometry.input.reading).toEqual(readGeometry(ring(5_000, 1), 'geometry'))
  })
  test('throws for an invalid geometry when it is used, and for invalid JSON immediately', async () => {
    const { from, to } = await read({
      from: { type: 'Point', coordinates: [200, 0] },
      to: { type: 'Circle' },
    })
    expect(() => (from as ReadGeometry).input).toThrow(GeometryError)
    expect(() => (to as ReadGeometry).input).toThrow(sentence('to.type'))
    await expect(read('{"a":')).rejects.toThrow(sentence())
    await expect(read('{"__proto__":{}}')).rejects.toThrow('__proto__')
    expect([
      await read('null'),
      await read('5'),
      await read('[{"type":"Point","coordinates":[1,2]}]'),
    ]).toEqual([null, 5, [{ type: 'Point', coordinates: [1, 2] }]])
  })
  test('refuses a body with more than 40 geometries or 10,000 other values', async () => {
    const points = (count: number) =>
      Array.from({ length: count }, () => ({ from: { type: 'Point', coordinates: [1, 2] } }))
    expect(((await read({ operations: points(40) })).operations as unknown[]).length).toBe(40)
    await expect(
      read({ operations: points(20).map(({ from }) => ({ from, to: from, third: from })) }),
    ).rejects.toThrow(sentence())
    await expect(read(Object.fromEntries(points(41).map(({ from }, i) => [i, from])))).rejects.toThrow(
      sentence(),
    )
    await expect(read({ x: Array(10_001).fill([]) })).rejects.toThrow(sentence())
    await expect(read({ x: Array(100).fill(Array(100).fill(1)) })).rejects.toThrow(sentence())
  })
  test(
    'caches the prepared form of a geometry at its second use, up to 20,000 positions, with the same result',
    { tags: ['slow'] },
    async () => {
      const { geometry } = (await read({ geometry: ring(9_000, 1) })) as { geometry: ReadGeometry }
      const area = async () =>
        measurers[0].measure(
          {
            operation: 'area',
            inputs: [
              measurers[0].recall(
                ((await read({ geometry: ring(9_000, 1) })) as { geometry: ReadGeometry }).geometry.input,
              ),
            ],
            numbers: [],
          },
          WORK,
        )
      const first = await area()
      expect(measurers[0].recall(geometry.input).prepared).toBeDefined()
      expect(await area()).toEqual(first)
      const large = async () =>
        measurers[0].recall(
          ((await read({ geometry: ring(20_001, 1) })) as { geometry: ReadGeometry }).geometry.input,
        )
      for (let i = 0; i < 3; i++) expect((await large()).prepared).toBeUndefined()
    },
  )
})

test(
  'a geometry that does not fit into the cache evicts no geometry in use',
  { tags: ['slow'] },
  async () => {
    const measurer = new Measurer()
    const readingOf = (i: number) => readGeometry(ring(19_000 + i, 1), 'geometry')
    let kept = 0
    while (measurer.keep(`${kept}`, readingOf(kept)).prepared) kept++
    expect(kept).toBeGreaterThan(20)
    for (let i = 0; i < kept; i++) expect(measurer.known(`${i}`)?.prepared).toBeDefined()
    expect(measurer.known(`${kept}`)).toBeUndefined()
    await measurer.close()
  },
)

describe('one client that floods the workers', () => {
  // A task that lasts until the test releases it, and a task that ends immediately.
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'workers-')), 'worker.cjs')
  writeFileSync(
    file,
    "exports.measure = ({ operation, numbers }) => { if (operation === 'hold') Atomics.wait(numbers, 0, 0); return { outcome: true, refs: [operation] } }",
  )
  const flooded = new Measurer(600_000, file)
  afterAll(async () => {
    await flooded.close()
    rmSync(path.dirname(file), { recursive: true })
  })
  test('cannot occupy every worker, gets 429 beyond its queue, and is served eventually', async () => {
    const gate = new Int32Array(new SharedArrayBuffer(4))
    const done: string[] = []
    const ask = (operation: string, client: string) =>
      flooded
        .measure(
          { operation, inputs: [input(ring(1_001, 1))], numbers: gate as unknown as number[] },
          { ...OWN_WORK, client },
        )
        .then(
          () => void done.push(client),
          (error: ComputeError) => void done.push(`${client} ${error.slug} ${error.retryAfter}`),
        )
    const flood = Array.from({ length: 19 }, () => ask('hold', 'flood'))
    // Two requests run and sixteen wait.
    await flood[18]
    expect(done).toEqual(['flood rate-limited 5'])
    for (let i = 0; i < 5; i++) await ask('answer', 'other')
    await Promise.all([ask('answer', 'other'), ask('answer', 'third')])
    expect(done.slice(1).sort()).toEqual([...Array(6).fill('other'), 'third'])
    Atomics.store(gate, 0, 1)
    Atomics.notify(gate, 0)
    await Promise.all(flood)
    expect(done.filter((client) => client === 'flood')).toHaveLength(18)
  })
  test('releases its workers when it disconnects', async () => {
    const gate = new Int32Array(new SharedArrayBuffer(4))
    const leave = new AbortController()
    let spent = 0
    const work = { ...OWN_WORK, client: 'flood', signal: leave.signal, spend: (ms: number) => (spent += ms) }
    const ask = (operation: string) =>
      flooded.measure(
        { operation, inputs: [input(ring(1_001, 1))], numbers: gate as unknown as number[] },
        operation === 'hold' ? work : { ...OWN_WORK, client: 'flood' },
      )
    const held = Array.from({ length: 4 }, () => ask('hold'))
    leave.abort(new Error('gone'))
    expect(await Promise.allSettled(held)).toEqual(
      Array(4).fill({ status: 'rejected', reason: new Error('gone') }),
    )
    expect(spent).toBeGreaterThan(0)
    expect((await ask('answer')).refs).toEqual(['answer'])
  })
})

testSentences()
