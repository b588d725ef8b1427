import { expect, test } from 'vitest'
import { LOCAL_CHAIN } from '../../dev/chain'
import { ALL_SCHEMAS } from '../../src/location'
import type { ChainReader, OnchainAttestation } from '../contracts'
import { Measurer } from './measure'
import { UnavailableError } from '../http/problems'
import { Resolver } from './resolve'
import type { IndexState } from '../store/sql-status'
import type { Store } from '../store/store'
import type { InputRow } from '../store/inputs'
import { sentence, testSentences } from '../../test/sentences'

/**
 * Tests when the resolver trusts the index and when it queries the chain, both mocked.
 * test/flow.service.test.ts uses real ones.
 */
const uid = `0x${'12'.repeat(32)}`
const ROW: InputRow = {
  revoked: false,
  expirationTime: 0n,
  blockNumber: 100,
  geometry: '{"type":"Point","coordinates":[1,2]}',
  problem: null,
}
const ONCHAIN = { uid, revocationTime: 0n, expirationTime: 0n } as OnchainAttestation

/** State of an index that agreed with its chain a second ago. */
const INDEX: IndexState = {
  ...{ headBlock: 110, headTime: new Date(1_700_000_000_000), headAge: 5, checkedAge: 1 },
  ...{ indexedBlock: 110, indexedTime: new Date(1_700_000_000_000), agreedAge: 1, doubt: null },
}

const OPTIONS = {
  clock: () => 1_700_000_000_000,
  indexMaxAgeSeconds: 15,
  maxLagSeconds: 120,
  schemaPolicy: ALL_SCHEMAS,
}

async function resolve(given: {
  row?: Partial<InputRow> | null
  index?: Partial<IndexState>
  onchain?: Partial<OnchainAttestation> | null
  local?: boolean
  stuck?: boolean
  /** chains whose index contains the attestation */
  copies?: string[]
  minConfirmations?: number
  maxAge?: number
}) {
  let asked = 0
  const resolver = new Resolver({
    store: {
      inputByUid: async () => (given.row === null ? undefined : { ...ROW, ...given.row }),
      otherChainsOf: async (_uid: string, chain: string) =>
        (given.copies ?? []).filter((slug) => slug !== chain),
      indexState: async () => ({ ...INDEX, ...given.index }),
    } as unknown as Store,
    measurer: new Measurer(),
    ...OPTIONS,
    ...(given.maxAge !== undefined && { indexMaxAgeSeconds: given.maxAge }),
  })
  const reader = {
    connected: { chain: { ...LOCAL_CHAIN, minConfirmations: given.minConfirmations } },
    isLocal: async () => given.local ?? false,
    attestation: async (_uid: string, maxAgeSeconds: number) => {
      asked++
      if (given.stuck && maxAgeSeconds === 120) throw new UnavailableError('stuck')
      return given.onchain === null ? undefined : { ...ONCHAIN, ...given.onchain }
    },
    schema: async () => undefined,
  } as unknown as ChainReader
  const { message } = await resolver.resolve(uid, 'from', reader).then(
    () => ({ message: 'resolved' }),
    (error: Error) => error,
  )
  return [message.replace(uid, 'UID'), asked]
}

test('the input resolver queries the chain unless the index is up to date', async () => {
  expect(await resolve({})).toEqual(['resolved', 0])
  expect(await resolve({ index: { headAge: 20 } })).toEqual(['resolved', 0])
  expect(await resolve({ index: { headAge: 21 }, local: true })).toEqual(['resolved', 0])
  expect(await resolve({ index: { agreedAge: 16 } })).toEqual(['resolved', 1])
  expect(await resolve({ index: { agreedAge: 16 }, onchain: { revocationTime: 5n } })).toEqual([
    sentence('from'),
    1,
  ])
  expect(await resolve({ index: { agreedAge: 16 }, onchain: null })).toEqual([sentence('from'), 1])
  expect(await resolve({ row: null, onchain: null })).toEqual([sentence('from'), 1])
  const ask: Partial<IndexState>[] = [
    { agreedAge: null },
    { agreedAge: -1 }, // the clock of the database was set back
    { doubt: 'a fork' },
    { headAge: -61 },
    { headAge: 21 }, // three block times above the limit
    { headBlock: 109 },
    { agreedAge: 14, headBlock: 111, headTime: new Date(1_700_000_001_000) },
  ]
  for (const index of ask) expect([index, await resolve({ index })]).toEqual([index, ['resolved', 1]])
})

