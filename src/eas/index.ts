/**
 * ROOM 2: the signing room. ABI payloads, EIP-712 delegated and offchain attestations, UIDs.
 * Knows no HTTP, no database and no clock; keys and times are handed to it. Imports ethers only.
 */
export { PayloadError, decodeFields, type FieldValue } from './decode'
export { attestationUid, hashesToUid, schemaUid, type UidFields } from './uid'
export { BOOLEAN_RESULT_FIELDS, NUMERIC_RESULT_FIELDS, encodeBooleanResult, encodeNumericResult, fieldNames, fieldTypes, type ResultContext } from './payload'
export {
  ATTEST_TYPE_HASHES,
  addressOfKey,
  attestDigest,
  domainSeparator,
  layoutOfTypeHash,
  recoverAttester,
  signAttest,
  type AttestLayout,
  type AttestMessage,
  type EasDomain,
} from './delegated'
export { OffchainError, checkExpiry, verifyOffchain, type OffchainAttestation, type OffchainExpectation } from './offchain'
