import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import Fastify from 'fastify'
import { describe, expect, test } from 'vitest'
import { acceptsCoding, compressTexts } from './compression'

const LONG = JSON.stringify({ data: Array.from({ length: 500 }, (_, i) => ({ i, name: `place ${i}` })) })
const KEPT = Buffer.from(LONG)

async function serviceOf() {
  const app = Fastify()
  compressTexts(app)
  let seen: unknown
  await app.register(async (scope) => {
    scope.addHook('onSend', async (_request, _reply, payload) => {
      seen = payload
      return payload
    })
    scope.get('/json', (_request, reply) =>
      reply.type('application/json').header('vary', 'accept').send(LONG),
    )
    scope.get('/kept', (_request, reply) => reply.type('application/geo+json').send(KEPT))
    scope.get('/strong', (_request, reply) => reply.type('text/html').header('etag', '"a"').send(LONG))
    scope.get('/weak', (_request, reply) => reply.type('text/html').header('etag', 'W/"a"').send(LONG))
    scope.get('/short', (_request, reply) => reply.type('application/json').send('{}'))
    scope.get('/image', (_request, reply) => reply.type('image/png').send(KEPT))
    scope.get('/events', (_request, reply) => reply.type('text/event-stream').send(KEPT))
    scope.get('/gzipped', (_request, reply) =>
      reply.type('application/json').header('content-encoding', 'gzip').send(KEPT),
    )
    scope.get('/known', (_request, reply) => reply.status(304).header('etag', 'W/"a"').send())
    scope.get('/fault', () => {
      throw Object.assign(new Error(LONG), { statusCode: 400 })
    })
  })
  const ask = (method: 'GET' | 'HEAD') => (url: string, accepted?: string) =>
    app.inject({ method, url, headers: accepted === undefined ? {} : { 'accept-encoding': accepted } })
  return { get: ask('GET'), head: ask('HEAD'), seen: () => seen }
}

describe('the compression of texts', () => {
  test.each([
    ['br', 'gzip, deflate, br', brotliDecompressSync],
    ['gzip', 'gzip, deflate', gunzipSync],
    ['gzip', 'br;q=0, *', gunzipSync],
  ] as const)('sends %s to a client that accepts %s', async (coding, accepted, decompress) => {
    const { get } = await serviceOf()
    for (const url of ['/json', '/kept', '/kept', '/strong']) {
      const { headers, rawPayload } = await get(url, accepted)
      expect(headers['content-encoding']).toBe(coding)
      expect(decompress(rawPayload).toString()).toBe(LONG)
      expect(rawPayload.length).toBeLessThan(LONG.length / 4)
      expect(headers['content-length']).toBe(String(rawPayload.length))
    }
    const fault = await get('/fault', accepted)
    expect(fault.statusCode).toBe(400)
    expect(JSON.parse(decompress(fault.rawPayload).toString())).toMatchObject({ message: LONG })
  })
  test('sends texts uncompressed to a client that accepts no coding', async () => {
    const { get } = await serviceOf()
    for (const accepted of [undefined, '', 'identity', 'br;q=0', 'deflate']) {
      const { headers, payload } = await get('/json', accepted)
      expect([headers['content-encoding'], payload]).toEqual([undefined, LONG])
      expect(headers.vary).toBe('accept, accept-encoding')
    }
  })
  test('makes a strong ETag weak', async () => {
    const { get } = await serviceOf()
    expect((await get('/strong', 'br')).headers.etag).toBe('W/"a"')
    expect((await get('/strong')).headers.etag).toBe('"a"')
    expect((await get('/weak', 'br')).headers.etag).toBe('W/"a"')
    const { headers, payload } = await get('/known', 'br')
    expect([headers.etag, headers.vary, payload]).toEqual(['W/"a"', 'accept-encoding', ''])
  })
  test('returns the headers of GET for HEAD', async () => {
    const { get, head } = await serviceOf()
    for (const url of ['/json', '/kept', '/strong', '/short', '/image']) {
      const [{ headers: expected }, { headers, payload }] = [await get(url, 'br'), await head(url, 'br')]
      expect([{ ...headers, date: '' }, payload], url).toEqual([{ ...expected, date: '' }, ''])
    }
  })
  test('leaves short bodies, images, event streams and encoded bodies unchanged', async () => {
    const { get } = await serviceOf()
    for (const url of ['/short', '/image', '/events'])
      expect((await get(url, 'br')).headers['content-encoding'], url).toBeUndefined()
    expect((await get('/gzipped', 'br')).rawPayload).toEqual(KEPT)
  })
  test('passes the uncompressed body to hooks of a scope', async () => {
    const { get, seen } = await serviceOf()
    await get('/json', 'br')
    expect(seen()).toBe(LONG)
  })
})

test.each([
  ['gzip', 'gzip', true],
  ['gzip', 'GZIP;q=1.0', true],
  ['gzip', 'x-gzip', true],
  ['gzip', 'br, *;q=0.5', true],
  ['gzip', '*;q=0', false],
  ['gzip', 'gzip;q=0.000, *', false],
  ['gzip', '*, gzip;q=0', false],
  ['br', 'gzip;q=0, br ; q=0.1', true],
  ['br', 'brotli', false],
  ['gzip', undefined, false],
] as const)('the coding %s is accepted by %s: %s', (coding, header, expected) => {
  expect(acceptsCoding(header, coding)).toBe(expected)
})
