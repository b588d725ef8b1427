// SPDX-License-Identifier: MIT
import { existsSync, readFileSync } from 'node:fs'
import { INCLUSION_SECONDS } from '../../../../src/tlog'
import { UsageError } from '../exit'
import { parsed } from '../inputs'
import type { AlarmState } from './alarms'
import type { Attested, Named } from './attested'

/** Version of the format of a state. */
const VERSION = 3

/** Accounts and contracts that the service has named for a chain. */
export interface NamedChain extends Named {
  /** slug under which the service named the chain first */
  slug: string
  /** EAS contracts, lower-case */
  eas: readonly string[]
  /** Unix seconds since which a chain that the service no longer names cannot be read */
  unreadSince?: number
}

/** Position of a monitor, from which the next run resumes. */
export interface State extends AlarmState {
  version: typeof VERSION
  /** last verified checkpoint, as a signed note; undefined before the first one */
  checkpoint?: string
  /** number of entries of that checkpoint that were checked; undefined if all were */
  checked?: number
  /** next block to read, by chain id and EAS contract */
  blocks: Record<string, number>
  /** attestations in the last blocks, which are read again: blocks by UID, with the keys of `blocks` */
  known: Record<string, Record<string, number>>
  /** by chain id */
  chains: Record<string, NamedChain>
  /** contents of entries that an attestation may still match, with the time of the entry */
  contents: Record<string, number>
  /** entries of `contents` that could not be recomputed, because an input was not on the chain */
  unresolved: Record<string, UnresolvedEntry>
  /** landed entries of `unresolved`, to recompute again, by the UID of their attestation */
  landed: Record<string, LandedEntry>
  /** Unix seconds; contents of earlier entries were forgotten */
  pruned?: number
  /** Unix seconds of the first entry or read: the log may be younger than attestations signed before */
  since?: number
  /** attestations without an entry so far */
  unmatched: Attested[]
  /** checkpoints of witnesses that are larger than the tree, by witness, since these Unix seconds */
  ahead: Record<string, { checkpoint: string; since: number }>
  /** Unix seconds since which the log's checkpoint lacks the quorum of witnesses; undefined if it has it */
  weakSince?: number
  /** Unix seconds since which the log serves a smaller tree than before; undefined if it does not */
  behindSince?: number
  /** Unix seconds of the last read with one of these two faults; undefined if there is none */
  faultyAt?: number
}

/** An entry, by its index in the log. */
interface UnresolvedEntry {
  index: number
  chainId: number
}
interface LandedEntry extends UnresolvedEntry {
  /** key of its content in `contents` */
  key: string
  /** Unix seconds at which it could not be recomputed last */
  tried?: number
}

/** Seconds for which a content is remembered: longer than a signature can land (DEADLINE_SECONDS, a week). */
export const REMEMBERED_SECONDS = 8 * 86_400

const newState = (): State => ({
  ...{ version: VERSION, blocks: {}, known: {}, chains: {}, contents: {}, unresolved: {}, landed: {} },
  ...{ unmatched: [], ahead: {}, raised: [], unsent: [], omitted: 0 },
})

/** Reads the state; a new one if there is no file. Throws a UsageError if it cannot be read. */
export function readState(file: string | undefined): State {
  if (file === undefined || !existsSync(file)) return newState()
  const state = parsed(readFileSync(file, 'utf8')) as Partial<State> | null | undefined
  if (state?.version === VERSION && Array.isArray(state.raised)) return { ...newState(), ...state }
  const version: unknown = state?.version
  if (typeof version === 'number' && version !== VERSION)
    throw new UsageError(
      `'${file}' has version ${version} of the state, and this geo reads version ${VERSION}. Run the geo that ` +
        'wrote it once more, then name a new file with --state: geo trusts the log as it is at that time.',
    )
  throw new UsageError(
    `'${file}' is not the state of geo log monitor. Name another file with --state, or remove it.`,
  )
}

/** Number of entries of the last verified checkpoint; 0 before the first one. */
export function sizeOf({ checkpoint }: State): number {
  return Number(checkpoint?.split('\n')[1] ?? 0)
}

/**
 * Seconds for which contents are also remembered while a chain cannot be read: its attestations are compared
 * once it responds. Without a limit, the state would grow as long as the outage lasts.
 */
export const LONGEST_OUTAGE_SECONDS = 30 * 86_400
/** Difference of the clocks of the monitor and of a chain that causes no alarm, in seconds. */
const CLOCK_SECONDS = 300

/**
 * State of an attestation in the log:
 * - `logged`: an entry has its content
 * - `older`: it was signed before the log, or before the monitor saw the log
 * - `unknown`: its entry may be one that the monitor has forgotten, or its signature, without a deadline, may
 *   be from before the log
 * - `waiting`: its entry may still be published
 * - `unlogged`: the log has no such entry
 * @param since `since` of the state
 * @param readAt Unix seconds at which the last read of the log began
 */
export function comparisonOf(
  { time, signed, key, earliest, seen }: Omit<Attested, 'chain' | 'uid'>,
  { contents, pruned = -Infinity }: Pick<State, 'contents' | 'pruned'>,
  since: number,
  readAt: number,
): 'logged' | 'older' | 'unknown' | 'waiting' | 'unlogged' {
  if (contents[key] !== undefined) return 'logged'
  // A signature from before the log can land until its deadline.
  const isBefore = Math.min(time, signed) < since
  if (isBefore && time < since + REMEMBERED_SECONDS) return 'older'
  if (earliest < pruned || (isBefore && earliest < since)) return 'unknown'
  // The entry was committed before the answer left. The first limit depends on one clock only. Blocks of a
  // chain that catches up after an outage are older than the answers in them.
  const latest = Math.max(time, signed) + CLOCK_SECONDS
  const due = Math.min(seen, latest) + INCLUSION_SECONDS
  return readAt <= due ? 'waiting' : 'unlogged'
}

/**
 * Forgets contents that no attestation can match any more.
 * @param isRead true if all chains were read, apart from those for which no content is remembered
 */
export function prune(state: State, now: number, isRead: boolean): void {
  const oldest = now - REMEMBERED_SECONDS - (isRead ? 0 : LONGEST_OUTAGE_SECONDS)
  for (const [key, time] of Object.entries(state.contents)) {
    if (time >= oldest) continue
    delete state.contents[key]
    delete state.unresolved[key]
    state.pruned = oldest
  }
  for (const [uid, { key }] of Object.entries(state.landed))
    if (state.contents[key] === undefined) delete state.landed[uid]
}
