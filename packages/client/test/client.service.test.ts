// SPDX-License-Identifier: MIT
import type { RequestListener } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import {
  ApiError,
  AttestationNotFoundError,
  ComputationError,
  ConnectionError,
  InvalidInputError,
  RateLimitedError,
  UnavailableError,
  VerificationFailedError,
  createGeo,
  point,
  privatePlace,
  queriesOf,
  type Geo,
  type GeoOptions,
  type LocationRecord,
  type RecordEvent,
} from '@geospatial-attestation/client'
import { QueryClient } from '@tanstack/query-core'
import { Wallet } from 'ethers'
import { privateKeyToAccount } from 'viem/accounts'
import { beforeAll, describe, expect, test } from 'vitest'
import { attest, locationRequest, revoke, testAccount } from '../../../dev/chain'
import { serve } from '../../../test/http-server'
import { insertRecords, somePlaces } from '../../../test/records'
import { answersAreRead, startTestWorld, type TestWorld } from '../../../test/world'
import vectors from '../../../test/vectors/offchain-vectors.json'
import { GATE, TOWER, positions } from '../../../test/positions'

/** Tests requests of the built package to the running service. */
let world: TestWorld
let geo: Geo
/** Number of records at the start. The newest one is attested. */
const RECORDS = 60
beforeAll(async () => {
  world = await startTestWorld()
  geo = createGeo({ url: `${world.url}/`, chain: 'base-sepolia' })
  await insertRecords(world.databaseUrl, somePlaces(RECORDS - 1, 1))
  await attest(world.chain, locationRequest(GATE))
  await world.caughtUp()
})

const STREET = { type: 'LineString' as const, coordinates: [TOWER.coordinates, GATE.coordinates] }
const PARK = { type: 'Polygon' as const, coordinates: [positions('13 52, 14 52, 14 53, 13 53, 13 52')] }
const caught = async (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error as ApiError,
  )

