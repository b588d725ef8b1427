// SPDX-License-Identifier: MIT
import {
  AttestationNotFoundError,
  InvalidInputError,
  PartlyAttestedError,
  createGeo,
  point,
  type AttestStep,
  type Geo,
  type LocationRecord,
  type Place,
  type PlaceDetails,
} from '@geospatial-attestation/client'
import type { Polygon } from 'geojson'
import { beforeAll, describe, expect, test } from 'vitest'
import { registerSchema, testAccount, type LocalChain } from '../../../dev/chain'
import { LOCATION_SCHEMAS } from '../../../src/location'
import { mine, startTestWorld, type TestWorld } from '../../../test/world'
import { SIGNER_KINDS, injected, signerOf } from './signers'
import { sentence, testSentences } from '../../../test/sentences'
import { GATE, positions } from '../../../test/positions'

/** Tests places attested with the built package, and their records in the running service. */
const SLUGS = ['sepolia', 'celo']
/** A location schema of this deployment. At first it is not registered on any chain. */
const OWN_SCHEMA = 'string srs,string location_type,string location,string memo'
let world: TestWorld
beforeAll(async () => {
  // base is a compute chain without records; its EAS is the newest version.
  world = await startTestWorld({ CHAINS: [...SLUGS, 'base'].join(), LOCATION_SCHEMAS: OWN_SCHEMA })
})

const local = (slug: string): LocalChain => world.chains.get(slug)!
const geoOf = (slug: string, more: object = {}): Geo => createGeo({ url: world.url, chain: slug, ...more })
const ethersOf = (slug: string) => signerOf('ethers', local(slug)).signer
/** Number of transactions of the test accounts on all chains. */
const sent = () =>
  Promise.all(
    [...SLUGS, 'base'].flatMap((slug) =>
      [1, 2, 3].map((account) => local(slug).provider.getTransactionCount(testAccount(account).address)),
    ),
  )
const PARK: Polygon = {
  type: 'Polygon',
  coordinates: [
    positions('13.33 52.51, 13.37 52.51, 13.37 52.52, 13.33 52.52, 13.33 52.51'),
    positions('13.34 52.513, 13.34 52.514, 13.342 52.514, 13.34 52.513'),
  ],
}
const FIJI = {
  type: 'MultiPolygon' as const,
  coordinates: [[positions('179 -17, -179 -17, -179 -16, 179 -17')]],
}
const LINE = { type: 'LineString' as const, coordinates: [GATE.coordinates, [13.4094, 52.5208, 34.5]] }
const BOW_TIE: Polygon = { type: 'Polygon', coordinates: [positions('0 0, 1 1, 1 0, 0 1, 0 0')] }
/** Every field of a place, with emoji outside the basic plane and right-to-left text. */
const DETAILS: PlaceDetails = {
  location: GATE,
  memo: 'Brandenburger Tor 🏛️👩🏽‍🚀 – שער ברנדנבורג بوابة براندنبورغ\n"line 2"',
  time: new Date('2024-02-29T12:34:56.789Z'),
  media: [
    { type: 'image/jpeg', data: 'ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi' },
    { type: 'text/plain;charset=utf-8', data: 'SGFsbG8g8J+Riw==' },
  ],
  recipes: [
    { type: 'gps', payload: new Uint8Array([0, 1, 254, 255]) },
    { type: 'none', payload: '0x' },
  ],
  recipient: testAccount(7).address,
  expiration: new Date('2099-01-01T00:00:00Z'),
}

test('the client attests positions, alone and in lists', async () => {
  const geo = geoOf('sepolia')
  const signer = ethersOf('sepolia')
  const one = await geo.attest([13.3777, 52.5163], signer)
  const places = [[13.3777, 52.5163], { location: [13.3777, 52.5163], memo: 'gate' }, point(13.3777, 52.5163)]
  const several = await geo.attest(places, signer)
  for (const place of [one, ...several])
    expect(await place.indexed()).toMatchObject({
      ...{ location: JSON.stringify(GATE), location_type: 'geojson-point' },
    })
  expect((await several[1]!.indexed()).memo).toBe('gate')
  for (const wrong of [[1, 91], [1]]) await expect(geo.attest(wrong, signer)).rejects.toThrow(/\bplace\b/)
  await expect(geo.attest([GATE, [181, 1]], signer)).rejects.toThrow(/\bplaces\[1\]/)
})

