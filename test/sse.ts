import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/** A server-sent event, parsed as the HTML standard defines it (9.2.6). */
export interface SseEvent {
  event: string
  id: string
  /** data field, parsed as JSON */
  data: any
}

export interface SseListener {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly events: SseEvent[]
  readonly comments: number
  /** Last-Event-ID that a client sends when it reconnects */
  readonly lastEventId: string
  readonly retryMs: number | undefined
  /** resolves when either side closes the connection */
  readonly ended: Promise<void>
  /** body of a response that is not a stream */
  readonly body: string
  /** resolves when this many events have arrived */
  count(events: number): Promise<void>
  until(holds: () => boolean): Promise<void>
  close(): void
  readonly response: IncomingMessage
}

/** Opens an event stream on its own connection. */
export function listen(
  url: string,
  options: {
    lastEventId?: string
    headers?: Record<string, string>
    keep?: boolean
    onEvent?: (event: SseEvent) => void
  } = {},
): Promise<SseListener> {
  const { lastEventId: from = '', headers, keep = true, onEvent } = options
  return new Promise((resolve, reject) => {
    const asked = request(
      url,
      {
        agent: false,
        headers: { accept: 'text/event-stream', ...(from && { 'last-event-id': from }), ...headers },
      },
      (response) => {
        const events: SseEvent[] = []
        const state = { comments: 0, lastEventId: from, retryMs: undefined as number | undefined, body: '' }
        let [rest, type, data, id] = ['', '', '', from]
        const line = (text: string) => {
          if (text === '') {
            state.lastEventId = id
            if (data !== '') {
              const event = { event: type || 'message', id, data: JSON.parse(data.slice(0, -1)) }
              if (keep) events.push(event)
              onEvent?.(event)
            }
            ;[type, data] = ['', '']
            return
          }
          const colon = text.indexOf(':')
          const name = colon < 0 ? text : text.slice(0, colon)
          const value = colon < 0 ? '' : text.slice(colon + 1).replace(/^ /, '')
          if (name === '') state.comments++
          else if (name === 'event') type = value
          else if (name === 'data') data += `${value}\n`
          else if (name === 'id') id = value
          else if (name === 'retry') state.retryMs = Number(value)
        }
        const isStream = String(response.headers['content-type']).startsWith('text/event-stream')
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          if (!isStream) return void (state.body += chunk)
          const lines = (rest + chunk).split('\n')
          rest = lines.pop()!
          lines.forEach(line)
        })
        const ended = new Promise<void>((end) => response.once('close', end))
        response.on('error', () => {})
        const until = async (holds: () => boolean) => {
          while (!holds()) await pause(5)
        }
        const listener: SseListener = {
          ...{ status: response.statusCode!, headers: response.headers, events, ended, response, until },
          get comments() {
            return state.comments
          },
          get lastEventId() {
            return state.lastEventId
          },
          get retryMs() {
            return state.retryMs
          },
          get body() {
            return state.body
          },
          count: (wanted) => until(() => events.length >= wanted),
          close: () => asked.destroy(),
        }
        resolve(listener)
      },
    )
    asked.on('error', reject)
    asked.end()
  })
}
