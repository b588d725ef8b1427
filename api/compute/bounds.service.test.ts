import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { FastifyInstance } from 'fastify'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { LOCAL_CHAIN, LOCAL_SIGNER_KEY, type LocalChain } from '../../dev/chain'
import { freePort } from '../../dev/services'
import { keySigner, type Signer } from '../../src/eas'
import { assertBound } from '../../src/geodesy/bounds'
import { COMPUTE } from '../../src/operations'
import { MEASURE_WORKER, buildTestServer } from '../../test/api'
import { startTestChain } from '../../test/chains'
import { createMigratedDatabase, temporaryFolder, type TestDatabase } from '../../test/database'
import { Measurer } from './measure'

/** Tests requests in which a bound of the kernel does not hold: nothing may be signed. */

let chain: LocalChain
let database: TestDatabase
let app: FastifyInstance
let close: () => Promise<void>
const folder = temporaryFolder()
const signer = { sign: vi.fn<Signer['sign']>() }

beforeAll(async () => {
  ;[chain, database] = await Promise.all([
    freePort().then((port) => startTestChain({ port })),
    createMigratedDatabase(),
  ])
  // A copy of the kernel in which every bound check fails.
  const worker = path.join(folder, 'worker.js')
  const bounds = path.resolve(MEASURE_WORKER, '../../../src/geodesy/bounds.js')
  writeFileSync(
    worker,
    `const bounds = require(${JSON.stringify(bounds)})
    const { assertBound } = bounds
    bounds.checkBoundsEvery(1)
    bounds.assertBound = (bound) => assertBound(bound, () => false)
    module.exports = require(${JSON.stringify(MEASURE_WORKER)})`,
  )
  const keyed = await keySigner(LOCAL_SIGNER_KEY)
  signer.sign.mockImplementation((...given) => keyed.sign(...given))
  ;({ app, close } = await buildTestServer({
    ...{ databaseUrl: database.url, rpcUrl: chain.url },
    identity: { signer: { ...keyed, ...signer } },
    measurer: new Measurer(20_000, worker),
  }))
})
afterEach(() => {
  vi.restoreAllMocks()
  signer.sign.mockClear()
})
afterAll(() => close?.())

const ask = (operation: string, body: object) =>
  app.inject({
    method: 'POST',
    url: `/compute/v0/${operation}`,
    payload: { chainId: LOCAL_CHAIN.id, ...body },
  })
const violations = async () =>
  Number(/^geospatial_bound_violations_total (\d+)$/m.exec((await app.inject('/metrics')).body)![1])
/** The expected error: like any fault of the service, it has status 500 and does not name the bound. */
const REFUSAL = [
  500,
  'application/problem+json; charset=utf-8',
  {
    ...{ type: 'https://x.example/errors/computation-error', title: 'Computation Error', status: 500 },
    detail: expect.not.stringMatching(/bound|one is two/),
  },
]
const ring = (vertices: number) => {
  const open = Array.from({ length: vertices }, (_, i) => {
    const angle = (2 * Math.PI * i) / vertices
    return [10 + Math.cos(angle), 50 + Math.sin(angle)]
  })
  return { type: 'Polygon', coordinates: [[...open, open[0]!]] }
}

const LINE = { type: 'LineString', coordinates: ring(4).coordinates[0] }

test.each([
  ['area', { geometry: ring(4) }],
  [
    'batch',
    {
      operations: [
        { operation: 'length', geometry: LINE },
        { operation: 'area', geometry: ring(4) },
      ],
    },
  ],
])('the API refuses %s if a bound fails on the event loop', async (operation, body) => {
  const before = await violations()
  const sound = await ask(operation, body)
  expect([sound.statusCode, signer.sign.mock.calls.length > 0, await violations()]).toEqual([
    200,
    true,
    before,
  ])
  signer.sign.mockClear()
  vi.spyOn(COMPUTE, 'area').mockImplementation(() => {
    for (let call = 0; call < 1_000; call++) assertBound('one is two', () => false)
    return 0n
  })
  const refused = await ask(operation, body)
  expect([refused.statusCode, refused.headers['content-type'], refused.json()]).toMatchObject(REFUSAL)
  expect(signer.sign).not.toHaveBeenCalled()
  expect(await violations()).toBe(before + 1)
})

test.each([
  ['distance', { from: ring(2_000), to: ring(2_000) }],
  ['intersects', { geometry1: ring(2_000), geometry2: ring(1_000) }],
])('the API refuses %s if a bound fails in a worker', async (operation, body) => {
  const before = await violations()
  const refused = await ask(operation, body)
  expect([refused.statusCode, refused.headers['content-type'], refused.json()]).toMatchObject(REFUSAL)
  expect(signer.sign).not.toHaveBeenCalled()
  expect(await violations()).toBe(before + 1)
})