test.each([
  ['sepolia', 'ethers'],
  ['celo', 'viem'],
  ['sepolia', 'EIP-1193'],
] as const)(
  'the client on %s with %s attests a place, and the record has the same fields',
  async (slug, kind) => {
    const { signer, account } = signerOf(kind, local(slug))
    const place = await geoOf(slug).attest(DETAILS, signer)
    expect(place).toMatchObject({
      chainId: local(slug).chain.id,
      attestation: {
        uid: place.uid,
        attester: testAccount(account).address,
        recipient: testAccount(7).address,
        ...{ expirationTime: 4_070_908_800n, revocationTime: 0n, revocable: true },
      },
    })
    const receipt = (await local(slug).provider.getTransactionReceipt(place.transactionHash))!
    expect(receipt).toMatchObject({ blockNumber: place.blockNumber, from: testAccount(account).address })
    const record = await place.indexed()
    expect(record).toMatchObject({
      ...{ uid: place.uid, chain: slug, revoked: false, problem: null },
      ...{ prover: testAccount(account).address, subject: testAccount(7).address },
      ...{ event_timestamp: '2024-02-29T12:34:56.000Z', srs: 'EPSG:4326', location_type: 'geojson-point' },
      ...{ location: JSON.stringify(GATE), longitude: 13.3777, latitude: 52.5163 },
      memo: DETAILS.memo,
      media_types: DETAILS.media!.map(({ type }) => type),
      media_data: DETAILS.media!.map(({ data }) => data),
      ...{ recipe_types: ['gps', 'none'], recipe_payloads: ['AAH+/w==', ''] },
    })
  },
)

describe.each(SLUGS)('the client on %s', (slug) => {
  test('attests several places in one transaction, in their order, even equal places', async () => {
    const steps: AttestStep[] = []
    const onStep = (step: AttestStep) => steps.push(step)
    const places: Place[] = [GATE, { location: PARK, memo: 'park', time: 5 }, LINE, GATE]
    const attested = await geoOf(slug).attest(places, ethersOf(slug), { onStep })
    expect(new Set(attested.map(({ uid }) => uid)).size).toBe(4)
    const { transactionHash } = attested[0]!
    expect(steps).toEqual([{ step: 'checked' }, { step: 'sent', transactionHash, places: 4 }])
    const records = await Promise.all(attested.map((place) => place.indexed()))
    expect(records.map(({ location }) => JSON.parse(location) as unknown)).toEqual([GATE, PARK, LINE, GATE])
    expect(records[1]).toMatchObject({ memo: 'park', event_timestamp: '1970-01-01T00:00:05.000Z' })
  })

  test('revokes an attestation once, and only for its attester', async () => {
    const geo = geoOf(slug)
    const { signer } = signerOf('viem', local(slug))
    const place = await geo.attest(PARK, signer)
    await expect(geo.revoke(place.uid, ethersOf(slug))).rejects.toThrow(sentence())
    const revoked = await geo.revoke(place.uid, signer)
    expect(revoked).toMatchObject({ uid: place.uid, chainId: local(slug).chain.id, already: false })
    const block = (await local(slug).provider.getBlock(revoked.blockNumber!))!
    expect(revoked.revocationTime).toBe(block.timestamp)
    const before = await sent()
    expect(await geo.revoke(place.uid, signer)).toEqual({
      ...{ uid: place.uid, chainId: local(slug).chain.id, already: true },
      revocationTime: block.timestamp,
    })
    expect(await sent()).toEqual(before)
    await world.caughtUp()
    expect((await place.indexed()).revoked).toBe(true)
    await expect(geo.revoke(`0x${'ab'.repeat(32)}`, signer)).rejects.toBeInstanceOf(AttestationNotFoundError)
    await expect(geo.revoke('0x12', signer)).rejects.toThrow(sentence())
  })
})

