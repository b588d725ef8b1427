// SPDX-License-Identifier: MIT
import { Signature, toBeHex } from 'ethers'
import { domainSeparator } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { ATTEST_FIELDS, type AttestLayout } from '../../../src/eas/layouts'
import { encodeBooleanResult } from '../../../src/eas'
import {
  ENTRY_KINDS,
  INCLUSION_SECONDS,
  encodeEntry,
  formatProof,
  formatVerifierKey,
  leafHash,
  toHex,
  type EntryKind,
} from '../../../src/tlog'
import { MemoryLog, seededKey } from '../../../test/tlog'
import { checkSigned } from './eas'
import { AlteredAnswerError, GeoError } from './errors'
import { createGeo } from './geo'
import type { Answer } from './types'

const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const ADDRESS = `0x${'00'.repeat(19)}21`
const SCHEMA = `0x${'ab'.repeat(32)}`
const HASH = `0x${'00'.repeat(32)}`
const domain = { name: 'EAS', version: '1.2.0', chainId: 84532, verifyingContract: ADDRESS }
/** Order of the elliptic curve. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const now = Math.floor(Date.now() / 1000)
// Answers here become due within a minute, which a slow machine may need.
beforeAll(() => {
  vi.useFakeTimers({ now: now * 1_000, toFake: ['Date'] })
  return () => void vi.useRealTimers()
})
/** Error of a service that has no such resource. */
const NOT_FOUND = { status: 'error', message: 'Not found' }

/** An answer that the account signed, and its entry in the log. */
async function signed(
  kind: EntryKind,
  by: number,
  timestamp = now,
  deadline = now + 3_600,
  layout: AttestLayout = 'v2',
  nonce = 7,
) {
  const claims = { result: true, operation: 'contains', timestamp, inputRefs: [HASH, SCHEMA] }
  const data = encodeBooleanResult(true, claims)
  const attestation = {
    ...{ schema: SCHEMA, recipient: `0x${'00'.repeat(20)}`, expirationTime: 0, revocable: true },
    ...{ refUID: HASH, data, attester: account.address },
  }
  const typed = {
    ...{ domain, types: { Attest: ATTEST_FIELDS[layout] }, primaryType: 'Attest' as const },
    message: { ...attestation, value: 0n, nonce: BigInt(nonce), deadline: BigInt(deadline) },
  }
  const signature = await account.signTypedData(typed as never)
  const [r, s, v] = [
    signature.slice(0, 66),
    `0x${signature.slice(66, 130)}`,
    parseInt(signature.slice(130), 16),
  ]
  const entry = encodeEntry({
    ...{ kind, time: by - INCLUSION_SECONDS, chainId: 84532, attester: account.address.toLowerCase() },
    ...{
      layout: 'v2',
      separator: domainSeparator({ domain: domain as never }),
      schema: SCHEMA,
      refUID: HASH,
      signature,
      data,
    },
    ...{ recipient: attestation.recipient, expirationTime: 0, revocable: true, nonce, deadline },
  })
  const answer = {
    ...{ ...claims, chainId: 84532, attestation: { ...attestation, signature } },
    delegatedAttestation: {
      ...{ signature, attester: account.address, deadline, nonce },
      submission: layout === 'proxy' ? 'proxy' : 'direct',
    },
    attestByDelegation: {
      ...{ schema: SCHEMA, signature: { r, s, v }, attester: account.address, deadline },
      data: { ...attestation, value: '0' },
    },
    log: { origin: 'geo.example/log/v0', leaf: toHex(leafHash(entry)), by },
  } as unknown as Answer & { log: { leaf: string; by: number; origin: string } }
  return { answer, entry }
}

test.each(['legacy', 'v1', 'v2', 'proxy'] as const)(
  'the layout %s of an answer is the one that its attester signed',
  async (layout) => {
    const { answer } = await signed('answer', now, now, now + 3_600, layout)
    const check = (changed: object) =>
      checkSigned(
        { ...answer, attestByDelegation: undefined, attestation: { ...answer.attestation, ...changed } },
        domain,
        account.address,
      )
    expect(await check({})).toEqual({ legacy: layout === 'legacy', layout })
    await expect(check({ revocable: false })).rejects.toThrow(AlteredAnswerError)
  },
)

