// SPDX-License-Identifier: MIT
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { encodeAbiParameters, zeroAddress } from 'viem'
import { LOCATION_SCHEMAS, type LocationSchema } from '../../../src/location/payload'
import { formatVerifierKey } from '../../../src/tlog'
import { seededKey } from '../../../test/tlog'
import { EXIT } from './exit'
import { geoHere } from '../test/here'

const folder = mkdtempSync(path.join(tmpdir(), 'geo-run-'))
afterAll(() => rmSync(folder, { recursive: true }))
afterEach(() => void vi.unstubAllGlobals())

let stop: AbortController
function resultOf(...argv: string[]) {
  stop = new AbortController()
  return geoHere(argv, { signal: stop.signal })
}
const errorOf = async (...argv: string[]) => (await resultOf(...argv)).stderr

test('the completion script of a shell keeps its line breaks', async () => {
  const { stdout } = await resultOf('completion', 'bash')
  expect(stdout).toMatch(/^# bash completion.*\n_geo\(\) \{\n/)
})

test('an error has no control characters besides its line breaks', async () => {
  const name = 'x\x1b[2J\u009b31m\u202e'
  expect(await errorOf(name)).toMatch(/^geo: [^\p{Cc}\u202e]+\n[^\p{Cc}]+\n$/u)
  const line = await errorOf('--json', name)
  expect(line).toMatch(/^[^\p{Cc}\u202e]+\n$/u)
  expect(JSON.parse(line).error.message).toContain(name)
})

test('a position west of Greenwich is an argument, and the value of an option stays as it is', async () => {
  const asked: unknown[] = []
  vi.stubGlobal('fetch', async (request: Request) => {
    const { pathname, searchParams } = new URL(request.url)
    asked.push(pathname.startsWith('/compute') ? await request.json() : searchParams.get('memo'))
    const chain = { id: 1, slug: 'ethereum', eas: '0x', proxy: null, ready: true }
    return Response.json(pathname === '/' ? { chains: [chain], defaultSchemas: {} } : { data: [] })
  })
  await errorOf('records', '--memo', '-1,5 degrees', '--json')
  expect(asked).toEqual(['-1,5 degrees'])
  await errorOf('distance', '--chain', '1', '-1,5', '-2,5', '--timeout', '30')
  expect(asked.at(-1)).toMatchObject({
    from: { coordinates: [-1, 5] },
    to: { coordinates: [-2, 5] },
  })
})

test('an error of a quorum names the operators in JSON', async () => {
  vi.stubGlobal('fetch', async (request: Request) => {
    const chain = { id: 1, slug: 'ethereum', eas: '0x', proxy: null, ready: true }
    return Response.json(request.url.includes('quorum') ? [] : { chains: [chain], defaultSchemas: {} })
  })
  const file = path.join(folder, 'operators.json')
  const operators = ['http://one', 'http://two']
  writeFileSync(file, JSON.stringify({ operators, k: 2 }))
  const line = await errorOf('distance', '1,2', '3,4', '--chain', '1', '--quorum', file, '--json')
  const { error } = JSON.parse(line) as { error: { name: string; dissent: object[] } }
  expect(error).toMatchObject({
    name: 'QuorumError',
    dissent: operators.map((url) => ({ url, reason: 'wrong-epoch' })),
  })
})

test('the monitor prints the policy of the service in lines that can be pinned', async () => {
  const policy = `log ${formatVerifierKey(await seededKey('one.example/log', 'ed25519', 1))}\nquorum none\n`
  vi.stubGlobal('fetch', async (given: Request | string) => {
    const { pathname } = new URL(given instanceof Request ? given.url : given)
    return pathname === '/log/v0/' ? Response.json({ policy }) : new Response('none', { status: 404 })
  })
  expect(await errorOf('log', 'monitor', '--once', '--url', 'http://one')).toContain(`\n${policy}`)
})

describe('an RPC endpoint that fails after its chain id', () => {
  const uid = `0x${'1'.repeat(64)}`
  const address = `0x${'2'.repeat(40)}`
  const key = path.join(folder, 'key')
  writeFileSync(key, `0x${'1'.repeat(64)}`, { mode: 0o600 })

  test.each([
    ['verify', [uid]],
    ['recompute', [uid]],
    ['revoke', [uid, '--key-file', key]],
    ['attest --schema', [uid, '1,2', '--key-file', key]],
    ['attest --unchecked', ['1,2', '--key-file', key]],
  ])('is reported as unreachable, without its URL: geo %s', async (command, more) => {
    const chain = { id: 1, slug: 'ethereum', eas: address, schemaRegistry: address, attester: address }
    vi.stubGlobal('fetch', async (given: Request | string, init?: RequestInit) => {
      const { hostname } = new URL(given instanceof Request ? given.url : given)
      if (hostname === 'service')
        return Response.json({ chains: [{ ...chain, proxy: null }], defaultSchemas: {} })
      const { id, method } = JSON.parse(init!.body as string) as { id: number; method: string }
      if (method !== 'eth_chainId') return new Response('No such key: SECRET', { status: 401 })
      return Response.json({ jsonrpc: '2.0', id, result: '0x1' })
    })
    const given = ['--url', 'http://service', '--chain', '1', '--rpc', 'https://node.example/SECRET']
    const [name, ...options] = command.split(' ')
    const { code, stderr } = await resultOf(name!, ...given, ...options, ...more)
    expect(code).toBe(EXIT.unreachable)
    expect(stderr).toContain('ethereum')
    expect(stderr).not.toContain('SECRET')
  })
})

test.each(['verify', 'recompute'])(
  'an RPC endpoint without the contract is no outage: geo %s',
  async (name) => {
    const address = `0x${'2'.repeat(40)}`
    const chain = { id: 1, slug: 'ethereum', eas: address, schemaRegistry: address, attester: address }
    vi.stubGlobal('fetch', async (given: Request | string, init?: RequestInit) => {
      if (given instanceof Request)
        return Response.json({ chains: [{ ...chain, proxy: null }], defaultSchemas: {} })
      const { id, method } = JSON.parse(init!.body as string) as { id: number; method: string }
      return Response.json({ jsonrpc: '2.0', id, result: method === 'eth_chainId' ? '0x1' : '0x' })
    })
    const { code, stderr } = await resultOf(name, `0x${'1'.repeat(64)}`, '--rpc', 'http://node')
    expect([code, stderr]).toEqual([EXIT.key, expect.stringContaining(address)])
  },
)

test('an internal error is reported without URLs, which may include secrets', async () => {
  const env = {
    get GEO_URL(): string {
      throw new Error('https://node.example/SECRET failed')
    },
  }
  const { code, stderr } = await geoHere(['chains'], { env })
  expect([code, stderr]).toEqual([EXIT.fault, expect.stringContaining('https://... failed')])
  expect(stderr).not.toContain('SECRET')
})

describe('a transaction that was sent', () => {
  const key = path.join(folder, 'key.txt')
  writeFileSync(key, `0x${'1'.padStart(64, '0')}`, { mode: 0o600 })
  const [{ uid, fields }] = LOCATION_SCHEMAS as [LocationSchema]
  const schema = encodeAbiParameters(
    [{ type: 'tuple', components: ['bytes32', 'address', 'bool', 'string'].map((type) => ({ type })) }],
    [[uid, zeroAddress, true, fields]],
  )
  const hash = `0x${'2'.padStart(64, '0')}`
  let isSent: boolean
  let whenSent: () => Response | undefined
  const results: Record<string, unknown> = {
    eth_chainId: '0x1',
    eth_getTransactionCount: '0x0',
    eth_getBlockByNumber: { number: '0x1', timestamp: '0x1', baseFeePerGas: '0x1', transactions: [] },
    eth_maxPriorityFeePerGas: '0x1',
    eth_estimateGas: '0x5208',
    eth_getTransactionReceipt: { status: '0x0', blockNumber: '0x1', logs: [] },
  }
  const attested = async (after: () => Response | undefined) => {
    ;[isSent, whenSent] = [false, after]
    vi.stubGlobal('fetch', async (given: Request | string, init?: RequestInit) => {
      const chain = { id: 1, slug: 'ethereum', eas: zeroAddress, schemaRegistry: zeroAddress, proxy: null }
      if (given instanceof Request) return Response.json({ chains: [chain], defaultSchemas: {} })
      const { id, method } = JSON.parse(init!.body as string) as { id: number; method: string }
      const response = method === 'eth_call' && isSent ? whenSent() : undefined
      if (response) return response
      if (method === 'eth_sendRawTransaction') isSent = true
      const result = { ...results, eth_call: schema, eth_sendRawTransaction: hash }[method]
      return Response.json({ id, jsonrpc: '2.0', ...(result ? { result } : { error: { code: -32601 } }) })
    })
    return resultOf(...argv)
  }
  const argv = [
    'attest',
    '1,2',
    '--unchecked',
    '--chain',
    '1',
    '--rpc',
    'http://rpc',
    '--key-file',
    key,
    '-q',
  ]

  test.each([
    ['fails', EXIT.landing, (): Response => new Response('closed', { status: 410 })],
    ['is read at Ctrl-C', EXIT.interrupted, (): undefined => void stop.abort(new Error('Ended by Ctrl-C.'))],
  ])('is named if the RPC endpoint then %s', async (_, expected, after) => {
    const { code, stderr } = await attested(after)
    expect(stderr).toContain(hash)
    expect(code).toBe(expected)
  })
})
