import { setMaxListeners } from 'node:events'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { RecordsError, RequestError } from './problems'

/** Cost of a request: milliseconds of database connections and of workers. */
export interface Budget {
  /** Reserves time until the request is answered. Throws if the client does not have that much left. */
  readonly foresee: (ms: number) => Promise<void>
  readonly spend: (ms: number) => void
}

/** Work for one request in databases and workers, with its client's share of the slots and its end. */
export interface Work extends Budget {
  readonly client: string
  /** Aborted once the request is answered, or its client has left. Created when it is first read. */
  readonly signal: AbortSignal
}

/** Work of the service itself, without a client. */
export const OWN_WORK: Work = {
  client: '',
  signal: new AbortController().signal,
  foresee: async () => {},
  spend: () => {},
}

// All work of the service listens to this signal, which never aborts, so the limit of listeners is off.
setMaxListeners(0, OWN_WORK.signal)

/** Returns work for a result that other clients share: it is completed even if this client leaves. */
export function finished({ client, foresee, spend }: Work): Work {
  return { client, foresee, spend, signal: OWN_WORK.signal }
}

/** Milliseconds for which a client waits for a result that another client's request has begun. */
const JOIN_MS = 1_000
const LATE = Symbol('late')

/**
 * Returns a result that another client's request has begun. Begins this client's own if there is none, if the
 * other client is at its limit, or if the result takes too long, because it may wait in the queue of a slow
 * client. Other clients then join the new computation.
 * @param begun returns the newest result that was begun
 * @param own begins another result than `late`
 */
export async function joined<T>(
  begun: () => Promise<T> | undefined,
  own: (late: Promise<T> | undefined) => Promise<T>,
): Promise<T> {
  for (let late: Promise<T> | undefined; ;) {
    const newest = begun()
    if (!newest || newest === late) return own(late)
    const result = await soon(newest)
    if (result !== LATE) return result
    late = newest
  }
}

async function soon<T>(result: Promise<T>): Promise<T | typeof LATE> {
  let timer: NodeJS.Timeout | undefined
  const waited = new Promise<typeof LATE>((resolve) => (timer = setTimeout(resolve, JOIN_MS, LATE)))
  try {
    return await Promise.race([result, waited])
  } catch (error) {
    if (error instanceof RecordsError && error.status === 429) return LATE
    throw error
  } finally {
    clearTimeout(timer)
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    work?: Work
  }
}

/** The error is created once, because every request ends with it. */
const CLOSED = new RequestError('The connection was closed before the response.', 499)

/** Work of a request. Most requests never wait, and a signal costs 20 microseconds in Node 20. */
class RequestWork implements Work {
  readonly foresee
  readonly spend
  private abort: AbortController | undefined
  private isOver = false

  constructor(
    readonly client: string,
    { foresee, spend }: Budget,
  ) {
    this.foresee = foresee
    this.spend = spend
  }

  get signal(): AbortSignal {
    if (!this.abort) {
      this.abort = new AbortController()
      setMaxListeners(0, this.abort.signal) // a request may wait for many slots at once
      if (this.isOver) this.end()
    }
    return this.abort.signal
  }

  end(): void {
    this.isOver = true
    this.abort?.abort(CLOSED)
  }
}

/** Starts the work of a request, which ends with its response. */
export function beginWork(
  request: FastifyRequest,
  reply: FastifyReply,
  client: string,
  budget: Budget = OWN_WORK,
): void {
  const work = new RequestWork(client, budget)
  if (reply.raw.destroyed) work.end()
  else reply.raw.once('close', () => work.end())
  request.work = work
}

/** Returns the work of a request in a scope of `limitRequests`. */
export function workOf(request: FastifyRequest): Work {
  return request.work ?? OWN_WORK
}
