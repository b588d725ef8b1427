import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FastifyInstance } from 'fastify'
import { LOCAL_CHAIN, type LocalChain } from '../../dev/chain'
import { freePort } from '../../dev/services'
import { buildTestServer } from '../../test/api'
import { startTestChain } from '../../test/chains'
import { hunt } from '../../test/seed'
import { readBody, readUsual } from './body-reader'

/** Bodies with more bytes are read by a worker (api/http/guard.ts). */
const LARGE = 70_000

const RING = '[[10,50],[11.50,50],[11,51.25],[10,50.0]]'
/** GeoJSON as clients write it, and inputs of other forms, some of which are rejected. */
const INPUTS = [
  '{"type":"Point","coordinates":[1.5,2]}',
  '{ "coordinates" :\n[ -0.0 , 2.50,\t3 ] , "type": "Point", "bbox": [1,2,3], "name": "Großer \u{1F30D}" }',
  '{"type":"MultiPoint","coordinates":[[1,2],[3,4,100000.5],[5,6]]}',
  '{"type":"LineString","coordinates":[[1,2],[3,4]]}',
  `{"type":"Polygon","coordinates":[${RING}]}`,
  `{"type":"MultiPolygon","coordinates":[[${RING}]]}`,
  '{"type":"Feature","properties":{"coordinates":[1,2]},"geometry":{"type":"Point","coordinates":[3,4]}}',
  '{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Point","coordinates":[3,4]}}]}',
  '{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[3,4]},{"type":"LineString","coordinates":[[1,2],[3,4]]}]}',
  `{"geometry":{"type":"Point","coordinates":[3,4]},"salt":"0x${'1f'.repeat(32)}"}`,
  `{"geometry":{"type":"Point","coordinates":[3,4]},"salt":"0x${'00'.repeat(32)}"}`,
  '{"type":"Point","coordinates":[1,2],"salt":1}',
  '{"type":"Point","coordinates":[1,2],"attestation":{"coordinates":[1,2]}}',
  '{"uid":"0x12","coordinates":[1,2]}',
  '{"coordinates":[1,2]}',
  '{"type":"Point","coordinates":[1,2],"coordinates":[3,4]}',
  '"coordinates"',
  '[1,2]',
  'null',
]
/** Bytes that parsers read or refuse in different ways, as Latin-1 text. */
const HOSTILE = [
  ...['1e400', '-1e400', '1E2', '0.1e1', '-0', '-0.0', '01', '1.', '.5', '+1', '0x1', 'NaN', '-'],
  ...[
    '0.1234567890123456789012345678901234567890',
    '179.99999999999999999999',
    '0.0000001',
    `1${'0'.repeat(30)}`,
  ],
  ...['"__proto__":{"type":"Point"},', '"constructor":{"prototype":{}},', '"\\u005f_proto__":1,'],
  ...['"coordinates":[1,2],', '"coordinates" : [[3,4]],', '"coordin\\u0061tes":[1,2],', '"type":"Point",'],
  ...['"\\ud800"', '"\\ud83c\\udf0d"', '"\u00ed\u00a0\u0080"', '\\', '"', '\u0000', '\u00ff'],
  ...['\u00c3\u00a9', '\u00ef\u00bb\u00bf'],
  ...[
    '['.repeat(70),
    '{"a":'.repeat(70),
    ']',
    '}',
    '{}',
    '[]',
    '[[]]',
    ',',
    ':',
    'null',
    'true',
    '//',
    '\u00a0',
    '\u0085',
  ],
]

const PAIRS = { distance: 'from/to', contains: 'container/geometry', intersects: 'geometry1/geometry2' }
const ENDPOINTS = [...Object.keys(PAIRS), 'area', 'batch', 'reference']

