// SPDX-License-Identifier: MIT
import { HASH_SIZE, fromBase64, toBase64 } from './bytes'
import { TlogError, parseDecimal } from './error'
import { parseNote, type Note } from './note'
import type { TreeHead } from './merkle'

/** State of a log at a size (c2sp.org/tlog-checkpoint). */
export interface CheckpointBody extends TreeHead {
  /** Identity of the log, such as `example.com/log`. */
  origin: string
}

/** Checkpoint with its signatures, which are not verified yet. */
export interface Checkpoint extends CheckpointBody {
  /** Extension lines after the root, which nothing verifies. */
  extensions: string[]
  note: Note
}

/** Text of a checkpoint, which the log and witnesses sign. */
export function formatCheckpoint({ origin, size, root }: CheckpointBody): string {
  return `${origin}\n${size}\n${toBase64(root)}\n`
}

/** Parses a signed checkpoint without verifying its signatures. Throws a TlogError. */
export function parseCheckpoint(text: string): Checkpoint {
  const note = parseNote(text)
  const lines = note.text.slice(0, -1).split('\n')
  const [origin, size, root, ...extensions] = lines
  if (lines.includes('') || root === undefined)
    throw new TlogError('checkpoint', 'three lines or more, none of them empty')
  return {
    origin: origin!,
    size: parseDecimal('tree size', size!),
    root: fromBase64('root hash', root, HASH_SIZE),
    extensions,
    note,
  }
}
