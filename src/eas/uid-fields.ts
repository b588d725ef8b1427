import { hex, uint } from './words'

/** The fields that an attestation's UID commits to. Hex in any letter case; times in Unix seconds. */
export interface UidFields {
  schema: string
  recipient: string
  attester: string
  time: bigint
  expirationTime: bigint
  revocable: boolean
  refUID: string
  data: string
}

/**
 * The most attestations of equal content in one block that are told apart. EAS itself counts up for each; the
 * last of these would cost it 20 million gas of look-ups.
 */
export const MAX_BUMP = 10_000

/**
 * What the UID is the keccak256 of, in hex, but for the bump at its end (EAS.sol, _getUID). Throws a
 * TypeError when a field does not fit its type.
 */
export function packUid(fields: UidFields): string {
  return (
    hex(fields.schema, 32) +
    hex(fields.recipient, 20) +
    hex(fields.attester, 20) +
    uint(fields.time, 8) +
    uint(fields.expirationTime, 8) +
    (fields.revocable ? '01' : '00') +
    hex(fields.refUID, 32) +
    hex(fields.data)
  )
}
