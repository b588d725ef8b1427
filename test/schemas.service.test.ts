import { AbiCoder, ParamType, ZeroAddress } from 'ethers'
import { beforeAll, describe, expect, test } from 'vitest'
import { LOCAL_CHAIN, attest, mined, registerSchema, request, revoke } from '../dev/chain'
import { LOCATION_SCHEMA } from '../src/location'
import { schemaUid } from '../src/eas'
import { expectInvariants } from './invariants'
import { inOneBlock, mine, startTestWorld, type TestWorld } from './world'

/** Tests that location schemas registered by anyone are found and indexed (docs/reference/schemas.md). */

const CHAINS = [LOCAL_CHAIN.slug, 'sepolia']
let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld({ CHAINS: CHAINS.join(), AUDIT_CALLS_PER_SECOND: '10000' })
})

const SDK_FIELDS =
  'string lp_version,string srs,string location_type,string location,string assetId,address owner,uint256 timestamp'
const OWNER = '0x00000000000000000000000000000000000000aa'
const sdkValues = (assetId: string, at: [number, number]) => [
  ...['1.0.0', 'EPSG:4326', 'lp.geojson-point.v1', JSON.stringify({ type: 'Point', coordinates: at })],
  ...[assetId, OWNER, 1_700_000_000n],
]
const encode = (fields: string, values: unknown[]) =>
  AbiCoder.defaultAbiCoder().encode(ParamType.from(`tuple(${fields})`).components!, values)
const chainOf = (slug: string) => world.chains.get(slug)!

const recordOf = (uid: string) => world.get(`/api/v0/location-records/${uid}`)

describe.each(CHAINS)('the indexer on %s', (slug) => {
  test('indexes the schema of the public SDK since its first attestation', async () => {
    const chain = chainOf(slug)
    const schema = await registerSchema(chain, SDK_FIELDS)
    const uid = await attest(chain, request(schema, encode(SDK_FIELDS, sdkValues('pump-7', [7, 8]))))
    const other = await attest(chain, request(schema, encode(SDK_FIELDS, sdkValues('pump-8', [7, 8]))))
    await world.caughtUp()
    expect(await recordOf(uid)).toMatchObject({
      status: 200,
      body: {
        chain: slug,
        ...{ longitude: 7, latitude: 8, location_type: 'lp.geojson-point.v1', problem: null },
        attributes: { assetId: 'pump-7', owner: OWNER, timestamp: '1700000000' },
      },
    })
    const found = async (attributes: object) => {
      const path = `/api/v0/location-records?chain=${slug}&attributes=${encodeURIComponent(JSON.stringify(attributes))}`
      const { status, body } = await world.get(path)
      expect([status, body]).toEqual([200, body])
      return (body.data as { uid: string }[]).map((record) => record.uid).sort()
    }
    expect(await found({ assetId: 'pump-7' })).toEqual([uid])
    expect(await found({ owner: OWNER, timestamp: '1700000000' })).toEqual([uid, other].sort())
    expect(await found({ assetId: 7 })).toEqual([])
    await revoke(chain, uid, 0, schema)
    await world.caughtUp()
    expect((await recordOf(uid)).body.revoked).toBe(true)
    await expectInvariants(world, slug)
  })

  test('indexes a schema that is attested in the block of its registration and the next', async () => {
    const chain = chainOf(slug)
    const fields = `${SDK_FIELDS},bool ${slug.replace('-', '_')}`
    const schema = schemaUid(fields, ZeroAddress, true)
    const [registry, eas] = [await chain.registry(), await chain.eas()]
    const payload = encode(fields, [...sdkValues('early', [1, 2]), true])
    const send = () => eas.getFunction('attest').send(request(schema, payload), { gasLimit: 3_000_000 })
    const [, receipt] = await inOneBlock(chain, [
      () => registry.getFunction('register').send(fields, ZeroAddress, true, { gasLimit: 3_000_000 }),
      send,
    ])
    const uids = [receipt!.logs[0]!.data, await attest(chain, request(schema, payload))]
    await world.caughtUp()
    for (const uid of uids) expect((await recordOf(uid)).body.attributes).toMatchObject({ assetId: 'early' })
  })

  test('indexes a schema with a resolver, and an irrevocable schema', async () => {
    const chain = chainOf(slug)
    // A contract that answers every call with 1.
    const [account] = (await chain.provider.send('eth_accounts', [])) as string[]
    const creation = '0x69600160005260206000f3600052600a6016f3'
    const hash = (await chain.provider.send('eth_sendTransaction', [
      { from: account, data: creation },
    ])) as string
    const { contractAddress } = await mined(chain, hash)
    const schema = await registerSchema(chain, SDK_FIELDS, contractAddress!, false)
    const made = request(schema, encode(SDK_FIELDS, sdkValues('kept', [3, 4])))
    const uid = await attest(chain, { ...made, data: { ...made.data, revocable: false } })
    await world.caughtUp()
    expect((await recordOf(uid)).body.attributes).toMatchObject({ assetId: 'kept' })
    const { body } = await world.get('/api/v0/schemas')
    expect(body.built_in).toContainEqual({ uid: LOCATION_SCHEMA.uid, fields: LOCATION_SCHEMA.fields })
    expect(body.data).toContainEqual({
      ...{ uid: schema, chain: slug, fields: SDK_FIELDS, resolver: contractAddress, revocable: false },
      ...{ block: expect.any(Number), indexed: true },
    })
  })

  test('reads attestations that compute accepts as inputs', async () => {
    const chain = chainOf(slug)
    const fields = 'string srs,string locationType,string location,int8[2] shelf'
    const schema = await registerSchema(chain, fields)
    const uid = await attest(
      chain,
      request(schema, encode(fields, ['EPSG:4326', 'wkt', 'POINT(7 8)', [-1, 2]])),
    )
    // The attestation may or may not be indexed by now.
    const { status, body } = await world.post('/compute/v0/distance', {
      chainId: chain.chain.id,
      from: uid,
      to: { type: 'Point', coordinates: [7, 8] },
    })
    expect([status, body.result]).toEqual([200, 0])
  })
})

