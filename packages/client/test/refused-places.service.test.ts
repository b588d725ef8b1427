// SPDX-License-Identifier: MIT
import {
  ChainMismatchError,
  InvalidInputError,
  LandingError,
  SignerError,
  UncheckedError,
  createGeo,
  type Geo,
  type Place,
} from '@geospatial-attestation/client'
import { Wallet } from 'ethers'
import type { Polygon } from 'geojson'
import { createWalletClient, http } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { beforeAll, expect, test } from 'vitest'
import { testAccount, type LocalChain } from '../../../dev/chain'
import { startTestWorld, type TestWorld } from '../../../test/world'
import { SIGNER_KINDS, ethersProvider, signerOf } from './signers'
import { sentence, testSentences } from '../../../test/sentences'
import { GATE, positions } from '../../../test/positions'

/** Tests places that are rejected: no transaction may be sent for these places. */
const SLUGS = ['sepolia', 'celo', 'base']
let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld({ CHAINS: SLUGS.join() })
})

const local = (slug: string): LocalChain => world.chains.get(slug)!
const geoOf = (slug: string, more: object = {}): Geo => createGeo({ url: world.url, chain: slug, ...more })
const ethersOf = (slug: string) => signerOf('ethers', local(slug)).signer
/** Number of transactions of the test accounts on these chains. */
const sent = (...slugs: string[]) =>
  Promise.all(
    slugs.flatMap((slug) =>
      [1, 2, 3].map((account) => local(slug).provider.getTransactionCount(testAccount(account).address)),
    ),
  )
const BOW_TIE: Polygon = { type: 'Polygon', coordinates: [positions('0 0, 1 1, 1 0, 0 1, 0 0')] }
const at = (location: unknown) => ({ location }) as Place
const polygon = (...ring: number[][]) => ({ type: 'Polygon', coordinates: [ring] }) as Place
const WRONG: [string, Place, string][] = [
  ['nothing', undefined as never, 'place'],
  ['a latitude', { type: 'Point', coordinates: [2, 91] }, 'place.coordinates'],
  ['a longitude', at({ type: 'Point', coordinates: [181, 1] }), 'place.location.coordinates'],
  ['no number', { type: 'Point', coordinates: [NaN, 1] }, ''],
  ['text', { type: 'Point', coordinates: ['1', '2'] } as never, ''],
  ['a missing latitude', { type: 'Point', coordinates: [1] }, ''],
  ['a type', { type: 'point', coordinates: [1, 2] }, 'place.type'],
  ['one position', { type: 'LineString', coordinates: [[1, 2]] }, ''],
  ['an open ring', polygon([0, 0], [1, 0], [1, 1], [0, 1]), ''],
  ['a short ring', polygon([0, 0], [1, 0], [0, 0]), ''],
  ['a ring that crosses itself', BOW_TIE, 'place.coordinates[0][0]'],
  ['an edge without a way', { type: 'LineString', coordinates: [[0, 0], [180, 0]] }, 'place.coordinates[0]'], // oxfmt-ignore
  ['no feature', { type: 'FeatureCollection', features: [] }, ''],
  ['another reference', { ...GATE, crs: { properties: { name: 'EPSG:3857' } } } as Place, ''],
  ['a memo beside GeoJSON', { ...GATE, memo: 'x' }, ''],
  ['a misspelt field', { location: GATE, reciepient: 'x' } as Place, 'place.reciepient'],
  [
    'a recipient',
    { location: GATE, recipient: '0x70997970c51812dc3A010C7d01b50e0d17dc79C8' },
    'place.recipient',
  ],
  ['milliseconds', { location: GATE, time: Date.now() }, 'place.time'],
  ['a time before 1970', { location: GATE, time: -1 }, ''],
  ['an end in the past', { location: GATE, expiration: 5 }, 'place.expiration'],
  ['NUL', { location: GATE, memo: 'a\0b' }, 'place.memo'],
  ['half an emoji', { location: GATE, memo: '🏛️'.slice(0, 1) }, ''],
  ['media', { location: GATE, media: [{ type: 'x' }] as never }, 'place.media[0].data'],
  ['a recipe', { location: GATE, recipes: [{ type: 'x', payload: '0x1' }] }, 'place.recipes[0].payload'],
  ['too much', { location: GATE, memo: 'x'.repeat(270_000) }, ''],
  ['a text of no type', at('POINT(1 2)'), 'place.locationType'],
  ['another type', { location: GATE, locationType: 'geojson-polygon' }, ''],
  ['GeoJSON text', { location: '{"type":"Point"}', locationType: 'geojson' }, 'place.location.coordinates'],
  ['JSON', { location: '{', locationType: 'geojson' }, 'place.location'],
  ['WKT', { location: 'POINT(1 2', locationType: 'wkt' }, ''],
  ['an H3 index', { location: '8928308283', locationType: 'h3' }, ''],
  ['an address', { location: 'Pariser Platz', locationType: 'address' }, ''],
  ['an unknown type', { location: 'x', locationType: 'what3words' }, ''],
  ['a promise', { location: 'POINT(1 2)', locationType: 'wkt-polygon' }, ''],
  ['twice a key', { location: '{"type":"Point","coordinates":[1,2],"coordinates":[2,1]}', locationType: 'geojson' }, ''], // oxfmt-ignore
]
test.each(WRONG)(
  'the client sends no transaction for an invalid place (%s), alone or in a list',
  async (_name, place, field) => {
    const before = await sent('sepolia')
    const geo = geoOf('sepolia')
    const signer = ethersOf('sepolia')
    const error = await geo.attest(place, signer).catch((reason: unknown) => reason as InvalidInputError)
    expect(error).toBeInstanceOf(InvalidInputError)
    expect(error).toMatchObject({ status: 400, message: sentence(field) as string })
    expect((error as Error).message).toMatch(/^Invalid place: place[.:]/)
    await expect(geo.attest([GATE, place, GATE], signer)).rejects.toMatchObject({
      message: expect.stringMatching(/^Invalid place: places\[1\]/) as string,
    })
    expect(await sent('sepolia')).toEqual(before)
  },
)

