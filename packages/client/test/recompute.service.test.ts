// SPDX-License-Identifier: MIT
import {
  AttestationNotFoundError,
  InvalidInputError,
  SignerError,
  createGeo,
  decodeClaims,
  type Answer,
} from '@geospatial-attestation/client'
import {
  recompute,
  type AttestationContent,
  type Claim,
  type RecomputeInput,
} from '@geospatial-attestation/client/kernel'
import { AbiCoder, JsonRpcProvider, Wallet, ZeroAddress, id } from 'ethers'
import { latLngToCell } from 'h3-js'
import { rolldown } from 'rolldown'
import { beforeAll, describe, expect, test } from 'vitest'
import { attest, locationRequest, registerSchema, request, testAccount } from '../../../dev/chain'
import { fieldTypes } from '../../../src/eas'
import { LOCATION_PROTOCOL_SCHEMA } from '../../../src/location'
import { openPage } from '../../../test/browser'
import { offchain } from '../../../test/offchain'
import { hunt } from '../../../test/seed'
import { inOneBlock, startTestWorld, type TestWorld } from '../../../test/world'
import { TOWER, positions } from '../../../test/positions'
import { square } from '../../../test/shapes'
import { withChromium } from '../../../test/needs'

/** Tests that the built package recomputes answers of the running service. */
const FLOOR_SCHEMA = 'string srs,string location_type,string location,uint8 floor'
let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld({ LOCATION_SCHEMAS: FLOOR_SCHEMA })
})

const NEAR_TOWER = { type: 'Point' as const, coordinates: [2.2946, 48.8584] }
const PARIS = square(2.22, 48.81, 0.2)
const STREET = { type: 'LineString' as const, coordinates: positions('2.3 48.86, 2.32 48.87, 2.41 48.9') }
type Shape = typeof TOWER | typeof PARIS | typeof STREET

const ask = async (operation: string, parameters: object): Promise<Answer> => {
  const { status, body } = await world.post(`/compute/v0/${operation}`, { chainId: 84532, ...parameters })
  expect([status, body.detail]).toEqual([200, undefined])
  return body as Answer
}
/** Returns the content of an attestation on the contract, as ethers returns it. */
const content = async (uid: string) =>
  (await (await world.chain.eas()).getFunction('getAttestation').staticCall(uid)) as AttestationContent
const onChain = { attestation: content }
const outdated = (changes: object) => async (uid: string) => ({ ...plain(await content(uid)), ...changes })
const plain = ({
  schema,
  recipient,
  attester,
  time,
  expirationTime,
  revocable,
  refUID,
  data,
}: AttestationContent) => ({ schema, recipient, attester, time, expirationTime, revocable, refUID, data })

/** Forms in which a shape can be passed to the service, by kind. */
const KINDS: Record<string, (shape: Shape) => Promise<RecomputeInput>> = {
  geojson: async (shape) => shape,
  onchain: (shape) => attest(world.chain, locationRequest(shape), 3),
  offchain: async (shape) => ({ attestation: await offchain(shape as typeof TOWER) }),
}
const QUESTIONS: Record<string, { shapes: Record<string, Shape>; more?: object }> = {
  distance: { shapes: { from: TOWER, to: STREET } },
  contains: { shapes: { container: PARIS, geometry: STREET } },
  within: { shapes: { geometry: TOWER, target: STREET }, more: { radius: 432.1 } },
  intersects: { shapes: { geometry1: STREET, geometry2: PARIS } },
  area: { shapes: { geometry: PARIS } },
  length: { shapes: { geometry: STREET } },
}

const KIND_NAMES = Object.keys(KINDS)
const kindAt = (i: number) => KIND_NAMES[i % KIND_NAMES.length]!

