// SPDX-License-Identifier: MIT
import { HASH_SIZE, fromBase64, toBase64 } from './bytes'
import { parseCheckpoint, type Checkpoint } from './checkpoint'
import { TlogError, parseDecimal } from './error'
import { formatNote, type Note } from './note'

/** Maximum number of hashes of a proof: a tree has fewer than 2^63 leaves. */
const MAX_HASHES = 63
const HEADER = 'c2sp.org/tlog-proof@v1'

/** Reads hashes, one per line. */
function parseHashes(field: string, lines: readonly string[]): Uint8Array[] {
  if (lines.length > MAX_HASHES) throw new TlogError(field, `at most ${MAX_HASHES} hashes`)
  return lines.map((line) => fromBase64(field, line, HASH_SIZE))
}

const formatHashes = (hashes: readonly Uint8Array[]) => hashes.map((hash) => `${toBase64(hash)}\n`).join('')

/** Splits a text at its first empty line. */
function splitAtEmptyLine(field: string, text: string): [lines: string[], rest: string] {
  const end = text.indexOf('\n\n')
  if (end < 0) throw new TlogError(field, 'lines, an empty line and a checkpoint')
  return [text.slice(0, end).split('\n'), text.slice(end + 2)]
}

/** Proof that an entry is in a log (c2sp.org/tlog-proof). */
export interface InclusionProof {
  /** Index of the entry. */
  index: number
  hashes: readonly Uint8Array[]
}

/** Text of a proof in the tree of a signed checkpoint. */
export function formatProof({ index, hashes }: InclusionProof, checkpoint: Note): string {
  return `${HEADER}\nindex ${index}\n${formatHashes(hashes)}\n${formatNote(checkpoint)}`
}

/** Parses a proof without verifying it or the signatures of its checkpoint. Throws a TlogError. */
export function parseProof(text: string): InclusionProof & { checkpoint: Checkpoint } {
  const [[header, ...lines], rest] = splitAtEmptyLine('proof', text)
  if (header !== HEADER) throw new TlogError('first line of the proof', HEADER)
  // Bytes of another application, which are not signed.
  if (lines[0]?.startsWith('extra ')) fromBase64('extra', lines.shift()!.slice(6))
  const index = lines.shift()
  if (!index?.startsWith('index ')) throw new TlogError('proof', 'a line with the index')
  return {
    index: parseDecimal('index', index.slice(6)),
    hashes: parseHashes('proof', lines),
    checkpoint: parseCheckpoint(rest),
  }
}

/** Request that a witness cosign a checkpoint (c2sp.org/tlog-witness, add-checkpoint). */
export interface WitnessRequest {
  /** Size of the checkpoint that the witness cosigned last; 0 if there is none. */
  oldSize: number
  /** Consistency proof from `oldSize` to the size of the checkpoint. */
  hashes: readonly Uint8Array[]
}

/** Body of the request. */
export function formatWitnessRequest({ oldSize, hashes }: WitnessRequest, checkpoint: Note): string {
  return `old ${oldSize}\n${formatHashes(hashes)}\n${formatNote(checkpoint)}`
}

/** Parses the body of a request. Throws a TlogError. */
export function parseWitnessRequest(body: string): WitnessRequest & { checkpoint: Checkpoint } {
  const [[old, ...lines], rest] = splitAtEmptyLine('request', body)
  if (!old?.startsWith('old ')) throw new TlogError('request', 'a first line with the old size')
  return {
    oldSize: parseDecimal('old size', old.slice(4)),
    hashes: parseHashes('consistency proof', lines),
    checkpoint: parseCheckpoint(rest),
  }
}
