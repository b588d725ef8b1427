import { Type, type Static } from '@sinclair/typebox'
import type { Chain } from '../../src/chains'
import type { ChainStatusRow, IndexState } from './sql-status'
import { objectOf } from '../http/schema'

const orNull = <Value>(type: string, description: string, more: object = {}) =>
  Type.Unsafe<Value | null>({ type: [type, 'null'], description, ...more })
const STATUSES = [
  'ready',
  'not started',
  'reading history',
  'lagging',
  'node behind',
  'indexer silent',
  'in doubt',
] as const

/** Heights are null before the indexer first checks the head or stores a block. */
export const CHAIN_READINESS = objectOf('Index state of this chain.', {
  status: Type.Unsafe<(typeof STATUSES)[number]>({ enum: [...STATUSES], description: 'In a word.' }),
  fresh: Type.Boolean({
    description:
      'True if the indexed data is known to agree with the chain. Otherwise compute queries the ' +
      'chain about each attestation.',
  }),
  doubt: orNull<string>(
    'string',
    'Reason why the indexed data may not agree with the chain; null if it is fresh.',
  ),
  head_block: orNull<number>('integer', 'Newest block of the chain, by its RPC endpoint.'),
  indexed_block: orNull<number>('integer', 'Newest block in the database.'),
  lag_blocks: orNull<number>(
    'integer',
    'Blocks between the two; null if the RPC endpoint names an older block, or the newest ' +
      'indexed block is in doubt.',
  ),
  lag_seconds: orNull<number>(
    'integer',
    'Seconds since the indexed data was last known to agree with the chain; null if it never was.',
  ),
  head_time: orNull<string>('string', "Time of the chain's newest block.", { format: 'date-time' }),
  indexed_time: orNull<string>('string', 'Time of the newest block in the database.', {
    format: 'date-time',
  }),
  withheld_attestations: Type.Integer({
    description: 'Attestations that could not be stored: they produce no record, and indexing continues.',
  }),
  location_schemas: Type.Integer({
    description: "Location schemas found in the chain's registry and indexed.",
  }),
  schema_history_blocks: Type.Integer({
    description: 'Blocks still to be read again for schemas that were found later; 0 if none.',
  }),
})
export type ChainReadiness = Static<typeof CHAIN_READINESS>

/** Maximum ages, in seconds. */
export interface AgeLimits {
  /** Compute relies on indexed data that agreed with its chain within this time. */
  readonly indexMaxAgeSeconds: number
  /** A chain whose indexed data or RPC endpoint lags by more than this is not ready. */
  readonly maxLagSeconds: number
  /** True if a chain makes blocks on demand only, like a development node. */
  readonly isLocal: (chain: Chain) => boolean
}

/** Seconds. A newest block further in the future means that the clock of the database is inaccurate. */
const SKEW_SECONDS = 60

/**
 * Seconds for which the indexed data has not been known to agree with the chain: the time since a check of
 * the head found the last indexed block on the chain, plus the lag of that block behind the head. Infinity if
 * no check has found it, or if the clock was set back since.
 */
function ageOf({ agreedAge, ...state }: IndexState): number {
  return agreedAge === null || agreedAge < 0 ? Infinity : agreedAge + secondsBehind(state)
}

/**
 * Reason why the indexed data of a chain may disagree with the chain; undefined if it agrees, or did so
 * within `maxSeconds`. This is the only definition of `fresh`: compute, GET /ready, the metrics and the
 * records use it.
 */
export function doubtAbout(
  state: IndexState | undefined,
  maxSeconds: number,
  isLocal: boolean,
  blockMs: number,
): string | undefined {
  return (
    staleness(state, maxSeconds, isLocal) ??
    (state && (shorterHead(state) ?? (isLocal ? undefined : oldHead(state, maxSeconds, blockMs))))
  )
}

/** Number of block times by which a head may be late. A slot of Ethereum without a block is not rare. */
const LATE_BLOCKS = 3

/**
 * Reports that the newest block is old. A poll that found it then proves little: the chain has halted, or an
 * endpoint repeats an old block from a cache.
 */
function oldHead({ headAge }: IndexState, maxSeconds: number, blockMs: number): string | undefined {
  return headAge !== null && headAge >= maxSeconds + (LATE_BLOCKS * blockMs) / 1000
    ? `the newest block that an endpoint has is ${Math.round(headAge)} s old`
    : undefined
}

