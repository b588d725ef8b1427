import { once } from 'node:events'
import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { beginWork } from '../http/work'
import type { LiveRecords } from './live'
import { streamRoutes } from './routes'

test('streams whose clients disconnect before they begin release their slots', async () => {
  const app = Fastify({ forceCloseConnections: true })
  app.setSerializerCompiler(() => JSON.stringify)
  let left: AbortController | undefined
  // As the count of the rate limit does, the hook ends after the connection.
  app.addHook('onRequest', async (request, reply) => {
    beginWork(request, reply, 'client')
    const closed = left && once(reply.raw, 'close')
    left?.abort()
    await closed
  })
  const add = (...[, , , , open]: Parameters<LiveRecords['add']>) => open().end()
  const live = { stop: () => {}, add } as object as LiveRecords
  await app.register(streamRoutes({ live }))
  const url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/location-records/stream`
  for (let i = 0; i < 51; i++) {
    left = new AbortController()
    await expect(fetch(url, { signal: left.signal })).rejects.toThrow()
  }
  left = undefined
  expect((await fetch(url)).status).toBe(200)
  await app.close()
})