describe('the client, for questions,', () => {
  test('returns typed answers of all six operations', async () => {
    const metres: number = (await geo.distance(TOWER, GATE)).result
    const inside: boolean = (await geo.contains(PARK, GATE)).result
    const near: boolean = (await geo.within(TOWER, GATE, 1000)).result
    const meets: boolean = (await geo.intersects(PARK, STREET)).result
    const large: { result: number; units: 'square_meters' } = await geo.area(PARK)
    const long: { result: number; units: 'meters'; chainId: number } = await geo.length(STREET)
    expect([metres, inside, near, meets, long.result]).toEqual([881329.94, true, false, true, 881329.94])
    expect(large.result).toBeCloseTo(7.5566e9, -6)
    expect(long.chainId).toBe(84532)
  })

  test('accepts UIDs, Features and FeatureCollections, and chains by id or slug', async () => {
    const { data } = await geo.records.page({ location_type: 'geojson-point', limit: 1, revoked: false })
    const place = data[0]!
    const feature = { type: 'Feature' as const, properties: null, geometry: GATE }
    const collection = { type: 'FeatureCollection' as const, features: [feature] }
    for (const chain of [84532, '84532', 'base-sepolia', 'Base-Sepolia'])
      for (const input of [feature, collection]) {
        const { inputRefs } = await geo.distance({ uid: place.uid }, input, { chain })
        expect(inputRefs).toEqual([place.uid, await geo.reference(GATE)])
      }
  })

  test('accepts places in inferred TypeScript types, readonly, as positions, and from point()', async () => {
    const inferred = { type: 'Point', coordinates: [2.2945, 48.8584] }
    const constant = { type: 'Point', coordinates: [2.2945, 48.8584] } as const
    const feature = { type: 'Feature', properties: {}, geometry: inferred }
    const position = [2.2945, 48.8584]
    const pair = [2.2945, 48.8584] as const
    const all = { type: 'GeometryCollection', geometries: [inferred] }
    const ref = await geo.reference(TOWER)
    for (const input of [inferred, constant, feature, position, pair, point(2.2945, 48.8584)])
      expect(await geo.reference(input)).toBe(ref)
    for (const input of [feature, position]) {
      const answer = await geo.distance(input, GATE)
      expect(answer.inputRefs[0]).toBe(ref)
      expect((await geo.recompute(answer, [input, GATE])).verdict).toBe('equal')
      const { results } = await geo.batch([{ operation: 'within', geometry: GATE, target: input, radius: 1 }])
      expect(results[0]!.inputRefs[1]).toBe(ref)
      const hidden = privatePlace(input)
      const secret = await geo.distance(hidden, GATE)
      expect((await geo.recompute(secret, [hidden, GATE])).verdict).toBe('equal')
    }
    expect((await geo.intersects(all, position)).result).toBe(true)
    const high: [number, number, number] = [2.2945, 48.8584, 300]
    expect(await geo.reference(high)).toBe(await geo.reference({ type: 'Point', coordinates: high }))
    const ring = PARK.coordinates[0]!.map(([longitude, latitude]) => [longitude, latitude] as const)
    const park = { type: 'Polygon', coordinates: [ring] } as const
    expect((await geo.contains(park, [13.3777, 52.5163])).result).toBe(true)
    const wrong = [[], [2.2945], [200, 0], [2.2945, Number.NaN], [1, 2, 3, 4]]
    for (const input of wrong) expect(await caught(geo.reference(input))).toBeInstanceOf(InvalidInputError)
  })

  test(
    'splits a batch of more than 20 questions, and names an invalid question by its index',
    { tags: ['slow'] },
    async () => {
      const questions = Array.from({ length: 45 }, (_, i) => ({
        ...{ operation: 'within' as const, geometry: TOWER, target: GATE, radius: i + 1 },
      }))
      const operations = questions.map(({ radius }) => `within:${radius}00`)
      const batch = await geo.batch(questions)
      expect(batch.results.map(({ operation }) => operation)).toEqual(operations)
      const signed = batch.multiAttestByDelegation.flatMap(({ data }) => data)
      expect(signed.map(({ data }) => data)).toEqual(batch.results.map(({ attestation }) => attestation.data))
      const again = await geo.resign(batch, { submission: 'proxy' })
      expect(again.results.map(({ operation }) => operation)).toEqual(operations)
      // Parts that were signed in different seconds have different deadlines.
      const early = await geo.batch(questions.slice(0, 20))
      let late = early
      while (late.deadline === early.deadline) late = await geo.batch(questions.slice(20))
      const both = {
        ...early,
        results: [...early.results, ...late.results],
        multiAttestByDelegation: [...early.multiAttestByDelegation, ...late.multiAttestByDelegation],
      }
      expect((await geo.resign(both)).results.map(({ operation }) => operation)).toEqual(operations)
      const error = await caught(geo.batch(questions.with(41, { ...questions[41]!, radius: -1 })))
      expect(error).toBeInstanceOf(InvalidInputError)
      expect(error!.detail).toMatch(/\boperations\[41\]/)
      // Whatever ends the batch, the answers received so far form a batch that can land or be re-signed.
      const { answered } = error!
      expect(answered!.results.map(({ operation }) => operation)).toEqual(operations.slice(0, 40))
      expect((await geo.resign(answered!)).results.length).toBe(40)
      expect((await caught(geo.batch(questions.with(11, { ...questions[11]!, radius: -1 }))))!.answered).toBe(
        undefined,
      )
      const altered = batch.results.map((each, i) => (i === 33 ? { ...each, result: !each.result } : each))
      const refused = await caught(geo.resign({ ...batch, results: altered }))
      expect(refused!.detail).toMatch(/\bresults\[33\]/)
      expect(refused!.answered!.results.map(({ operation }) => operation)).toEqual(operations.slice(0, 20))
      expect(await caught(geo.batch([]))).toBeInstanceOf(InvalidInputError)
    },
  )

  test('asks, re-signs and verifies a batch', async () => {
    const batch = await geo.batch([
      { operation: 'area', geometry: PARK },
      { operation: 'within', geometry: TOWER, target: GATE, radius: 5, recipient: testAccount(3).address },
    ])
    expect(batch.results[1]!.attestation.recipient).toBe(testAccount(3).address)
    const again = await geo.resign(batch, { submission: 'proxy' })
    expect(again.results.map(({ result }) => result)).toEqual(batch.results.map(({ result }) => result))
    const answer = await geo.distance(TOWER, GATE)
    const signedAgain: typeof answer = await geo.resign(answer)
    expect(signedAgain.result).toBe(answer.result)
    expect(await geo.verify(signedAgain)).toMatchObject({ ours: true, landed: { status: 'not landed' } })
  })

  test('accepts offchain attestations in the forms of the explorer and eas-sdk, and as JSON', async () => {
    const { document } = vectors.vectors.find(({ id }) => id === 'public-valid-v2-base-sepolia')!
    const { sig, signer } = document as unknown as { sig: Record<string, any>; signer: string }
    const { time, expirationTime } = sig.message
    const ofSdk = {
      ...sig,
      message: { ...sig.message, time: BigInt(time), expirationTime: BigInt(expirationTime) },
    } as unknown as { message: object; signature: object }
    for (const source of [document as never, ofSdk, JSON.stringify(document)]) {
      const input = await geo.offchain(source)
      expect((input.attestation as { signer: string }).signer.toLowerCase()).toBe(signer.toLowerCase())
      expect((await geo.distance(input, GATE)).inputRefs[0]).toBe(sig.uid)
    }
    for (const wrong of ['{', '[]', 'null', '{"sig":{}}'])
      expect(await caught(geo.offchain(wrong))).toBeInstanceOf(InvalidInputError)
  })

  test('rejects a geometry that refers to itself', async () => {
    const cyclic = { type: 'GeometryCollection' as const, geometries: [] as object[] }
    cyclic.geometries.push(cyclic)
    await expect(geo.distance(cyclic as never, GATE)).rejects.toBeInstanceOf(InvalidInputError)
  })
  test('lists the chains if the chain is missing or unknown', async () => {
    expect(await caught(createGeo(world.url).area(PARK))).toMatchObject({
      name: 'InvalidInputError',
      detail: expect.stringContaining('No chain was named') as string,
    })
    expect((await caught(geo.area(PARK, { chain: 'mars' })))!.detail).toMatch(
      /no chain mars. It has base-sepolia \(84532\)/,
    )
    expect(() => createGeo('example.org')).toThrow(/'example.org' is not the URL of a service/)
  })

  test('queries GraphQL, health and readiness', async () => {
    const { locationRecords } = await geo.graphql<{ locationRecords: { nodes: { uid: string }[] } }>(
      'query ($first: Int) { locationRecords(first: $first) { nodes { uid } } }',
      { first: 2 },
    )
    expect(locationRecords.nodes).toHaveLength(2)
    expect((await caught(geo.graphql('{ nothing }')))!.message).toMatch(/nothing/)
    expect((await geo.health()).status).toBe('healthy')
    await world.caughtUp()
    expect((await geo.ready()).status).toBe('ready')
  })
})