test('the client attests and revokes on the newest version of EAS', async () => {
  const geo = geoOf('base')
  const [first, second] = await geo.attest([GATE, DETAILS], ethersOf('base'))
  expect((await geo.distance(first!, second!)).result).toBe(0)
  expect(await geo.revoke(second!.uid, ethersOf('base'))).toMatchObject({ already: false })
})

describe('the client, for every form of a place,', () => {
  const FORMS: Record<string, [place: Place, shown: Partial<LocationRecord>]> = {
    Feature: [
      { type: 'Feature', properties: { name: 'x' }, geometry: LINE },
      { location_type: 'geojson-linestring', location: JSON.stringify(LINE) },
    ],
    'FeatureCollection of one': [
      { type: 'FeatureCollection', features: [{ type: 'Feature', properties: null, geometry: FIJI }] },
      { location_type: 'geojson-multipolygon', location: JSON.stringify(FIJI) },
    ],
    'geometry with foreign members': [
      { bbox: [0, 0, 1, 1], coordinates: [-0, 1e-7], type: 'Point', crs: null } as Place,
      { location_type: 'geojson-point', location: '{"type":"Point","coordinates":[0,1e-7]}' },
    ],
    collection: [
      { type: 'GeometryCollection', geometries: [GATE, PARK] },
      {
        location_type: 'geojson-geometrycollection',
        location: JSON.stringify({ type: 'GeometryCollection', geometries: [GATE, PARK] }),
      },
    ],
    'GeoJSON as text': [
      { location: '{ "type": "Point", "coordinates": [1, 2.50] }', locationType: 'geojson' },
      { location: '{ "type": "Point", "coordinates": [1, 2.50] }', longitude: 1, latitude: 2.5 },
    ],
    WKT: [
      { location: 'POINT (13.3777 52.5163)', locationType: 'wkt' },
      { location_type: 'wkt', location: 'POINT (13.3777 52.5163)', longitude: 13.3777 },
    ],
    H3: [{ location: '89283082837ffff', locationType: 'h3' }, { location_type: 'h3' }],
    geohash: [{ location: 'u33db2m3', locationType: 'geohash' }, { location_type: 'geohash' }],
    'longitude, latitude': [
      { location: '13.3777, 52.5163', locationType: 'coordinate-decimal+lon-lat' },
      { longitude: 13.3777, latitude: 52.5163 },
    ],
    'latitude, longitude': [
      { location: '[52.5163, 13.3777]', locationType: 'coordinate-decimal+lat-lon' },
      { longitude: 13.3777, latitude: 52.5163 },
    ],
    'scaled coordinates': [
      { location: '{"x":133777,"y":525163,"scale":10000}', locationType: 'scaledCoordinates' },
      { longitude: 13.3777, latitude: 52.5163 },
    ],
  }
  test('attests places in each form', async () => {
    const geo = geoOf('celo')
    const attested = await geo.attest(
      Object.values(FORMS).map(([place]) => place),
      ethersOf('celo'),
    )
    for (const [i, [name, [, shown]]] of Object.entries(FORMS).entries()) {
      const place = attested[i]!
      const record = await place.indexed()
      expect(record, name).toMatchObject({ ...shown, problem: null })
      // Without a time, the event time is that of the attestation.
      expect(Math.abs(Date.parse(record.event_timestamp) - Date.now()), name).toBeLessThan(3_600_000)
      expect((await geo.intersects(place, place)).result, name).toBe(true)
    }
  })

  test.each(LOCATION_SCHEMAS.map(({ uid, fields }) => [fields, uid]))(
    'attests a place with the schema %s',
    async (_, uid) => {
      const geo = geoOf('sepolia')
      const place = await geo.attest(PARK, ethersOf('sepolia'), { schema: uid })
      expect(place.attestation.schema).toBe(uid)
      expect(await place.indexed()).toMatchObject({ location: JSON.stringify(PARK), problem: null })
    },
  )

  test("attests a place with the Location Protocol's schema, and rejects a memo", async () => {
    const geo = geoOf('sepolia')
    const schema = 'location-protocol'
    const place = await geo.attest(PARK, ethersOf('sepolia'), { schema })
    expect(await place.indexed()).toMatchObject({
      srs: 'http://www.opengis.net/def/crs/OGC/1.3/CRS84',
      location_type: 'geojson-polygon',
    })
    const before = await sent()
    for (const [name, value] of Object.entries({ memo: 'x', time: 5, media: [], recipes: [] }))
      await expect(
        geo.attest({ location: PARK, [name]: value }, ethersOf('sepolia'), { schema }),
      ).rejects.toThrow(new RegExp(`place.${name}: the schema '.*' has no field for it`))
    expect(await sent()).toEqual(before)
  })
})

