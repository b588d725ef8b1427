import { Type, type Static } from '@sinclair/typebox'
import { isLoopback, type ConnectedChain } from '../../src/config'
import type { ChainStatusRow } from './store'

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

/** Heights are null before the first look or block. */
export const CHAIN_READINESS = Type.Object(
  {
    status: Type.Unsafe<(typeof STATUSES)[number]>({ enum: [...STATUSES], description: 'In a word.' }),
    doubt: orNull<string>(
      'string',
      'Why the copy of the chain is not to be relied on now; null when nothing speaks against it.',
    ),
    head_block: orNull<number>('integer', "The chain's last block, as its node last said."),
    indexed_block: orNull<number>('integer', 'The last block that is in the database.'),
    lag_blocks: orNull<number>('integer', 'How many lie between.'),
    lag_seconds: orNull<number>(
      'integer',
      'For how long the copy has not been known to be equal to the chain.',
    ),
    head_time: orNull<string>('string', "Time of the chain's last block.", { format: 'date-time' }),
    indexed_time: orNull<string>('string', 'Time of the last block that is in the database.', {
      format: 'date-time',
    }),
    withheld_attestations: Type.Integer({
      description: 'Attestations that could not be stored: they give no record, and everything else goes on.',
    }),
    location_schemas: Type.Integer({
      description: "Location schemas of the chain's registry that were found and are indexed.",
    }),
    schema_history_blocks: Type.Integer({
      description:
        'Blocks whose attestations of schemas that were found later are still to be read; 0 where none are.',
    }),
  },
  { description: 'How far the copy of this chain goes.' },
)
export type ChainReadiness = Static<typeof CHAIN_READINESS>

/** How far the copy of a chain goes, as of `now` in Unix milliseconds. */
export function readinessOf(
  { chain, rpcUrls }: Pick<ConnectedChain, 'chain' | 'rpcUrls'>,
  row: ChainStatusRow | undefined,
  maxLagSeconds: number,
  now: number,
): ChainReadiness {
  const { headBlock = null, indexedBlock = null } = row ?? {}
  const figures = {
    head_block: headBlock,
    indexed_block: indexedBlock,
    lag_blocks: null,
    lag_seconds: null,
    head_time: row?.headTime?.toISOString() ?? null,
    indexed_time: row?.indexedTime?.toISOString() ?? null,
    doubt: row?.doubt ?? null,
    withheld_attestations: row?.withheldAttestations ?? 0,
    location_schemas: row?.schemasFound ?? 0,
    schema_history_blocks: row?.schemaHistoryBlocks ?? 0,
  }
  if (!row || headBlock === null || indexedBlock === null || !row.checkedAt || !row.headTime)
    return { status: 'not started', ...figures }
  const sinceChecked = (now - row.checkedAt.getTime()) / 1000
  const behind =
    indexedBlock < headBlock && row.indexedTime
      ? (row.headTime.getTime() - row.indexedTime.getTime()) / 1000
      : 0
  const lagSeconds = Math.max(0, Math.round(sinceChecked + behind))
  // A local chain makes blocks on demand only; every other one whose newest block is old has a node that is
  // stuck. (Without an endpoint it is not known which this is.)
  const headAge = rpcUrls.every(isLoopback) ? 0 : (now - row.headTime.getTime()) / 1000
  const status =
    sinceChecked > maxLagSeconds
      ? 'indexer silent'
      : indexedBlock < headBlock - chain.finality
        ? 'reading history'
        : behind > maxLagSeconds
          ? 'lagging'
          : headAge > maxLagSeconds
            ? 'node behind'
            : row.doubt !== null
              ? 'in doubt'
              : 'ready'
  return { status, ...figures, lag_blocks: Math.max(0, headBlock - indexedBlock), lag_seconds: lagSeconds }
}