test.each([
  { result: 'true' },
  { result: [true] },
  { timestamp: String(now) },
  { inputRefs: `${HASH},${SCHEMA}` },
])('a claim is not the signed one if it has another type: %j', async (claim) => {
  const { answer } = await signed('answer', now)
  const altered = { ...answer, ...claim } as unknown as Answer
  await expect(checkSigned(answer, domain, account.address)).resolves.toMatchObject({ layout: 'v2' })
  await expect(checkSigned(altered, domain, account.address)).rejects.toThrow(AlteredAnswerError)
})

test.each([
  ['v2', 7],
  ['v2', 0],
  ['proxy', 7],
] as const)(
  'a member of another type, or with 0X, is not the signed one: %s, nonce %i',
  async (layout, nonce) => {
    const { answer } = await signed('answer', now, now, now + 3_600, layout, nonce)
    const { log: _, chainId: __, ...read } = answer
    const {
      schema: ___,
      attester: ____,
      ...data
    } = read.attestByDelegation.data as unknown as Record<string, unknown>
    const real = changed(read, ['attestByDelegation', 'data'], data)
    const check = (value: object) => checkSigned(value as Answer, domain, account.address)
    await expect(check(real)).resolves.toMatchObject({ layout })
    for (const path of pathsOf(real)) {
      const value = path.reduce<unknown>((each, name) => (each as Record<string, unknown>)[name], real)
      const name = path.at(-1)!
      if ((typeof value === 'object' && !Array.isArray(value)) || name === 'submission') continue
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      const others: unknown[] = [[value], [text]]
      if (typeof value !== 'string') others.push(text)
      if (text.startsWith('0x')) others.push(text.replace('0x', '0X'))
      if (name === 'v') others.push((value as number).toString(16))
      if (name === 'nonce' && layout !== 'proxy') others.push(null, undefined)
      for (const other of others)
        await expect(
          check(changed(real, path, other)),
          `${path.join('.')}: ${JSON.stringify(other)}`,
        ).rejects.toThrow(AlteredAnswerError)
    }
  },
)

/** Returns a copy of an answer in which the member at a path has another value. */
function changed(answer: object, [name, ...path]: readonly string[], value: unknown): object {
  const member = (answer as Record<string, object>)[name!]!
  return { ...answer, [name!]: path.length > 0 ? changed(member, path, value) : value }
}
function* pathsOf(value: unknown, path: readonly string[] = []): Generator<readonly string[]> {
  if (path.length > 0) yield path
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return
  for (const [name, member] of Object.entries(value)) yield* pathsOf(member, [...path, name])
}

test(
  'an answer with a malformed member is refused as altered, or has its signed content',
  { tags: ['slow'] },
  async () => {
    const { answer: all } = await signed('answer', now)
    const { log: _, chainId, ...answer } = all
    const data = { ...answer.attestByDelegation.data }
    for (const name of ['schema', 'attester']) Reflect.deleteProperty(data, name)
    answer.attestByDelegation = { ...answer.attestByDelegation, data }
    const chain = { id: chainId, slug: 'base-sepolia', attester: ADDRESS, domain, eas: ADDRESS, proxy: null }
    const geo = createGeo({
      ...{ url: 'https://geo.example', attester: account.address, retries: 0 },
      fetch: async (input) =>
        Response.json(
          (input as Request).url.endsWith('/verify')
            ? { ours: true }
            : { chains: [chain], defaultSchemas: {} },
        ),
    })
    const sent = new GeoError('sent')
    const request = async ({ method }: { method: string }) => {
      if (method === 'eth_chainId') return '0x14a34'
      if (method === 'eth_requestAccounts') throw sent
    }
    const values: unknown[] = [
      undefined,
      null,
      0,
      -1,
      'x',
      '0x',
      [],
      {},
      { toString: 1 },
      1e99,
      'true',
      [true],
      0n,
    ]
    const accepted = new Set<string>()
    for (const path of pathsOf(answer))
      for (const value of values) {
        const given = { chainId, ...changed(answer, path, value) } as Answer
        const verified = await geo.verify(given)
        const landed = await geo.land(given, { request }).catch((error: unknown) => error)
        expect([path, value, landed]).toEqual([path, value, expect.any(GeoError)])
        if (verified.ours || landed === sent) accepted.add(path.join('.'))
      }
    expect([...accepted].sort()).toEqual([
      ...['attestByDelegation', 'attestByDelegation.data.expirationTime', 'attestByDelegation.data.refUID'],
      ...[
        'attestation.expirationTime',
        'attestation.refUID',
        'delegatedAttestation.attester',
        'delegatedAttestation.signature',
      ],
      ...['delegatedAttestation.submission', 'inputRefs', 'operation', 'result', 'timestamp'],
    ])
  },
)

