import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { hunt } from '../../test/seed'
import { CHAINS } from '../../src/chains'
import { canonicalJson, readGeometry } from '../../src/geodesy'
import { ALL_SCHEMAS } from '../../src/location'
import type { ChainReader } from '../contracts'
import { Measurer } from './measure'
import {
  OffchainResolver,
  offchainSource,
  validityOf,
  type DocumentFetcher,
  type ResolvedInput,
} from './offchain'
import { ComputeError, ownShareUsed } from '../http/problems'
import { Resolver } from './resolve'
import type { Store } from '../store/store'
import { sentence, testSentences } from '../../test/sentences'

interface Vector {
  id: string
  chainId: number
  requestedUid: string
  document?: unknown
  raw?: string
  chainState?: { revokeOffchain: { revoker: string; data: string; time: number }[] }
  expected:
    | { ok: true; uid: string; signer: string; schema: string; location: string }
    | { ok: false; problem: string }
}
/** Created with eas-sdk 2.10.0; the file documents how. */
const { now, vectors } = JSON.parse(readFileSync('test/vectors/offchain-vectors.json', 'utf8')) as {
  now: number
  vectors: Vector[]
}

const clock = () => now * 1000
/** Mock of the contract's results. The test mocks nothing else. */
const readerOf = ({ chainState, chainId }: Partial<Pick<Vector, 'chainState' | 'chainId'>>) =>
  ({
    connected: { chain: CHAINS.find((chain) => chain.id === chainId) },
    work: { client: '203.0.113.7' },
    schema: async () => undefined,
    offchainRevocationTime: async (revoker: string, uid: string) =>
      BigInt(
        chainState?.revokeOffchain.find((each) => each.revoker.toLowerCase() === revoker && each.data === uid)
          ?.time ?? 0,
      ),
  }) as unknown as ChainReader
/** Offchain inputs do not query the database. */
const store = undefined as unknown as Store

/** Shared, because each one allocates its caches. */
const measurer = new Measurer()
const resolverWith = (fetcher?: DocumentFetcher) =>
  new Resolver({
    ...{ store, measurer, clock, fetcher },
    ...{ indexMaxAgeSeconds: 0, maxLagSeconds: 60, schemaPolicy: ALL_SCHEMAS },
  })
const resolve = (vector: Pick<Vector, 'chainId' | 'chainState'>, input: unknown, fetcher?: DocumentFetcher) =>
  resolverWith(fetcher).resolve(input, 'from', readerOf(vector))
const URI = 'https://x.example/a'
const resolveText = (vector: Vector, text: string) =>
  resolve(vector, { uid: vector.requestedUid, uri: URI }, { fetch: async () => text })

/** Returns the resolved input, or the slug of the ComputeError. Any other error fails the test. */
async function outcome(resolving: Promise<ResolvedInput>) {
  try {
    const { ref, source, reading } = await resolving
    return { uid: ref, signer: validityOf(source)?.signer, location: canonicalJson(reading) }
  } catch (error) {
    expect(error).toBeInstanceOf(ComputeError)
    return (error as ComputeError).slug
  }
}
const expectation = ({ expected }: Vector) =>
  expected.ok
    ? {
        uid: expected.uid,
        signer: expected.signer.toLowerCase(),
        location: canonicalJson(readGeometry(JSON.parse(expected.location), 'location')),
      }
    : expected.problem

describe('the test vectors of the resolver', () => {
  test('are all 105 vectors of the suite', () => expect(vectors).toHaveLength(105))
  test.each(
    vectors.filter(({ document, id }) => document !== undefined && id !== 'public-bad-requested-uid-differs'),
  )('resolve inline as expected: $id', async (vector) => {
    expect(await outcome(resolve(vector, { attestation: vector.document }))).toEqual(expectation(vector))
  })
  test('resolve by URI as expected, and a second time despite the caches', async () => {
    let text = ''
    const resolver = resolverWith({ fetch: async () => text })
    for (let round = 0; round < 2; round++)
      for (const vector of vectors) {
        text = vector.raw ?? JSON.stringify(vector.document)
        const resolving = resolver.resolve({ uid: vector.requestedUid, uri: URI }, 'from', readerOf(vector))
        expect([vector.id, await outcome(resolving)]).toEqual([vector.id, expectation(vector)])
      }
  })
})

const base = vectors.find(({ id }) => id === 'public-valid-base')!
const attestation = base.document as { sig: object; signer: string }
const UID = base.requestedUid
const rejects = (input: unknown, detail: string, fetcher?: DocumentFetcher) =>
  expect(resolve(base, input, fetcher)).rejects.toMatchObject({ slug: 'invalid-input', message: detail })