describe('landed answers in the client', () => {
  test('are listed page by page, and are found by UID', async () => {
    const signer = new Wallet(testAccount(6).privateKey, world.chain.provider)
    await answersAreRead(world)
    const uids: string[] = []
    for (const longitude of [1, 2, 3]) {
      const answer = await geo.distance({ type: 'Point', coordinates: [longitude, 1] }, GATE, {
        recipient: signer.address,
      })
      uids.push((await geo.land(answer, signer)).uid)
    }
    await world.caughtUp()
    const found: string[] = []
    for await (const { uid } of geo.answers.list({ recipient: signer.address, limit: 2 })) found.push(uid)
    const { data, next_cursor } = await geo.answers.page({ recipient: signer.address })
    expect(data.map(({ uid }) => uid).sort()).toEqual(uids.sort())
    expect([found, next_cursor]).toEqual([data.slice(0, 2).map(({ uid }) => uid), null])
    expect(await geo.answers.get(found[0]!)).toEqual(data[0])
    expect(await caught(geo.answers.get(`0x${'ab'.repeat(32)}`))).toBeInstanceOf(AttestationNotFoundError)
    expect(await caught(geo.answers.page({ operation: 'volume' }))).toBeInstanceOf(InvalidInputError)
  })
})

describe('the client, for records,', () => {
  test('rejects half a surrogate pair in a filter of every request', async () => {
    const memo = 'x\ud83d'
    const first = (list: AsyncIterable<unknown>) => list[Symbol.asyncIterator]().next()
    for (const request of [
      () => geo.records.page({ memo }),
      () => first(geo.records.list({ memo })),
      () => geo.records.groupBy('day', { memo }),
      () => geo.records.export({ format: 'csv', memo }),
      () => first(geo.records.stream({ location_type: memo })),
      () => geo.answers.page({ operation: memo }),
    ])
      expect(await caught(request())).toBeInstanceOf(InvalidInputError)
    await expect(geo.records.page({ memo: '\ud83d\ude00' })).resolves.toMatchObject({ count: 0 })
  })
  test('counts records by group', async () => {
    const { total } = await geo.records.stats()
    const { data, groups } = await geo.records.groupBy(['chain', 'revoked'], { top: 2, sum: 'area' })
    expect([data.length, groups]).toEqual([2, expect.any(Number)])
    expect((await geo.records.groupBy('chain')).total).toBe(total)
    expect((await geo.answers.groupBy('operation')).groups).toBeGreaterThan(0)
    expect(await caught(geo.records.groupBy('memo'))).toBeInstanceOf(InvalidInputError)
  })
  test('lists records across pages, up to the limit or the end', async () => {
    const { total } = await geo.records.stats()
    // A UID does not include the chain.
    const idOf = ({ chain, uid }: { chain: string; uid: string }) => `${chain} ${uid}`
    const collect = async (options?: Parameters<Geo['records']['list']>[0]) => {
      const ids: string[] = []
      for await (const record of geo.records.list(options)) ids.push(idOf(record))
      return ids
    }
    const all = await collect()
    expect(new Set(all).size).toBe(total)
    expect(await collect({ limit: 7 })).toEqual(all.slice(0, 7))
    expect(await collect({ limit: 0 })).toEqual([])
    const first = await geo.records.page({ limit: 5, total: true })
    const second = await geo.records.page({ limit: 5, cursor: first.next_cursor! })
    expect([...first.data, ...second.data].map(idOf)).toEqual(all.slice(0, 10))
    expect(first).toMatchObject({ total })
  })

  test('finds a single record, and throws for a missing record', async () => {
    const { data } = await geo.records.page({ limit: 1 })
    expect(await geo.records.get(data[0]!.uid, { chain: data[0]!.chain })).toEqual(data[0])
    const error = await caught(geo.records.get(`0x${'ab'.repeat(32)}`))
    expect(error).toBeInstanceOf(AttestationNotFoundError)
    expect(error).toMatchObject({ status: 404, title: 'Location record not found' })
    expect(await caught(geo.records.get('0x12'))).toBeInstanceOf(InvalidInputError)
    expect(await caught(geo.records.page({ bbox: '1,2' }))).toBeInstanceOf(InvalidInputError)
  })

  test('streams complete exports', async () => {
    const { total } = await geo.records.stats()
    const text = async (format: 'csv' | 'geojson' | 'ndjson', limit?: number) =>
      new Response(await geo.records.export({ format, limit })).text()
    expect((await text('ndjson')).trim().split('\n')).toHaveLength(total)
    expect(JSON.parse(await text('geojson')).features).toHaveLength(total)
    expect((await text('csv', 3)).split(/\r?\n/)[0]).toMatch(/^uid,/)
  })

  test('streams every change once across dropped connections', async () => {
    // Connections that end after their first event, or fail before it.
    let connections = 0
    const dropping: typeof fetch = async (request, init) => {
      const response = await fetch(request, init)
      if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response
      const breaks = ++connections % 2 === 0
      const cut = new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) => {
          const isEvent = new TextDecoder().decode(chunk).includes('data: ')
          if (isEvent && breaks) controller.error(new Error('the connection was cut'))
          else controller.enqueue(chunk)
          if (isEvent && !breaks) controller.terminate()
        },
      })
      return new Response(response.body!.pipeThrough(cut), response)
    }
    const listener = createGeo({ url: world.url, fetch: dropping })
    const stop = new AbortController()
    const events: RecordEvent[] = []
    const drops: unknown[] = []
    const positions: string[] = []
    let opened = () => {}
    const open = new Promise<void>((resolve) => (opened = resolve))
    const uids: string[] = []
    const listening = (async () => {
      for await (const event of listener.records.stream({
        chain: 'base-sepolia',
        signal: stop.signal,
        onOpen: () => opened(),
        onDrop: (error) => drops.push(error),
        onPosition: (id) => positions.push(id),
      })) {
        events.push(event)
        if (events.length === 3) stop.abort()
      }
    })()
    await open
    for (const memo of ['one', 'two']) {
      uids.push(await attest(world.chain, locationRequest(TOWER, { memo })))
      await expect.poll(() => events.length).toBe(uids.length)
    }
    await revoke(world.chain, uids[0]!)
    await listening
    const memos = events.flatMap((event) =>
      event.kind === 'new' || event.kind === 'revoked' ? [`${event.kind} ${event.record.memo}`] : [],
    )
    expect(memos).toEqual(['new one', 'new two', 'revoked one'])
    expect(drops.length).toBeGreaterThanOrEqual(2)
    expect(connections).toBe(drops.length + 1)
    // A stream that resumes after the first event repeats the later events.
    const later: RecordEvent[] = []
    for await (const event of geo.records.stream({ after: events[0]!.id, chain: 'base-sepolia' })) {
      later.push(event)
      if (later.length === 2) break
    }
    expect(later.map(({ kind }) => kind)).toEqual(['new', 'revoked'])
    expect(positions).toContain(events[0]!.id)
  })

  test('throws for an invalid stream request instead of retrying', async () => {
    const first = geo.records.stream({ bbox: 'here' })[Symbol.asyncIterator]().next()
    expect(await caught(first)).toBeInstanceOf(InvalidInputError)
    const aborted = geo.records.stream({ signal: AbortSignal.abort() })
    const got: RecordEvent[] = []
    for await (const event of aborted) got.push(event)
    expect(got).toEqual([])
  })
})

