/**
 * EAS encodings and signatures: ABI payloads, EIP-712 delegated and offchain attestations, UIDs. This room
 * depends on no HTTP, database or clock: keys and times are arguments. It imports only ethers, hash-wasm (a
 * faster keccak) and libsecp256k1.
 *
 * The indexer decodes payloads (decode.ts) and verifies UIDs (uid.ts). The API encodes results (payload.ts),
 * signs them (delegated.ts, quorum.ts, signature.ts) and verifies offchain attestations (offchain.ts).
 */
export { expandSignature, isCanonicalSignature } from './compact'
export { PayloadError, fieldTypes } from './decode'
export { ADDRESS_PATTERN, checksumAddress, parseAddress, parseChecksumAddress } from './address'
export { UID_PATTERN, attestationUid, hashesToUid, parseUid, schemaUid } from './uid'
export type { UidFields } from './uid-fields'
export {
  BOOLEAN_RESULT_FIELDS,
  NUMERIC_RESULT_FIELDS,
  decodeResult,
  encodeBooleanResult,
  encodeNumericResult,
  payloadBytes,
} from './payload'
export {
  ATTEST_TYPE_HASHES,
  DELEGATED_ABIS,
  attestCalldata,
  attestDigest,
  attestTypedData,
  delegationError,
  domainSeparator,
  layoutOfTypeHash,
  multiAttestCalldata,
  splitSignature,
  type AttestDomain,
  type AttestMessage,
  type AttestTypedData,
  type DelegatedRequest,
  type MultiDelegatedRequest,
} from './delegated'
export { ATTEST_FIELDS, LONGEST_DEADLINE_SECONDS, quorumDomain, type AttestLayout } from './layouts'
export { QUORUM_ABI, quorumDigest, quorumTypedData, type QuorumAnswer } from './quorum'
export {
  addressOf,
  canonicalSignature,
  keySigner,
  recoverSigner,
  sealOf,
  type Seal,
  type Signer,
} from './signature'
export { CURVE } from './curve'
export { keccak256 } from './keccak'
export { MAX_SIGNATURE_BYTES, OffchainError } from './offchain-document'
export { checkExpiry, verifyOffchain, type OffchainAttestation, type OffchainExpectation } from './offchain'
export { timeOf } from './times'
