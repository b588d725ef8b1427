import { EventEmitter, once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import Fastify from 'fastify'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { compressTexts } from './compression'
import { guardRequests } from './guard'
import { recordsErrorHandler } from './problems'

/** Milliseconds that the guarded requests may take. */
const ANSWER_MS = 1_000
const events = new EventEmitter()
/** Resolves when the test emits `name`. */
const until = (name: string) => once(events, name)
/** Server whose route responds when 'handled' is emitted, and whose responses are sent when 'sent' is. */
function makeServer() {
  const app = Fastify()
  app.setErrorHandler(recordsErrorHandler('http://x'))
  guardRequests(app, ANSWER_MS)
  compressTexts(app)
  app.addHook('onSend', async () => {
    events.emit('sending')
    await until('sent')
  })
  app.get('/', async (_request, reply) => {
    events.emit('handling')
    await until('handled')
    return reply.header('etag', 'W/"s"').type('text/csv').send('ok,1')
  })
  return app
}
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

describe('a request whose time ends', () => {
  test('while its response is being sent gets that response', async () => {
    const [handling, sending] = [until('handling'), until('sending')]
    const response = makeServer().inject('/')
    await handling
    events.emit('handled')
    await sending
    vi.advanceTimersByTime(ANSWER_MS)
    events.emit('sent')
    const { statusCode, headers, body } = await response
    expect([statusCode, headers['content-type'], headers.etag, body]).toEqual([
      200,
      'text/csv',
      'W/"s"',
      'ok,1',
    ])
  })
  test('gets the error as a whole, if its response is ready while the error is being sent', async () => {
    const [handling, sending] = [until('handling'), until('sending')]
    const response = makeServer().inject('/')
    await handling
    vi.advanceTimersByTime(ANSWER_MS)
    await sending
    events.emit('handled')
    await new Promise((resolve) => setImmediate(resolve))
    events.emit('sent')
    const { statusCode, headers, body } = await response
    expect([statusCode, headers['content-type'], headers.etag]).toEqual([
      503,
      'application/json; charset=utf-8',
      undefined,
    ])
    expect(JSON.parse(body)).toMatchObject({ status: 'error', message: 'Temporarily unavailable' })
  })
})

test('a stop closes the connection of a response that began before it', async () => {
  const body = new Readable({ read() {} })
  const app = Fastify({ forceCloseConnections: 'idle' })
  guardRequests(app, ANSWER_MS)
  app.get('/', () => body)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const agent = new Agent({ keepAlive: true })
  const sent = request({ port, agent }).end()
  body.push('first')
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  const stopped = app.close()
  while (app.server.listening) await new Promise((resolve) => setImmediate(resolve))
  body.push(null)
  await stopped
  expect(response.headers.connection).toBe('keep-alive')
  agent.destroy()
})

test('a stream that begins after a stop is not announced as the last response', async () => {
  const app = Fastify({ forceCloseConnections: 'idle' })
  guardRequests(app, ANSWER_MS)
  app.get('/', async () => {
    events.emit('handling')
    await until('handled')
    return Readable.from(['whole'])
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const agent = new Agent({ keepAlive: true })
  const handling = until('handling')
  const sent = request({ port, agent }).end()
  await handling
  const stopped = app.close()
  while (app.server.listening) await new Promise((resolve) => setImmediate(resolve))
  events.emit('handled')
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  expect([response.headers.connection, await response.toArray()]).toEqual([
    'keep-alive',
    [Buffer.from('whole')],
  ])
  await stopped
  agent.destroy()
})