describe('the client, for errors,', () => {
  test.each<[string, (geo: Geo) => Promise<unknown>, unknown, number]>([
    ['invalid-input', (g) => g.area(TOWER), InvalidInputError, 400],
    ['attestation-not-found', (g) => g.area(`0x${'ab'.repeat(32)}`), AttestationNotFoundError, 404],
    [
      'verification-failed',
      async (g) => {
        const answer = await g.distance(TOWER, GATE)
        const { delegatedAttestation: delegation } = answer
        return g.resign({ ...answer, delegatedAttestation: { ...delegation, resignToken: 'x' } })
      },
      VerificationFailedError,
      401,
    ],
  ])('throws a specific class for %s', async (slug, ask, kind, status) => {
    const error = await caught(ask(geo))
    expect(error).toBeInstanceOf(kind)
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ status, type: `${world.url}/errors/${slug}` })
    expect(error!.message).toBe(`${error!.title}: ${error!.detail}`)
  })

  /**
   * Starts a service that returns these responses in order, and repeats the last one. `asked` lists the
   * requests.
   */
  async function told(answers: RequestListener[], options: Partial<GeoOptions> = {}) {
    const asked: (string | undefined)[] = []
    const url = await serve((request, response) => {
      asked.push(request.url)
      answers[Math.min(asked.length, answers.length) - 1]!(request, response)
    })
    return { asked, geo: createGeo({ url, chain: 84532, ...options }) }
  }
  const answering =
    (status: number, body: object, headers: Record<string, string> = {}): RequestListener =>
    (_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(JSON.stringify(body))
    }
  const busy = answering(
    503,
    { status: 'error', message: 'Temporarily unavailable', detail: 'Soon.' },
    { 'retry-after': '0' },
  )
  const hangUp: RequestListener = (request) => request.socket.destroy()

  test('retries after temporary failures: 503, 429 and 500 with Retry-After, lost connections', async () => {
    const { asked, geo } = await told([
      busy,
      hangUp,
      answering(429, {}, { 'retry-after': '1' }),
      answering(200, { total: 3 }),
    ])
    expect(await geo.records.stats()).toEqual({ total: 3 })
    expect(asked).toHaveLength(4)
  })

  test('throws the class of a lasting failure after its retries', async () => {
    const once = { retries: 1 }
    const failing = await told([busy], once)
    expect(await caught(failing.geo.records.stats())).toBeInstanceOf(UnavailableError)
    expect(failing.asked).toHaveLength(2)
    const lost = await told([hangUp], once)
    const error = await caught(lost.geo.records.stats())
    expect(error).toBeInstanceOf(ConnectionError)
    expect(error!.message).toMatch(
      /^127\.0\.0\.1:\d+ does not respond \(.+\)\. Check that the service is running at http/,
    )
    const fault = await told(
      [answering(500, { type: 'https://x/errors/computation-error', title: 'T' })],
      once,
    )
    expect(await caught(fault.geo.area(PARK))).toBeInstanceOf(ComputationError)
    const html = await told(
      [(_request, response) => response.writeHead(502).end('<html>\nBad gateway')],
      once,
    )
    expect(await caught(html.geo.area(PARK))).toMatchObject({ status: 502, detail: '<html>' })
  })

  test('throws immediately for a long Retry-After, and does not repeat invalid requests', async () => {
    const limited = await told([
      answering(429, { message: 'Rate limit exceeded' }, { 'retry-after': '1800' }),
    ])
    const error = await caught(limited.geo.records.stats())
    expect(error).toBeInstanceOf(RateLimitedError)
    expect(error!.retryAfter).toBe(1800)
    expect(limited.asked).toHaveLength(1)
    const wrong = await told([answering(400, { status: 'error', message: 'Invalid bbox format' })])
    expect(await caught(wrong.geo.records.stats())).toBeInstanceOf(InvalidInputError)
    expect(wrong.asked).toHaveLength(1)
    const costly = await told([answering(503, { status: 'error', message: 'Query too expensive' })])
    expect(await caught(costly.geo.records.stats())).toBeInstanceOf(InvalidInputError)
    const entangled = await told([answering(500, { type: 'https://x/errors/computation-error' })])
    expect(await caught(entangled.geo.area(PARK))).toBeInstanceOf(ComputationError)
    expect([costly.asked.length, entangled.asked.length]).toEqual([1, 1])
  })

  test('ends a request or its retry delay on a signal, and a slow response on the timeout', async () => {
    const slow = await told([() => {}], { timeout: 50, retries: 0 })
    expect(await caught(slow.geo.records.stats())).toBeInstanceOf(ConnectionError)
    const stop = new AbortController()
    const hanging = await told([() => stop.abort(new Error('enough'))])
    expect((await caught(hanging.geo.records.stats({ signal: stop.signal })))!.message).toBe('enough')
    const waiting = new AbortController()
    const later = await told([
      (request, response) => {
        answering(503, {}, { 'retry-after': '29' })(request, response)
        response.once('close', () => waiting.abort(new Error('not that long')))
      },
    ])
    expect((await caught(later.geo.area(PARK, { signal: waiting.signal })))!.message).toBe('not that long')
  })

  const begins: RequestListener = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{')
  }
  // Both services and both ends share the collections, because each collects the heap of all tests.
  test(
    'ends requests of a silent service, and of one stuck in its answer, despite garbage collection',
    { tags: ['slow'] },
    async () => {
      const stop = new AbortController()
      const { signal } = stop
      const over: Promise<Error | undefined>[] = []
      const ended: Promise<Error | undefined>[] = []
      for (const answer of [() => {}, begins]) {
        const slow = await told([answer], { timeout: 500, retries: 0 })
        over.push(caught(slow.geo.records.stats()), caught(slow.geo.area(PARK)))
        const { geo } = await told([answer])
        const exported = async () => new Response(await geo.records.export({ format: 'csv', signal })).text()
        ended.push(...[geo.records.stats({ signal }), geo.area(PARK, { signal }), exported()].map(caught))
      }

      setFlagsFromString('--expose-gc')
      const collect = runInNewContext('gc') as () => void
      // Objects released in one turn are found in the next.
      for (let turn = 0; turn < 5; turn++) {
        await new Promise((resolve) => setTimeout(resolve, 20))
        collect()
      }

      for (const error of await Promise.all(over)) expect(error).toBeInstanceOf(ConnectionError)
      stop.abort(new Error('enough'))
      for (const error of await Promise.all(ended)) expect(error!.message).toBe('enough')
    },
  )
})