/** Returns a body of random inputs for an endpoint, most of them changed in a few places. */
function bodyFor(endpoint: string, random: () => number): Buffer {
  const below = (limit: number) => Math.floor(random() * limit)
  const one = <T>(list: readonly T[]) => list[below(list.length)]!
  const inputsOf = (operation: string) =>
    (PAIRS[operation as keyof typeof PAIRS] ?? 'geometry')
      .split('/')
      .map((name) => `"${name}":${one(INPUTS)}`)
      .join()
  const operations = () =>
    ['distance', 'area'].map((operation) => `{"operation":"${operation}",${inputsOf(operation)}}`).join()
  const chainId = endpoint === 'reference' ? '' : `"chainId":${LOCAL_CHAIN.id},`
  const body = `{${chainId}${endpoint === 'batch' ? `"operations":[${operations()}]` : inputsOf(endpoint)}}`
  let bytes = Buffer.from(body)
  for (let changes = below(4); changes > 0; changes--) {
    const at = below(bytes.length + 1)
    const cut = one([0, 0, 1, 2, below(10)])
    bytes = Buffer.concat([
      bytes.subarray(0, at),
      one([Buffer.alloc(0), Buffer.from(one(HOSTILE), 'latin1'), Buffer.from([below(256)])]),
      bytes.subarray(Math.min(bytes.length, at + cut)),
    ])
  }
  // Truncates the body, or adds a byte order mark before it or other bytes after it.
  if (below(20) === 0) bytes = bytes.subarray(0, below(bytes.length))
  if (below(20) === 0) bytes = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes])
  if (below(20) === 0) bytes = Buffer.concat([bytes, Buffer.from(one([' ', '\n', '{}', '\u0000', ',']))])
  return bytes
}

hunt(
  'both readers of large bodies return the same for any bytes',
  2_000,
  async ({ random, cases }) => {
    const found = { faults: 0, read: 0, refused: 0 }
    for (let round = 0; round < cases; round++) {
      const body = bodyFor(ENDPOINTS[round % ENDPOINTS.length]!, random)
      const usual = await readUsual(body)
      expect(await readBody(body), body.toString('latin1')).toEqual(usual)
      if (usual.fault !== undefined) found.faults++
      for (const { geometry } of usual.geometries) found['problem' in geometry ? 'refused' : 'read']++
    }
    // Each kind of response must occur. Otherwise the test would prove nothing.
    for (const count of Object.values(found)) expect(count).toBeGreaterThan(cases / 20)
  },
  ['slow'],
)

describe('a large body with trailing spaces', () => {
  let chain: LocalChain
  let app: FastifyInstance
  let close: () => Promise<void>
  beforeAll(async () => {
    chain = await startTestChain({ port: await freePort() })
    ;({ app, close } = await buildTestServer({ rpcUrl: chain.url }))
  })
  afterAll(async () => {
    await close?.()
    await chain?.stop()
  })
  const send = async (endpoint: string, payload: Buffer) => {
    const headers = { 'content-type': 'application/json' }
    const { statusCode, body } = await app.inject({
      ...{ method: 'POST', url: `/compute/v0/${endpoint}`, headers, payload },
    })
    const answer = JSON.parse(body) as Record<string, unknown>
    // If a text ends prematurely, not all parsers report the spaces after it.
    if (String(answer.detail).startsWith('The body is not valid JSON')) return { statusCode }
    if (statusCode !== 200) return { statusCode, ...answer }
    // Parts that differ between responses to equal requests: the time, and with it the signature.
    const { result, results, units, operation, inputRefs, inputRef } = answer as Record<string, never>
    return {
      statusCode,
      result,
      units,
      operation,
      inputRefs,
      inputRef,
      count: (results as [] | undefined)?.length,
    }
  }

  test('is read by a worker', () => {
    expect(LARGE).toBeGreaterThan(65_536)
  })
  test.each([0, LARGE])(
    'returns no reference for an attestation in GeoJSON, with %i trailing spaces',
    async (spaces) => {
      const geometry = { type: 'Point', coordinates: [1, 2], attestation: {} }
      const body = Buffer.from(JSON.stringify({ geometry }) + ' '.repeat(spaces))
      const { statusCode, detail } = (await send('reference', body)) as { statusCode: number; detail: string }
      expect({ statusCode, field: detail.split(':')[0] }).toEqual({ statusCode: 400, field: 'geometry' })
    },
  )
  hunt('gets the same answer as the body without trailing spaces', 200, async ({ random, cases }) => {
    const statuses = new Map<number, number>()
    for (let round = 0; round < cases; round++) {
      const endpoint = ENDPOINTS[round % ENDPOINTS.length]!
      // The body begins with a space, because an empty body has a different error.
      const body = Buffer.concat([bodyFor(endpoint, random), Buffer.from(' ')])
      const small = await send(endpoint, body)
      expect(
        await send(endpoint, Buffer.concat([body, Buffer.alloc(LARGE, ' ')])),
        `${endpoint} ${body.toString('latin1')}`,
      ).toEqual(small)
      statuses.set(small.statusCode, (statuses.get(small.statusCode) ?? 0) + 1)
    }
    for (const status of [200, 400]) expect(statuses.get(status)).toBeGreaterThan(cases / 50)
  })
})
