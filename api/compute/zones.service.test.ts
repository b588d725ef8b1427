import { setImmediate as nextTurn } from 'node:timers/promises'
import { AbiCoder } from 'ethers'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { attest, locationRequest, registerSchema, request, revoke, testAccount } from '../../dev/chain'
import { contains, distanceCentimeters, orNull, type PreparedGeometry } from '../../src/geodesy'
import { LOCATION_PROTOCOL_SCHEMA, LOCATION_SCHEMA } from '../../src/location'
import { MEASURE_WORKER, postJson, startApi, type TestApiOptions } from '../../test/api'
import { createMigratedDatabase, rows } from '../../test/database'
import { insertRecords } from '../../test/records'
import { hunt } from '../../test/seed'
import { sentence, testSentences } from '../../test/sentences'
import { LOCAL_CHAIN, startTestWorld, type TestWorld } from '../../test/world'
import { Measurer, TimeLimitError } from './measure'
import { positions } from '../../test/positions'
import { box, prepare } from '../../test/shapes'

/** Tests POST /compute/v0/zones with zones attested on a local chain. */

type Ring = number[][]
const square = (west: number, south: number, size = 1): Ring => box(west, south, west + size, south + size)
/** A polygon whose JSON is canonical. */
const polygon = (...coordinates: Ring[]) => ({ coordinates, type: 'Polygon' as const })
const point = (lng: number, lat: number) => ({ type: 'Point' as const, coordinates: [lng, lat] })
let world: TestWorld
/** UIDs of a row of three squares, from west to east. */
let row: string[]
let bowtie: string
let unreadable: string
let aPoint: string

beforeAll(async () => {
  world = await startTestWorld()
  const { chain } = world
  row = []
  for (const west of [10, 11, 12]) row.push(await attest(chain, locationRequest(polygon(square(west, 50)))))
  const [a, b, c, d, e] = square(30, 10) as [number[], number[], number[], number[], number[]]
  bowtie = await attest(chain, locationRequest(polygon([a, c, b, d, e])))
  const payload = texts('0.2.0', 'EPSG:4326', 'street address', '1 Main Street')
  unreadable = await attest(chain, request(LOCATION_PROTOCOL_SCHEMA.uid, payload))
  aPoint = await attest(chain, locationRequest(point(10.5, 50.5)))
  await world.caughtUp()
})

/** Payload of strings. */
const texts = (...values: string[]) =>
  AbiCoder.defaultAbiCoder().encode(
    values.map(() => 'string'),
    values,
  )

async function ask(body: object) {
  return world.post('/compute/v0/zones', { chainId: LOCAL_CHAIN.id, ...body })
}
/** Starts another API on the database and the chain of the world. Returns a function that asks it. */
async function another(options: TestApiOptions) {
  const api = await startApi({ databaseUrl: world.databaseUrl, rpcUrl: world.chain.url, ...options })
  return async (geometry: object, zones: object) => {
    const body = { chainId: LOCAL_CHAIN.id, geometry, zones }
    const response = await postJson(`${api.url}/compute/v0/zones`, body)
    const { status, headers, url } = response
    return { status, headers, body: (await response.json()) as any, url: new URL(url).origin }
  }
}
const containing = ({ body }: { body: any }): string[] =>
  body.results.map(({ inputRefs }: { inputRefs: string[] }) => inputRefs[0])

