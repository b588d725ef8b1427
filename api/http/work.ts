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
  /** Aborted once the request is answered, or its client has left. */
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
export function finished(work: Work): Work {
  return { ...work, signal: OWN_WORK.signal }
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

const works = new WeakMap<FastifyRequest, Work>()
/** The function is created once, because every request ends with it. */
const CLOSED = new RequestError('The connection was closed before the response.', 499)

/** Starts the work of a request, which ends with its response. */
export function beginWork(
  request: FastifyRequest,
  reply: FastifyReply,
  client: string,
  budget: Budget = OWN_WORK,
): void {
  const abort = new AbortController()
  setMaxListeners(0, abort.signal) // a request may wait for many slots at once
  const stop = () => abort.abort(CLOSED)
  if (reply.raw.destroyed) stop()
  else reply.raw.once('close', stop)
  works.set(request, { ...budget, client, signal: abort.signal })
}

/** Returns the work of a request in a scope of `limitRequests`. */
export function workOf(request: FastifyRequest): Work {
  return works.get(request) ?? OWN_WORK
}
