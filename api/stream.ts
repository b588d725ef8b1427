import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { parsePosition, type ChangeFilter, type Position } from './changes'
import { clientOf } from './limits'
import type { LiveRecords } from './live'
import { recordsSchemas } from './openapi'
import { RecordsProblem } from './problems'
import { knownParameters, parseFilters, type Query } from './record-parameters'

/** Of one address (IPv6: /64) at once: many people may share one, and no browser opens more than six itself. */
const STREAMS_PER_CLIENT = 50
const PARAMETERS = ['chain', 'prover', 'subject', 'schema', 'location_type', 'bbox', 'last_event_id'] as const

/** GET /location-records/stream: what happens to records, as Server-Sent Events (docs/live.md). */
export function streamRoutes({ live }: { live: LiveRecords }) {
  return (app: FastifyInstance, _options: object, done: () => void): void => {
    const clients = new Map<string, number>()

    app.addHook('preClose', (closed) => {
      live.stop()
      closed()
    })

    // HEAD would have to answer what GET never ends to say; and is no UID of a record.
    app.head('/location-records/stream', { schema: { hide: true } }, (_request, reply) => {
      void reply.header('allow', 'GET')
      throw new RecordsProblem('Method not allowed', 'HEAD is not possible here; use GET')
    })
    app.get(
      '/location-records/stream',
      { schema: recordsSchemas.stream, exposeHeadRoute: false },
      async (request, reply) => {
        const query = knownParameters(request.query, PARAMETERS)
        const filter = parseFilter(query)
        const from = parseStart(request, query.last_event_id)
        const client = clientOf(request)
        const count = (clients.get(client) ?? 0) + 1
        if (count > STREAMS_PER_CLIENT) {
          void reply.header('retry-after', 60)
          throw new RecordsProblem(
            'Rate limit exceeded',
            `More than ${STREAMS_PER_CLIENT} streams at once from your address; close one first`,
          )
        }
        clients.set(client, count)
        let left = false
        const leave = () => {
          if (left) return
          left = true
          const others = clients.get(client)! - 1
          if (others) clients.set(client, others)
          else clients.delete(client)
        }
        reply.raw.once('close', leave)
        try {
          await live.add(filter, from, () => open(request, reply))
        } catch (error) {
          leave()
          throw error
        }
      },
    )
    done()
  }
}

/** Sends the head of the answer; Fastify and its timers have no more to do with the rest. */
function open(request: FastifyRequest, reply: FastifyReply): FastifyReply['raw'] {
  reply.hijack()
  request.raw.socket.setTimeout(0)
  const headers = reply.getHeaders()
  for (const [name, value] of Object.entries(headers))
    if (name.startsWith('ratelimit-')) headers[`x-${name}`] = value
  reply.raw.writeHead(200, {
    ...headers,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    // nginx would keep events back until it has some kilobytes of them.
    'x-accel-buffering': 'no',
    // Nothing comes after a stream; so a stop need not wait for its connection.
    connection: 'close',
  } as Record<string, string>)
  return reply.raw
}

function parseFilter({ last_event_id: _, ...query }: Query<(typeof PARAMETERS)[number]>): ChangeFilter {
  const filter = parseFilters(query)
  return {
    ...filter,
    ...(filter.locationType !== undefined && { locationType: filter.locationType.toLowerCase() }),
  }
}

/** Where to begin; undefined: now. The header is newer than the parameter of a URL that a browser asks for again by itself. What it repeats by itself is no mistake that it could correct: null, then. */
function parseStart({ headers }: FastifyRequest, parameter: string | undefined): Position | null | undefined {
  const header = headers['last-event-id']
  if (header !== undefined && header !== '') return parsePosition(String(header)) ?? null
  if (parameter === undefined) return undefined
  const position = parsePosition(parameter)
  if (!position)
    throw new RecordsProblem('Invalid last_event_id parameter', 'Expected the id of an event of this stream')
  return position
}
