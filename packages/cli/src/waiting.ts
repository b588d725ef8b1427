/** What a command waits for: told on a terminal when it takes long, and when its time is over. */
export interface Waiting {
  /** A fetch whose requests are waited for under this name, such as "the node of celo". */
  readonly fetchOf: (name: string) => typeof fetch
  /** Notes a transaction that is under way, until it is in a block. */
  readonly sent: (transactionHash: string) => void
  /** The error when the time is over. */
  readonly overtime: (seconds: number) => TimeoutError
}

/** Who waits longer than this wants to know for what. */
const TELL_AFTER_MS = 2_000

/** The time of --timeout is over. */
export class TimeoutError extends Error {
  override name = 'TimeoutError'

  /** @param text as it is when the command ends: until then a wallet may still send its transaction */
  constructor(readonly text: () => string) {
    super('The time of --timeout is over.')
  }
}

/**
 * @param tell undefined where nobody reads it, as with --quiet or without a terminal; called with undefined
 *   when what was waited for has come
 */
export function startWaiting(tell: ((what: string | undefined) => void) | undefined): Waiting {
  let last: string | undefined
  let transaction: string | undefined
  return {
    fetchOf: (name) => async (input, init) => {
      last = name
      let told = false
      const timer =
        tell &&
        setTimeout(() => {
          told = true
          tell(name)
        }, TELL_AFTER_MS).unref()
      try {
        return await fetch(input, init)
      } finally {
        clearTimeout(timer)
        if (told) tell!(undefined)
      }
    },
    sent: (transactionHash) => (transaction = transactionHash),
    overtime: (seconds) =>
      new TimeoutError(() =>
        transaction === undefined
          ? `No answer from ${last ?? 'the service'} within ${seconds} s (--timeout).`
          : `${seconds} s are over (--timeout). The transaction ${transaction} was sent, and may still come into a block: look for it before you run this again.`,
      ),
  }
}