describe('the state of an answer in the log', () => {
  let log: MemoryLog
  let witness: Awaited<ReturnType<typeof seededKey>>
  beforeAll(async () => {
    log = new MemoryLog(await seededKey('geo.example/log/v0', 'ed25519', 1))
    witness = await seededKey('w.example', 'cosignature', 2)
  })
  let published: () => Response
  beforeEach(() => {
    const policy = `log ${formatVerifierKey(log.key)}\nquorum none\n`
    published = () => Response.json({ policy })
  })
  /** A client of a service that serves this log, and returns `proof` if one is passed. */
  const clientOf = (proof?: (leaf: string) => Response | Promise<Response>, retries = 0) =>
    createGeo({
      ...{ url: 'https://geo.example', retries },
      fetch: async (input) => {
        const { pathname } = new URL((input as Request).url)
        const leaf = /^\/log\/v0\/proof\/(.*)$/.exec(pathname)?.[1]
        if (pathname === '/log/v0/') return published()
        if (leaf !== undefined) return proof ? proof(leaf) : proofOf(leaf)
        const chain = {
          id: 84532,
          slug: 'base-sepolia',
          attester: account.address,
          domain,
          eas: ADDRESS,
          proxy: null,
        }
        return Response.json({ chains: [chain], defaultSchemas: {} })
      },
    })
  const proofOf = async (leaf: string) => {
    const index = log.entries.findIndex((entry) => toHex(leafHash(entry)) === leaf)
    return index < 0
      ? Response.json(NOT_FOUND, { status: 404 })
      : new Response(formatProof({ index, hashes: await log.inclusion(index) }, log.note))
  }

  test.each(Object.keys(ENTRY_KINDS).filter((kind) => kind !== 'quorum') as EntryKind[])(
    'is pending, missing or included, for an entry of kind %s',
    async (kind) => {
      const due = await signed(kind, now + 50)
      const past = await signed(kind, now - 50)
      const geo = clientOf()
      expect(await geo.logged(due.answer)).toMatchObject({ state: 'pending', by: now + 50 })
      const reduced = { ...due.answer, timestamp: undefined } as unknown as Answer
      expect(await geo.logged(reduced)).toMatchObject({ state: 'pending' })
      expect(await geo.logged(past.answer)).toMatchObject({ state: 'missing' })
      await log.append(Buffer.from('another'), due.entry, past.entry).sign()
      for (const { answer, entry } of [due, past])
        expect(await geo.logged(answer)).toEqual({
          ...{ state: 'included', by: answer.log.by, index: log.entries.indexOf(entry) },
          ...{ size: log.size, witnesses: [] },
        })
      const { log: _, ...without } = past.answer
      expect(await geo.logged(without)).toMatchObject({ state: 'missing' })
      published = () => Response.json(NOT_FOUND, { status: 404 })
      expect(await geo.logged(without)).toBeUndefined()
      expect(await geo.logged(past.answer)).toMatchObject({ state: 'missing' })
      const policy = `log ${formatVerifierKey(log.key)}\nquorum none\n`
      expect(await geo.logged(without, { policy })).toMatchObject({ state: 'missing' })
      await expect(geo.logged(without, { policy: 'quorum w' })).rejects.toMatchObject({
        name: 'InvalidInputError',
      })
    },
  )

  test('is the same for 64 bytes (EIP-2098), and missing for a signature with the larger s', async () => {
    const { answer, entry } = await signed('answer', now - 50)
    await log.append(entry).sign()
    const { r, s, v, compactSerialized } = Signature.from(answer.attestation.signature)
    const withSignature = (signature: string) => ({
      ...{ ...answer, attestation: { ...answer.attestation, signature } },
      delegatedAttestation: { ...answer.delegatedAttestation, signature },
    })
    expect(await clientOf().logged(withSignature(compactSerialized))).toMatchObject({ state: 'included' })
    const larger = toBeHex(ORDER - BigInt(s), 32)
    const malleable = `${r}${larger.slice(2)}${(55 - v).toString(16)}`
    const { attestByDelegation: call } = answer
    const both = {
      ...withSignature(malleable),
      attestByDelegation: { ...call, signature: { r, s: larger, v: 55 - v } },
    }
    await expect(checkSigned(both, domain, account.address)).rejects.toThrow(AlteredAnswerError)
    expect(await clientOf().logged(both)).toMatchObject({ state: 'missing' })
  })

  test('is missing if the proof is of another entry, or the answer names another leaf or log', async () => {
    const { answer, entry } = await signed('answer', now - 50)
    await log.append(entry, Buffer.from('another')).sign()
    const other = toHex(leafHash(Buffer.from('another')))
    const state = async (changed: object, geo = clientOf()) => {
      const logged = await geo.logged({ ...answer, ...changed })
      return [logged!.state, logged!.reason]
    }
    expect(await state({})).toEqual(['included', undefined])
    for (const changed of [
      { log: { ...answer.log, leaf: other } },
      { log: { ...answer.log, origin: 'other.example' } },
      { log: { ...answer.log, by: answer.log.by + 1 } },
      { log: { ...answer.log, by: now + 1_000_000 } },
      { log: { ...answer.log, by: Infinity } },
      { attestation: { ...answer.attestation, data: HASH } },
      { result: false },
      { chainId: 84532, delegatedAttestation: { ...answer.delegatedAttestation, nonce: 8 } },
    ])
      expect([changed, await state(changed)]).toEqual([changed, ['missing', expect.any(String)]])
    expect(
      await state(
        {},
        clientOf(() => proofOf(other)),
      ),
    ).toEqual(['missing', expect.any(String)])
    expect(
      await state(
        {},
        clientOf(() => new Response('index 1')),
      ),
    ).toEqual(['missing', expect.any(String)])
    const body = { status: 'error', message: 'Not published yet' }
    const late = () => Response.json(body, { status: 503, headers: { 'retry-after': '1' } })
    expect(await state({}, clientOf(late))).toEqual(['missing', expect.any(String)])
  })

  test('is unknown if another server responds, or the service is unavailable', async () => {
    const { answer } = await signed('answer', now - 50)
    const json = { 'content-type': 'application/json' }
    for (const [status, body, headers] of [
      [503, '<h1>Service Unavailable</h1>', {}],
      [404, '<h1>Not Found</h1>', {}],
      [404, '{"message":"Not found"}', json],
      [503, '{"status":"error","message":"Temporarily unavailable"}', { ...json, 'retry-after': '5' }],
    ] as const) {
      const failing = () => new Response(body, { status, headers })
      await expect(clientOf(failing).logged(answer)).rejects.toThrow(GeoError)
      published = failing
      await expect(clientOf().logged(answer)).rejects.toThrow(GeoError)
      published = () => Response.json({ policy: `log ${formatVerifierKey(log.key)}\nquorum none\n` })
    }
  })

  test('is read again after a 503 of a reverse proxy', async () => {
    const { answer, entry } = await signed('answer', now - 50)
    await log.append(entry).sign()
    const responses = [async () => new Response('<h1>Service Unavailable</h1>', { status: 503 }), proofOf]
    const geo = clientOf((leaf) => responses.shift()!(leaf), 1)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const state = geo.logged(answer)
    while (responses.length > 0) await vi.advanceTimersByTimeAsync(50)
    expect(await state).toMatchObject({ state: 'included' })
  })

  test('is missing, not pending, if the promised time is far in the future', async () => {
    const { answer, entry } = await signed('answer', now + 600)
    expect(await clientOf().logged(answer)).toMatchObject({ state: 'missing', by: now + 600 })
    await log.append(entry).sign()
    expect(await clientOf().logged(answer)).toMatchObject({ state: 'included' })
  })

  test.each([
    ['ahead', 500, 'pending'],
    ['behind', -500, 'pending'],
    // A service that claims another time delays the state by ten minutes at most.
    ['ahead by more than ten minutes', 700, 'missing'],
    ['behind by more than ten minutes', -1_000, 'missing'],
  ])('is by the clock of the service if the own clock is %s', async (_, offset, state) => {
    const { answer } = await signed('answer', now - offset + 50, now - offset)
    const date = new Date((now - offset) * 1000).toUTCString()
    const geo = clientOf(() => Response.json(NOT_FOUND, { status: 404, headers: { date } }))
    expect(await geo.logged(answer)).toMatchObject({ state })
  })

  test('is missing if the named entry is later than the signature can be', async () => {
    const stateOf = async (...of: Parameters<typeof signed>) =>
      (await clientOf().logged((await signed(...of)).answer))?.state
    const by = now + 50
    const time = by - INCLUSION_SECONDS
    for (const kind of ['answer', 'batch'] as const) {
      expect(await stateOf(kind, by, time - 180)).toBe('pending')
      expect(await stateOf(kind, by, time - 181)).toBe('missing')
    }
    expect(await stateOf('resigned', by, 1)).toBe('pending')
    expect(await stateOf('resigned', by, 1, time - 1)).toBe('missing')
  })

  test('is missing if only another log of the policy includes the entry', async () => {
    const { answer, entry } = await signed('answer', now - 50)
    const other = new MemoryLog(await seededKey('other.example/log', 'ed25519', 3))
    await other.append(entry).sign()
    const keys = [log, other].map(({ key }) => `log ${formatVerifierKey(key)}\n`)
    const policy = `${keys.join('')}quorum none\n`
    const proof = async () =>
      new Response(formatProof({ index: 0, hashes: await other.inclusion(0) }, other.note))
    expect(await clientOf(proof).logged(answer, { policy })).toMatchObject({ state: 'missing' })
    const named = { ...answer, log: { ...answer.log, origin: 'other.example/log' } }
    expect(await clientOf(proof).logged(named, { policy })).toMatchObject({ state: 'included' })
  })

  test('is included only with the witnesses that the policy requires', async () => {
    const { answer, entry } = await signed('answer', now - 50)
    await log.append(entry).sign()
    const policy = [
      ...[`log ${formatVerifierKey(log.key)}`, `witness w ${formatVerifierKey(witness)}`, 'quorum w'],
    ].join('\n')
    const geo = clientOf()
    expect(await geo.logged(answer, { policy })).toMatchObject({ state: 'missing' })
    expect(await geo.logged(answer)).toMatchObject({ state: 'included' })
    published = () => Response.json({ policy })
    expect(await geo.logged(answer)).toMatchObject({ state: 'missing' })
    const { signNote } = await import('../../../src/tlog/index.js')
    log.note.signatures.push(await signNote(log.note.text, witness, now))
    expect(await geo.logged(answer, { policy })).toMatchObject({ state: 'included', witnesses: ['w'] })
    await expect(geo.logged(answer, { policy: 'quorum w' })).rejects.toMatchObject({
      name: 'InvalidInputError',
    })
  })
})

