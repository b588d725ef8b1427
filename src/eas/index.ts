/**
 * ROOM 2: the signing room. ABI payloads, EIP-712 delegated and offchain attestations, UIDs.
 * Knows no HTTP, no database and no clock; keys and times are handed to it. Imports ethers, a faster keccak (hash-wasm) and libsecp256k1 only.
 */
export { PayloadError, decodeFields, type FieldValue } from './decode'
export { attestationUid, hashesToUid, schemaUid, type UidFields } from './uid'
export {
  BOOLEAN_RESULT_FIELDS,
  NUMERIC_RESULT_FIELDS,
  decodeResult,
  encodeBooleanResult,
  encodeNumericResult,
  fieldNames,
  fieldTypes,
  type ResultContext,
} from './payload'
export {
  ATTEST_TYPE_HASHES,
  DELEGATED_ABIS,
  attestDigest,
  domainSeparator,
  layoutOfTypeHash,
  type AttestLayout,
  type AttestMessage,
  type EasDomain,
} from './delegated'
export { isCanonicalSignature, keySigner, recoverSigner, type Signer } from './signature'
export { CURVE } from './curve'
export { keccak256 } from './keccak'
export {
  OffchainError,
  checkExpiry,
  verifyOffchain,
  type OffchainAttestation,
  type OffchainExpectation,
} from './offchain'
