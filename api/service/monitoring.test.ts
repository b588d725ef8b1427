import { expect, test } from 'vitest'
import { CHAINS } from '../../src/chains'
import { readinessOf } from '../store/readiness'

const LIMITS = { indexMaxAgeSeconds: 15, maxLagSeconds: 60, isLocal: () => false }
const NOW = Date.UTC(2026, 10, 21)
const ago = (seconds: number) => new Date(NOW - seconds * 1000)
const chain = CHAINS[0]!
const row = {
  chain: 'base-sepolia',
  headBlock: 1000,
  headTime: ago(2),
  headAge: 1,
  checkedAge: 1,
  agreedAge: 1,
  indexedBlock: 1000,
  indexedTime: ago(2),
  rereadBlocks: 0,
  provenBlocks: 0,
  unprovenBlocks: 0,
  repairedEvents: 0,
  doubt: null,
  contradictions: 0,
  withheldAttestations: 0,
  schemasFound: 0,
  schemasLeftOut: 0,
  schemaHistoryBlocks: 0,
  hasIndexer: true,
}

test.each<[string, object, object]>([
  [
    'equal to the head',
    {},
    {
      status: 'ready',
      head_block: 1000,
      indexed_block: 1000,
      lag_blocks: 0,
      lag_seconds: 1,
      head_time: ago(2).toISOString(),
      indexed_time: ago(2).toISOString(),
    },
  ],
  [
    'two blocks behind',
    { indexedBlock: 998, indexedTime: ago(6) },
    { status: 'ready', fresh: true, doubt: null, lag_blocks: 2, lag_seconds: 5 },
  ],
  [
    'behind by more than compute accepts',
    { indexedBlock: 990, indexedTime: ago(22) },
    { status: 'ready', fresh: false, lag_blocks: 10, lag_seconds: 21 },
  ],
  [
    'too far behind',
    { indexedBlock: 940, indexedTime: ago(122) },
    { status: 'lagging', fresh: false, lag_blocks: 60, lag_seconds: 121 },
  ],
  [
    'below finality',
    { indexedBlock: 924, indexedTime: ago(150) },
    { status: 'reading history', fresh: false, lag_blocks: 76 },
  ],
  [
    'events that could not be stored do not stop the rest',
    { withheldAttestations: 3 },
    { status: 'ready', withheld_attestations: 3 },
  ],
  [
    'not checked for a long time',
    { checkedAge: 61, agreedAge: 61, hasIndexer: false },
    { status: 'indexer silent', lag_seconds: 61 },
  ],
  ['no endpoint answers', { checkedAge: 61, agreedAge: 61 }, { status: 'node behind', lag_blocks: null }],
  ['the database is set back', { checkedAge: -1, agreedAge: -1 }, { status: 'indexer silent', fresh: false }],
  ['the node gives an old head', { headAge: 62 }, { status: 'node behind' }],
  ['the head is in the future', { headAge: -61 }, { status: 'in doubt', fresh: false }],
  [
    'a node that lags',
    { agreedAge: 16 },
    { status: 'ready', fresh: false, lag_blocks: null, lag_seconds: 16 },
  ],
  ['a fork that was left long ago', { agreedAge: 61 }, { status: 'in doubt', fresh: false, lag_seconds: 61 }],
  [
    'a block that no check has found',
    { agreedAge: null },
    { status: 'in doubt', fresh: false, lag_seconds: null },
  ],
  [
    'a head below the index',
    { headBlock: 999, agreedAge: 1 },
    { status: 'ready', fresh: false, lag_blocks: null },
  ],
  ['a head that the endpoint may have from a cache', { headAge: 40 }, { status: 'ready', fresh: false }],
  [
    'a reason for doubt',
    { doubt: 'recent contradictions' },
    { status: 'in doubt', fresh: false, doubt: 'recent contradictions' },
  ],
  [
    'no block yet',
    { indexedBlock: null, indexedTime: null },
    { status: 'not started', head_block: 1000, indexed_block: null, lag_blocks: null, lag_seconds: null },
  ],
])('the readiness check reports readiness: %s', (_, changes, expected) => {
  expect(readinessOf(chain, { ...row, ...changes }, LIMITS)).toMatchObject(expected)
})
test('the readiness check reports an unchecked chain, and a local chain without new blocks', () => {
  expect(readinessOf(chain, undefined, LIMITS)).toEqual({
    status: 'not started',
    head_block: null,
    indexed_block: null,
    lag_blocks: null,
    lag_seconds: null,
    head_time: null,
    indexed_time: null,
    fresh: false,
    doubt: expect.any(String),
    withheld_attestations: 0,
    location_schemas: 0,
    schema_history_blocks: 0,
  })
  expect(
    readinessOf(
      chain,
      { ...row, headAge: 86_400, headTime: ago(86_400), indexedTime: ago(86_400) },
      { ...LIMITS, isLocal: () => true },
    ),
  ).toMatchObject({ status: 'ready', fresh: true, lag_seconds: 1 })
})
test('the readiness check reports no doubt for INDEX_MAX_AGE_SECONDS=0', () => {
  expect(readinessOf(chain, row, { ...LIMITS, indexMaxAgeSeconds: 0 })).toMatchObject({
    status: 'ready',
    fresh: true,
    doubt: null,
  })
})
