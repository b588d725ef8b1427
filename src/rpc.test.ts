import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Logger, type LogRecord } from '@subsquid/logger'
import { afterEach, expect, test } from 'vitest'
import { CHAINS } from './chains'
import { SettingsError } from './config'
import { Rpc } from './rpc'

const KEY = 'secret-key'
const closing: (() => void)[] = []
afterEach(() => closing.splice(0).forEach((close) => close()))

/** An endpoint with a key in its path that answers as told: a result, a JSON-RPC error, an HTTP status, or nothing at all. */
async function endpoint(answer: (method: string) => unknown): Promise<{ url: string; calls: string[] }> {
  const calls: string[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const { id, method } = JSON.parse(body) as { id: number; method: string }
      calls.push(method)
      const given =
        method === 'eth_chainId'
          ? { result: `0x${CHAINS[0]!.id.toString(16)}`, ...(answer(method) as object | undefined) }
          : answer(method)
      if (given === undefined) return
      const { status, ...rest } = given as { status?: number }
      response
        .writeHead(status ?? 200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, ...rest }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => server.close().closeAllConnections())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2/${KEY}`, calls }
}
const logged: LogRecord[] = []
const rpc = (...endpoints: { url: string }[]) =>
  new Rpc({
    chain: CHAINS[0]!,
    urls: endpoints.map(({ url }) => url),
    batchSize: 100,
    timeoutMs: 200,
    log: new Logger((record) => logged.push(record), 'test'),
  })

test.each<[string, (method: string) => unknown]>([
  ['answers HTTP 500', (method) => (method === 'eth_chainId' ? {} : { status: 500 })],
  ['answers HTTP 429', (method) => (method === 'eth_chainId' ? {} : { status: 429 })],
  ['answers nothing', () => undefined],
  [
    'speaks of a rate limit',
    (method) => (method === 'eth_chainId' ? {} : { error: { code: -32005, message: 'rate limit exceeded' } }),
  ],
  [
    'lacks the state',
    (method) => (method === 'eth_chainId' ? {} : { error: { code: -32000, message: 'missing trie node' } }),
  ],
  ['is of another chain', (method) => (method === 'eth_chainId' ? { result: '0x1' } : { result: 'wrong' })],
])(
  'while the first endpoint %s, the second answers; neither log nor error holds a key',
  async (_, answer) => {
    logged.length = 0
    const [first, second] = [
      await endpoint(answer),
      await endpoint((method) => (method === 'eth_chainId' ? {} : { result: 'right' })),
    ]
    expect(await rpc(first, second).call('eth_call')).toBe('right')
    expect(second.calls).toContain('eth_call')
    expect(JSON.stringify(logged)).not.toContain(KEY)
  },
)

test.each([
  (url: string) => url.replace(`/v2/${KEY}`, `?apikey=${KEY}`),
  (url: string) => url.replace('127.0.0.1', 'LOCALHOST'),
])('no key in a log however the URL is written', async (written) => {
  logged.length = 0
  const first = await endpoint((method) => (method === 'eth_chainId' ? {} : { status: 500 }))
  const second = await endpoint((method) => (method === 'eth_chainId' ? {} : { result: 'right' }))
  expect(await rpc({ url: written(first.url) }, second).call('eth_call')).toBe('right')
  expect(JSON.stringify(logged)).toContain('an RPC endpoint failed')
  expect(JSON.stringify(logged)).not.toContain(KEY)
})

test('the first endpoint is asked again once it has rested', async () => {
  let well = false
  const [first, second] = [
    await endpoint((method) =>
      method === 'eth_chainId' ? {} : well ? { result: 'first' } : { status: 500 },
    ),
    await endpoint((method) => (method === 'eth_chainId' ? {} : { result: 'second' })),
  ]
  const both = rpc(first, second)
  const ask = () => both.call('eth_call')
  expect(await ask()).toBe('second')
  well = true
  while ((await ask()) !== 'first') await new Promise((resolve) => setTimeout(resolve, 20))
})

test('a refusal that all share is thrown; one that speaks of a limit at once, when the caller can ask for less', async () => {
  const refusing = (message: string) =>
    endpoint((method) => (method === 'eth_chainId' ? {} : { error: { code: -32000, message } }))
  const [first, second] = [await refusing('limited to a 5 range'), await refusing('limited to a 5 range')]
  const both = rpc(first, second)
  await expect(both.call('eth_getLogs', [], { refusable: true })).rejects.toThrow('limited to a 5 range')
  expect(second.calls).toEqual([])
  await expect(both.call('eth_getLogs')).rejects.toThrow('limited to a 5 range')
  expect(second.calls).toContain('eth_getLogs')
})

test('one refuses, the other turns out to be of another chain: the refusal is what is thrown', async () => {
  const first = await endpoint((method) =>
    method === 'eth_chainId' ? {} : { error: { code: -32601, message: 'method not found' } },
  )
  const second = await endpoint((method) =>
    method === 'eth_chainId' ? { result: '0x1' } : { result: 'wrong' },
  )
  await expect(rpc(first, second).call('eth_call')).rejects.toThrow('method not found')
})

test('endpoints of other chains only: refused, by name', async () => {
  const wrong = () => endpoint((method) => (method === 'eth_chainId' ? { result: '0x1' } : { result: '0x' }))
  const one = await wrong()
  const error = await rpc(one)
    .call('eth_call')
    .catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(SettingsError)
  expect((error as Error).message).toMatch(
    /^The RPC endpoint 127\.0\.0\.1:\d+ of base-sepolia is on chain 1, not 84532/,
  )
  await expect(rpc(await wrong(), await wrong()).call('eth_call')).rejects.toThrow(
    'No RPC endpoint of base-sepolia is on chain 84532',
  )
})