describe('requests that a wallet signs', () => {
  test("count against the wallet's limit, with ethers and viem", { tags: ['slow'] }, async () => {
    const limited = await startTestWorld({ WALLET_AUTH: 'true', RATE_LIMIT_PER_HOUR: '1' })
    try {
      const options = { url: limited.url, chain: 'base-sepolia', retries: 0 }
      const unsigned = createGeo(options)
      await unsigned.distance(TOWER, GATE)
      expect(await caught(unsigned.distance(TOWER, GATE))).toBeInstanceOf(RateLimitedError)
      const key = testAccount(6).privateKey as `0x${string}`
      for (const wallet of [new Wallet(key), privateKeyToAccount(key)]) {
        const signed = createGeo({ ...options, wallet })
        for (let i = 0; i < 3; i++) expect((await signed.distance(TOWER, GATE)).result).toBe(881329.94)
      }
      const refusing = createGeo({
        ...options,
        wallet: {
          type: 'local',
          address: testAccount(6).address,
          signTypedData: async () => '',
          signMessage: async () => {
            throw new Error('no')
          },
        },
      })
      expect((await caught(refusing.distance(TOWER, GATE)))!.message).toBe(
        'The wallet did not sign the request: no.',
      )
    } finally {
      await limited.stop()
    }
  })
})

