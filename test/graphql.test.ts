import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'undici'
import { attest, locationRequest, revoke, testAccount } from '../dev/chain'
import { removeFolder, temporaryFolder } from './database'
import { startTestWorld, type TestWorld } from './world'

/** Raw GraphQL of the whole service as `npm start` brings it up: chain, indexer, database, API; and GraphiQL in a browser. */

type Json = any // eslint-disable-line @typescript-eslint/no-explicit-any -- JSON
let world: TestWorld
const uids: string[] = []
const FIJI = {
  type: 'Polygon' as const,
  coordinates: [
    [
      [177, -19],
      [-178, -19],
      [-178, -16],
      [177, -16],
      [177, -19],
    ],
  ],
}
beforeAll(async () => {
  world = await startTestWorld()
  const { chain } = world
  uids.push(
    await attest(
      chain,
      locationRequest(
        { type: 'Point', coordinates: [2.2945, 48.8584] },
        { memo: 'Eiffel Tower', recipient: testAccount(2).address },
      ),
      1,
    ),
  )
  uids.push(await attest(chain, locationRequest(FIJI, { memo: 'Fiji' }), 3))
  uids.push(
    await attest(chain, locationRequest({ type: 'Point', coordinates: [1e9, 0] }, { memo: 'nowhere' }), 1),
  )
  await revoke(chain, uids[0]!, 1)
  await world.caughtUp()
})
afterAll(() => world?.stop())

/** Answers are held against the service's own OpenAPI document by world.post. */
async function ask(query: string, variables: object = {}): Promise<Json> {
  for (;;) {
    const { status, body } = await world.post('/graphql', { query, variables })
    if (status === 503) continue
    expect({ status, errors: body.errors }).toEqual({ status: 200, errors: undefined })
    return body.data
  }
}

test('records are those of the Records API', async () => {
  const { locationRecords } =
    await ask(`{ locationRecords { totalCount nodes { uid chain prover subject timestamp eventTimestamp srs locationType location longitude latitude
    recipeTypes recipePayloads mediaTypes mediaData memo revoked createdAt updatedAt problem } } }`)
  const { body } = await world.get('/api/v0/location-records')
  const snake = (record: Json) =>
    Object.fromEntries(
      Object.entries(record).map(([name, value]) => [
        name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        value,
      ]),
    )
  expect(locationRecords.totalCount).toBe(body.count)
  for (const [i, record] of body.data.entries()) expect(record).toMatchObject(snake(locationRecords.nodes[i]))
})

test('a revocation is in the log and in the record, and each leads to the other', async () => {
  const { attestationEvents } = await ask(
    '{ attestationEvents(filter: { kind: { equalTo: "REVOKED" } }) { nodes { uid attester blockTimestamp locationRecord { memo revoked revocationTime geometry events { nodes { kind } } } } } }',
  )
  const [revocation] = attestationEvents.nodes
  expect(attestationEvents.nodes).toHaveLength(1)
  expect(revocation).toEqual({
    uid: uids[0],
    attester: testAccount(1).address,
    blockTimestamp: revocation.locationRecord.revocationTime,
    locationRecord: {
      memo: 'Eiffel Tower',
      revoked: true,
      revocationTime: expect.stringMatching(/Z$/),
      geometry: { type: 'Point', coordinates: [2.2945, 48.8584] },
      events: { nodes: [{ kind: 'REVOKED' }, { kind: 'ATTESTED' }] },
    },
  })
})

test('a shape across the antimeridian is found on both sides, and shown as it was attested', async () => {
  const found = await ask(
    '{ a: locationRecords(filter: { bbox: [179, -18, 180, -17] }) { nodes { memo geometry } } b: locationRecords(filter: { bbox: [-179.5, -18, -179, -17] }) { totalCount } c: locationRecords(filter: { bbox: [-1, -18, 1, -17] }) { totalCount } }',
  )
  expect(found).toEqual({
    a: { nodes: [{ memo: 'Fiji', geometry: FIJI }] },
    b: { totalCount: 1 },
    c: { totalCount: 0 },
  })
})

test('what gave no place is in the log with its reason', async () => {
  const { attestationEvents } = await ask(
    `{ attestationEvents(filter: { uid: { equalTo: "${uids[2]}" } }) { nodes { problem locationRecord { geometry } } } }`,
  )
  expect(attestationEvents.nodes).toEqual([
    {
      problem: expect.any(String),
      locationRecord: expect.toSatisfy((record: Json) => record === null || record.geometry === null),
    },
  ])
})

