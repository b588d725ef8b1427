import { ApiError, InvalidInputError } from '@geospatial-attestation/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { reasonOf, say } from './messages'

export interface Loaded<T> {
  /** last loaded data, also while newer data or that of another key is loading */
  data: T | undefined
  isLoading: boolean
  failure: Failure | undefined
  /** retries at once */
  retry: () => void
}
export interface Failure {
  /** problem and its remedy */
  text: string
  /** seconds until the retry; undefined if a retry is useless */
  retryIn: number | undefined
}

/** Seconds until each retry, the last value for all further ones, if the service states no time. */
const RETRY_SECONDS = [2, 4, 8, 16, 30]

/**
 * Loads the data of `key`, and loads again when the key or `version` changes. Temporary failures are retried
 * until they succeed. Nothing is loaded while the key is undefined. A failure removes the data of other keys.
 * Another version is requested after the response to the last one, so that frequent changes do not abort all
 * requests on a slow connection.
 */
export function useLoaded<T>(
  key: string | undefined,
  load: (signal: AbortSignal) => Promise<T>,
  version = '',
): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'retry'> & { key?: string }>({
    ...{ data: undefined, isLoading: true, failure: undefined },
  })
  const [round, setRound] = useState(0)
  const isLoading = state.key !== key || state.isLoading
  const asked = useRef({ key, version })
  if (asked.current.key !== key || !isLoading) asked.current = { key, version }
  useEffect(() => {
    if (key === undefined) return
    const leaving = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const attempt = async (tries: number) => {
      setState((before) => ({ ...before, isLoading: true }))
      try {
        const data = await load(leaving.signal)
        if (!leaving.signal.aborted) setState({ key, data, isLoading: false, failure: undefined })
      } catch (error) {
        if (leaving.signal.aborted) return
        const failure = failureOf(error, tries)
        setState((before) => ({
          ...{ key, data: before.key === key ? before.data : undefined, isLoading: false, failure },
        }))
        if (failure.retryIn !== undefined)
          timer = setTimeout(() => void attempt(tries + 1), failure.retryIn * 1000)
      }
    }
    void attempt(0)
    return () => {
      leaving.abort()
      clearTimeout(timer)
    }
  }, [key, asked.current.version, round])
  // The state is that of the previous key until the new one has loaded or failed.
  const failure = state.key === key ? state.failure : undefined
  const retry = () => {
    setState((before) => ({ ...before, isLoading: true }))
    setRound((before) => before + 1)
  }
  return { data: state.data, isLoading, failure, retry }
}

/** Message of a failure, after a number of attempts. */
export function failureOf(error: unknown, tries: number): Failure {
  const backOff = RETRY_SECONDS[Math.min(tries, RETRY_SECONDS.length - 1)]!
  if (!(error instanceof ApiError)) return { text: say.failures.noResponse, retryIn: backOff }
  const retryIn = Math.max(1, Math.ceil(error.retryAfter ?? backOff))
  if (error.status === 429) return { text: say.failures.limit, retryIn }
  return error.status < 500 || error instanceof InvalidInputError
    ? { text: reasonOf(error), retryIn: undefined }
    : { text: say.failures.unavailable, retryIn }
}
