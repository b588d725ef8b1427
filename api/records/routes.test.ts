import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { Freshness } from '../http/freshness'
import type { RecordsParts } from './statistics'
import { recordsRoutes } from '.'

test('a page at the end of a large list contains a record as soon as its ETag does', async () => {
  let total = 100_000
  const uid = `0x${'1'.repeat(64)}`
  const record = { id: `celo-${uid}`, uid, chain: 'celo', timestamp: new Date(0), text: '{"uid":"new"}' }
  const search = ({ offset = 0 }) => ({
    count: async () => ({ total, exact: true }),
    page: async () => ({ rows: offset < total ? [record] : [], next: undefined }),
  })
  const app = Fastify()
  app.setSerializerCompiler(() => JSON.stringify)
  const freshness = new Freshness(async () => `state${total}`, 1_000_000)
  const parts = { records: { search }, freshness, fileExports: { stop() {} }, publicBaseUrl: 'http://x' }
  await app.register(recordsRoutes(parts as unknown as RecordsParts))
  const ask = async () => (await app.inject('/location-records?offset=100000')).json<{ data: unknown[] }>()
  expect((await ask()).data).toEqual([])
  total++
  expect((await ask()).data).toHaveLength(1)
})