/** Number of valid schemas by one account: more than its share of 50 and the 100 that are listed. */
const VALID = 200
test('hostile registrations of schemas cost bounded work', { tags: ['slow'] }, async () => {
  const chain = chainOf(LOCAL_CHAIN.slug)
  const registry = await chain.registry()
  const place = 'string srs,string location_type,string location'
  const before = (await world.get('/ready')).body.chains[LOCAL_CHAIN.slug].location_schemas as number
  const useless = [
    'x'.repeat(100_000),
    `${place},${'('.repeat(5_000)}uint8 a${')'.repeat(5_000)} deep`,
    `${place},string srs`,
    `${place},string location_type,string locationType`,
    `${place},uint8[999999] wide`,
    `${place},()[] nothing`,
    `${place},uint8 \u0000`,
    `${place.replace('string', 'bytes')}`,
    '',
  ]
  for (const fields of useless) await registerSchema(chain, fields)
  // Registers many valid schemas in few blocks.
  for (let at = 0; at < VALID; at += 100)
    await inOneBlock(
      chain,
      Array.from(
        { length: 100 },
        (_, i) => () =>
          registry
            .getFunction('register')
            .send(`${place},bool spam${at + i}`, ZeroAddress, true, { gasLimit: 250_000 }),
      ),
    )
  await world.caughtUp()
  const found = async () =>
    (await world.get('/api/v0/schemas')).body.data as { uid: string; fields: string; indexed: boolean }[]
  const read = (await found()).find(({ fields, indexed }) => indexed && fields.includes('bool spam'))!
  const uid = await attest(
    chain,
    request(read.uid, encode(read.fields, ['EPSG:4326', 'wkt', 'POINT(1 1)', true])),
  )
  await world.caughtUp()
  expect((await recordOf(uid)).body.attributes).toEqual({ [read.fields.split(' ').at(-1)!]: true })
  const { location_schemas } = (await world.get('/ready')).body.chains[LOCAL_CHAIN.slug]
  expect(before).toBeLessThan(20)
  // One account can occupy at most its share of the places for schemas.
  expect(location_schemas).toBeGreaterThan(before)
  expect(location_schemas).toBeLessThanOrEqual(before + 50)
  const leftOut = (await found()).filter(({ indexed }) => !indexed)
  // Only the newest of the schemas that were left out are listed.
  expect(before + VALID - location_schemas).toBeGreaterThan(100)
  expect(leftOut).toHaveLength(100)
  // After all of the history is final, it is checked as well.
  await mine(chain, LOCAL_CHAIN.finality + 2)
  await world.caughtUp()
  await expectInvariants(world)
})