/**
 * Reports that no RPC endpoint has the last indexed block any more: all of them lag, or the chain was rolled
 * back. Nothing distinguishes these cases until the next block, but data must agree with its chain within
 * seconds.
 */
function shorterHead({ headBlock, indexedBlock }: IndexState): string | undefined {
  return headBlock !== null && indexedBlock !== null && headBlock < indexedBlock
    ? `the newest block of an RPC endpoint is ${headBlock}, below the last indexed block, ${indexedBlock}`
    : undefined
}

/** Like `doubtAbout`, but leaves out doubts that the next block resolves if the endpoints only lag. */
function staleness(state: IndexState | undefined, maxSeconds: number, isLocal: boolean): string | undefined {
  if (!state || state.indexedBlock === null) return 'no block is indexed yet'
  if (state.doubt !== null) return state.doubt
  const { headAge, indexedBlock } = state
  if (!isLocal && headAge !== null && headAge < -SKEW_SECONDS)
    return `the newest block is ${Math.round(-headAge)} s in the future, by the clock of the database`
  const age = ageOf(state)
  if (age === Infinity) return `the last indexed block, ${indexedBlock}, has not been found on the chain`
  if (age >= maxSeconds && state.checkedAge !== null && state.checkedAge >= maxSeconds)
    return `the indexer has read no block from an RPC endpoint for ${Math.round(state.checkedAge)} s`
  if (age >= maxSeconds) return `the database was last known to agree with the chain ${Math.round(age)} s ago`
  return undefined
}

function secondsBehind({
  headBlock,
  headTime,
  indexedBlock,
  indexedTime,
}: Omit<IndexState, 'agreedAge'>): number {
  if (headBlock === null || indexedBlock === null || indexedBlock >= headBlock || !headTime || !indexedTime)
    return 0
  return Math.max(0, (headTime.getTime() - indexedTime.getTime()) / 1000)
}

/** Reports how far a chain is indexed, and whether its data agrees with the chain. */
export function readinessOf(
  chain: Chain,
  row: ChainStatusRow | undefined,
  limits: AgeLimits,
): ChainReadiness {
  const { indexMaxAgeSeconds, maxLagSeconds } = limits
  // On other chains, an old newest block means that the RPC endpoint is stuck.
  const isLocal = limits.isLocal(chain)
  const { headBlock = null, indexedBlock = null } = row ?? {}
  // If indexMaxAgeSeconds is 0, compute queries the chain about every attestation, however fresh the data is.
  const doubt = doubtAbout(row, indexMaxAgeSeconds || maxLagSeconds, isLocal, chain.blockMs)
  const figures = {
    head_block: headBlock,
    indexed_block: indexedBlock,
    lag_blocks: null,
    lag_seconds: null,
    head_time: row?.headTime?.toISOString() ?? null,
    indexed_time: row?.indexedTime?.toISOString() ?? null,
    fresh: doubt === undefined,
    doubt: doubt ?? null,
    withheld_attestations: row?.withheldAttestations ?? 0,
    location_schemas: row?.schemasFound ?? 0,
    schema_history_blocks: row?.schemaHistoryBlocks ?? 0,
  }
  if (!row || headBlock === null || indexedBlock === null || row.checkedAge === null || row.headAge === null)
    return { status: 'not started', ...figures }
  const age = ageOf(row)
  const status =
    row.checkedAge < 0 || row.checkedAge > maxLagSeconds
      ? row.hasIndexer && row.checkedAge >= 0
        ? 'node behind'
        : 'indexer silent'
      : indexedBlock < headBlock - chain.finality
        ? 'reading history'
        : secondsBehind(row) > maxLagSeconds
          ? 'lagging'
          : !isLocal && row.headAge + row.checkedAge > maxLagSeconds
            ? 'node behind'
            : staleness(row, maxLagSeconds, isLocal) !== undefined
              ? 'in doubt'
              : 'ready'
  // An RPC endpoint that reports an older block may have followed a reorg, or may only lag.
  const isUnknown = headBlock < indexedBlock || (headBlock === indexedBlock && doubt !== undefined)
  return {
    status,
    ...figures,
    lag_blocks: isUnknown ? null : headBlock - indexedBlock,
    lag_seconds: age === Infinity ? null : Math.round(age),
  }
}
