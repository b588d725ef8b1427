// SPDX-License-Identifier: MIT
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { formatNote, formatVerifierKey } from '../../../src/tlog'
import type { Reply, Witness } from './witness'

/** Maximum number of bytes of a request: 63 hashes, and a checkpoint with 16 signatures of 5 kB each. */
const MAX_BODY_BYTES = 128 * 1024
const TEXT = 'text/plain; charset=utf-8'

/** HTTP server of a witness: `POST /add-checkpoint`, `GET /<origin>/checkpoint`, `/metrics`, `/`. */
export function serve(witness: Witness, onError: (error: unknown) => void): Server {
  const server = createServer({ requestTimeout: 30_000 }, (request, response) => {
    answer(witness, request)
      .catch((error: unknown): Reply => {
        // A client that ends its request early is not an error of the witness.
        if (!request.errored) onError(error)
        return { status: 500, body: 'The witness could not store the checkpoint. Nothing was cosigned.\n' }
      })
      .then(({ status, type = TEXT, body }) => {
        // `server.close` waits until all connections are closed.
        if (!request.complete || !server.listening) response.setHeader('connection', 'close')
        response.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff' }).end(body)
      }, onError)
  })
  return server
}

async function answer(witness: Witness, request: IncomingMessage): Promise<Reply> {
  const path = request.url!.replace(/\?.*$/s, '')
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (path === '/add-checkpoint') {
    if (request.method !== 'POST') return { status: 405, body: 'Use POST.\n' }
    const body = await readBody(request)
    return body === undefined
      ? { status: 413, body: `A request has at most ${MAX_BODY_BYTES} bytes.\n` }
      : witness.addCheckpoint(body)
  }
  if (isRead && path === '/') return { status: 200, body: `${formatVerifierKey(witness.key)}\n` }
  if (isRead && path === '/metrics')
    return { status: 200, type: 'text/plain; version=0.0.4', body: metrics(witness) }
  const last = isRead ? witness.checkpoint(originOf(path)) : undefined
  if (last) return { status: 200, body: formatNote(last.note) }
  return { status: 404, body: 'Not found.\n' }
}

/** Origin in a path `/<percent-encoded origin>/checkpoint`. */
function originOf(path: string): string {
  try {
    return decodeURIComponent(/^\/([^/]+)\/checkpoint$/.exec(path)?.[1] ?? '')
  } catch {
    return ''
  }
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length
    if (size > MAX_BODY_BYTES) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

/** Value of a metric's label, escaped for Prometheus. */
const label = (text: string) =>
  text.replace(/[\\"\n]/g, (letter) => (letter === '\n' ? '\\n' : `\\${letter}`))

function metrics(witness: Witness): string {
  return [
    '# HELP geo_witness_size Number of entries of the last checkpoint that was cosigned.',
    '# TYPE geo_witness_size gauge',
    ...witness.sizes().map(([origin, size]) => `geo_witness_size{origin="${label(origin)}"} ${size}`),
    '# HELP geo_witness_requests_total Requests to add-checkpoint by status, 422 if the proof does not verify.',
    '# TYPE geo_witness_requests_total counter',
    ...[...witness.replies].map(
      ([status, count]) => `geo_witness_requests_total{status="${status}"} ${count}`,
    ),
    '',
  ].join('\n')
}