describe('the forms of an input', () => {
  const mixed = (field: string, form: string) => sentence('from', field, form)
  test.each<[unknown, string]>([
    [{ attestation, uid: UID }, mixed('uid', 'attestation')],
    [{ attestation, uri: URI }, mixed('uri', 'attestation')],
    [{ attestation, type: 'Point', coordinates: [1, 2] }, mixed('type', 'attestation')],
    [{ uid: UID, uri: URI, coordinates: [1, 2] }, mixed('coordinates', 'uid and uri')],
    [{ uid: UID, uri: URI, chainId: 1 }, mixed('chainId', 'uid and uri')],
    [{ uid: UID, coordinates: [1, 2] }, mixed('coordinates', 'uid')],
    [{ uid: UID, ['x'.repeat(100)]: 1 }, mixed('x'.repeat(40), 'uid')],
    [{ uri: URI }, sentence('from.uid')],
    [{ uid: '0x12', uri: URI }, sentence('from.uid')],
    [{ uid: UID, uri: 5 }, sentence('from.uri')],
    [{ uid: UID, uri: URI }, sentence('from.uri')],
    [{ attestation: null }, sentence('from')],
    [{ attestation: JSON.stringify(attestation) }, sentence('from')],
  ])('reject mixed or incomplete fields: %j', (input, detail) => rejects(input, detail))
  test('accept GeoJSON with foreign members of the same names', async () => {
    for (const member of [{ uri: URI }, { uid: 7 }, { uid: UID, uri: URI }, { sig: 1, signer: 2 }])
      expect(
        canonicalJson((await resolve(base, { type: 'Point', coordinates: [1, 2], ...member })).reading),
      ).toBe('{"coordinates":[1,2],"type":"Point"}')
  })
  test('return a UID in lower case', async () => {
    const fetcher = { fetch: async () => JSON.stringify(attestation) }
    expect((await resolve(base, { uid: `0x${UID.slice(2).toUpperCase()}`, uri: URI }, fetcher)).ref).toBe(UID)
  })
})

describe('fetched documents', () => {
  test('are fetched by URI and client, and errors of the fetcher name the input', async () => {
    const asked: string[][] = []
    const refusal = new ComputeError('rate-limited', 'uri: not now', 6)
    const fetcher: DocumentFetcher = {
      fetch: async (...parameters) => {
        asked.push(parameters)
        throw refusal
      },
    }
    await expect(resolve(base, { uid: UID, uri: URI }, fetcher)).rejects.toMatchObject({
      slug: 'rate-limited',
      message: 'from.uri: not now',
      retryAfter: 6,
    })
    expect(asked).toEqual([[URI, '203.0.113.7']])
  })
  const text = JSON.stringify(attestation)
  const unreadable = sentence('from.uri')
  test.each([
    ['if they are not JSON, without a quote of them', 'secret words', unreadable],
    ['if they are empty', '', unreadable],
    ['with a key twice, further in', text.replace('"chainId":', '"chainId":1,"ch\\u0061inId":'), unreadable],
    ['with an escaped __proto__', text.replace('"version":', '"_\\u005fproto__":{},"version":'), unreadable],
    [
      'if they nest too deep',
      text.replace('{', `{"x":${'['.repeat(100_000)}${']'.repeat(100_000)},`),
      unreadable,
    ],
    ['above 256 Ki characters', text + ' '.repeat(262_145 - text.length), sentence('from.uri')],
    ['if they are other JSON', '{"secret":"words"}', sentence('from')],
  ])('are rejected %s', (_, document, detail) =>
    rejects({ uid: UID, uri: URI }, detail, { fetch: async () => document }),
  )
  test('may have white space between tokens', async () => {
    expect(
      await outcome(resolveText(base, JSON.stringify(attestation, null, 2) + ' '.repeat(1_000))),
    ).toEqual(expectation(base))
  })
})

test('two signers of the same content share a UID but have separate revocations', async () => {
  const other = vectors.find(({ id }) => id === 'public-valid-same-uid-other-signer')!
  const same = vectors.find(
    ({ id, requestedUid }) =>
      id !== other.id && requestedUid === other.requestedUid && id === 'public-valid-lowercase-signer',
  )!
  const chainState = {
    revokeOffchain: [
      { revoker: (other.expected as { signer: string }).signer, data: other.requestedUid, time: now - 1 },
    ],
  }
  expect(await outcome(resolve({ ...other, chainState }, { attestation: other.document }))).toBe(
    'verification-failed',
  )
  expect(await outcome(resolve({ ...same, chainState }, { attestation: same.document }))).toEqual(
    expectation(same),
  )
})

