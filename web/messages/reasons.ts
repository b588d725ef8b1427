import type { ApiError, LandingError, LostTransactionError } from '@geospatial-attestation/client'

/** Names of the errors with the fields of an ApiError, and of those without fields. */
const REFUSALS = [
  ...(['ApiError', 'InvalidInputError', 'AttestationNotFoundError', 'VerificationFailedError'] as const),
  ...(['ComputationError', 'RateLimitedError', 'UnavailableError'] as const),
] as const
const OTHERS = [
  ...(['ConnectionError', 'ServiceVersionError', 'SignerError', 'ChainMismatchError'] as const),
  ...(['AlteredAnswerError', 'UncheckedError', 'UncertainError', 'EffortError'] as const),
] as const
/** Names of the errors of the client and the kernel. */
export const KINDS = [
  ...[...REFUSALS, ...OTHERS],
  ...(['GeometryError', 'LandingError', 'LostTransactionError'] as const),
] as const

type Errors = Record<(typeof REFUSALS)[number], ApiError> &
  Record<(typeof OTHERS)[number], Error> & {
    /** `path` is the place in the input, such as `from.coordinates[0]` */
    GeometryError: Error & { readonly path: string }
    LandingError: LandingError
    LostTransactionError: LostTransactionError
  }

/**
 * Reasons by the kind of the error, from its fields. A kind without an entry has the English sentence of the
 * client or the kernel. An entry may quote this sentence, because the rule that a value breaks is only there.
 */
export type Reasons = {
  readonly [Kind in keyof Errors]?: (error: Errors[Kind], sentence: string) => string
}

/** Reason of any error. `sentence` is the part of the error's message that is shown in English. */
export function reasonIn(reasons: Reasons, error: unknown, sentence?: string): string {
  const { name, message } = error instanceof Error ? error : { name: '', message: String(error) }
  const write = Object.hasOwn(reasons, name) ? reasons[name as keyof Errors] : undefined
  return write ? write(error as never, sentence ?? message) : (sentence ?? message)
}