// All pairs of kinds for one operation, and each kind in each place for the others.
describe.each(Object.keys(QUESTIONS))('the operation %s', (operation) => {
  const { shapes, more } = QUESTIONS[operation]!
  const names = Object.keys(shapes)
  const mixes =
    operation === 'distance'
      ? pairs(KIND_NAMES)
      : KIND_NAMES.map((_, i) => names.map((_, n) => kindAt(i + n)))
  test.each(mixes.map((mix) => [mix.join(', '), mix] as const))(
    'recomputes to the same result from %s',
    async (_, mix) => {
      const inputs: RecomputeInput[] = []
      for (const [i, name] of names.entries()) inputs.push(await KINDS[mix[i]!]!(shapes[name]!))
      const answer = await ask(operation, {
        ...Object.fromEntries(names.map((name, i) => [name, inputs[i]])),
        ...more,
      })
      const expected = {
        verdict: 'equal',
        computed: { result: answer.result },
        inputs: mix.map((kind, i) => ({
          ...{ kind, ref: answer.inputRefs[i], geometry: shapes[names[i]!] },
          ...(kind !== 'geojson' && { attester: testAccount(kind === 'onchain' ? 3 : 2).address }),
        })),
      }
      expect(await recompute(answer, inputs, onChain)).toMatchObject(expected)
      // Recomputes the payload's claims, decoded by this package and in whole units, with attestations by
      // their content.
      const contents: RecomputeInput[] = []
      for (const input of inputs) contents.push(typeof input === 'string' ? await content(input) : input)
      const claims = decodeClaims(answer.attestation.data as `0x${string}`)!
      expect(await recompute(claims, contents)).toMatchObject(expected)
      const whole = AbiCoder.defaultAbiCoder().decode(
        typeof answer.result === 'number'
          ? ['uint256', 'string', 'bytes32[]', 'uint256', 'string']
          : ['bool', 'bytes32[]', 'uint256', 'string'],
        answer.attestation.data,
      )
      const [result, units] = [
        whole[0] as bigint | boolean,
        whole.length > 4 ? (whole[1] as string) : undefined,
      ]
      expect(await recompute({ ...answer, result, units }, contents)).toMatchObject(expected)
    },
  )
})

function pairs(kinds: readonly string[]): string[][] {
  return kinds.flatMap((first) => kinds.map((second) => [first, second]))
}

test('recompute proves an answer about a salted place only with the place and its salt', async () => {
  const salt = `0x${'5a'.repeat(32)}`
  const answer = await ask('distance', { from: { geometry: TOWER, salt }, to: STREET })
  expect(await recompute(answer, [{ geometry: TOWER, salt }, STREET])).toMatchObject({ verdict: 'equal' })
  for (const input of [TOWER, { geometry: TOWER, salt: `0x${'5b'.repeat(32)}` }, { geometry: STREET, salt }])
    expect(await recompute(answer, [input, STREET])).toMatchObject({ verdict: 'wrong inputs' })
})
hunt('recompute recomputes answers about random geometries', 24, async ({ cases, random }) => {
  const place = () => [random() * 360 - 180, (Math.asin(2 * random() - 1) * 180) / Math.PI]
  const ring = (corners: number, [lng, lat]: number[], radius: number) => {
    const ring = Array.from({ length: corners }, (_, i) => {
      const [angle, size] = [(2 * Math.PI * i) / corners, radius * (0.6 + 0.4 * random())]
      const east = lng! + (size * Math.cos(angle)) / Math.cos((lat! * 0.9 * Math.PI) / 180)
      return [((east + 540) % 360) - 180, Math.max(-89.9, Math.min(89.9, lat! + size * Math.sin(angle)))]
    })
    return { type: 'Polygon', coordinates: [[...ring, ring[0]!]] }
  }
  const shape = () =>
    random() < 0.3
      ? { type: 'Point', coordinates: place() }
      : random() < 0.5
        ? { type: 'LineString', coordinates: [place(), place(), place()] }
        : ring(3 + Math.floor(random() * 40), place(), 10 ** (random() * 5 - 4))
  const verdicts: unknown[] = []
  for (let i = 0; i < cases; i++) {
    const inputs = [shape(), shape()]
    const { status, body } = await world.post('/compute/v0/distance', {
      ...{ chainId: 84532, from: inputs[0], to: inputs[1] },
    })
    if (status === 200) verdicts.push((await recompute(body as Answer, inputs)).verdict)
    // Polygons up to half a continent, whose area in square centimetres a JSON number cannot represent.
    const polygon = ring(3 + Math.floor(random() * 20), place(), 0.001 * 10 ** (random() * 4.6))
    const area = await world.post('/compute/v0/area', { chainId: 84532, geometry: polygon })
    if (area.status === 200) verdicts.push((await recompute(area.body as Answer, [polygon])).verdict)
  }
  expect(verdicts.length).toBeGreaterThan(1.25 * cases)
  expect(verdicts.filter((verdict) => verdict !== 'equal')).toEqual([])
})

