import { connect, createServer, type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { freePort } from '../../dev/services'
import { startTestChain } from '../../test/chains'
import { createMigratedDatabase, rows, type TestDatabase } from '../../test/database'
import { serve } from '../../test/http-server'
import { startRpcProxy } from '../../test/rpc-proxy'
import { CHAINS } from '../chains'
import { MONOTONIC } from '../clock'
import { SettingsError } from '../config'
import { ALL_SCHEMAS } from '../location'
import { startIndexer, type Indexer, type IndexerSettings } from './run'
import { SilentDatabaseError } from './store'

/** Tests of an indexer before its first block. test/indexer.*.test.ts test the other states. */
const chain = CHAINS[0]!
let shared: TestDatabase
let endpoint: string
/** The function is called before the endpoint of another chain responds. */
let onCall = () => {}
let indexer: Indexer | undefined
let settings: IndexerSettings
beforeAll(async () => {
  shared = await createMigratedDatabase()
  settings = {
    ...{ databaseUrl: shared.url, schemaPolicy: ALL_SCHEMAS, auditCallsPerSecond: 0 },
    indexerMetrics: undefined,
  }
  endpoint = await serve((request, response) => {
    void text(request).then((body) => {
      onCall()
      const calls = JSON.parse(body) as { id: number } | { id: number }[]
      const answer = ({ id }: { id: number }) => ({ jsonrpc: '2.0', id, result: '0x1' })
      response.end(JSON.stringify(Array.isArray(calls) ? calls.map(answer) : answer(calls)))
    })
  })
})
afterEach(async () => {
  onCall = () => {}
  vi.useRealTimers()
  await indexer?.stop()
  await rows(shared.url, 'DELETE FROM chain_writer')
})

function start(databaseUrl = shared.url): Indexer {
  return (indexer = startIndexer(
    { chain: { ...chain, rpcTimeoutMs: 1_000 }, rpcUrls: [endpoint], gatewayUrl: undefined, headPollMs: 100 },
    { ...settings, databaseUrl },
  ))
}

test('a stop ends an indexer that waits for the lease, without taking the lease', async () => {
  await rows(
    shared.url,
    `INSERT INTO chain_writer (chain, writer, until) VALUES ($1, 'elsewhere/1/x', now() + interval '1 hour')`,
    [chain.slug],
  )
  const own = start()
  expect(own.state).toBe('connecting')
  await expect.poll(() => own.state).toBe('waiting')
  const stopped = own.stop()
  expect([own.state, own.stop()]).toEqual(['stopping', stopped])
  await stopped
  await own.ended
  expect(own.state).toBe('stopped')
  expect(await rows(shared.url, 'SELECT writer FROM chain_writer')).toEqual([{ writer: 'elsewhere/1/x' }])
})

test('the indexer fails in the state in which an error occurs, and then stops', async () => {
  const states = new Set<string>()
  onCall = () => states.add(indexer!.state)
  const own = start()
  await expect(own.ended).rejects.toThrow(SettingsError)
  expect([own.state, [...states]]).toEqual(['failed', ['checking']])
  await own.stop()
  expect(own.state).toBe('stopped')
  // The next process can acquire the lease.
  expect(await rows(shared.url, 'SELECT FROM chain_writer WHERE until > now()')).toEqual([])
})

test('the indexer fails before it queries an endpoint if the database is unavailable', async () => {
  const states = new Set<string>()
  onCall = () => states.add(indexer!.state)
  const own = start('postgres://nobody@127.0.0.1:1,127.0.0.1:2/none')
  await expect(own.ended).rejects.toBeInstanceOf(Error)
  expect([own.state, states.size]).toEqual(['failed', 0])
})

test('the indexer fails, and stops, although its database does not respond any more', async () => {
  const target = new URL(shared.url)
  let isFrozen = false
  let asked = 0
  const proxy = createServer((client) => {
    const server = connect(Number(target.port), target.hostname)
    client.on('data', (bytes) => {
      asked++
      if (!isFrozen) server.write(bytes)
    })
    client.on('error', () => {})
    client.on('close', () => server.destroy())
    server.on('data', (bytes) => client.write(bytes)).on('error', () => client.destroy())
  }).listen(0, '127.0.0.1')
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  await rows(
    shared.url,
    `INSERT INTO chain_writer (chain, writer, until) VALUES ($1, 'elsewhere/1/x', now() + interval '1 hour')`,
    [chain.slug],
  )
  const url = new URL(shared.url)
  url.hostname = '127.0.0.1'
  url.port = String((proxy.address() as AddressInfo).port)
  const own = start(url.href)
  const failed = expect(own.ended).rejects.toBeInstanceOf(SilentDatabaseError)
  // The connection has been opened, and then waits for a statement.
  await expect.poll(() => asked).toBeGreaterThan(10)
  isFrozen = true
  asked = 0
  await expect.poll(() => asked).toBeGreaterThan(0)
  expect(own.state).toBe('waiting')
  await expect
    .poll(async () => {
      await vi.advanceTimersByTimeAsync(360_000)
      return own.state
    })
    .toBe('failed')
  await failed
  await own.stop()
  expect(own.state).toBe('stopped')
  proxy.close()
})

test(
  'the indexer counts the age of its agreement while the machine is suspended',
  { tags: ['slow'] },
  async () => {
    const node = await startTestChain({ port: await freePort() })
    const proxy = await startRpcProxy(node.url)
    let frozenAt: number | undefined
    const own = (indexer = startIndexer(
      { chain: node.chain, rpcUrls: [proxy.url], gatewayUrl: undefined, headPollMs: 60_000 },
      settings,
      { ...MONOTONIC, now: () => frozenAt ?? MONOTONIC.now() },
    ))
    try {
      const age = async () =>
        (
          await rows<{ age: number | null }>(
            shared.url,
            'SELECT extract(epoch FROM clock_timestamp() - agreed_at)::float8 AS age FROM chain_status WHERE chain = $1',
            [node.chain.slug],
          )
        )[0]?.age ?? Infinity
      await expect.poll(age, { timeout: 30_000 }).toBeLessThan(Infinity)
      proxy.misbehave(() => ({ ask: () => new Promise(() => {}) }))
      frozenAt = MONOTONIC.now()
      const before = await age()
      // Otherwise, each report would store an age measured by the clock that stands still.
      await expect.poll(age, { timeout: 30_000 }).toBeGreaterThan(before + 4)
    } finally {
      await own.stop()
      await proxy.close()
      await node.stop()
    }
  },
)

test('the indexer reports a doubt about unproven blocks, and about a chain without its EAS contract', async () => {
  const node = await startTestChain({ port: await freePort() })
  const { slug, eas } = node.chain
  const proxy = await startRpcProxy(node.url)
  const run = () =>
    (indexer = startIndexer(
      { chain: node.chain, rpcUrls: [proxy.url], gatewayUrl: undefined, headPollMs: 100 },
      settings,
    ))
  const status = async () => {
    const [row] = await rows<{ doubt: string | null; height: number }>(
      shared.url,
      'SELECT doubt, indexed_height AS height FROM chain_status WHERE chain = $1',
      [slug],
    )
    return row
  }
  const doubt = async () => (await status())?.doubt
  try {
    const first = run()
    const head = await node.provider.getBlockNumber()
    await expect.poll(async () => (await status())?.height, { timeout: 30_000 }).toBe(head)
    await expect.poll(doubt, { timeout: 30_000 }).toBeNull()
    await first.stop()
    await rows(
      shared.url,
      `UPDATE chain_status SET unproven_at_head = int8multirange(int8range($2::int8 - 1, $2::int8 + 1))
       WHERE chain = $1`,
      [slug, head],
    )
    let codes = 0
    // The check at the start finds the contract.
    proxy.misbehave(({ method, params }) =>
      method === 'eth_getCode' && params[0] === eas && codes++ > 0 ? { result: '0x' } : undefined,
    )
    const second = run()
    await expect.poll(doubt, { timeout: 30_000 }).toMatch(/no contract at the address of EAS.*unproven.*: 2$/)
    await second.stop()
  } finally {
    await indexer?.stop()
    await proxy.close()
    await node.stop()
  }
})
