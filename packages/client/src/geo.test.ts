// SPDX-License-Identifier: MIT
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createGeo } from './geo'
import { queriesOf } from './queries'
import { ZERO_ADDRESS } from './says'
import type { Answer, BatchAnswer } from './types'

const SCHEMA = `0x${'7'.repeat(64)}`

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

test('the client caches the description of the service for a minute by its own clock', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  let asked = 0
  const geo = createGeo({
    url: 'https://geo.example',
    fetch: async () => Response.json({ chains: [], defaultSchemas: {}, asked: ++asked }),
  })
  const infos = async () => (await geo.info(), await geo.info(), asked)
  expect(await infos()).toBe(1)
  vi.advanceTimersByTime(59_000)
  vi.setSystemTime(Date.now() + 90_000)
  expect(await infos()).toBe(1)
  vi.setSystemTime(Date.now() - 3_600_000)
  vi.advanceTimersByTime(2_000)
  expect(await infos()).toBe(2)
})

test('the client sends bodies in browsers without Request.body, such as Firefox', async () => {
  const body = vi.spyOn(Request.prototype, 'body', 'get').mockReturnValue(undefined as never)
  try {
    const geo = createGeo({
      url: 'https://geo.example',
      fetch: async (request) => Response.json({ data: await (request as Request).text() }),
    })
    expect(JSON.parse(await geo.graphql<string>('{a}'))).toMatchObject({ query: '{a}' })
  } finally {
    body.mockRestore()
  }
})

test.each([
  ['https://geo.example', 'https://geo.example'],
  ['https://geo.example//', 'https://geo.example'],
  ['https://geo.example/x/', 'https://geo.example/x'],
  ['https://geo.example/x?lang=de#/map', 'https://geo.example/x'],
])('the client of %s sends requests to %s', async (url, base) => {
  const asked: string[] = []
  const geo = createGeo({
    url,
    fetch: async (request) => (asked.push((request as Request).url), Response.json({})),
  })
  await geo.health()
  expect([geo.url, ...asked]).toEqual([base, `${base}/health`])
})

test.each(['geo.example', 'ftp://geo.example', 'https://me:secret@geo.example', ''])(
  'the client has no service at %s',
  (url) => {
    expect(() => createGeo({ url })).toThrow(expect.objectContaining({ name: 'InvalidInputError' }))
    expect(() => createGeo({ url })).not.toThrow(/secret/)
  },
)

test.each([
  ['https://geo.example/compute/v0/area', 404, 'https://geo.example.'],
  ['https://geo.example/x/compute/v0/area', 404, 'https://geo.example/x.'],
  ['https://geo.example/x/', 200, 'https://geo.example/x/'],
  ['https://geo.example/x/', 503, 'https://geo.example/x/'],
  ['https://geo.example/x/compute/v0/area', 200, undefined],
  ['https://geo.example/x/compute/v0/area/', 200, undefined],
])('a redirect of a question to %s with %i names the URL to set: %s', async (to, status, url) => {
  const geo = createGeo({
    ...{ url: `http://geo.example${url ? '' : '/x'}`, chain: 1, retries: 0 },
    fetch: async () => {
      // fetch follows 301 and 302 with GET and without a body, and 307 and 308 with the question.
      const attestation = { attester: ZERO_ADDRESS, schema: SCHEMA, recipient: ZERO_ADDRESS }
      const problem = { type: 'about:blank', title: 'x' }
      const answer = { operation: 'area', inputRefs: [SCHEMA], attestation }
      const response = Response.json(status === 200 ? answer : problem, { status })
      return Object.defineProperties(response, { redirected: { value: true }, url: { value: to } })
    },
  })
  const asked = geo.area([1, 2])
  if (url)
    await expect(asked).rejects.toMatchObject({
      ...{ name: 'ServiceVersionError', message: expect.stringContaining(url) as string },
    })
  else await expect(asked).resolves.toMatchObject({ chainId: 1 })
  if (status === 404) await expect(geo.records.stats()).rejects.toMatchObject({ name: 'InvalidInputError' })
})

test.each([{}, ['1'], null])('the client has no chain %j', async (chain) => {
  const geo = createGeo({
    url: 'https://geo.example',
    fetch: async () => Response.json({ chains: [{ id: 1, slug: 'ethereum' }], defaultSchemas: {} }),
  })
  await expect(geo.chain(chain as never)).rejects.toMatchObject({
    ...{ name: 'InvalidInputError', detail: expect.stringContaining(` ${JSON.stringify(chain)}`) as string },
  })
})