test('the input resolver requires that the history of a schema is read before it lists all zones', async () => {
  const store = {
    indexState: async () => INDEX,
    readsHistory: async (_chain: string, schema?: string) => schema !== 'read',
  } as unknown as Store
  const reader = { connected: { chain: LOCAL_CHAIN }, isLocal: async () => false } as unknown as ChainReader
  const resolver = new Resolver({ store, measurer: new Measurer(), ...OPTIONS })
  await expect(resolver.requireFresh(reader, 'read')).resolves.toBeUndefined()
  for (const schema of ['added', undefined])
    await expect(resolver.requireFresh(reader, schema)).rejects.toMatchObject({
      ...{ name: 'UnavailableError', retryAfter: 600 },
    })
})

test('the input resolver names another chain that has a UID, but never the requested chain', async () => {
  const missing = { row: null, onchain: null }
  const [unknown] = await resolve(missing)
  const own = LOCAL_CHAIN.slug
  // The chain does not have the attestation. The index still contains it, although a reorg removed it.
  expect(await resolve({ ...missing, copies: [own] })).toEqual([unknown, 1])
  const [elsewhere] = await resolve({ ...missing, copies: ['sepolia', own, 'celo'] })
  expect(String(elsewhere).slice(String(unknown).length)).toMatch(
    /\bsepolia \(chain 11155111\).*\bcelo \(chain 42220\)/,
  )
  expect(elsewhere).toContain(unknown)
})

test('the input resolver refuses an attestation without a geometry, with a cleaned and truncated reason', async () => {
  const [none] = await resolve({ row: { geometry: null, problem: null } })
  expect(none).toEqual(sentence('from'))
  expect(await resolve({ row: { geometry: null, problem: "srs 'x' is not known" } })).toEqual([
    `${String(none)}: srs 'x' is not known`,
    0,
  ])
  const [message] = await resolve({
    row: { geometry: null, problem: `a\n\u202e\0b\u2028\ud83d${'𝕊'.repeat(10_000)}` },
  })
  const hostile = String(message)
  expect([
    hostile.startsWith(`${String(none)}: a\ufffd\ufffd\ufffdb\ufffd`),
    Array.from(hostile).length - String(none).length,
  ]).toEqual([true, 302])
})

test('the input resolver queries the chain if the indexer has an old head, unless the chain is local', async () => {
  for (const headAge of [121, 7_200]) {
    expect(await resolve({ index: { headAge }, maxAge: 3_600 })).toEqual(['resolved', 1])
    expect(await resolve({ index: { headAge }, stuck: true })).toEqual(['stuck', 1])
    expect(await resolve({ index: { headAge }, local: true })).toEqual(['resolved', 0])
  }
  expect(await resolve({ index: { headAge: 120 }, maxAge: 3_600 })).toEqual(['resolved', 0])
  expect(await resolve({ index: { agreedAge: 16 }, stuck: true })).toEqual(['stuck', 1])
})

test('the input resolver refuses attestations that are revoked, expired or too recent', async () => {
  expect(await resolve({ row: { revoked: true } })).toEqual([sentence('from'), 0])
  expect(await resolve({ row: { expirationTime: 1_700_000_000n } })).toEqual([sentence('from'), 0])
  expect(await resolve({ row: { expirationTime: 1_700_000_001n } })).toEqual(['resolved', 0])
  expect(await resolve({ minConfirmations: 11 })).toEqual(['resolved', 0])
  expect(await resolve({ minConfirmations: 12 })).toEqual([sentence('from'), 0])
  expect(await resolve({ minConfirmations: 1, row: null })).toEqual([sentence('from'), 1])
})

testSentences()
