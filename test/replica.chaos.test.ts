import { afterAll, beforeAll, expect, test } from 'vitest'
import * as eas from '../src/abi/EAS'
import { attest, locationRequest, type LocalChain } from '../dev/chain'
import { startTestChain } from './chains'
import { freePort, startService, type Service } from '../dev/services'
import { blankSettings } from '../dev/settings'
import { createMigratedDatabase, removeFolder, rows, temporaryFolder, type TestDatabase } from './database'
import { UNKNOWN, startRpcProxy, type RpcProxy } from './rpc-proxy'
import { mine } from './world'

/** Tests an indexer without an API behind a lagging endpoint: logs of the head arrive before their state. */
let chain: LocalChain
let database: TestDatabase
let proxy: RpcProxy
let indexer: Service
const folder = temporaryFolder()
let lagging = 0
beforeAll(async () => {
  ;[chain, database] = await Promise.all([
    freePort().then((port) => startTestChain({ port })),
    createMigratedDatabase(),
  ])
  proxy = await startRpcProxy(chain.url, ({ method, params }) => {
    if (method === 'eth_getCode' && params[0].startsWith('0xca11')) return { result: '0x' }
    return method === 'eth_call' &&
      params[0].data.startsWith(eas.functions.getAttestation.selector) &&
      lagging-- > 0
      ? { result: UNKNOWN }
      : undefined
  })
  const environment = {
    ...process.env,
    ...blankSettings(),
    DATABASE_URL: database.url,
    RPC_URL_BASE_SEPOLIA: proxy.url,
  }
  indexer = startService('indexer', ['lib/indexer/main.js', 'base-sepolia'], environment, folder)
})
afterAll(async () => {
  await indexer?.stop()
  removeFolder(folder)
})

test('the indexer requests a payload again until it is available', async () => {
  const indexed = async () =>
    (await rows<{ uid: string }>(database.url, 'SELECT uid FROM location_record ORDER BY block_number')).map(
      (row) => row.uid,
    )
  const until = async (count: number) => {
    while ((await indexed()).length < count)
      await Promise.race([
        indexer.ended.then((code) => Promise.reject(new Error(`the indexer ended: ${code}`))),
        new Promise((resolve) => setTimeout(resolve, 50)),
      ])
  }
  const first = await attest(chain, locationRequest({ type: 'Point', coordinates: [1, 1] }))
  await until(1)
  lagging = 8
  const second = await attest(chain, locationRequest({ type: 'Point', coordinates: [2, 2] }))
  await until(2)
  expect(lagging).toBeLessThan(0)
  await mine(chain, 1)
  expect(await indexed()).toEqual([first, second])
})