test("refusals are as they are documented, in GraphQL's form, and GET / names the endpoint", async () => {
  for (const payload of [
    { query: '{ x }' },
    { query: 'mutation { x }' },
    [],
    { query: '{ locationRecords(first: 5000) { totalCount } }' },
  ])
    expect((await world.post('/graphql', payload)).status).toBe(400)
  expect((await world.get('/graphql')).status).toBe(405)
  expect((await world.get('/')).body.endpoints.graphql).toEqual([
    `GET ${world.url}/graphql`,
    `POST ${world.url}/graphql`,
  ])
})

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((file) =>
  existsSync(file),
)
test.skipIf(!CHROMIUM)(
  'GraphiQL works in a browser that reaches nothing but this service (needs chromium)',
  async () => {
    const folder = temporaryFolder()
    // No name resolves, so that whatever is loaded from elsewhere fails, and is seen.
    const browser = spawn(CHROMIUM!, [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--remote-debugging-port=0',
      `--user-data-dir=${folder}`,
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
      'about:blank',
    ])
    try {
      const port = await new Promise<string>((resolve, reject) => {
        browser.stderr.on(
          'data',
          (data: Buffer) => /ws:\/\/[^/]+:(\d+)/.test(data.toString()) && resolve(RegExp.$1),
        )
        browser.once('exit', (code) => reject(new Error(`the browser ended: ${code}`)))
      })
      const pages = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as {
        type: string
        webSocketDebuggerUrl: string
      }[]
      const socket = new WebSocket(pages.find(({ type }) => type === 'page')!.webSocketDebuggerUrl)
      await new Promise((resolve) => socket.addEventListener('open', resolve))
      const answers = new Map<number, (result: Json) => void>()
      const complaints: unknown[] = []
      const asked: string[] = []
      socket.addEventListener('message', ({ data }) => {
        const { id, method, params, result } = JSON.parse(data as string)
        if (id) answers.get(id)!(result)
        else if (['Log.entryAdded', 'Runtime.exceptionThrown', 'Runtime.consoleAPICalled'].includes(method))
          complaints.push(params)
        else if (method === 'Network.requestWillBeSent') asked.push(params.request.url)
      })
      const send = (method: string, params: object = {}) =>
        new Promise<Json>((resolve) => {
          answers.set(answers.size + 1, resolve)
          socket.send(JSON.stringify({ id: answers.size, method, params }))
        })
      const evaluate = async (expression: string) =>
        (await send('Runtime.evaluate', { expression, returnByValue: true })).result.value
      const until = async (expression: string) => {
        while (!(await evaluate(expression))) await new Promise((resolve) => setTimeout(resolve, 50))
      }
      const click = async (selector: string) => {
        await until(`!!document.querySelector('${selector}')`)
        const [x, y] = await evaluate(
          `(() => { const r = document.querySelector('${selector}').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()`,
        )
        for (const type of ['mouseMoved', 'mousePressed', 'mouseReleased'])
          await send('Input.dispatchMouseEvent', { type, x, y, button: 'left', clickCount: 1 })
      }
      for (const domain of ['Log', 'Runtime', 'Network', 'Page']) await send(`${domain}.enable`)
      await send('Page.navigate', { url: `${world.url}/graphql` })
      // The explorer shows the schema once it has been asked for.
      await until(`document.body.textContent.includes('attestationEventById')`)
      await click('.execute-button')
      await click('.execute-options li')
      await until(
        `document.querySelector('.result-window .CodeMirror').CodeMirror.getValue().includes('totalCount')`,
      )
      const { data } = JSON.parse(
        await evaluate(`document.querySelector('.result-window .CodeMirror').CodeMirror.getValue()`),
      )
      expect(data.locationRecords.totalCount).toBe((await world.get('/api/v0/location-records')).body.count)
      await click('.docExplorerShow')
      await until(`document.querySelector('.doc-explorer').textContent.includes('root types')`)
      expect(complaints).toEqual([])
      expect(new Set(asked.map((each) => new URL(each).origin))).toEqual(new Set([world.url]))
      socket.close()
    } finally {
      browser.kill()
      await new Promise((resolve) => browser.once('exit', resolve))
      removeFolder(folder)
    }
  },
)
