import { connect } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import { percentile, rounded } from './bench'

/**
 * Task of a worker thread: sends POST requests with these bodies in turn (GET requests without bodies), with
 * this concurrency, for this duration.
 */
export interface Load {
  /** URLs, used in rotation as by a load balancer */
  readonly urls: readonly string[]
  readonly bodies: readonly string[]
  readonly concurrency: number
  readonly seconds: number
  /** headers of GET requests */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Digits that occur once in each body and become the number of the request, so that no two requests are
   * equal.
   */
  readonly numbered?: string
}

/** Result of a load. Rate and times are those of requests with status 200; all others are errors. */
export interface Measured {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly errors: number
}

/**
 * Each lane has one socket and the minimum of code that reads an HTTP/1.1 response. Node's client would need
 * ten times the CPU, on the cores that the benchmark measures.
 */
async function send({ urls, bodies, concurrency, seconds, headers = {}, numbered }: Load): Promise<Measured> {
  const messages = messagesOf(urls, bodies, headers)
  const places = numbered === undefined ? [] : messages.map(({ bytes }) => bytes.indexOf(numbered))
  const times: number[] = []
  let errors = 0
  let next = 0
  const started = performance.now()
  const end = started + seconds * 1000
  const lane = async () => {
    const connections = new Map<string, Connection>()
    while (performance.now() < end) {
      const sent = performance.now()
      const number = next++
      const { target, bytes } = messages[number % messages.length]!
      if (numbered !== undefined)
        bytes.write(String(number).padStart(numbered.length, '0'), places[number % messages.length]!)
      const status = await connectionTo(target, connections)
        .ask(bytes)
        .catch(() => 0)
      if (status === 200) times.push(performance.now() - sent)
      else {
        errors++
        connections.get(target)?.close()
        connections.delete(target)
      }
    }
    for (const connection of connections.values()) connection.close()
  }
  await Promise.all(Array.from({ length: concurrency }, lane))
  const elapsed = performance.now() - started
  return {
    requestsPerSecond: Math.round((times.length * 1000) / elapsed),
    p50Ms: rounded(percentile(times, 0.5), 2),
    p99Ms: rounded(percentile(times, 0.99), 2),
    errors,
  }
}

/** Request messages: all combinations of the URLs and the bodies. */
function messagesOf(
  urls: readonly string[],
  bodies: readonly string[],
  headers: Readonly<Record<string, string>>,
): { target: string; bytes: Buffer }[] {
  const count = bodies.length ? bodies.length * urls.length : urls.length
  return Array.from({ length: count }, (_, i) => {
    const { host, pathname, search } = new URL(urls[i % urls.length]!)
    const body = bodies.length ? bodies[Math.floor(i / urls.length)]! : undefined
    const fields = {
      host,
      ...headers,
      ...(body !== undefined && {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      }),
    }
    const head = [
      `${body === undefined ? 'GET' : 'POST'} ${pathname}${search} HTTP/1.1`,
      ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`),
    ]
    return { target: host, bytes: Buffer.from(`${head.join('\r\n')}\r\n\r\n${body ?? ''}`) }
  })
}

function connectionTo(target: string, connections: Map<string, Connection>): Connection {
  let connection = connections.get(target)
  if (!connection) connections.set(target, (connection = new Connection(target)))
  return connection
}

const END_OF_HEAD = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('0\r\n\r\n')

/** One kept-alive connection, for one request at a time. */
class Connection {
  private readonly socket
  private waiting: { resolve: (status: number) => void; reject: (error: Error) => void } | undefined
  private received: Buffer[] = []
  private length = 0
  /** Status and length of the pending response. The length is NaN for a chunked response. */
  private head: { status: number; length: number } | undefined

  constructor(target: string) {
    const [, host, port] = /^\[?([^\]]+?)\]?:(\d+)$/.exec(target)!
    this.socket = connect(Number(port), host)
    this.socket.setNoDelay(true)
    this.socket.on('data', (data) => this.take(data))
    this.socket.on('error', (error) => this.waiting?.reject(error))
    this.socket.on('close', () => this.waiting?.reject(new Error('closed')))
  }

  /** Resolves with the status when the whole response has arrived. */
  ask(message: Buffer): Promise<number> {
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject }
      this.received = []
      this.length = 0
      this.head = undefined
      this.socket.write(message)
    })
  }

  close(): void {
    this.socket.destroy()
  }

  private take(data: Buffer): void {
    this.received.push(data)
    this.length += data.length
    if (!this.head) {
      const all = Buffer.concat(this.received)
      const end = all.indexOf(END_OF_HEAD)
      if (end < 0) return
      const text = all.toString('latin1', 0, end)
      const status = Number(text.slice(9, 12))
      const stated = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1]
      const body = status === 304 || status === 204 ? 0 : stated === undefined ? NaN : Number(stated)
      this.head = { status, length: end + END_OF_HEAD.length + body }
    }
    // A chunked response ends with an empty chunk.
    const whole = Number.isNaN(this.head.length)
      ? Buffer.concat(this.received.slice(-LAST_CHUNK.length)).subarray(-LAST_CHUNK.length).equals(LAST_CHUNK)
      : this.length >= this.head.length
    if (whole) this.waiting?.resolve(this.head.status)
  }
}

void send(workerData as Load).then((measured) => parentPort!.postMessage(measured))
