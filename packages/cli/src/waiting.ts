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

  /** @param describe called when the command ends: until then, a wallet may still send its transaction */
  constructor(
    seconds: number,
    private readonly describe: (elapsed: string) => string,
  ) {
    super(`${seconds} s have elapsed (--timeout).`)
  }

  text(): string {
    return this.describe(this.message)
  }
}

/**
 * @param tell undefined if nobody reads it, as with --quiet or without a terminal; called with undefined
 * when the wait is over
 */
export function startWaiting(tell: ((what: string | undefined) => void) | undefined): Waiting {
  /** servers whose last request has no response, the newest last */
  const silent = new Set<string>()
  let transaction: string | undefined
  return {
    fetchOf: (name) => async (input, init) => {
      silent.delete(name)
      silent.add(name)
      let isShown = false
      const timer =
        tell &&
        setTimeout(() => {
          isShown = true
          tell(name)
        }, TELL_AFTER_MS).unref()
      try {
        const response = await fetch(input, init)
        silent.delete(name)
        return response
      } finally {
        clearTimeout(timer)
        if (isShown) tell!(undefined)
      }
    },
    sent: (transactionHash) => (transaction = transactionHash),
    pending: () => transaction,
    overtime: (seconds) =>
      new TimeoutError(seconds, (elapsed) => {
        if (transaction !== undefined)
          return (
            `${elapsed} The transaction ${transaction} was sent and may still be included in a block: check it ` +
            'before you run this again.'
          )
        const [server] = [...silent].slice(-1)
        return server === undefined ? elapsed : `No response from ${server} within ${seconds} s (--timeout).`
      }),
  }
}
