import type { Server } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { Logger } from '@subsquid/logger'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { freePort } from '../../dev/services'
import { sentence, testSentences } from '../../test/sentences'
import { MONOTONIC } from '../clock'
import type { Rpc } from '../rpc'
import { IndexerMetrics } from './metrics'

const rpc = { counts: () => [] } as unknown as Rpc
const stopping = new AbortController()
let messages: (string | undefined)[]
let address: { host: string; port: number }
let [first, second]: IndexerMetrics[] = []
const open = (metrics: IndexerMetrics) =>
  metrics.open(rpc, new Logger(({ msg }) => messages.push(msg), 'test'), stopping.signal)
beforeEach(async () => {
  messages = []
  address = { host: '127.0.0.1', port: await freePort() }
  ;[first, second] = [new IndexerMetrics(address), new IndexerMetrics(address)]
  await open(first)
})
afterEach(() => {
  vi.restoreAllMocks()
  for (const metrics of [first, second]) metrics!.close()
})

test('the metrics of an indexer are served once its predecessor has closed the port', async () => {
  vi.spyOn(MONOTONIC, 'pause').mockImplementation((_, signal) => setTimeout(5, undefined, { signal }))
  const opened = open(second!)
  await expect.poll(() => messages.length).toBe(1)
  first!.close()
  await opened
  expect((await fetch(`http://127.0.0.1:${address.port}/metrics`)).status).toBe(200)
  expect(messages.length).toBe(1)
})

test('a port that the indexer cannot open is reported as an incorrect setting', async () => {
  const metrics = new IndexerMetrics({ ...address, host: '192.0.2.1' })
  await expect(open(metrics)).rejects.toThrow(sentence('INDEXER_METRICS_PORT', address.port))
})

test('an error of the server of metrics is logged', () => {
  const { server } = first as unknown as { server: Server }
  server.emit('error', new Error('accept'))
  expect(messages.length).toBe(1)
})

test('the port of metrics is not tried again once the indexer stops', async () => {
  const opened = open(second!)
  await expect.poll(() => messages.length).toBe(1)
  stopping.abort(new Error('stopped'))
  await expect(opened).rejects.toThrow()
})

testSentences()
