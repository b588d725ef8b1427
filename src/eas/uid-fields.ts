// SPDX-License-Identifier: MIT
import { hex, uint } from './words'

/** Fields that an attestation's UID commits to. Hex in any letter case; times in Unix seconds. */
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
 * Maximum number of equal attestations in one block that are distinguished. EAS counts up for each of them:
 * the last would cost it 20 million gas of look-ups.
 */
export const MAX_BUMP = 10_000

/** Input of the UID's keccak256, without the bump (EAS.sol, _getUID). Throws a TypeError for a bad field. */
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