test('an answer is verified only if the pinned attester signed it', async () => {
  const { answer } = await signed('answer', now)
  const { attestByDelegation: _, ...raw } = answer
  const chain = { id: 84532, slug: 'base-sepolia', attester: ADDRESS, domain, eas: ADDRESS, proxy: null }
  const responses: Record<string, object> = {
    '/': { chains: [chain], defaultSchemas: {} },
    '/compute/v0/verify': { ours: true, submittable: true, reasons: [], attester: ADDRESS, says: null },
  }
  const verified = (given: unknown, attester: string = account.address) =>
    createGeo({
      ...{ url: 'https://geo.example', attester },
      fetch: async (input) => Response.json(responses[new URL((input as Request).url).pathname]),
    }).verify(given as Answer)
  const { expirationTime: _1, refUID: _2, ...reduced } = answer.attestation
  for (const each of [answer, raw, { ...raw, attestation: reduced }])
    expect(await verified(each)).toMatchObject({
      ...{ ours: true, attester: account.address },
      says: { result: true, operation: 'contains', timestamp: now, inputRefs: [HASH, SCHEMA] },
    })
  const refused = { ours: false, submittable: false, reasons: [expect.any(String)], says: null }
  expect(await verified({ ...answer, result: false })).toMatchObject(refused)
  expect(await verified(answer, ADDRESS)).toMatchObject(refused)
  const { domain: __, ...closed } = chain
  responses['/'] = { chains: [closed], defaultSchemas: {} }
  await expect(verified(answer)).rejects.toMatchObject({ name: 'ConnectionError', retryable: true })
})
