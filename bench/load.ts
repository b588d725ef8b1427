import http from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'

/**
 * The task of a worker thread: POST requests with these bodies in turn (without bodies: GET requests), this
 * many at a time, for this long.
 */
export interface Load {
  /** Used in turn, as by a load balancer. */
  readonly urls: readonly string[]
  readonly bodies: readonly string[]
  readonly concurrency: number
  readonly seconds: number
  /** Of GET requests. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The result. Rate and times are of requests with status 200; all others are errors. */
export interface Measured {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly errors: number
}

async function send({ urls, bodies, concurrency, seconds, headers = {} }: Load): Promise<Measured> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: concurrency })
  const times: number[] = []
  let errors = 0
  let next = 0
  const started = performance.now()
  const end = started + seconds * 1000
  const oneAfterTheOther = async () => {
    while (performance.now() < end) {
      const sent = performance.now()
      const request = next++
      const status = await ask(
        urls[request % urls.length]!,
        bodies.length ? bodies[request % bodies.length]! : undefined,
        agent,
        headers,
      ).catch(() => 0)
      if (status === 200) times.push(performance.now() - sent)
      else errors++
    }
  }
  await Promise.all(Array.from({ length: concurrency }, oneAfterTheOther))
  const elapsed = performance.now() - started
  agent.destroy()
  times.sort((a, b) => a - b)
  const percentile = (p: number) =>
    Math.round((times[Math.ceil((times.length * p) / 100) - 1] ?? 0) * 100) / 100
  return {
    requestsPerSecond: Math.round((times.length * 1000) / elapsed),
    p50Ms: percentile(50),
    p99Ms: percentile(99),
    errors,
  }
}

/** Resolves with the status once the whole answer has arrived. */
function ask(
  url: string,
  body: string | undefined,
  agent: http.Agent,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const options =
      body === undefined
        ? { agent, headers }
        : {
            agent,
            method: 'POST',
            headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
          }
    const request = http.request(url, options, (response) => {
      response.resume()
      response.once('end', () => resolve(response.statusCode ?? 0))
      response.once('error', reject)
    })
    request.once('error', reject)
    request.end(body)
  })
}

void send(workerData as Load).then((measured) => parentPort!.postMessage(measured))
