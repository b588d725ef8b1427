import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createMigratedDatabase, rows, type TestDatabase } from '../../test/database'
import { CHAINS } from '../chains'
import { SettingsError } from '../config'
import { ALL_SCHEMAS } from '../location'
import { startIndexer, type Indexer } from './run'

/** Tests of the states before an indexer reads a block. test/indexer.system.test.ts tests the others. */
const chain = CHAINS[0]!
let shared: TestDatabase
let endpoint: Server
/** Called before the endpoint of another chain responds. */
let onCall = () => {}
let indexer: Indexer | undefined
beforeAll(async () => {
  shared = await createMigratedDatabase()
  endpoint = createServer((request, response) => {
    void text(request).then((body) => {
      onCall()
      const calls = JSON.parse(body) as { id: number } | { id: number }[]
      const answer = ({ id }: { id: number }) => ({ jsonrpc: '2.0', id, result: '0x1' })
      response.end(JSON.stringify(Array.isArray(calls) ? calls.map(answer) : answer(calls)))
    })
  })
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve))
})
afterEach(async () => {
  onCall = () => {}
  await indexer?.stop()
  await rows(shared.url, 'DELETE FROM chain_writer')
})
afterAll(async () => {
  endpoint?.close()
  await shared?.drop()
})

function start(databaseUrl = shared.url): Indexer {
  const rpcUrls = [`http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`]
  return (indexer = startIndexer(
    { chain: { ...chain, rpcTimeoutMs: 1_000 }, rpcUrls, gatewayUrl: undefined, headPollMs: 100 },
    { databaseUrl, schemaPolicy: ALL_SCHEMAS, auditCallsPerSecond: 0, indexerMetrics: undefined },
  ))
}

test('stops an indexer that waits for the lease, without taking the lease', async () => {
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

test('fails in the state in which an error occurs, and stops afterwards', async () => {
  const states = new Set<string>()
  onCall = () => states.add(indexer!.state)
  const own = start()
  await expect(own.ended).rejects.toThrow(SettingsError)
  expect([own.state, [...states]]).toEqual(['failed', ['checking']])
  await own.stop()
  expect(own.state).toBe('stopped')
  // The next process can take the lease.
  expect(await rows(shared.url, 'SELECT FROM chain_writer WHERE until > now()')).toEqual([])
})

test('fails before it queries an endpoint if the database is unavailable', async () => {
  const states = new Set<string>()
  onCall = () => states.add(indexer!.state)
  const own = start('postgres://nobody@127.0.0.1:1,127.0.0.1:2/none')
  await expect(own.ended).rejects.toBeInstanceOf(Error)
  expect([own.state, states.size]).toEqual(['failed', 0])
})