test('a later check of the same attestation finds that it has expired or was revoked', async () => {
  const vector = vectors.find(({ id }) => id === 'public-valid-not-yet-expired')!
  const { ref, source } = await resolve(vector, { attestation: vector.document })
  const [uid, offchain] = [ref!, validityOf(source)!]
  expect(offchain).toEqual({
    signer: (vector.expected as { signer: string }).signer.toLowerCase(),
    expirationTime: 1_767_312_000n,
  })
  expect(offchainSource(offchain)).toBe(source)
  const claim = { digest: `0x${'d1'.repeat(32)}`, signature: '0x5162' }
  expect(validityOf(offchainSource({ ...offchain, claim }))).toEqual({ ...offchain, claim })
  for (const other of ['onchain', 'geojson', 'offchain', 'offchain-0x-1'])
    expect(validityOf(other)).toBeUndefined()
  /** @param spent seconds that the endpoint takes to respond */
  const ask = (started: number, revoker = '', spent = 0) => {
    let seconds = started
    const reader = readerOf({ chainState: { revokeOffchain: [{ revoker, data: uid, time: 5 }] } })
    const read = reader.offchainRevocationTime.bind(reader)
    reader.offchainRevocationTime = (...given) => ((seconds += spent), read(...given))
    return new OffchainResolver({
      measurer: new Measurer(),
      maxLagSeconds: 60,
      schemaPolicy: ALL_SCHEMAS,
      clock: () => seconds * 1000,
    }).checkValid(uid, offchain, 'from', reader)
  }
  await expect(ask(1_767_311_999)).resolves.toBeUndefined()
  for (const expired of [ask(1_767_312_000), ask(1_767_311_999, '', 1)])
    await expect(expired).rejects.toMatchObject({
      ...{ slug: 'verification-failed', refusal: 'expired' },
      message: sentence('from'),
    })
  await expect(ask(1_767_311_999, offchain.signer)).rejects.toMatchObject({
    ...{ slug: 'verification-failed', refusal: 'revoked' },
    message: sentence('from'),
  })
})

test('an operator of a quorum reports that a document has expired, or that its account is not final', async () => {
  const expired = vectors.find(({ id }) => id === 'public-bad-expired')!
  await expect(resolve(expired, { attestation: expired.document })).rejects.toMatchObject({
    refusal: 'expired',
  })
  const verdict = async (refusal: object) => {
    const reader = {
      ...readerOf(base),
      accountRefusal: async () => ({ isContract: true, problem: '', ...refusal }),
    } as unknown as ChainReader
    const offchain = { signer: '0x2', expirationTime: 0n, claim: { digest: '0x1', signature: '0x51' } }
    return resolverWith().offchain.checkValid(UID, offchain, 'from', reader)
  }
  await expect(verdict({ isPending: true })).rejects.toMatchObject({ refusal: 'not-indexed-yet' })
  await expect(verdict({})).rejects.toMatchObject({ refusal: undefined })
})

test('the resolver reads no revocation for a client without remaining account checks', async () => {
  const read: string[] = []
  const reader = {
    accountRefusal: () => Promise.reject(ownShareUsed('')),
    offchainRevocationTime: async () => (read.push('revocation'), 0n),
  } as unknown as ChainReader
  const resolver = new OffchainResolver({
    ...{ measurer: new Measurer(), maxLagSeconds: 60, schemaPolicy: ALL_SCHEMAS, clock },
  })
  const claim = { digest: `0x${'d1'.repeat(32)}`, signature: '0x5162' }
  const asked = resolver.checkValid('0x1', { signer: '0x2', expirationTime: 0n, claim }, 'from', reader)
  await expect(asked).rejects.toMatchObject({ slug: 'rate-limited' })
  expect(read).toEqual([])
})

hunt(
  'the resolver refuses mutated texts with a ComputeError or resolves them as before',
  300,
  async ({ random, cases }) => {
    const below = (count: number) => Math.floor(random() * count)
    const texts = vectors
      .filter(({ expected, raw }) => expected.ok && raw === undefined)
      .map((vector) => ({ vector, text: JSON.stringify(vector.document) }))
    const fragments = [
      ...['"', '{', '}', '[', ']', ',', ':', '\\', '0', 'null', '1e999', '"__proto__":{},'],
      ...['"sig":null,', '"signer":"0x0",', '"uid":1,', '[[[[', '\ud800', '\0', 'x'.repeat(300_000)],
      ...['['.repeat(20_000)],
    ]
    let right = 0
    for (let i = 0; i < cases; i++) {
      const { vector, text } = texts[below(texts.length)]!
      let mutated = text
      for (let n = 1 + below(2); n > 0; n--) {
        const at = below(mutated.length)
        const kind = below(4)
        // Deletes, inserts, repeats or replaces one hex digit.
        if (kind === 0) mutated = mutated.slice(0, at) + mutated.slice(at + 1 + below(40))
        else if (kind === 1)
          mutated = mutated.slice(0, at) + fragments[below(fragments.length)]! + mutated.slice(at)
        else if (kind === 2)
          mutated = mutated.replace(/("[a-zA-Z]+":("[^"]*"|\d+|true))/g, (field) =>
            random() < 0.1 ? `${field},${field}` : field,
          )
        else mutated = mutated.slice(0, at) + '0123456789abcdefABCDEF'[below(22)]! + mutated.slice(at + 1)
      }
      const result = await outcome(resolveText(vector, mutated))
      if (typeof result === 'string') expect(['invalid-input', 'verification-failed']).toContain(result)
      else {
        expect(result).toEqual(expectation(vector))
        right++
      }
    }
    // Few cases may leave no text valid.
    expect(right).toBeGreaterThanOrEqual(Math.floor(cases / 300))
  },
)

testSentences()
