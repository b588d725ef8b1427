import { RpcClient, RpcError, RpcProtocolError, type RpcClientOptions } from '@subsquid/rpc-client'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { Agent } from 'undici'
import { MONOTONIC } from '../clock'

const unzipped = promisify(gunzip)
/** Maximum number of bytes of a decompressed response: Node's maximum string length. */
const LONGEST = 2 ** 29 - 24

/** A request or a response. */
interface Message {
  id: number
}

/** Error for a response whose status is not a success. */
class HttpStatusError extends Error {
  override readonly name = 'HttpStatusError'
  readonly response: { status: number }

  constructor(status: number) {
    super(`HTTP status ${status}`)
    this.response = { status }
  }
}

/** Members of RpcClient 4.14.0 that `rpcClient` replaces. */
interface Inner {
  con: HttpConnection
  rate: RateMeter
  rateLimit: number
  maxBatchCallSize: number
  backoff: () => void
}

/**
 * Subsquid's JSON-RPC client (its queue, its limits) over undici. Its own HTTP client, node-fetch, needs
 * three times as much CPU per call. Its own meter and pauses depend on the system clock, and stop all calls
 * while a clock that was set back catches up.
 */
export function rpcClient({ rateLimit, ...options }: RpcClientOptions & { url: string }): RpcClient {
  const client = new RpcClient(options)
  const inner = client as unknown as Inner
  inner.backoff = () => {}
  if (/^https?:/i.test(options.url)) inner.con = new HttpConnection(options.url)
  if (rateLimit !== undefined) {
    const calls = Math.min(Math.max(1, Math.floor(rateLimit)), CALLS_COUNTED)
    inner.rate = new RateMeter(calls, (1000 * calls) / rateLimit)
    inner.rateLimit = calls
    // Subsquid's queue sends a batch as soon as one call is left, so a batch as large as the rate doubles it.
    const batch = Math.min(calls, Math.max(SMALLEST_BATCH, Math.floor(calls / 5)))
    inner.maxBatchCallSize = Math.min(inner.maxBatchCallSize, batch)
  }
  return client
}

/** Number of calls that a batch may have if the rate allows: the logs and the header of a block fit. */
const SMALLEST_BATCH = 5

/** Maximum number of calls whose times a meter keeps. It divides the second for higher limits. */
const CALLS_COUNTED = 1_000

/** Counts the calls of the last `milliseconds`. Calls beyond `limit` count when their turn would come. */
class RateMeter {
  /** Milliseconds after which a full meter is read again. */
  readonly slotTime = 10
  private readonly times: number[]

  constructor(
    limit: number,
    private readonly milliseconds: number,
  ) {
    this.times = Array<number>(limit).fill(-Infinity)
  }

  getRate(): number {
    const since = MONOTONIC.now() - this.milliseconds
    return this.times.filter((time) => time > since).length
  }

  inc(count: number): void {
    const now = MONOTONIC.now()
    for (let i = 0; i < count; i++) this.times.push(Math.max(now, this.times.shift()! + this.milliseconds))
  }
}

/** Connection that RpcClient 4.14.0 expects (`Connection` in its interfaces.ts). */
class HttpConnection {
  private readonly agent = new Agent()
  private readonly target: { origin: string; path: string; headers: Record<string, string> }

  constructor(url: string) {
    const { origin, pathname, search, username, password } = new URL(url)
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json',
      'accept-encoding': 'gzip',
    }
    const account = [username, password].map(decodeURIComponent).join(':')
    this.target = {
      ...{ origin, path: pathname + search },
      headers:
        account === ':'
          ? headers
          : { ...headers, authorization: `Basic ${Buffer.from(account).toString('base64')}` },
    }
  }

  async connect(): Promise<void> {}

  close(): void {
    void this.agent.destroy()
  }

  async call(request: Message, timeoutMs = 0): Promise<Message> {
    const answer = (await this.post(request, timeoutMs)) as Message
    if (answer.id === request.id) return answer
    const refusal = answer.id == null ? refusalIn(answer) : undefined
    throw refusal ?? protocolError('the response belongs to another request')
  }

  /** Returns responses in the order of the requests. */
  async batchCall(batch: Message[], timeoutMs = 0): Promise<Message[]> {
    const answers = await this.post(batch, timeoutMs)
    if (!Array.isArray(answers))
      throw refusalIn(answers) ?? protocolError('the response to a batch is not an array')
    if (answers.length !== batch.length)
      throw protocolError('the response to a batch has a different number of elements')
    const byId = new Map((answers as Message[]).map((answer) => [answer.id, answer]))
    return batch.map(({ id }) => {
      const answer = byId.get(id)
      if (!answer) throw protocolError('the response to a batch lacks one of its requests')
      return answer
    })
  }

  /** @param timeoutMs time limit for the whole response; 0 disables it */
  private async post(content: object, timeoutMs: number): Promise<unknown> {
    const abort = new AbortController()
    const timer = timeoutMs > 0 ? setTimeout(() => abort.abort(timedOut(timeoutMs)), timeoutMs) : undefined
    try {
      const { statusCode, headers, body } = await this.agent.request({
        ...{ ...this.target, method: 'POST', signal: abort.signal, body: JSON.stringify(content) },
        ...{ headersTimeout: 0, bodyTimeout: 0 },
      })
      const isSuccess = statusCode >= 200 && statusCode <= 299
      if (!isSuccess && isOutage(statusCode)) {
        await body.dump()
        throw new HttpStatusError(statusCode)
      }
      const isZipped = headers['content-encoding'] === 'gzip'
      const text = isZipped
        ? (await unzipped(await body.bytes(), { maxOutputLength: LONGEST })).toString()
        : await body.text()
      let answer: unknown
      try {
        answer = JSON.parse(text) ?? {}
      } catch (cause) {
        throw isSuccess
          ? protocolError('the response is not valid JSON', cause)
          : new HttpStatusError(statusCode)
      }
      if (isSuccess) return answer
      const refusal = refusalIn(answer)
      throw refusal
        ? Object.assign(refusal, { response: { status: statusCode } })
        : new HttpStatusError(statusCode)
    } finally {
      clearTimeout(timer)
    }
  }
}

/** True if a status concerns the endpoint as a whole (its key, plan, limits or health), not one call. */
function isOutage(status: number): boolean {
  return [401, 402, 408, 429].includes(status) || (status >= 500 && status !== 501)
}

/** Returns the first JSON-RPC error in a response; undefined if it has none. */
function refusalIn(answer: unknown): RpcError | undefined {
  const answers = [answer].flat() as ({ error?: { code?: unknown; message?: unknown } } | null)[]
  const error = answers.find((each) => each?.error)?.error
  if (typeof error?.code !== 'number' || typeof error.message !== 'string') return undefined
  return new RpcError({ code: error.code, message: error.message })
}

function timedOut(milliseconds: number): Error {
  return new Error(`no response within ${milliseconds} ms`)
}

function protocolError(message: string, cause?: unknown): Error {
  return Object.assign(new RpcProtocolError(1008, message), { cause })
}
