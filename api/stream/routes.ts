import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { RATE_HEADERS, answer, RECORDS_ERRORS } from '../http/openapi-components'
import { RecordsError } from '../http/problems'
import { withTypes } from '../http/schema'
import { Semaphore } from '../http/semaphore'
import { workOf } from '../http/work'
import { FINALITIES } from '../store'
import { choiceParameter, invalid, queryOf, readParameters, textParameter } from '../http/parameters'
import { parsePosition, type Position } from './changes'
import { eventTable } from './events'
import { CHANGE_FILTERS, filterOf } from './filter'
import type { LiveRecords } from './live'

/** Maximum number of streams per address (IPv6: /64). People may share one; a browser opens at most six. */
const STREAMS_PER_CLIENT = 50
const QUERY = queryOf({
  ...CHANGE_FILTERS,
  finality: choiceParameter(
    FINALITIES,
    'Changes to send: all changes immediately (`latest`), or changes once they are final (`final`).',
    { default: 'latest' },
  ),
  last_event_id: textParameter(
    'Id of the event after which the stream resumes, for clients that cannot set the header Last-Event-ID, which takes precedence.',
    String,
  ),
})
const SCHEMA = {
  operationId: 'streamLocationRecords',
  tags: ['Records'],
  summary: 'Changes of records, as they happen',
  description: [
    'Server-Sent Events, which `EventSource` of browsers reads. The data replaces earlier ' +
      'data of the same UID and chain.',
    eventTable()
      .map(([name, meaning, data]) => `- ${name}: ${meaning}. Data: ${data}.`)
      .join('\n'),
    'A client that reconnects with the `id` of the last event (browsers do) receives all ' +
      'changes since then, once and in order, from any API instance, or a `reset`. Without ' +
      'an id the stream starts now: open it, then load the list. Changes are stored for 7 days.',
    'With `finality=final` a record is sent when its block is final, and its revocation when that block is, each once; nothing that a reorg removed, or may remove, is sent or shown.',
    'A `reorged` or `corrected` event passes all filters except `chain`. A ' +
      'comment is sent every 15 seconds.',
  ].join('\n\n'),
  querystring: QUERY,
  response: {
    ...RECORDS_ERRORS,
    200: answer({ type: 'string' }, 'Events, until one side closes the connection.', {
      type: 'text/event-stream',
      headers: RATE_HEADERS,
    }),
  },
}

/** GET /location-records/stream: changes of records as Server-Sent Events (docs/reference/streams.md). */
export function streamRoutes({ live }: { live: LiveRecords }) {
  return (scope: FastifyInstance, _options: object, done: () => void): void => {
    const app = withTypes(scope)
    app.setValidatorCompiler(readParameters)
    const semaphore = new Semaphore({ all: Infinity, each: STREAMS_PER_CLIENT })

    app.addHook('preClose', (closed) => {
      live.stop()
      closed()
    })

    // The response never ends, so HEAD is refused. Without this route, HEAD would look for a UID `stream`.
    app.head('/location-records/stream', { schema: { hide: true } }, (_request, reply) => {
      void reply.header('allow', 'GET')
      throw new RecordsError('method-not-allowed', 'Unsupported method HEAD. Use GET.')
    })
    app.get(
      '/location-records/stream',
      { schema: SCHEMA, exposeHeadRoute: false },
      async (request, reply) => {
        const filter = filterOf(request.query)
        const from = startOf(request.headers['last-event-id'], request.query.last_event_id)
        const work = workOf(request)
        // A response that has closed already does not emit 'close' again.
        work.signal.throwIfAborted()
        const release = semaphore.tryAcquire(work.client)
        if (!release) {
          void reply.header('retry-after', 60)
          throw new RecordsError(
            'rate-limited',
            `More than ${STREAMS_PER_CLIENT} streams at once from your IP address. Close one first.`,
          )
        }
        reply.raw.once('close', release)
        try {
          await live.add(request.query.finality ?? 'latest', filter, from, work, () => open(request, reply))
        } catch (error) {
          release()
          throw error
        }
      },
    )
    done()
  }
}

/** Sends the head of the response, and detaches the response from Fastify and its timers. */
function open(request: FastifyRequest, reply: FastifyReply): FastifyReply['raw'] {
  reply.hijack()
  request.raw.socket.setTimeout(0)
  reply.raw.writeHead(200, {
    ...reply.getHeaders(),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    // Without this header, nginx delays events until it has buffered several kilobytes.
    'x-accel-buffering': 'no',
    // No request follows a stream on its connection, so the service can stop without waiting for one.
    connection: 'close',
  } as Record<string, string>)
  return reply.raw
}

/**
 * Returns the position to start from; undefined: the current one. The header takes precedence over the
 * parameter: a browser repeats the URL itself, with the header of the last event. The browser cannot correct
 * an invalid header, so this returns null instead of an error.
 */
function startOf(
  header: string | string[] | undefined,
  parameter: string | undefined,
): Position | null | undefined {
  if (header !== undefined && header !== '') return parsePosition(String(header)) ?? null
  if (parameter === undefined) return undefined
  const position = parsePosition(parameter)
  if (!position) throw invalid('last_event_id', 'Expected the id of an event of this stream')
  return position
}
