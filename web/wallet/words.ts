import { GeoError, SignerError } from '@geospatial-attestation/client'
import { reasonOf, say } from '../messages'
import { codeOf, messageOf } from './codes'

/**
 * Message of a wallet's error. An error of the client has its own sentence, whatever its cause: only this
 * sentence states that a transaction may have been sent. A refusal by the wallet sends nothing.
 */
export function walletWords(error: unknown): string {
  const code = codeOf(error) ?? ((error as { code?: unknown } | null)?.code === 'ACTION_REJECTED' ? 4001 : 0)
  if (error instanceof GeoError && !(error instanceof SignerError && [4001, 4100].includes(code)))
    return reasonOf(error)
  switch (code) {
    case 4001:
      return say.wallet.rejected
    case 4100:
      return say.wallet.notAllowed
    case 4900:
    case 4901:
      return say.wallet.disconnected
    case -32002:
      return say.wallet.pending
  }
  return say.wallet.failed(messageOf(error))
}
