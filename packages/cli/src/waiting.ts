// SPDX-License-Identifier: MIT
/** Tracks what a command waits for, for the terminal after a while, and for the error of a timeout. */
export interface Waiting {
  /** Returns a fetch that reports its requests under this name, such as "the node of celo". */
  readonly fetchOf: (name: string) => typeof fetch
  /** Remembers a transaction; undefined once its result is known. */
  readonly sent: (transactionHash: string | undefined) => void
  readonly pending: () => string | undefined
  readonly overtime: (seconds: number) => TimeoutError
}

/** Time in milliseconds after which a waiting user is shown the reason. */
const TELL_AFTER_MS = 2_000

export class TimeoutError extends Error {
  override name = 'TimeoutError'

  /** @param text evaluated when the command ends: until then, a wallet may still send its transaction */
  constructor(readonly text: () => string) {
    super('--timeout has elapsed.')
  }
}

/**
 * @param tell undefined if nobody reads it, as with --quiet or without a terminal; called with undefined
 * when the wait is over
 */
export function startWaiting(tell: ((what: string | undefined) => void) | undefined): Waiting {
  let last: string | undefined
  let transaction: string | undefined
  return {
    fetchOf: (name) => async (input, init) => {
      last = name
      let isShown = false
      const timer =
        tell &&
        setTimeout(() => {
          isShown = true
          tell(name)
        }, TELL_AFTER_MS).unref()
      try {
        return await fetch(input, init)
      } finally {
        clearTimeout(timer)
        if (isShown) tell!(undefined)
      }
    },
    sent: (transactionHash) => (transaction = transactionHash),
    pending: () => transaction,
    overtime: (seconds) =>
      new TimeoutError(() =>
        transaction === undefined
          ? `No response from ${last ?? 'the service'} within ${seconds} s (--timeout).`
          : `${seconds} s have elapsed (--timeout). The transaction ${transaction} was sent and may ` +
            'still be included in a block: check it before you run this again.',
      ),
  }
}