test('recompute reads locations of every type as the service does', { tags: ['slow'] }, async () => {
  const locations: [string, string][] = [
    ['wkt', 'POLYGON Z ((2.22 48.81 5, 2.42 48.81 5, 2.42 48.91 6, 2.22 48.81 5))'],
    ['coordinate-decimal+lon-lat', '2.2945, 48.8584'],
    ['coordinate-decimal+lat-lon', '[48.8584, 2.2945]'],
    ['scaledCoordinates', '{"x":"22945000","y":488584000,"scale":10000000}'],
    ['geohash', 'u09tunq'],
    ['geohash', 'u'],
    ...[0, 3, 7, 11, 15].map((resolution): [string, string] => [
      'h3',
      latLngToCell(48.8584, 2.2945, resolution),
    ]),
    [
      'geojson',
      '{"type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":[-0,48.8584,35]}}',
    ],
  ]
  const uids = []
  for (const location of locations) {
    const data = AbiCoder.defaultAbiCoder().encode(fieldTypes(LOCATION_PROTOCOL_SCHEMA.fields), [
      ...['0.2', 'http://www.opengis.net/def/crs/OGC/1.3/CRS84', ...location],
    ])
    uids.push(await attest(world.chain, request(LOCATION_PROTOCOL_SCHEMA.uid, data)))
  }
  await world.caughtUp()
  for (const [i, uid] of uids.entries()) {
    const answer = await ask('distance', { from: { uid }, to: STREET })
    const { body: record } = await world.get(`/api/v0/location-records/${uid}`)
    for (const input of [{ uid }, record as RecomputeInput, uid.toUpperCase().replace('0X', '0x')])
      expect([locations[i], await recompute(answer, [input, STREET], onChain)]).toMatchObject([
        locations[i],
        { verdict: 'equal' },
      ])
  }
})

test('recompute distinguishes attestations of equal content in one block', async () => {
  const { schema, data } = locationRequest(TOWER)
  const eas = await world.chain.eas(4)
  const receipts = await inOneBlock(
    world.chain,
    [1, 2, 3].map(() => () => eas.getFunction('attest').send({ schema, data }, { gasLimit: 1_000_000 })),
  )
  const uids = receipts.map(({ logs }) => logs[0]!.data)
  expect(new Set(uids).size).toBe(3)
  for (const uid of uids) {
    const answer = await ask('distance', { from: uid, to: STREET })
    expect(await recompute(answer, [uid, STREET], onChain)).toMatchObject({ verdict: 'equal' })
  }
})

