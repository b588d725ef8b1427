// SPDX-License-Identifier: MIT
import { decodeFunctionData, encodeAbiParameters, parseAbi, parseAbiParameters, toHex } from 'viem'
import { expect, onTestFinished, test, vi } from 'vitest'
import { attestPlaces } from './attest'
import type { Context } from './context'
import { ATTESTED, ZERO_HASH, selector } from './eas'
import { ZERO_ADDRESS } from './says'
import { contentOf, knownSchema, pathOf } from './place'
import type { Chain } from './types'

const [EAS, REGISTRY, USER] = ['e', '5', 'a'].map((digit) => `0x${digit.repeat(40)}`)
const HASH = `0x${'2'.repeat(64)}`
/** Schema as the registry returns it. */
const registered = (uid: string, fields: string) =>
  encodeAbiParameters(parseAbiParameters('(bytes32, address, bool, string)'), [
    [uid as `0x${string}`, ZERO_ADDRESS, true, fields],
  ])

test.each([
  ['contract', 'registers', true],
  ['wallet', 'registers', true],
  ['contract', 'does not register', false],
])(
  'the error of a place that the %s rejects names the transaction that %s its schema',
  async (who, _, registers) => {
    let sent = 0
    const provider = {
      request: async ({ method, params }: { method: string; params: any[] }) => {
        if (method === 'eth_requestAccounts') return [USER]
        if (method === 'eth_chainId') return '0x1'
        const { to, data } = params[0]
        if (method === 'eth_call' && to === REGISTRY) {
          if (data.startsWith(selector('getSchema(bytes32)'))) return registered(ZERO_HASH, '')
          if (sent === 0) return '0x'
          throw Object.assign(new Error('reverted'), { data: selector('AlreadyExists()') })
        }
        if (method === 'eth_call' && who === 'contract')
          throw Object.assign(new Error('reverted'), { data: selector('InvalidSchema()') })
        if (method === 'eth_sendTransaction' && to === EAS) throw new Error('rejected')
        if (method === 'eth_sendTransaction') return (sent++, HASH)
        if (method === 'eth_call') return '0x'
        const status = registers ? '0x1' : '0x0'
        return { status, blockNumber: '0x7', transactionHash: HASH, logs: [] }
      },
    }
    const chain = { id: 1, slug: 'ethereum', eas: EAS, schemaRegistry: REGISTRY } as Chain
    const context = { chain: async () => chain } as unknown as Context
    const attesting = attestPlaces(context, [1, 2], provider, { registerSchema: true, unchecked: true })
    const { name, message } = await attesting.catch((error: Error) => error as any)
    expect(name).toBe(who === 'contract' ? 'LandingError' : 'SignerError')
    expect(message).toContain(registers ? `for it is ${HASH}` : `${HASH} failed`)
    expect(message).not.toContain('Nothing was sent')
  },
)

/** Place that needs a transaction of its own, and the attestation that EAS makes of it. */
const place = { location: [1, 2], time: 5, memo: 'm'.repeat(10_000) } as const
const schema = knownSchema('v0.1')!
const content = contentOf(place, schema, ZERO_HASH, pathOf(place, 'place'))
/** Attestation by the user as EAS returns it. */
const attestationOf = (uid: string, { recipient, revocable, data }: typeof content) =>
  encodeAbiParameters(
    parseAbiParameters(
      '(bytes32, bytes32, uint64, uint64, uint64, bytes32, address, address, bool, bytes data)',
    ),
    [[uid, schema.uid, 5n, 0n, 0n, ZERO_HASH, recipient, USER, revocable, data] as never],
  )
const attestation = attestationOf(HASH, content)
const logs = [
  {
    ...{ address: EAS, data: HASH },
    topics: [ATTESTED, ZERO_HASH, `0x${USER!.slice(2).padStart(64, '0')}`, schema.uid],
  },
]
const CHAIN = { id: 1, slug: 'ethereum', eas: EAS, schemaRegistry: REGISTRY, domain: { version: '1.2.0' } }
const CONTEXT = { chain: async () => CHAIN } as unknown as Context

test('a place is not encoded by a schema that is not the one of the UID', async () => {
  const fields = 'string location,string locationType,string srs'
  const { uid } = knownSchema(fields)!
  const attest = (returned: string) => {
    const results: Record<string, unknown> = {
      ...{ eth_chainId: '0x1', eth_requestAccounts: [USER], eth_call: registered(uid, returned) },
      eth_signTypedData_v4: `0x${'0'.repeat(130)}`,
    }
    const signer = { request: async ({ method }: { method: string }) => results[method] }
    return attestPlaces(CONTEXT, [1, 2], signer, { schema: uid, offchain: true, unchecked: true })
  }
  expect(await attest(fields)).toMatchObject({ chainId: 1 })
  await expect(attest('string srs,string locationType,string location')).rejects.toMatchObject({
    name: 'InvalidInputError',
  })
})

