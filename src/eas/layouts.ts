// SPDX-License-Identifier: MIT
/**
 * Layout of the typed data of a delegated attestation, by version of EAS. `legacy` (0.26, 1.0.x) has neither
 * value nor deadline, `v1` (1.2.0) has both, and `v2` (from 1.3.0) has the attester first. `proxy` is the
 * layout of EAS's EIP712Proxy: v2 without a nonce.
 */
export type AttestLayout = 'legacy' | 'v1' | 'v2' | 'proxy'

/**
 * Maximum number of seconds for which a signature can land (DEADLINE_SECONDS). Monitors of the log remember
 * entries for a day longer, and raise an alarm for an answer that lands later.
 */
export const LONGEST_DEADLINE_SECONDS = 7 * 86_400

/** Field of EIP-712 typed data. */
export interface Field {
  name: string
  type: string
}
const LEGACY_FIELDS: Field[] = [
  { name: 'schema', type: 'bytes32' },
  { name: 'recipient', type: 'address' },
  { name: 'expirationTime', type: 'uint64' },
  { name: 'revocable', type: 'bool' },
  { name: 'refUID', type: 'bytes32' },
  { name: 'data', type: 'bytes' },
]
const NONCE: Field = { name: 'nonce', type: 'uint256' }
const ATTESTER: Field = { name: 'attester', type: 'address' }
const VALUE: Field = { name: 'value', type: 'uint256' }
const DEADLINE: Field = { name: 'deadline', type: 'uint64' }
const V1_FIELDS: Field[] = [...LEGACY_FIELDS, VALUE, NONCE, DEADLINE]
/** Fields of the typed data, by layout. */
export const ATTEST_FIELDS: Record<AttestLayout, Field[]> = {
  legacy: [...LEGACY_FIELDS, NONCE],
  v1: V1_FIELDS,
  v2: [ATTESTER, ...V1_FIELDS],
  proxy: [ATTESTER, ...LEGACY_FIELDS, VALUE, DEADLINE],
}

/** Fields of the typed data that the operators of a quorum sign (GeoQuorum.sol, struct Answer). */
export const QUORUM_FIELDS: Field[] = [...LEGACY_FIELDS, DEADLINE, { name: 'epoch', type: 'uint32' }]

/** Fields of an EIP-712 domain, where typed data names them. */
export const DOMAIN_FIELDS: readonly Field[] = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
]
/** EIP-712 domain of a GeoQuorum contract. */
export const quorumDomain = <Address extends string>(chainId: number, contract: Address) => ({
  ...{ name: 'GeoQuorum', version: '1', chainId },
  verifyingContract: contract,
})