test('the types of records equal those of the OpenAPI document', async () => {
  const { data } = await geo.records.page({ limit: 1 })
  const record: LocationRecord = data[0]!
  const [longitude, uid]: [number | null, string] = [record.longitude, record.uid]
  expect([typeof uid, longitude === null || typeof longitude === 'number']).toEqual(['string', true])
})

test('the client has typed TanStack Query options, which request once and can be cancelled', async () => {
  const asked: string[] = []
  const counting = createGeo({
    url: world.url,
    chain: 'base-sepolia',
    fetch: (request, init) => {
      asked.push((request as Request).url)
      return fetch(request, init)
    },
  })
  const queries = queriesOf(counting)
  const client = new QueryClient()
  const [first, second] = await Promise.all([
    client.fetchQuery(queries.distance(TOWER, GATE)),
    client.fetchQuery(queries.distance(TOWER, GATE)),
  ])
  const metres: number = first.result
  expect([metres, second]).toEqual([881329.94, first])
  expect(asked.filter((url) => url.endsWith('/distance'))).toHaveLength(1)
  expect((await client.fetchQuery(queries.within(TOWER, GATE, 5))).result).toBe(false)
  expect((await client.fetchQuery(queries.area(PARK))).units).toBe('square_meters')
  const { data } = await client.fetchQuery(queries.records({ limit: 1 }))
  expect(await client.fetchQuery(queries.record(data[0]!.uid, data[0]!.chain))).toEqual(data[0])
  expect((await client.fetchQuery(queries.stats())).total).toBeGreaterThanOrEqual(RECORDS)
  const stop = AbortSignal.abort(new Error('left the page'))
  expect((await caught(queries.length(STREET).queryFn({ signal: stop })))!.message).toBe('left the page')
})
