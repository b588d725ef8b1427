import Fastify, { type FastifyRequest } from 'fastify'
import { expect, test } from 'vitest'
import { fetchInside } from './inside'

test('a request inside the API ends when its client disconnects', async () => {
  const app = Fastify()
  const left = new AbortController()
  const closed = new Promise<void>((resolve) =>
    app.get('/slow', (_request, reply) => {
      reply.raw.once('close', resolve)
      left.abort()
      return new Promise(() => {})
    }),
  )
  const caller = { socket: { remoteAddress: '192.0.2.1' }, headers: {} } as FastifyRequest
  const asked = fetchInside(app, caller, left.signal)('http://inside/slow')
  await expect(asked).rejects.toMatchObject({ name: 'AbortError' })
  await closed
})