test('the error of a later transaction does not state that nothing was sent', async () => {
  let sent = 0
  const provider = {
    request: async ({ method, params }: { method: string; params: any[] }) => {
      if (method === 'eth_requestAccounts') return [USER]
      if (method === 'eth_chainId') return '0x1'
      if (method === 'eth_sendTransaction') return (sent++, HASH)
      if (method !== 'eth_call') return { status: '0x1', blockNumber: '0x7', transactionHash: HASH, logs }
      const { to, data } = params[0]
      if (to === REGISTRY) return registered(schema.uid, schema.fields)
      if (data.startsWith(selector('getAttestation(bytes32)'))) return attestation
      if (sent > 0) throw Object.assign(new Error('reverted'), { data: selector('InvalidSchema()') })
      return '0x'
    },
  }
  const attesting = attestPlaces(CONTEXT, [place, place], provider, { unchecked: true })
  const { name, message, attested } = await attesting.catch((error: Error) => error as any)
  expect([name, attested?.length]).toEqual(['PartlyAttestedError', 1])
  expect(message).not.toContain('Nothing was sent')
})

test.each([false, true])(
  'all places have one attester, also if the user switches the account of the wallet: offchain %s',
  async (offchain) => {
    const accounts = [USER]
    const senders: string[] = []
    const provider = {
      request: async ({ method, params }: { method: string; params: any[] }) => {
        if (method === 'eth_requestAccounts') return [accounts.shift() ?? ZERO_ADDRESS]
        if (method === 'eth_chainId') return '0x1'
        if (method === 'eth_sendTransaction') return (senders.push(params[0].from), HASH)
        if (method === 'eth_signTypedData_v4') return (senders.push(params[0]), `0x${'1'.repeat(130)}`)
        if (method !== 'eth_call') return { status: '0x1', blockNumber: '0x7', logs }
        const { to, data } = params[0]
        if (to === REGISTRY) return registered(schema.uid, schema.fields)
        return data.startsWith(selector('getAttestation(bytes32)')) ? attestation : '0x'
      },
    }
    const attested = await attestPlaces(CONTEXT, [place, place], provider, { offchain, unchecked: true })
    expect([attested].flat()).toHaveLength(2)
    expect(senders).toEqual([USER, USER])
  },
)

test('the error of a replaced transaction states that its places may be attested', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  let looks = 0
  const results: Record<string, (params: any[]) => unknown> = {
    eth_requestAccounts: () => [USER],
    eth_chainId: () => '0x1',
    eth_sendTransaction: () => HASH,
    eth_getTransactionReceipt: () => null,
    eth_getTransactionByHash: () => (looks++ ? null : { from: USER, nonce: '0x5' }),
    eth_getTransactionCount: () => '0x6',
    eth_call: ([{ to }]) => (to === REGISTRY ? registered(schema.uid, schema.fields) : '0x'),
  }
  const request = async ({ method, params }: { method: string; params: any[] }) => results[method]!(params)
  const attesting = attestPlaces(CONTEXT, place, { request }, { unchecked: true })
  const ended = attesting.catch((error: Error) => error as any)
  await vi.advanceTimersByTimeAsync(90_000)
  expect(await ended).toMatchObject({
    ...{ name: 'LostTransactionError', reason: 'replaced', transactionHash: HASH },
    message: expect.stringContaining('attested') as string,
  })
})

test('an abort ends signing by a wallet that does not respond', async () => {
  const [stop, left] = [new AbortController(), new Error('left')]
  const provider = {
    request: async ({ method, params }: { method: string; params: any[] }) => {
      if (method === 'eth_requestAccounts') return [USER]
      if (method === 'eth_chainId') return '0x1'
      if (params?.[0]?.to === REGISTRY) return registered(schema.uid, schema.fields)
      setTimeout(() => stop.abort(left), 5)
      return new Promise(() => {})
    },
  }
  const how = { offchain: true, unchecked: true, signal: stop.signal }
  await expect(attestPlaces(CONTEXT, place, provider, how)).rejects.toBe(left)
})

const ATTEST = parseAbi([
  'function attest((bytes32 schema, (address recipient, uint64 expirationTime, bool revocable, bytes32 refUID, bytes data, uint256 value) data) request) returns (bytes32)',
])

test(
  'two places that a bundler of a smart account joins in one transaction have their own attestations',
  { tags: ['slow'] },
  async () => {
    /** Attestations of the transaction, in its order. */
    const made: { uid: `0x${string}`; content: any }[] = []
    const provider = {
      request: async ({ method, params }: { method: string; params: any[] }) => {
        if (method === 'eth_requestAccounts') return [USER]
        if (method === 'eth_chainId') return '0x1'
        if (method === 'eth_sendTransaction') {
          const { args } = decodeFunctionData({ abi: ATTEST, data: params[0].data })
          made.push({ uid: toHex(made.length + 1, { size: 32 }), content: args[0].data })
          return HASH
        }
        if (method === 'eth_getTransactionReceipt')
          return made.length < 2
            ? null
            : { status: '0x1', blockNumber: '0x7', logs: made.map(({ uid }) => ({ ...logs[0], data: uid })) }
        if (method !== 'eth_call') return null
        const { to, data } = params[0]
        if (to === REGISTRY) return registered(schema.uid, schema.fields)
        const found = made.find(({ uid }) => data === `${selector('getAttestation(bytes32)')}${uid.slice(2)}`)
        return found ? attestationOf(found.uid, found.content) : '0x'
      },
    }
    const of = (recipient: string) => ({ location: [1, 2], time: 5, recipient }) as const
    const asked = [of(EAS!), of(REGISTRY!)]
    const attested = await Promise.all(
      asked.map((each) => attestPlaces(CONTEXT, each, provider, { unchecked: true })),
    )
    expect(attested.map((each: any) => each.attestation.recipient.toLowerCase())).toEqual(
      asked.map(({ recipient }) => recipient),
    )
  },
)
