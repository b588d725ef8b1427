// SPDX-License-Identifier: MIT
import { TimeoutError } from './waiting'

/** Exit codes of `geo`, its own error classes, and the exit code of any error. */

export const EXIT = {
  done: 0,
  no: 1,
  usage: 2,
  refused: 3,
  unreachable: 4,
  key: 5,
  landing: 6,
  limited: 7,
  fault: 70,
  interrupted: 130,
} as const

/** Meanings of the exit codes, for --help and docs/guide/cli.md. */
export const EXIT_TEXTS: Readonly<Record<(typeof EXIT)[keyof typeof EXIT], string>> = {
  0: 'done; of a check: it holds',
  1: 'the result is no: verify finds it invalid, recompute differs, a batch has lines without an answer',
  2: 'wrong usage or input: nothing was asked, or the service says what would be right',
  3: 'the service refused: not found, not valid, an error of its own, another version',
  4: 'the service, its database or the node of a chain is out of reach, or the time of --timeout is over',
  5: 'the key or its use: rights of the key file, passphrase, node of another chain, a wallet that cannot pay',
  6: 'the answer is altered, or not of the attester named; it did not land, or the place was not attested',
  7: 'rate limit: the message says when to go on',
  70: 'a fault of this program',
  130: 'ended by Ctrl-C',
}

/** Invalid usage or input. The message states what is expected. */
export class UsageError extends Error {
  override name = 'UsageError'
}
/** The key cannot be used. The message never contains any part of the key. */
export class KeyError extends Error {
  override name = 'KeyError'
}

/** Returns the exit code of an error. */
export async function exitCodeOf(error: unknown): Promise<number> {
  if (error instanceof UsageError) return EXIT.usage
  if (error instanceof TimeoutError) return EXIT.unreachable
  if (error instanceof KeyError) return EXIT.key
  // A file error: the named file cannot be read or written.
  if (typeof (error as { syscall?: unknown }).syscall === 'string') return EXIT.usage
  const kinds = await import('@geospatial-attestation/client')
  // The cause of an UncheckedError determines the exit code.
  if (error instanceof kinds.UncheckedError && error.cause) return exitCodeOf(error.cause)
  // The error comes from a reverse proxy in front of the service, or from the service itself, which sends
  // Retry-After if its database or an RPC endpoint is unavailable.
  if (error instanceof kinds.ApiError && error.status >= 500)
    return error.retryAfter !== undefined || error.status > 501 ? EXIT.unreachable : EXIT.refused
  const codes = [
    [kinds.InvalidInputError, EXIT.usage],
    [kinds.RateLimitedError, EXIT.limited],
    [kinds.ApiError, EXIT.refused],
    [kinds.ServiceVersionError, EXIT.refused],
    [kinds.ConnectionError, EXIT.unreachable],
    [kinds.SignerError, EXIT.key],
    [kinds.AlteredAnswerError, EXIT.landing],
    [kinds.LandingError, EXIT.landing],
    [kinds.PartlyAttestedError, EXIT.landing],
    // Any other error of the client is about an invalid argument.
    [kinds.GeoError, EXIT.usage],
  ] as const
  return codes.find(([kind]) => error instanceof kind)?.[1] ?? EXIT.fault
}