test('the client sends no transaction if one of many places is invalid, and names this place', async () => {
  const before = await sent('celo')
  const places: Place[] = Array<Place>(45).fill(GATE)
  places[33] = { location: BOW_TIE }
  await expect(geoOf('celo').attest(places, ethersOf('celo'))).rejects.toThrow(
    sentence('places[33].location.coordinates[0][0]'),
  )
  await expect(geoOf('celo').attest([], ethersOf('celo'))).rejects.toThrow(sentence('places'))
  expect(await sent('celo')).toEqual(before)
})

test('the client sends no transaction if the signer has another chain, no account or no funds', async () => {
  const before = await sent('celo', 'sepolia')
  const geo = geoOf('celo')
  for (const kind of SIGNER_KINDS) {
    const { signer } = signerOf(kind, local('sepolia'))
    await expect(geo.attest(GATE, signer)).rejects.toMatchObject({
      ...{ name: 'ChainMismatchError' },
      message: sentence(),
    })
    await expect(geo.revoke(`0x${'ab'.repeat(32)}`, signer)).rejects.toBeInstanceOf(ChainMismatchError)
  }
  const key = generatePrivateKey()
  await expect(geo.attest(GATE, new Wallet(key))).rejects.toThrow(sentence())
  await expect(geo.attest(GATE, privateKeyToAccount(key))).rejects.toThrow(/createWalletClient/)
  const { address } = privateKeyToAccount(key)
  const poor = [
    new Wallet(key, ethersProvider(local('celo'))),
    createWalletClient({ account: privateKeyToAccount(key), transport: http(local('celo').url) }),
  ]
  for (const signer of poor) {
    const error = await geo.attest(GATE, signer).catch((reason: unknown) => reason as SignerError)
    expect(error).toBeInstanceOf(SignerError)
    expect((error as Error).message).toEqual(sentence('', address))
  }
  await expect(geo.attest(GATE, ethersOf('celo'), { chain: 'mars' })).rejects.toThrow(sentence())
  expect(await sent('celo', 'sepolia')).toEqual(before)
})

test('the client reports the reason if EAS rejects a place', async () => {
  const before = await sent(...SLUGS)
  const refUID = `0x${'ab'.repeat(32)}`
  for (const slug of SLUGS) {
    const work = geoOf(slug).attest(GATE, ethersOf(slug), { refUID })
    await expect(work).rejects.toMatchObject({ name: 'LandingError', contractError: 'NotFound' })
    await expect(work).rejects.toBeInstanceOf(LandingError)
    await expect(work).rejects.toThrow(sentence())
  }
  expect(await sent(...SLUGS)).toEqual(before)
})

test('the client sends nothing if the service cannot check the place, unless checks are off', async () => {
  const before = await sent('celo')
  const deaf: typeof fetch = async (input, init) => {
    if (new URL((input as Request).url).pathname.startsWith('/compute')) throw new Error('away')
    return fetch(input, init)
  }
  const geo = geoOf('celo', { fetch: deaf, retries: 0 })
  const error = await geo.attest(GATE, ethersOf('celo')).catch((reason: unknown) => reason as UncheckedError)
  expect(error).toBeInstanceOf(UncheckedError)
  expect((error as Error).message).toEqual(sentence())
  await expect(geo.attest(GATE, ethersOf('celo'), { offchain: true })).rejects.toBeInstanceOf(UncheckedError)
  // The client itself still rejects an obviously invalid place.
  await expect(
    geo.attest({ type: 'Point', coordinates: [2, 91] }, ethersOf('celo'), { unchecked: true }),
  ).rejects.toBeInstanceOf(InvalidInputError)
  expect(await sent('celo')).toEqual(before)
  const unseen = await geo.attest(BOW_TIE, ethersOf('celo'), { unchecked: true })
  await unseen.indexed()
  await expect(geoOf('celo').area(unseen)).rejects.toThrow(/crosses/)
})

test('the client sends no transaction after it was aborted', async () => {
  const before = await sent('celo')
  const stop = new AbortController()
  const work = geoOf('celo').attest(GATE, ethersOf('celo'), {
    signal: stop.signal,
    onStep: () => stop.abort(new Error('enough')),
  })
  await expect(work).rejects.toThrow('enough')
  expect(await sent('celo')).toEqual(before)
})

testSentences()
