import { once } from 'node:events'
import Fastify from 'fastify'
import { buildSchema, GraphQLError } from 'graphql'
import { expect, test, vi } from 'vitest'
import { RequestCounter } from '../http/limits'
import { StatusError } from '../http/problems'
import { type GraphqlBackend, graphqlRoutes } from './gateway'

async function serve(run: GraphqlBackend['run']) {
  const app = Fastify({ forceCloseConnections: true })
  app.setSerializerCompiler(() => JSON.stringify)
  app.setValidatorCompiler(() => () => true)
  await app.register((scope) =>
    graphqlRoutes(scope, {
      backend: { schema: () => buildSchema('type Query { one: Int }'), rowsOf: () => 1, run },
      ...{ counter: new RequestCounter(() => 0), rateLimitPerHour: 0, examples: '' },
    }),
  )
  return app
}

test('GraphQL runs no query of a client that disconnected before the query began', async () => {
  const run = vi.fn(async () => ({ data: {} }))
  const app = await serve(run)
  const left = new AbortController()
  app.addHook('preHandler', async (_request, { raw }) => {
    const closed = once(raw, 'close')
    left.abort()
    await closed
  })
  const ended = new Promise<void>((resolve) => {
    app.addHook('onSend', async () => resolve())
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const body = JSON.stringify({ query: '{ one }' })
  const headers = { 'content-type': 'application/json' }
  await expect(fetch(url, { method: 'POST', headers, body, signal: left.signal })).rejects.toThrow()
  await ended
  expect(run).not.toHaveBeenCalled()
  await app.close()
})

test('GraphQL returns the status of a field that is refused for the limits of its client', async () => {
  const refusal = new StatusError(429, 'Too many.', { 'retry-after': '9' })
  const error = new GraphQLError('x', null, null, null, null, refusal)
  const app = await serve(async () => ({ data: {}, errors: [error] }))
  const query = { method: 'POST', url: '/', payload: { query: '{ one }' } } as const
  const { statusCode, headers, body } = await app.inject(query)
  expect([statusCode, headers['retry-after'], JSON.parse(body)]).toEqual([
    ...[429, '9', { errors: [{ message: 'Too many.' }] }],
  ])
  await app.close()
})