test('JSON that is cut off is a temporary failure', async () => {
  const headers = { 'content-type': 'application/json' }
  const geo = createGeo({
    url: 'https://geo.example',
    fetch: async () => new Response('{"chains":[', { headers }),
  })
  for (const request of [geo.info(), geo.records.stats(), geo.graphql('{a}'), geo.health()])
    await expect(request).rejects.toMatchObject({ name: 'ConnectionError', retryable: true })
})

test.each([
  ['1800', 1800],
  ['Fri, 31 Dec 1999 23:59:59 GMT', 1799],
  ['Fri, 31 Dec 1999 23:00:00 GMT', 0],
  ['-1800', undefined],
  ['soon', undefined],
  ['', undefined],
])('the client reads Retry-After: %s', async (text, seconds) => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(1999, 11, 31, 23, 30) })
  const headers = { 'retry-after': text }
  const geo = createGeo({
    ...{ url: 'https://geo.example', retries: 0 },
    fetch: async () => Response.json({}, { status: 429, headers }),
  })
  const error: unknown = await geo.info().catch((reason: unknown) => reason)
  expect(error).toMatchObject({ name: 'RateLimitedError', retryAfter: seconds })
})

test('the client states that pages over HTTP cannot sign requests', async () => {
  vi.stubGlobal('crypto', {})
  const sign = vi.fn()
  const geo = createGeo({
    ...{ url: 'https://geo.example', chain: 84532, wallet: { request: sign }, retries: 0 },
    fetch: async () => Response.json({ chains: [{ id: 84532 }], defaultSchemas: {} }),
  })
  await expect(geo.area({ type: 'Point', coordinates: [0, 0] })).rejects.toMatchObject({
    ...{ name: 'SignerError', message: expect.stringContaining('HTTPS') },
  })
  expect(sign).not.toHaveBeenCalled()
})

test.each([
  ['chain', { verifyingContract: `0x${'ee'.repeat(20)}` }],
  ['chain', { chainId: 1 }],
  ['proxy', { verifyingContract: `0x${'ee'.repeat(20)}` }],
  ['proxy', { chainId: 1 }],
])('the client rejects another contract in the domain of a %s: %j', async (name, wrong) => {
  const [eas, address] = [`0x${'aB'.repeat(20)}`, `0x${'99'.repeat(20)}`]
  const domainOf = (verifyingContract: string) => ({
    ...{ name: 'x', version: '1', chainId: 84532, verifyingContract: verifyingContract.toLowerCase() },
  })
  const proxy = { address, domain: domainOf(address) }
  const chain = { id: 84532, slug: 'base-sepolia', eas, domain: domainOf(eas), proxy }
  const geo = createGeo({
    url: 'https://geo.example',
    chain: 84532,
    contracts: { 84532: { eas, proxy: address } },
    fetch: async () => Response.json({ chains: [chain], defaultSchemas: {} }),
  })
  expect(await geo.chain()).toMatchObject({ eas })
  Object.assign((name === 'proxy' ? proxy : chain).domain, wrong)
  await geo.info({ fresh: true })
  await expect(geo.chain(84532)).rejects.toMatchObject({ name: 'AlteredAnswerError' })
})