describe('recompute judges that an altered answer', () => {
  let distance: Answer
  let within: Answer
  let area: Answer
  beforeAll(async () => {
    distance = await ask('distance', { from: TOWER, to: STREET })
    within = await ask('within', { geometry: TOWER, target: STREET, radius: 432.1 })
    area = await ask('area', { geometry: PARIS })
  })

  test.each([0.01, -0.01, 12.34, 1e9])('differs by %d m', async (metres) => {
    const centimetres = BigInt(Math.round(metres * 100))
    const altered = Math.round((distance.result as number) * 100 + metres * 100) / 100
    const found = await recompute({ ...distance, result: altered }, [TOWER, STREET])
    expect(found).toMatchObject({
      ...{ verdict: 'differs', difference: centimetres },
      computed: { result: distance.result, units: 'meters', wholeUnits: 'centimeters' },
      sentence: expect.stringContaining(
        `${String(centimetres).replace('-', '')} cm ${metres < 0 ? 'less' : 'more'}`,
      ),
    })
  })
  test('differs by a square centimetre', async () => {
    const { computed } = (await recompute(area, [PARIS])) as { computed: { whole: bigint } }
    const altered = { ...area, result: computed.whole - 1n, units: 'square_centimeters' }
    expect(await recompute(altered as Claim, [PARIS])).toMatchObject({
      ...{ verdict: 'differs', difference: -1n, computed: { whole: computed.whole } },
    })
  })
  test('differs if the boolean is inverted', async () => {
    const altered = { ...within, result: !within.result }
    expect(await recompute(altered, [TOWER, STREET])).toMatchObject({
      ...{ verdict: 'differs', computed: { result: within.result } },
      sentence: `within 432.1 m is ${String(within.result)}, but the answer is ${String(!within.result)}.`,
    })
  })
  test('differs once the radius changes the result', async () => {
    const centimetres = Math.round((distance.result as number) * 100)
    const verdict = async (radius: number) => {
      const { attestation: _, ...unsigned } = within
      const altered = { ...unsigned, result: true, operation: `within:${radius}` }
      return (await recompute(altered, [TOWER, STREET])).verdict
    }
    expect([await verdict(centimetres), await verdict(centimetres - 1)]).toEqual(['equal', 'differs'])
  })

  test('has wrong inputs if its references or the given inputs are changed', async () => {
    const [from, to] = distance.inputRefs as [string, string]
    expect(await recompute(distance, [STREET, TOWER])).toEqual({
      verdict: 'wrong inputs',
      wrong: [
        { index: 0, expected: from, got: to, problem: `inputs[0] hashes to ${to}, not to ${from}.` },
        { index: 1, expected: to, got: from, problem: `inputs[1] hashes to ${from}, not to ${to}.` },
      ],
      sentence: expect.stringMatching(/^inputs\[0\] hashes .* inputs\[1\] hashes /),
    })
    expect(await recompute(distance, [NEAR_TOWER, STREET])).toMatchObject({
      verdict: 'wrong inputs',
      wrong: [{ index: 0, expected: from, got: id(JSON.stringify(sorted(NEAR_TOWER))) }],
    })
    expect(await recompute({ ...distance, inputRefs: [from, from] }, [TOWER, STREET])).toMatchObject({
      ...{ verdict: 'wrong inputs', wrong: [{ index: 1, expected: from, got: to }] },
    })
  })
})
const sorted = ({ type, coordinates }: Shape) => ({ coordinates, type })

describe('in recompute, an attestation', () => {
  let uid: string
  let answer: Answer
  beforeAll(async () => {
    uid = await attest(world.chain, locationRequest(TOWER), 3)
    answer = await ask('distance', { from: uid, to: STREET })
  })
  const judged = (input: RecomputeInput, options: Parameters<typeof recompute>[2] = onChain) =>
    recompute(answer, [input, STREET], options)

  test.each([
    ['data', { data: locationRequest(NEAR_TOWER).data.data }],
    ['attester', { attester: testAccount(4).address }],
    ['time', { time: 1n }],
    ['schema', { schema: LOCATION_PROTOCOL_SCHEMA.uid }],
    ['revocable', { revocable: false }],
  ])('that the endpoint returns with another %s has wrong inputs', async (_, changes) => {
    expect(await judged(uid, { attestation: outdated(changes) })).toMatchObject({
      verdict: 'wrong inputs',
      wrong: [{ index: 0, expected: uid, got: expect.stringMatching(/^0x[0-9a-f]{64}$/) }],
    })
  })
  test('has wrong inputs if it differs from its reference, or does not exist', async () => {
    const other = await attest(world.chain, locationRequest(TOWER), 4)
    expect(await judged(other)).toMatchObject({
      verdict: 'wrong inputs',
      wrong: [{ expected: uid, got: other }],
    })
    expect(await judged(await content(other))).toMatchObject({ wrong: [{ expected: uid, got: other }] })
    expect(await judged(uid, { attestation: async () => undefined })).toEqual({
      verdict: 'wrong inputs',
      wrong: [
        {
          index: 0,
          expected: uid,
          problem: `inputs[0] is not on the chain: there is no attestation ${uid}. If the input was GeoJSON, pass the GeoJSON.`,
        },
      ],
      sentence: expect.any(String),
    })
  })
  test('is refused if it is not a location, or has an ambiguous geometry', async () => {
    const about = async (request: Parameters<typeof attest>[1]) => {
      const uid = await attest(world.chain, request)
      return recompute({ ...answer, inputRefs: [uid, answer.inputRefs[1]!] }, [uid, STREET], onChain)
    }
    expect(await about(request(answer.attestation.schema, answer.attestation.data))).toMatchObject({
      ...{
        verdict: 'refused',
        sentence: expect.stringMatching(/^inputs\[0\] has the schema .* not a location schema/),
      },
    })
    const encode = (location: string) =>
      AbiCoder.defaultAbiCoder().encode(
        ['string', 'string', 'string', 'string'],
        ['0.2', 'EPSG:4326', 'address', location],
      )
    expect(await about(request(LOCATION_PROTOCOL_SCHEMA.uid, encode('Paris')))).toMatchObject({
      sentence:
        "inputs[0] has an ambiguous location: location_type 'address' is an address, which has no geometry.",
    })
    expect(await about(request(LOCATION_PROTOCOL_SCHEMA.uid, '0x1234'))).toMatchObject({
      sentence: expect.stringMatching(/^inputs\[0\] cannot be decoded: payload of 2 bytes ends/),
    })
  })
  test('is read with the field list of the registry on chain if its schema is of a third party', async () => {
    const schema = await registerSchema(world.chain, FLOOR_SCHEMA)
    const data = AbiCoder.defaultAbiCoder().encode(fieldTypes(FLOOR_SCHEMA), [
      ...['EPSG:4326', 'geojson', JSON.stringify(TOWER), 3],
    ])
    const uid = await attest(world.chain, request(schema, data))
    const answer = await ask('distance', { from: uid, to: STREET })
    const recomputed = (options: object) => recompute(answer, [uid, STREET], { ...onChain, ...options })
    const geo = createGeo({
      ...{ url: world.url, chain: 'base-sepolia', providers: { 84532: world.chain.url } },
    })
    expect(await geo.recompute(answer, [uid, STREET])).toMatchObject({ verdict: 'equal' })
    // Without the client, the kernel uses a registry only if it receives a function that queries one.
    expect(await recomputed({})).toMatchObject({ verdict: 'refused' })
    const lie = { fields: FLOOR_SCHEMA, resolver: ZeroAddress, revocable: false }
    expect(await recomputed({ schema: () => Promise.resolve(lie) })).toMatchObject({ verdict: 'refused' })
    await expect(recomputed({ locationSchemas: ['uint8 floor'] })).rejects.toThrow(
      "locationSchemas: 'uint8 floor' is not a location schema",
    )
    expect(await recomputed({ locationSchemas: [FLOOR_SCHEMA] })).toMatchObject({ verdict: 'equal' })
    // The field list applied to the earlier call only.
    expect(await recomputed({})).toMatchObject({ verdict: 'refused' })
  })
})