describe('POST /compute/v0/zones', () => {
  test('signs an answer for each zone that contains a point, and lists unreadable zones', async () => {
    const prover = await proverOfRow()
    const answer = await ask({ geometry: point(10.5, 50.5), zones: { prover } })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    const { results, onBoundary, undecided, complete, inputRef, multiAttestByDelegation } = answer.body
    expect(results).toMatchObject([{ result: true, operation: 'contains', inputRefs: [row[0], inputRef] }])
    expect([onBoundary, complete, multiAttestByDelegation]).toEqual([[], false, expect.anything()])
    expect(undecided).toEqual([{ uid: unreadable, reason: sentence() }])
    const { attestation, delegatedAttestation } = results[0]
    const earlier = { chainId: LOCAL_CHAIN.id, attestation, delegatedAttestation }
    const { body } = await world.post('/compute/v0/verify', earlier)
    expect(body).toMatchObject({ ours: true, submittable: true })
  })
  test('selects zones by schema, and reports the set as complete', async () => {
    const answer = await ask({ geometry: point(11.5, 50.5), zones: { schema: LOCATION_SCHEMA.uid } })
    expect([containing(answer), answer.body.complete, answer.body.undecided]).toEqual([[row[1]], true, []])
  })
  test('selects zones by a schema that the indexer has found and reads, and refuses any other schema', async () => {
    const { chain, databaseUrl } = world
    const fields = 'string srs,string location_type,string location'
    const schema = await registerSchema(chain, fields)
    const location = JSON.stringify(polygon(square(70, 50)))
    const payload = texts('EPSG:4326', 'lp.geojson-polygon.v1', location)
    const uid = await attest(chain, request(schema, payload))
    await world.caughtUp()
    const zones = { geometry: point(70.5, 50.5), zones: { schema } }
    expect(containing(await ask(zones))).toEqual([uid])
    await rows(databaseUrl, 'UPDATE location_schema SET watched = false WHERE uid = $1', [schema])
    // An input of this schema does not make its records complete.
    const input = { chainId: LOCAL_CHAIN.id, geometry: uid }
    expect((await world.post('/compute/v0/area', input)).status).toBe(200)
    const refused = await ask(zones)
    expect([refused.status, refused.body.detail]).toEqual([400, sentence('zones.schema', schema)])
  })
  test('names the zones whose boundary the geometry is on, and signs no answer about them', async () => {
    const { body } = await ask({ geometry: point(11, 50.5), zones: { uids: row } })
    expect(body).toMatchObject({ results: [], multiAttestByDelegation: [], complete: true })
    expect(body.onBoundary).toEqual([row[0], row[1]].sort())
    // A position 4 mm east of the border is on it. A position 6 mm east of it is in the zone.
    for (const [meters, within, on] of [
      [0.004, [], [row[0], row[1]].sort()],
      [0.006, [row[1]], []],
    ] as const) {
      const near = await ask({ geometry: point(11 + meters / 71_000, 50.5), zones: { uids: row } })
      expect([containing(near), near.body.onBoundary]).toEqual([within, on])
    }
  })
  test('does not count a cut at the antimeridian as a boundary', async () => {
    const zone = {
      coordinates: [
        [positions('-180 -20, -178 -20, -178 -15, -180 -15, -180 -20')],
        [positions('177 -20, 180 -20, 180 -15, 177 -15, 177 -20')],
      ],
      type: 'MultiPolygon' as const,
    }
    const uid = await attest(world.chain, locationRequest(zone))
    await world.caughtUp()
    const answer = await ask({ geometry: point(180, -17), zones: { uids: [uid] } })
    expect([containing(answer), answer.body.onBoundary]).toEqual([[uid], []])
  })
  test('finds a zone whose ring encloses more than half of the globe, so that the zone is the rest', async () => {
    const ring = positions('-170 -80, -60 -80, 60 -80, 170 -80, 170 80, 60 80, -60 80, -170 80, -170 -80')
    const uid = await attest(world.chain, locationRequest(polygon(ring)))
    await world.caughtUp()
    const zones = { uids: [uid] }
    expect(containing(await ask({ geometry: point(178, -18), zones }))).toEqual([uid])
    expect(containing(await ask({ geometry: point(13, 52), zones }))).toEqual([])
    await revoke(world.chain, uid)
  })
  test('names zones with an ambiguous inside, and other shapes, if they may contain the point', async () => {
    const { body } = await ask({ geometry: point(30.5, 10.5), zones: { uids: [bowtie, aPoint, ...row] } })
    expect(body).toMatchObject({ results: [], complete: false })
    const undecided = [bowtie, aPoint].sort().map((uid) => ({ uid, reason: sentence() }))
    expect(body.undecided).toEqual(undecided)
    const elsewhere = await ask({ geometry: point(-30, -10), zones: { uids: [bowtie] } })
    expect(elsewhere.body).toMatchObject({ undecided: [], complete: true })
  })
  test('names all listed points, and does not count them as candidates', async () => {
    // The indexer stores canonical JSON.
    const geometry = { coordinates: [-70, -40], type: 'Point' as const }
    const given = { chain: LOCAL_CHAIN.slug, geometry }
    const points = await insertRecords(world.databaseUrl, Array(101).fill(given), 30_000)
    const uids = points.map(({ uid }) => uid)
    const answer = await ask({ geometry: point(10.5, 50.5), zones: { uids: [...uids, row[0]] } })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    expect([containing(answer), answer.body.complete]).toEqual([[row[0]], false])
    expect(answer.body.undecided).toEqual(uids.sort().map((uid) => ({ uid, reason: sentence() })))
  })
  test('names a revoked zone of a list, but omits a revoked zone of a schema', async () => {
    const uid = await attest(world.chain, locationRequest(polygon(square(60, 20))))
    await revoke(world.chain, uid)
    await world.caughtUp()
    const named = await ask({ geometry: point(60.5, 20.5), zones: { uids: [uid] } })
    const undecided = [{ uid, reason: sentence() }]
    expect(named.body).toMatchObject({ results: [], undecided, complete: false })
    const all = await ask({ geometry: point(60.5, 20.5), zones: { schema: LOCATION_SCHEMA.uid } })
    expect(all.body).toMatchObject({ results: [], undecided: [], complete: true })
  })
  test('reads an attested geometry, and adds the transaction on request', async () => {
    const answer = await ask({ geometry: aPoint, zones: { uids: row }, include: ['transaction'] })
    expect(containing(answer)).toEqual([row[0]])
    expect(answer.body).toMatchObject({ inputRef: aPoint, transaction: { value: 0 } })
  })
  test('names zones that take too long to measure, and signs answers about the other zones', async () => {
    const slow = row[1]!
    const limits: (number | undefined)[] = []
    class SlowMeasurer extends Measurer {
      override async measure(...given: Parameters<Measurer['measure']>) {
        // The geometry of the request is checked by itself first.
        if (given[0].operation !== 'intersects') limits.push(given[2])
        if (given[0].inputs.some(({ ref }) => ref === slow)) throw new TimeLimitError()
        const measured = await super.measure(...given)
        for (const until = performance.now() + 1; performance.now() < until;) await nextTurn()
        return measured
      }
    }
    const askSlow = await another({ measurer: new SlowMeasurer(20_000, MEASURE_WORKER) })
    const answer = await askSlow(point(10.5, 50.5), { uids: [...row, bowtie] })
    expect([answer.status, containing(answer)]).toEqual([200, [row[0]]])
    // All measurements together have the time of a batch: each has what the earlier ones left.
    expect(limits.length).toBeGreaterThan(1)
    expect(limits).toEqual([...new Set(limits)].map(Number).sort((a, b) => b - a))
    const near = await askSlow(point(11.5, 50.5), { uids: row })
    const undecided = [{ uid: slow, reason: sentence() }]
    expect(near.body).toMatchObject({ results: [], undecided, complete: false })
  })
  test('signs answers about the polygons of a schema that has many records without a geometry', async () => {
    const attester = testAccount(8).address.toLowerCase()
    const insert = (count: number, first: number) =>
      insertRecords(
        world.databaseUrl,
        Array.from({ length: count }, (_, i) => ({
          ...{ chain: LOCAL_CHAIN.slug, prover: attester, schema: LOCATION_SCHEMA.uid, geometry: null },
          timestamp: Date.UTC(2020, 0, 1) + i,
        })),
        first,
      )
    try {
      const [first] = await insert(1, 20_000)
      const geometry = point(11.5, 50.5)
      const schema = { geometry, zones: { schema: LOCATION_SCHEMA.uid } }
      const one = await ask(schema)
      const undecided = [{ uid: first!.uid, reason: sentence() }]
      expect([containing(one), one.body.undecidedMore]).toEqual([[row[1]], false])
      expect(one.body.undecided).toEqual(undecided)
      const others = await insert(250, 21_000)
      const many = await ask(schema)
      expect([containing(many), many.body.complete, many.body.undecidedMore]).toEqual([[row[1]], false, true])
      expect(many.body.undecided).toHaveLength(100)
      const named = await ask({ geometry, zones: { uids: [...row, ...others.map(({ uid }) => uid)] } })
      expect([containing(named), named.body.undecidedMore]).toEqual([[row[1]], false])
      const uids = named.body.undecided.map(({ uid }: { uid: string }) => uid)
      expect(uids).toEqual(others.map(({ uid }) => uid).sort())
    } finally {
      await rows(world.databaseUrl, 'DELETE FROM location_record WHERE prover = $1', [attester])
    }
  })
  test('finds the zones that a replica lacks', async () => {
    const replica = await createMigratedDatabase()
    const select = 'SELECT json_agg(record_state) AS all FROM record_state'
    const [states] = await rows<{ all: object[] }>(world.databaseUrl, select)
    const copy = 'INSERT INTO record_state SELECT * FROM json_populate_recordset(NULL::record_state, $1)'
    await rows(replica.url, copy, [JSON.stringify(states!.all)])
    const askAnother = await another({ readUrls: [replica.url] })
    for (const zones of [{ schema: LOCATION_SCHEMA.uid }, { uids: row }]) {
      const answer = await askAnother(point(10.5, 50.5), zones)
      expect([containing(answer), answer.body.complete]).toEqual([[row[0]], true])
      const list = await fetch(`${answer.url}/api/v0/location-records`)
      expect(await list.json()).toMatchObject({ data: [] })
    }
  })
  hunt(
    'returns the same results as contains and distance for each zone, around the poles and the antimeridian too',
    24,
    async ({ cases, random }) => {
      const around = (count: number, at: (turn: number) => number[]): Ring => {
        const ring = Array.from({ length: count }, (_, i) => at(i / count))
        return [...ring, ring[0]!]
      }
      const wrapped = (lng: number) => lng - 360 * Math.round(lng / 360)
      const disc = (lng: number, lat: number, radius: number, count: number) =>
        polygon(
          around(count, (turn) => [
            wrapped(lng + radius * Math.cos(2 * Math.PI * turn)),
            lat + radius * Math.sin(2 * Math.PI * turn),
          ]),
        )
      const zones = [
        polygon(around(8, (turn) => [wrapped(360 * turn), 80])),
        polygon(
          around(12, (turn) => [wrapped(360 * turn), 60]),
          around(12, (turn) => [wrapped(-360 * turn), 85]),
        ),
        polygon(around(5, (turn) => [wrapped(-360 * turn), -60])),
        polygon(positions('0 80, 90 80, 45 90, 0 80')),
        polygon(positions('170 -10, -170 -10, -170 10, 170 10, 170 -10')),
        polygon(positions('-180 -10, -170 -10, -170 10, -180 10, -180 -10')),
        polygon(positions('-80 50, 80 50, 80 40, -80 40, -80 50')),
        disc(0, 0, 5, 500),
        ...Array.from({ length: 4 }, () =>
          polygon(square(Math.round(random() * 30) / 10, Math.round(random() * 30) / 10, 1 + random())),
        ),
      ]
      const prepared = new Map<string, { inside: PreparedGeometry; boundary: PreparedGeometry }>()
      for (const zone of zones)
        prepared.set(await attest(world.chain, locationRequest(zone)), {
          inside: prepare(zone),
          boundary: prepare({ type: 'MultiLineString', coordinates: zone.coordinates }),
        })
      await world.caughtUp()
      const uids = [...prepared.keys()].sort()
      const geometries: ((i: number) => object)[] = [
        () => point(wrapped(180 + random() * 20), random() * 24 - 12),
        () => point(random() * 4, random() * 4),
        () => point(random() * 360 - 180, 90 - random() * 40),
        () => (random() < 0.5 ? point(random() * 360 - 180, 90) : point(180, 10)),
        (i) => disc(random() * 4, random() * 4, 0.05, i % 2 ? 5 : 200),
        () => ({ type: 'LineString' as const, coordinates: positions('-90 86, 90 86') }),
      ]
      for (let i = 0; i < cases; i++) {
        const geometry = geometries[i % geometries.length]!(i)
        const place = prepare(geometry)
        // The kernel refuses some distances of shapes that touch in many positions.
        const measured = <T>(work: () => T) => orNull(Infinity, work)
        const within = uids.filter((uid) => measured(() => contains(prepared.get(uid)!.inside, place)))
        const on = uids.filter(
          (uid) => measured(() => distanceCentimeters(prepared.get(uid)!.boundary, place)) === 0,
        )
        for (const zones of [{ uids }, { schema: LOCATION_SCHEMA.uid }]) {
          const answer = await ask({ geometry, zones })
          const found = { status: answer.status, within: containing(answer), on: answer.body.onBoundary }
          const only = (list: string[]) => list.filter((uid) => prepared.has(uid))
          expect({ ...found, within: only(found.within), on: only(found.on) }).toEqual({
            ...{ status: 200, within, on },
          })
        }
      }
    },
    ['slow'],
  )
})

