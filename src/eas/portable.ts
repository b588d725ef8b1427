// SPDX-License-Identifier: MIT
/**
 * The part of this room that runs in every JavaScript engine: forms and encodings, without hashing, signing
 * or Node's modules. packages/client is built from it.
 */
export { expandSignature, HALF_ORDER } from './compact'
export { PayloadError, Tuple, decodeFields, parseSchema } from './decode'
export type { FieldValue, SchemaField } from './decode'
export { MAX_BUMP, packUid } from './uid-fields'
export { FIELDS, OffchainError, readDocument, type Document } from './offchain-document'
export { DOMAIN_NAME, offchainDigest, offchainUid } from './offchain-hash'