describe('an offchain attestation', () => {
  test.each([0, 1, 2] as const)('of version %i is read as the service reads it', async (version) => {
    const document = await offchain(TOWER, { version })
    const answer = await ask('distance', { from: { attestation: document }, to: STREET })
    const signer = testAccount(2).address
    for (const input of [{ attestation: document }, document])
      expect(await recompute(answer, [input as RecomputeInput, STREET])).toMatchObject({
        ...{ verdict: 'equal', inputs: [{ ref: document.sig.uid, kind: 'offchain', attester: signer }, {}] },
      })
  })
  test('has invalid inputs if its content differs, whatever its document states', async () => {
    const document = await offchain(TOWER)
    const answer = await ask('distance', { from: { attestation: document }, to: STREET })
    const { data } = locationRequest(NEAR_TOWER).data
    const altered = { ...document, sig: { ...document.sig, message: { ...document.sig.message, data } } }
    expect(await recompute(answer, [{ attestation: altered }, STREET])).toMatchObject({
      ...{ verdict: 'wrong inputs', wrong: [{ index: 0, expected: document.sig.uid }] },
    })
  })
  test('has no attester if its signature is not by a key, such as that of a smart account', async () => {
    const document = await offchain(TOWER)
    const answer = await ask('distance', { from: { attestation: document }, to: STREET })
    const attesterOf = async (changes: object, signer = document.signer) => {
      const attestation = { sig: { ...document.sig, ...changes }, signer }
      const found = await recompute(answer, [{ attestation }, STREET])
      expect(found.verdict).toBe('equal')
      return (found as { inputs: { attester?: string }[] }).inputs[0]!.attester
    }
    const { r, s, v } = document.sig.signature as { r: string; s: string; v: number }
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
    const high = `0x${(order - BigInt(s)).toString(16).padStart(64, '0')}`
    expect(await attesterOf({})).toBe(document.signer)
    expect(await attesterOf({ signature: `${r}${s.slice(2)}${v.toString(16)}` })).toBe(document.signer)
    expect(await attesterOf({ signature: { r, s, v: v - 27 } })).toBe(document.signer)
    expect(await attesterOf({}, testAccount(3).address)).toBeUndefined()
    expect(await attesterOf({ signature: { r, s: high, v: 55 - v } })).toBeUndefined()
    expect(await attesterOf({ signature: '0x1234' })).toBeUndefined()
    expect(await attesterOf({ signature: { r: `0x${'f'.repeat(64)}`, s, v } })).toBeUndefined()
  })
})

