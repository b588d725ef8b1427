import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { listening } from './http-server'

/** A message as received, whatever the response. */
export interface Received {
  id: string
  path: string
  body: string
  headers: Record<string, string>
  at: number
}

/** Responds to a request, after its message was counted as received. */
export type Answer = (request: IncomingMessage, response: ServerResponse) => unknown

export const answers = {
  ok: ((_, response) => response.writeHead(204).end()) as Answer,
  status:
    (status: number, headers: Record<string, string> = {}): Answer =>
    (_, response) =>
      response.writeHead(status, headers).end('no'),
  reset: ((request) => request.socket.resetAndDestroy()) as Answer,
  hang: (() => {}) as Answer,
  slow: (async (_, response) => {
    await pause(30)
    response.writeHead(200).end('x'.repeat(100_000))
  }) as Answer,
}

export interface Receiver {
  readonly url: string
  readonly received: Received[]
  /** response to further requests */
  answer: (message: Received) => Answer
  until(holds: () => boolean): Promise<void>
  close(): void
}

/** A receiver of webhooks, on a real socket. */
export async function startReceiver(answer: Receiver['answer'] = () => answers.ok): Promise<Receiver> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    void text(request).then(
      (body) => {
        const headers = request.headers as Record<string, string>
        const message = { id: headers['webhook-id']!, path: request.url!, body, headers, at: Date.now() }
        received.push(message)
        return receiver.answer(message)(request, response)
      },
      () => {},
    )
  })
  const receiver: Receiver = {
    url: await listening(server),
    received,
    answer,
    until: async (holds) => {
      while (!holds()) await pause(5)
    },
    close: () => server.close().closeAllConnections(),
  }
  return receiver
}

/** Received messages in order, without repetitions. Throws if a repetition has other bytes. */
export function distinct(received: readonly Received[]): Received[] {
  const first = new Map<string, Received>()
  for (const each of received) {
    const known = first.get(each.id)
    if (known && known.body !== each.body) throw new Error(`${each.id} has two bodies`)
    if (!known) first.set(each.id, each)
  }
  return [...first.values()]
}
