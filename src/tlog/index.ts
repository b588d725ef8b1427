// SPDX-License-Identifier: MIT
/**
 * Formats of the transparency log, as C2SP specifies them: hashes and proofs of a Merkle tree (merkle.ts, RFC
 * 6962), its tiles (tiles.ts), signed notes and their keys (note.ts, keys.ts), checkpoints (checkpoint.ts),
 * proofs and requests to witnesses (proof.ts), policies (policy.ts), and a reader that verifies a whole log
 * (follower.ts). Only the format of entries is this project's own (entry.ts): the log records one entry for
 * each signature of the service.
 *
 * This room runs in Node, Bun, Deno and browsers. It reads no clock and opens no connection.
 */
export { HASH_SIZE, fromHex, toBase64, toHex, equal as equalBytes } from './bytes'
export { formatCheckpoint, parseCheckpoint, type Checkpoint } from './checkpoint'
export {
  ENTRY_KINDS,
  ENTRY_LAYOUTS,
  INCLUSION_SECONDS,
  MAX_DATA_BYTES,
  decodeEntry,
  encodeEntry,
  type Entry,
  type EntryKind,
  type EntryLayout,
} from './entry'
export { TlogError } from './error'
export { LogFault, LogFollower, inclusionOf, openProof, openSigned, type LogFaultKind } from './follower'
export {
  formatSignerKey,
  formatVerifierKey,
  generateSignerKey,
  parseSignerKey,
  parseVerifierKey,
  signerKey,
  type SignatureType,
  type SignerKey,
  type VerifierKey,
} from './keys'
export {
  EMPTY_ROOT,
  consistencyProof,
  inclusionProof,
  leafHash,
  treeRoot,
  verifyConsistency,
  verifyInclusion,
  type HashReader,
} from './merkle'
export {
  cosignatureTime,
  formatNote,
  formatSignature,
  parseNote,
  parseSignatures,
  signNote,
  signatureBy,
  type Note,
  type NoteSignature,
} from './note'
export { formatPolicy, isQuorum, parsePolicy, signersOf, type Policy, type PolicyKey } from './policy'
export { formatProof, formatWitnessRequest, parseProof, parseWitnessRequest } from './proof'
export {
  MAX_ENTRY_BYTES,
  TILE_WIDTH,
  TreeEdge,
  beginsWith,
  decodeBundle,
  encodeBundle,
  parseTilePath,
  tilePath,
  withTiles,
  type Tile,
} from './tiles'