describe('a schema that the chain does not have', () => {
  test('is registered on request, once', async () => {
    const geo = geoOf('celo')
    const signer = ethersOf('celo')
    const place = { location: GATE, memo: 'own schema' }
    const before = await sent()
    await expect(geo.attest(place, signer, { schema: OWN_SCHEMA })).rejects.toMatchObject({
      name: 'LandingError',
      contractError: 'InvalidSchema',
      message: expect.stringMatching(/not registered on celo\. .*registerSchema: true/) as string,
    })
    expect(await sent()).toEqual(before)
    // No schema is registered for an invalid place.
    await expect(
      geo.attest(BOW_TIE, signer, { schema: OWN_SCHEMA, registerSchema: true }),
    ).rejects.toBeInstanceOf(InvalidInputError)
    expect(await sent()).toEqual(before)
    const steps: string[] = []
    for (let i = 0; i < 2; i++) {
      const options = { schema: OWN_SCHEMA, registerSchema: true }
      const attested = await geo.attest(place, signer, {
        ...options,
        onStep: ({ step }) => steps.push(step),
      })
      expect(await attested.indexed()).toMatchObject({ memo: 'own schema', problem: null })
    }
    expect(steps).toEqual(['checked', 'registering', 'sent', 'checked', 'sent'])
  })

  test('is read from its chain, and may have a resolver or forbid revocation', async () => {
    const geo = geoOf('celo')
    const chain = local('celo')
    const signer = ethersOf('celo')
    const resolver = '0x00000000000000000000000000000000000c0ffe'
    // A resolver that returns false for every call.
    await chain.provider.send('anvil_setCode', [resolver, '0x600060005260206000f3'])
    const refusing = await registerSchema(chain, OWN_SCHEMA, resolver)
    await expect(geo.attest(GATE, signer, { schema: refusing })).rejects.toThrow(sentence())
    await expect(geo.attest(GATE, signer, { schema: refusing, unchecked: true })).rejects.toMatchObject({
      ...{ name: 'LandingError', contractError: 'InvalidAttestation' },
      message: sentence() as string,
    })
    const lasting = await registerSchema(chain, OWN_SCHEMA, undefined, false)
    const options = { schema: lasting, unchecked: true }
    await expect(geo.attest({ location: GATE, revocable: true }, signer, options)).rejects.toThrow(
      sentence('place.revocable'),
    )
    const { uid, attestation } = await geo.attest(GATE, signer, options)
    expect(attestation.revocable).toBe(false)
    await expect(geo.revoke(uid, signer)).rejects.toMatchObject({ contractError: 'Irrevocable' })
    const place = await geo.attest(GATE, signer)
    expect(await geo.revoke(place, signer)).toMatchObject({ uid: place.uid, already: false })
    const unknown = `0x${'ab'.repeat(32)}`
    await expect(geo.attest(GATE, signer, { schema: unknown })).rejects.toThrow(sentence())
    await expect(geo.attest(GATE, signer, { schema: 'v1' })).rejects.toThrow(/expected 'v0.1'/)
  })
})

