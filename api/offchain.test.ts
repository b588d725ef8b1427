import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { CHAINS } from '../src/chains'
import { canonicalJson, readGeometry } from '../src/geodesy'
import type { ChainReader } from './chain-reader'
import { ComputeProblem } from './problems'
import { Resolver } from './resolve'
import type { OffchainInput } from './offchain'
import type { Store } from './store'

interface Vector {
  id: string
  chainId: number
  requestedUid: string
  document?: unknown
  raw?: string
  chainState?: { revokeOffchain: { revoker: string; data: string; time: number }[] }
  expected: { ok: true; uid: string; signer: string; schema: string; location: string } | { ok: false; problem: string }
}
/** Made by eas-sdk 2.10.0: see the file's own words. */
const { now, vectors } = JSON.parse(readFileSync('test/vectors/offchain-vectors.json', 'utf8')) as { now: number; vectors: Vector[] }

const clock = () => now * 1000
/** What the contract answers, which is all that is not real here. */
const readerOf = ({ chainState }: Pick<Vector, 'chainState'>) =>
  ({
    offchainRevocationTime: async (revoker: string, uid: string) => BigInt(chainState?.revokeOffchain.find((each) => each.revoker.toLowerCase() === revoker && each.data === uid)?.time ?? 0),
  }) as unknown as ChainReader
/** Offchain inputs ask the database for nothing. */
const store = undefined as unknown as Store
const chainOf = (id: number) => CHAINS.find((chain) => chain.id === id)!

const asked: [string, string][] = []
const resolve = (vector: Pick<Vector, 'chainId' | 'chainState'>, input: unknown, text = '') => {
  const fetcher = {
    fetch: async (uri: string, client: string) => {
      asked.push([uri, client])
      return text
    },
  }
  return new Resolver(store, clock, fetcher).resolve(input, 'from', chainOf(vector.chainId), readerOf(vector), '203.0.113.7') as Promise<OffchainInput>
}

/** Either what was resolved, or the slug of the ComputeProblem; anything else that is thrown fails the test. */
async function outcome(resolving: Promise<OffchainInput>) {
  try {
    const { uid, offchain, reading } = await resolving
    return { uid, signer: offchain.signer, location: canonicalJson(reading) }
  } catch (error) {
    expect(error).toBeInstanceOf(ComputeProblem)
    return (error as ComputeProblem).slug
  }
}
const expectation = ({ expected }: Vector) =>
  expected.ok ? { uid: expected.uid, signer: expected.signer.toLowerCase(), location: canonicalJson(readGeometry(JSON.parse(expected.location), 'location')) } : expected.problem

describe('vectors', () => {
  test('there are all of them', () => expect(vectors).toHaveLength(105))
  test.each(vectors.filter(({ document, id }) => document !== undefined && id !== 'public-bad-requested-uid-differs'))('$id, inline', async (vector) => {
    expect(await outcome(resolve(vector, { attestation: vector.document }))).toEqual(expectation(vector))
  })
  test.each(vectors)('$id, by its URI', async (vector) => {
    expect(await outcome(resolve(vector, { uid: vector.requestedUid, uri: 'https://x.example/a' }, vector.raw ?? JSON.stringify(vector.document)))).toEqual(expectation(vector))
  })
})
