import { spawnSync } from 'node:child_process'
import { createGeo } from '@geospatial-attestation/client'
import { beforeAll, expect, test } from 'vitest'
import { attest, locationRequest } from '../dev/chain'
import { signerOf } from '../packages/client/test/signers'
import { follow, openPage } from './browser'
import { startTestWorld, type TestWorld } from './world'
import { GATE, TOWER } from './positions'
import { withChromium } from './needs'

/**
 * Tests each interface of the service once, as users see it: through the programs of `npm start` in their own
 * processes, the built packages, and a real browser. The tests of each room cover its details.
 */

let world: TestWorld
let uid: string
beforeAll(async () => {
  world = await startTestWorld({}, { processes: true })
  uid = await attest(world.chain, locationRequest(TOWER, { memo: 'a tower' }), 3)
  await world.caughtUp()
})

test('REST lists the attested place, and compute signs an answer about it', async () => {
  const listed = await world.get('/api/v0/location-records?limit=1')
  expect(listed).toMatchObject({ status: 200, body: { count: 1, data: [{ uid, memo: 'a tower' }] } })
  const answer = await world.post('/compute/v0/distance', { chainId: 84532, from: uid, to: GATE })
  expect(answer).toMatchObject({ status: 200, body: { result: 881329.94, inputRefs: [uid, /^0x/] } })
})

test('the client requests an answer, lands it, and checks it on its chain', async () => {
  const { chain, url } = world.chain
  const geo = createGeo({ url: world.url, chain: chain.slug, providers: { [chain.id]: url } })
  const answer = await geo.distance(TOWER, GATE)
  const landed = await geo.land(answer, signerOf('ethers', world.chain).signer)
  expect(await geo.check(landed.uid)).toMatchObject({ valid: true, says: { result: 881329.94 } })
})

test('geo, as an executable, returns a distance', () => {
  const asked = ['distance', uid, '13.3777,52.5163', '--url', world.url, '--chain', 'base-sepolia', '--json']
  const { status, stdout, stderr } = spawnSync(process.execPath, ['packages/cli/bin/geo.mjs', ...asked], {
    encoding: 'utf8',
  })
  expect({ status, stderr, result: JSON.parse(stdout).result }).toEqual({
    ...{ status: 0, stderr: '', result: 881329.94 },
  })
})

test('GraphQL, OGC API, tiles, MCP and the documents respond', async () => {
  const graphql = await world.post('/graphql', { query: '{ locationRecords { totalCount } }' })
  expect(graphql.body.data.locationRecords.totalCount).toBe(1)
  const ogc = await world.get('/ogc/collections/location-records/items?limit=2')
  expect(ogc.body).toMatchObject({ numberReturned: 1, features: [{ properties: { uid } }] })
  const tile = await fetch(`${world.url}/tiles/location-records/0/0/0.mvt`)
  expect([tile.status, (await tile.arrayBuffer()).byteLength > 100]).toEqual([200, true])
  const tools = await fetch(`${world.url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  })
  expect(await tools.text()).toContain('distance')
  for (const path of ['/health', '/ready', '/metrics', '/openapi.json', '/llms.txt'])
    expect([path, (await fetch(world.url + path)).status]).toEqual([path, 200])
})

withChromium.test('the map, the playground and the attest page open', async () => {
  await using browser = await openPage({ viewport: { width: 820, height: 600 } })
  const { page, complaints, requested } = browser
  await page.goto(world.url)
  await page.locator('.map[data-state=idle]').waitFor()
  for (const [path, shown] of [
    ['/playground', '.geometry-a'],
    ['/attest', '.geometry-place'],
  ] as const) {
    await follow(page, world.url + path)
    await page.locator(shown).waitFor()
  }
  expect(complaints).toEqual([])
  expect(new Set(requested.map((each) => new URL(each).origin))).toEqual(new Set([world.url]))
})
