import { useEffect, useState } from 'preact/hooks'
import type { Failure } from '../loading'
import { say } from '../messages'

/** Message about a failure, with the time of the retry if there is one. */
export function FailureNotice({ failure, retry }: { failure: Failure; retry: () => void }) {
  const [left, setLeft] = useState(failure.retryIn)
  useEffect(() => {
    setLeft(failure.retryIn)
    if (failure.retryIn === undefined) return
    const timer = setInterval(() => setLeft((seconds) => Math.max(0, (seconds ?? 0) - 1)), 1_000)
    return () => clearInterval(timer)
  }, [failure])
  return (
    <div class="notice" role="alert">
      <p>
        <bdi>{failure.text}</bdi>
      </p>
      {left !== undefined && (
        <p>
          <span aria-hidden="true">{say.failures.retryingIn(left)} </span>
          <button type="button" onClick={retry}>
            {say.failures.retry}
          </button>
        </p>
      )}
    </div>
  )
}