describe('an invalid question in recompute', () => {
  const claim = (inputRefs: string[], operation = 'distance', result: unknown = 1, units = 'meters') =>
    ({ operation, result, units, inputRefs }) as Claim
  const reference = (shape: Shape) => id(JSON.stringify(sorted(shape)))

  test('is refused for a polygon that crosses itself', async () => {
    const bow = { type: 'Polygon' as const, coordinates: [positions('0 0, 1 1, 1 0, 0 1, 0 0')] }
    expect(await recompute(claim([reference(bow)], 'area', 1, 'square_meters'), [bow])).toEqual({
      verdict: 'refused',
      sentence: expect.stringMatching(/^inputs\[0\]\.coordinates\[0\].* crosses /),
    })
    expect(await recompute(claim([reference(TOWER)], 'area', 1, 'square_meters'), [TOWER])).toEqual({
      verdict: 'refused',
      sentence: 'inputs[0]: area requires a Polygon or MultiPolygon, got a Point.',
    })
  })
  const refs = [reference(TOWER), reference(STREET)]
  test.each<[string, Claim, readonly unknown[], string]>([
    [
      'operation',
      claim(refs, 'volume'),
      [TOWER, STREET],
      "answer.operation: 'volume' is not one of distance, contains",
    ],
    [
      'radius',
      claim(refs, 'within:1e3', true),
      [TOWER, STREET],
      "answer.operation: 'within:1e3' is not one of",
    ],
    [
      'references',
      claim([refs[0]!]),
      [TOWER],
      'answer.inputRefs: distance has 2 inputs, but this answer has 1',
    ],
    ['inputs', claim(refs), [TOWER], 'inputs: expected 2, in the order of inputRefs, got 1'],
    ['result', claim(refs, 'distance', true), [TOWER, STREET], 'answer.result: expected a number, got true'],
    ['result', claim(refs, 'contains', 1), [TOWER, STREET], 'answer.result: expected true or false, got 1'],
    [
      'result',
      claim(refs, 'distance', 1.234),
      [TOWER, STREET],
      'expected whole centimeters, got 1.234 meters',
    ],
    ['result', claim(refs, 'distance', NaN), [TOWER, STREET], 'expected whole centimeters, got NaN meters'],
    [
      'units',
      claim(refs, 'distance', 1, 'feet'),
      [TOWER, STREET],
      'answer.units: expected meters or centimeters',
    ],
    ['input', claim(refs), [TOWER, null], 'inputs[1]: expected GeoJSON, { geometry, salt }, { attestation }'],
    ['input', claim(refs), [TOWER, {}], 'inputs[1]: expected GeoJSON, { geometry, salt }, { attestation }'],
    ['input', claim(refs), [TOWER, 'Paris'], "inputs[1]: 'Paris' is not a UID"],
    [
      'input',
      claim(refs),
      [TOWER, { type: 'Point', coordinates: [200, 0] }],
      'inputs[1].coordinates: longitude must be',
    ],
    ['input', claim(refs), [TOWER, { attestation: {} }], 'inputs[1].attestation: sig: missing'],
    [
      'input',
      claim(refs),
      [TOWER, { schema: '0x12', data: '0x' }],
      'inputs[1]: expected the content of an attestation',
    ],
    ['look-up', claim(refs), [TOWER, refs[1]], 'inputs[1]: a UID requires options.attestation'],
  ])('throws for an invalid %s, and states what is expected', async (_, answer, inputs, problem) => {
    const recomputed = recompute(answer, inputs as RecomputeInput[])
    await expect(recomputed).rejects.toThrow(problem)
    await expect(recomputed).rejects.toBeInstanceOf(InvalidInputError)
  })
})