describe('an answer', () => {
  const [FROM, TO, OTHER] = ['4', '5', '6'].map((digit) => `0x${digit.repeat(64)}`) as [
    string,
    string,
    string,
  ]
  const ACCOUNT = `0x${'ab'.repeat(20)}`
  const answer = {
    ...{ operation: 'within:150', inputRefs: [FROM, TO] },
    attestation: { attester: ACCOUNT, schema: OTHER, recipient: ACCOUNT },
  }
  const geoOf = (response: object) =>
    createGeo({ url: 'https://geo.example', chain: 1, fetch: async () => Response.json(response) })
  const terms = { schema: OTHER, recipient: ACCOUNT.toUpperCase().replace('X', 'x') }
  const isAltered = (asked: Promise<object>) =>
    asked.then(
      () => false,
      (error: Error) => error.name === 'AlteredAnswerError',
    )

  test.each([
    [{}, false],
    [{ operation: 'within:151' }, true],
    [{ operation: 'intersects' }, true],
    [{ inputRefs: [TO, FROM] }, true],
    [{ inputRefs: [FROM] }, true],
    [{ inputRefs: [FROM, OTHER] }, true],
    [{ attestation: { ...answer.attestation, schema: FROM } }, true],
    [{ attestation: { ...answer.attestation, recipient: `0x${'ac'.repeat(20)}` } }, true],
  ])('with the fields %j is of another question: %s', async (fields, isOther) => {
    const given = { ...answer, ...fields }
    const question = { operation: 'within', geometry: { uid: FROM }, target: TO, radius: 1.5 } as const
    expect(await isAltered(geoOf(given).ask(question, terms))).toBe(isOther)
    for (const [each, options] of [
      [question, terms],
      [{ ...question, ...terms }, {}],
    ] as const)
      expect(await isAltered(geoOf({ results: [given] }).batch([each], options))).toBe(isOther)
    expect(await isAltered(geoOf({ results: [given, given] }).batch([question], terms))).toBe(true)
  })

  test('may have any reference of an input that is not an attestation', async () => {
    const geometry = { type: 'Point', coordinates: [1, 2], uid: OTHER } as const
    expect(await isAltered(geoOf(answer).within([1, 2], geometry, 1.5, terms))).toBe(false)
  })

  test('has the zero address as its recipient if the question names none', async () => {
    const ask = (recipient: string) =>
      geoOf({ ...answer, attestation: { ...answer.attestation, recipient } }).within(FROM, TO, 1.5)
    expect(await isAltered(ask(ACCOUNT))).toBe(true)
    expect(await isAltered(ask(ZERO_ADDRESS))).toBe(false)
  })

  test.each([
    { inputRefs: undefined },
    { inputRefs: [1, 2] },
    { attestation: null },
    { attestation: { ...answer.attestation, schema: undefined } },
  ])('with the members %j is not read', async (fields) => {
    const given = { ...answer, ...fields }
    const unread = { name: 'ServiceVersionError' }
    await expect(geoOf(given).within(FROM, TO, 1.5)).rejects.toMatchObject(unread)
    for (const results of [[given], [null], {}])
      await expect(geoOf({ results }).zones(TO, { prover: ACCOUNT })).rejects.toMatchObject(unread)
  })

  test.each([
    [{}, false],
    [{ signature: '0x2', deadline: 2, expirationTime: 2, recipient: ACCOUNT.toUpperCase() }, false],
    ...['schema', 'recipient', 'refUID', 'data'].map((name) => [{ [name]: `0x${'7'.repeat(64)}` }, true]),
    [{ revocable: false }, true],
    [{ data: undefined }, true],
  ] as [object, boolean][])('is not re-signed with another content: %j', async (fields, isOther) => {
    const content = { ...answer.attestation, refUID: FROM, data: '0x1234', revocable: true }
    const signed = { ...answer, chainId: 1, attestation: content } as unknown as Answer
    const again = { ...signed, attestation: { ...content, ...fields } }
    expect(await isAltered(geoOf(again).resign(signed))).toBe(isOther)
    const batch = (...results: object[]) => ({ chainId: 1, results }) as BatchAnswer
    expect(await isAltered(geoOf(batch(signed, again)).resign(batch(signed, signed)))).toBe(isOther)
    expect(await isAltered(geoOf(batch(again)).resign(batch(signed, signed)))).toBe(true)
    expect(await isAltered(geoOf({ results: null }).resign(batch(signed)))).toBe(true)
  })

  test.each([null, { results: null }, { results: [null] }])(
    'is neither re-signed nor landed without content: %j',
    async (given) => {
      const geo = geoOf(answer)
      for (const request of [geo.resign(given as never), geo.land(given as never, {} as never)])
        await expect(request).rejects.toMatchObject({ name: 'InvalidInputError' })
    },
  )
  test('is not re-signed by an empty response', async () => {
    const fetch = async () => new Response(null, { status: 204 })
    const geo = createGeo({ url: 'https://geo.example', chain: 1, fetch })
    await expect(geo.resign(answer as never)).rejects.toMatchObject({ name: 'ServiceVersionError' })
  })

  test.each([
    [{ uids: [OTHER, FROM] }, false],
    [{ prover: ACCOUNT }, false],
    [{ uids: [OTHER] }, true],
  ])('of the zones %j is of another zone: %s', async (zones, isOther) => {
    const response = { results: [{ ...answer, operation: 'contains' }] }
    expect(await isAltered(geoOf(response).zones(TO, zones, terms))).toBe(isOther)
    expect(await isAltered(geoOf(response).zones(FROM, zones, terms))).toBe(true)
  })
})

test('the key of a query has the chain and the attester of its client', () => {
  const keyOf = (options: object, given = {}) =>
    JSON.stringify(
      queriesOf(createGeo({ url: 'https://geo.example', ...options })).distance([1, 2], [3, 4], given)
        .queryKey,
    )
  const one = keyOf({ chain: 'celo' })
  expect(keyOf({ chain: 'celo' })).toBe(one)
  expect(keyOf({}, { chain: 'celo' })).toBe(one)
  const others = [
    keyOf({}),
    keyOf({ chain: 'base' }),
    keyOf({ chain: 'celo', attester: `0x${'1'.repeat(40)}` }),
  ]
  expect(new Set([one, ...others]).size).toBe(4)
})
