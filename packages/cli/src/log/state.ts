// SPDX-License-Identifier: MIT
import { existsSync, readFileSync } from 'node:fs'
import { UsageError } from '../exit'
import type { Alarm } from './alarms'
import type { Attested } from './attested'

/** Position of a monitor, from which the next run resumes. */
export interface State {
  version: 1
  /** last verified checkpoint, as a signed note; undefined before the first one */
  checkpoint?: string
  /** next block to read, by the slug of the chain */
  blocks: Record<string, number>
  /** contents of entries that an attestation may still match, with the time of the entry */
  contents: Record<string, number>
  /** Unix seconds; contents of earlier entries were forgotten */
  pruned?: number
  /** Unix seconds of the first entry: earlier attestations are older than the log */
  since?: number
  /** attestations without an entry so far */
  unmatched: Attested[]
  /** alarms that were raised, so that each is raised once */
  raised: string[]
  /** alarms that the webhook has not accepted yet */
  unsent: Alarm[]
}

/**
 * Seconds for which the content of an entry is remembered: longer than any signature can land
 * (DELEGATION_DEADLINE is at most a week).
 */
const REMEMBERED_SECONDS = 8 * 86_400

/** Reads the state; a new one if there is no file. Throws a UsageError if it is damaged. */
export function readState(file: string | undefined): State {
  if (file === undefined || !existsSync(file))
    return { version: 1, blocks: {}, contents: {}, unmatched: [], raised: [], unsent: [] }
  try {
    const state = JSON.parse(readFileSync(file, 'utf8')) as State
    if (state.version === 1 && Array.isArray(state.raised)) return state
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw new UsageError(
    `'${file}' is not the state of geo log monitor. Name another file with --state, or remove it.`,
  )
}

/** Forgets contents that no attestation can match any more. */
export function prune(state: State, now: number): void {
  state.pruned = now - REMEMBERED_SECONDS
  for (const [key, time] of Object.entries(state.contents))
    if (time < state.pruned) delete state.contents[key]
}