withChromium.test('recompute recomputes the same results in a browser', { tags: ['slow'] }, async () => {
  const data = AbiCoder.defaultAbiCoder().encode(fieldTypes(LOCATION_PROTOCOL_SCHEMA.fields), [
    ...['0.2', 'EPSG:4326', 'h3', latLngToCell(48.8584, 2.2945, 9)],
  ])
  const uid = await attest(world.chain, request(LOCATION_PROTOCOL_SCHEMA.uid, data))
  const document = await offchain(TOWER)
  const { time, expirationTime, ...rest } = plain(await content(uid))
  const attested = { ...rest, time: String(time), expirationTime: String(expirationTime) }
  const questions = [
    [await ask('distance', { from: uid, to: STREET }), [attested, STREET]],
    [
      await ask('contains', { container: PARIS, geometry: { attestation: document } }),
      [PARIS, { attestation: document }],
    ],
    [await ask('area', { geometry: PARIS }), [PARIS]],
  ] as const
  const bundle = await rolldown({ input: 'packages/client/dist/kernel.mjs', platform: 'browser' })
  const { output } = await bundle.generate({ format: 'iife', name: 'kernel', codeSplitting: false })
  await bundle.close()
  await using browser = await openPage()
  const { page, complaints } = browser
  const verdicts = await page.evaluate<string[]>(
    `${output[0].code}; Promise.all(${JSON.stringify(questions)}.map(([answer, inputs]) => kernel.recompute(answer, inputs))).then((all) => all.map(({ sentence }) => sentence))`,
  )
  expect(verdicts).toEqual(
    await Promise.all(
      questions.map(async ([answer, inputs]) => {
        const { verdict, sentence } = await recompute(answer, inputs)
        expect(verdict).toBe('equal')
        return sentence
      }),
    ),
  )
  expect(complaints).toEqual([])
})

describe('geo.recompute', () => {
  const geoOf = (more: object = {}) => createGeo({ url: world.url, chain: 'base-sepolia', ...more })
  const connected = () => geoOf({ providers: { 84532: world.chain.url } })

  test('accepts an answer or the UID of a landed answer, and reads inputs from the chain', async () => {
    const geo = connected()
    const uid = await attest(world.chain, locationRequest(PARIS), 3)
    const answer = await geo.within(TOWER, uid, 100)
    const provider = new JsonRpcProvider(world.chain.url)
    const landed = await geo.land(answer, new Wallet(testAccount(6).privateKey, provider))
    provider.destroy()
    for (const given of [answer, landed.uid])
      for (const inputs of [[TOWER], [TOWER, undefined], [TOWER, uid], [TOWER, await content(uid)]])
        expect(await geo.recompute(given, inputs)).toMatchObject({
          verdict: 'equal',
          computed: { result: true },
          inputs: [{ kind: 'geojson' }, { kind: 'onchain', attester: testAccount(3).address }],
        })
    expect((await geo.recompute({ ...answer, result: false }, [TOWER])).verdict).toBe('differs')
    expect(await geo.recompute(answer, [NEAR_TOWER])).toMatchObject({
      verdict: 'wrong inputs',
      wrong: [{ index: 0, expected: answer.inputRefs[0] }],
    })
    // No attestation on the chain has the hash of a raw geometry as its UID.
    expect((await geo.recompute(answer)).verdict).toBe('wrong inputs')
    const byHand = await geoOf().recompute(answer, [TOWER], { provider: world.chain.url })
    expect(byHand.verdict).toBe('equal')
  })

  test('states which arguments are missing', async () => {
    const geo = geoOf()
    const uid = await attest(world.chain, locationRequest(PARIS), 3)
    const answer = await geo.area(uid)
    await expect(geo.recompute(answer)).rejects.toThrow(SignerError)
    await expect(geo.recompute(answer)).rejects.toThrow(/Set its RPC endpoint/)
    await expect(connected().recompute(uid)).rejects.toThrow(/is not an answer/)
    await expect(connected().recompute('0x12')).rejects.toThrow(InvalidInputError)
    await expect(connected().recompute(`0x${'ab'.repeat(32)}`)).rejects.toThrow(AttestationNotFoundError)
    await expect(connected().recompute(answer, [PARIS, PARIS])).rejects.toThrow(/expected 1/)
    const aborted = { signal: AbortSignal.abort(new Error('enough')) }
    await expect(connected().recompute(answer, [], aborted)).rejects.toThrow('enough')
  })
})