describe('refusals of POST /compute/v0/zones', () => {
  const zones = { schema: LOCATION_SCHEMA.uid }
  const slugOf = ({ body }: Awaited<ReturnType<typeof ask>>) => [body.status, body.type.split('/').at(-1)]

  test('name the invalid field', async () => {
    const uid = `0x${'12'.repeat(32)}`
    const crossed = polygon(positions('0 0, 2 2, 2 0, 0 2, 0 0'))
    for (const [body, field] of [
      [{ geometry: point(1, 1) }, 'zones'],
      [{ zones }, 'geometry'],
      [{ geometry: point(1, 1), zones: {} }, 'zones'],
      [{ geometry: point(1, 1), zones: { uids: [uid], ...zones } }, 'zones'],
      [{ geometry: point(1, 1), zones: { uids: [] } }, 'zones.uids'],
      [{ geometry: point(1, 1), zones: { uids: Array.from({ length: 1_001 }, () => uid) } }, 'zones.uids'],
      [{ geometry: point(1, 1), zones: { uids: ['0x12'] } }, 'zones.uids[0]'],
      [{ geometry: point(1, 1), zones: { prover: '0x12' } }, 'zones.prover'],
      [{ geometry: point(1, 1), zones: { place: 1 } }, 'zones.place'],
      [{ geometry: point(1, 100), zones }, 'geometry.coordinates'],
      [{ geometry: crossed, zones: { uids: [row[0]] } }, 'geometry.coordinates[0][0]'],
    ] as const) {
      const answer = await ask(body)
      expect([...slugOf(answer), answer.body.detail], JSON.stringify(body).slice(0, 200)).toEqual([
        ...[400, 'invalid-input', sentence(field)],
      ])
    }
    const unknown = await ask({ geometry: point(1, 1), zones: { uids: [uid] } })
    expect(slugOf(unknown)).toEqual([404, 'attestation-not-found'])
  })
  test('apply to whole sets with too many candidates or answers, and never to a part of a set', async () => {
    const prover = testAccount(9).address
    const given = { chain: LOCAL_CHAIN.slug, prover: prover.toLowerCase(), geometry: polygon(square(80, 30)) }
    await insertRecords(world.databaseUrl, Array(21).fill(given), 500)
    const many = await ask({ geometry: point(80.5, 30.5), zones: { prover } })
    expect([...slugOf(many), many.body.detail]).toEqual([400, 'invalid-input', sentence('zones')])
    expect((await ask({ geometry: point(-80.5, 30.5), zones: { prover } })).body.complete).toBe(true)
    await insertRecords(world.databaseUrl, Array(80).fill(given), 700)
    const more = await ask({ geometry: point(80.5, 30.5), zones: { prover } })
    expect([...slugOf(more), more.body.detail]).toEqual([400, 'invalid-input', sentence('zones')])
  })
  const vanish = 'DELETE FROM location_record WHERE prover = $1'
  const revokeLast =
    'UPDATE location_record SET revoked = true WHERE uid = (SELECT max(uid) FROM location_record WHERE prover = $1)'
  test.each([
    ['vanishes', 'measured', 2, vanish],
    ['vanishes', 'signed', 1, vanish],
    ['is revoked', 'measured', 2, revokeLast],
    ['is revoked', 'signed', 1, revokeLast],
  ])('ask for a retry if a zone of a set %s before it is %s', async (_, __, count, statement) => {
    const prover = testAccount(7).address.toLowerCase()
    const given = { chain: LOCAL_CHAIN.slug, prover, geometry: polygon(square(90, 30)) }
    await insertRecords(world.databaseUrl, Array(count).fill(given), 40_000)
    const now = performance.now.bind(performance)
    let ahead = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead)
    class ReorgMeasurer extends Measurer {
      override async measure(...measured: Parameters<Measurer['measure']>) {
        if (measured[0].operation === 'contains') {
          await rows(world.databaseUrl, statement, [prover])
          ahead = 1_050
        }
        return super.measure(...measured)
      }
    }
    const askReorged = await another({ measurer: new ReorgMeasurer(20_000, MEASURE_WORKER) })
    const { status, headers, body } = await askReorged(point(90.5, 30.5), { prover })
    clock.mockRestore()
    await rows(world.databaseUrl, vanish, [prover])
    expect([status, headers.get('retry-after')]).toEqual([500, '5'])
    expect(body.detail).toEqual(sentence())
  })
  test('apply to the set of an attester while the index may lack attestations, but not to listed UIDs', async () => {
    // The indexer writes the state at each poll.
    await rows(
      world.databaseUrl,
      `CREATE FUNCTION doubt() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.doubt := 'two endpoints disagree'; RETURN NEW; END $$;
       CREATE TRIGGER doubt BEFORE UPDATE ON chain_status FOR EACH ROW EXECUTE FUNCTION doubt();
       UPDATE chain_status SET doubt = ''`,
    )
    // The API reads the state at most once per 250 ms.
    while ((await ask({ geometry: point(10.5, 50.5), zones })).status === 200);
    const answer = await ask({ geometry: point(10.5, 50.5), zones })
    expect([answer.status, answer.body.detail]).toEqual([500, sentence()])
    expect(containing(await ask({ geometry: point(10.5, 50.5), zones: { uids: row } }))).toEqual([row[0]])
    await rows(world.databaseUrl, 'DROP TRIGGER doubt ON chain_status; UPDATE chain_status SET doubt = NULL')
  })
})
testSentences()

async function proverOfRow(): Promise<string> {
  const sql = 'SELECT prover FROM location_record WHERE uid = $1'
  return (await rows<{ prover: string }>(world.databaseUrl, sql, [row[0]]))[0]!.prover
}
