// SPDX-License-Identifier: MIT
import type { QuorumError } from '@geospatial-attestation/client'
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
  terminated: 143,
} as const

/** Meanings of the exit codes, for --help and docs/guide/cli.md. */
export const EXIT_TEXTS: Readonly<Record<(typeof EXIT)[keyof typeof EXIT], string>> = {
  0: 'success; for a check: it passed',
  1: 'negative result: verify finds an invalid answer, recompute differs, lines of a batch have no answer, zones are undecided, or log monitor raised an alarm',
  2: 'invalid usage or input, found by geo or by the service; or a file or the output cannot be read or written',
  3: 'error of the service: not found, verification failed, internal error, or another version',
  4:
    'the service, its database or an RPC endpoint is unreachable, or --timeout has elapsed, before a ' +
    'transaction was sent',
  5:
    'problem with the key: permissions of the key file, passphrase, RPC endpoint of another ' +
    'chain or without its contracts, or too little balance; before a transaction was sent',
  6:
    'the answer is altered or by another attester; or it did not land, the place was not attested, or a ' +
    'transaction was sent whose result is not known: do not repeat the command before you have checked it ' +
    '(geo batch -o: run it again, it resumes)',
  7: 'rate limit, before a transaction was sent: the message says when to retry',
  70: 'internal error of this program',
  130: 'ended by Ctrl-C',
  143: 'ended by SIGTERM',
}

/** Invalid usage or input. The message states what is expected. */
export class UsageError extends Error {
  override name = 'UsageError'
}
/** Neither an option nor a variable sets the RPC endpoint of a chain. */
export class NoEndpointError extends UsageError {}
/** The key cannot be used. The message never contains any part of the key. */
export class KeyError extends Error {
  override name = 'KeyError'
}

export async function exitCodeOf(error: unknown): Promise<number> {
  if (error instanceof UsageError) return EXIT.usage
  if (error instanceof TimeoutError) return EXIT.unreachable
  if (error instanceof KeyError) return EXIT.key
  // A file error: the named file cannot be read or written.
  if (typeof (error as { syscall?: unknown }).syscall === 'string') return EXIT.usage
  const kinds = await import('@geospatial-attestation/client')
  // The cause of an UncheckedError determines the exit code.
  if (error instanceof kinds.UncheckedError && error.cause) return exitCodeOf(error.cause)
  if (error instanceof Error && error.name === 'QuorumError') return exitCodeOfQuorum(error as QuorumError)
  // The error comes from a reverse proxy in front of the service, or from the service itself, which sends
  // Retry-After if its database or an RPC endpoint is unavailable.
  if (error instanceof kinds.ApiError && error.status >= 500 && !(error instanceof kinds.InvalidInputError))
    return error.retryAfter !== undefined || error.status > 501 ? EXIT.unreachable : EXIT.refused
  // The transaction was sent, so a script must not run the command again as after another failed connection.
  if (error instanceof kinds.ConnectionError && error.transactionHash !== undefined) return EXIT.landing
  const codes = [
    [kinds.InvalidInputError, EXIT.usage],
    [kinds.RateLimitedError, EXIT.limited],
    [kinds.ApiError, EXIT.refused],
    [kinds.ServiceVersionError, EXIT.refused],
    [kinds.ConnectionError, EXIT.unreachable],
    [kinds.SignerError, EXIT.key],
    [kinds.AlteredAnswerError, EXIT.landing],
    [kinds.UncertainError, EXIT.landing],
    [kinds.LandingError, EXIT.landing],
    [kinds.PartlyAttestedError, EXIT.landing],
    // Any other error of the client is about an invalid argument.
    [kinds.GeoError, EXIT.usage],
  ] as const
  return codes.find(([kind]) => error instanceof kind)?.[1] ?? EXIT.fault
}

/** Returns the exit code of a quorum without an answer, from the reasons of its operators. */
function exitCodeOfQuorum({ retryable, dissent }: QuorumError): number {
  if (retryable) return EXIT.unreachable
  const isInvalid = dissent.length > 0 && dissent.every(({ reason }) => reason === 'invalid-input')
  return isInvalid ? EXIT.usage : EXIT.refused
}

/** Returns the exit code of a command that ran until Ctrl-C, or until --timeout, which it notes. */
export function exitCodeOfStop(reason: unknown, note: (line: string) => void): number {
  if (!(reason instanceof TimeoutError)) return EXIT.interrupted
  note(reason.message)
  return EXIT.unreachable
}
