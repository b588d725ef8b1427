import { once } from 'node:events'
import Fastify from 'fastify'
import { buildSchema } from 'graphql'
import { expect, test, vi } from 'vitest'
import { RequestCounter } from '../http/limits'
import { graphqlRoutes } from './gateway'

test('GraphQL runs no query of a client that disconnected before the query began', async () => {
  const app = Fastify({ forceCloseConnections: true })
  app.setSerializerCompiler(() => JSON.stringify)
  app.setValidatorCompiler(() => () => true)
  const left = new AbortController()
  app.addHook('preHandler', async (_request, { raw }) => {
    const closed = once(raw, 'close')
    left.abort()
    await closed
  })
  const ended = new Promise<void>((resolve) => {
    app.addHook('onSend', async () => resolve())
  })
  const run = vi.fn(async () => ({ data: {} }))
  await app.register((scope) =>
    graphqlRoutes(scope, {
      backend: { schema: () => buildSchema('type Query { one: Int }'), rowsOf: () => 1, run },
      ...{ counter: new RequestCounter(() => 0), rateLimitPerHour: 0, examples: '' },
    }),
  )
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const body = JSON.stringify({ query: '{ one }' })
  const headers = { 'content-type': 'application/json' }
  await expect(fetch(url, { method: 'POST', headers, body, signal: left.signal })).rejects.toThrow()
  await ended
  expect(run).not.toHaveBeenCalled()
  await app.close()
})