test(
  'the client attests many places in several transactions, each below 2^24 gas',
  { tags: ['slow'] },
  async () => {
    const geo = geoOf('celo')
    const memo = 'm'.repeat(4_000)
    const places = Array.from({ length: 8 }, (_, i) => ({
      location: { type: 'Point' as const, coordinates: [i, 0] },
      memo,
    }))
    const attested = await geo.attest(places, ethersOf('celo'))
    const hashes = [...new Set(attested.map(({ transactionHash }) => transactionHash))]
    expect(hashes.length).toBeGreaterThan(1)
    for (const hash of hashes) {
      const { gasUsed } = (await local('celo').provider.getTransactionReceipt(hash))!
      expect(gasUsed).toBeLessThan(2n ** 24n)
    }
    const records = await Promise.all(attested.map((place) => place.indexed()))
    expect(records.map(({ longitude }) => longitude)).toEqual(places.map((_, i) => i))

    // The wallet rejects the second transaction. The error contains the places that are attested.
    let asked = 0
    const signer = injected(local('celo'), testAccount(3).address, async (method) => {
      if (method === 'eth_sendTransaction' && ++asked === 2) throw new Error('User rejected the request.')
      return undefined
    })
    const error = await geo.attest(places, signer).catch((reason: unknown) => reason as PartlyAttestedError)
    expect(error).toBeInstanceOf(PartlyAttestedError)
    const { attested: partly, message } = error as PartlyAttestedError
    expect(message).toEqual(sentence())
    expect((error as PartlyAttestedError).transactionHash).toBeUndefined()
    expect(partly.length).toBe(attested.filter(({ transactionHash }) => transactionHash === hashes[0]).length)
  },
)

test('the client lands all simultaneous attestations of one signer', { tags: ['slow'] }, async () => {
  const geo = geoOf('sepolia')
  for (const kind of SIGNER_KINDS) {
    const { signer } = signerOf(kind, local('sepolia'))
    const places = Array.from({ length: 3 }, (_, i) => ({ type: 'Point' as const, coordinates: [i, i] }))
    const attested = await Promise.all(places.map((place) => geo.attest(place, signer)))
    expect(new Set(attested.map(({ uid }) => uid)).size).toBe(3)
  }
})

test.each(SIGNER_KINDS)(
  'the client lands simultaneous attestations of %s in one block',
  { tags: ['slow'] },
  async (kind) => {
    const chain = local('sepolia')
    const { signer } = signerOf(kind, chain)
    const places = Array.from({ length: 3 }, (_, i) => ({ type: 'Point' as const, coordinates: [i, i] }))
    await chain.provider.send('evm_setAutomine', [false])
    try {
      let waiting = 0
      const onStep = ({ step }: AttestStep) => {
        if (step === 'sent' && ++waiting === places.length) void mine(chain, 1)
      }
      const attested = await Promise.all(
        places.map((place) => geoOf('sepolia').attest(place, signer, { onStep })),
      )
      expect(new Set(attested.map(({ uid }) => uid)).size).toBe(3)
      expect(new Set(attested.map(({ blockNumber }) => blockNumber)).size).toBe(1)
    } finally {
      await chain.provider.send('evm_setAutomine', [true])
    }
  },
)

test('the client stops waiting for a missing record after the timeout', async () => {
  const blind: typeof fetch = async (input, init) =>
    (input as Request).url.includes('/location-records/')
      ? new Response('{"status":"error","message":"Location record not found"}', { status: 404 })
      : fetch(input, init)
  const place = await geoOf('celo', { fetch: blind }).attest(GATE, ethersOf('celo'))
  await expect(place.indexed({ timeout: 1 })).rejects.toThrow(sentence())
  await expect(place.indexed({ signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
})

testSentences()
