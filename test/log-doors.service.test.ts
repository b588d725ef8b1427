import { Readable, Writable } from 'node:stream'
import { Contract, Wallet } from 'ethers'
import { beforeAll, expect, test, vi } from 'vitest'
import {
  bringToPresent,
  LOCAL_CHAIN,
  LOCAL_SIGNER_KEY,
  attest,
  deployQuorum,
  locationRequest,
  mined,
} from '../dev/chain'
import { run } from '../packages/cli/src/run'
import { QUORUM_ABI, quorumDigest, quorumDomain } from '../src/eas'
import { OPERATIONS, type OperationName } from '../src/operations'
import { decodeBundle, decodeEntry, parseSignerKey, type EntryKind } from '../src/tlog'
import { postJson, startApi, type TestApi } from './api'
import { removeFolder, rows, temporaryFolder } from './database'
import { serve } from './http-server'
import { startTestWorld, type TestWorld } from './world'
import { positions } from './positions'

/**
 * Tests every route that can return a signature: each signature must have an entry of its kind in the log.
 */
const POINT = { type: 'Point', coordinates: [2.2945, 48.8584] }
const ring = positions('2 48, 3 48, 3 49, 2 49, 2 48')
const POLYGON = { type: 'Polygon', coordinates: [ring] }
const QUESTIONS: Record<OperationName, object> = {
  distance: { from: POINT, to: { type: 'Point', coordinates: [2.3, 48.9] } },
  contains: { container: POLYGON, geometry: POINT },
  within: { geometry: POINT, target: POLYGON, radius: 500 },
  intersects: { geometry1: POINT, geometry2: POLYGON },
  area: { geometry: POLYGON },
  length: { geometry: { type: 'LineString', coordinates: ring } },
}
const chainId = LOCAL_CHAIN.id

let world: TestWorld
let api: TestApi
let zone: string
let quorum: string
beforeAll(async () => {
  world = await startTestWorld()
  const { chain, databaseUrl } = world
  await bringToPresent(chain)
  const operators = [new Wallet(LOCAL_SIGNER_KEY).address]
  quorum = await deployQuorum(chain, { operators, threshold: 1 })
  zone = await attest(chain, locationRequest(POLYGON as never))
  await world.caughtUp()
  const [state] = await rows<{ key: string }>(databaseUrl, 'SELECT key FROM log_state')
  api = await startApi({
    ...{ databaseUrl, rpcUrl: chain.url, key: LOCAL_SIGNER_KEY, proxy: chain.proxy, quorum },
    logKey: await parseSignerKey(state!.key),
  })
  expect(await new Contract(quorum, QUORUM_ABI, chain.provider).getFunction('currentEpoch')()).toBe(1n)
})

async function post(path: string, body: object): Promise<any> {
  const response = await postJson(api.url + path, body, { accept: 'application/json, text/event-stream' })
  expect([path, response.status]).toEqual([path, 200])
  return response.json()
}
/** Signatures anywhere in a response: 65 bytes in hex, or r, s and v. */
function signaturesIn(value: unknown): string[] {
  if (typeof value === 'string')
    return value.startsWith('{') ? signaturesIn(JSON.parse(value)) : (/^0x[0-9a-f]{130}$/.exec(value) ?? [])
  if (typeof value !== 'object' || value === null) return []
  const { r, s, v } = value as { r?: string; s?: string; v?: number }
  if (r && s && v) return [`${r}${s.slice(2)}${v.toString(16)}`]
  return Object.values(value).flatMap(signaturesIn)
}

test('every signature that a route returns is an entry of the log', async () => {
  const returned = new Set<string>()
  const visited = new Set<string>()
  /**
   * Sends a request to a route. Its signatures must be entries of this kind; no kind if the route does not
   * sign.
   */
  const visit = async (path: string, body: object, kind?: EntryKind) => {
    visited.add(path)
    const response = await post(path, body)
    const found = signaturesIn(response)
    expect([path, found.length > 0]).toEqual([path, kind !== undefined])
    for (const signature of found) returned.add(`${kind} ${signature}`)
    return response
  }
  const compute = (route: string, body: object, kind?: EntryKind) =>
    visit(`/compute/v0/${route}`, { chainId, ...body }, kind)
  const now = Math.floor(Date.now() / 1000)
  const terms = { timestamp: now, deadline: now + 600, expirationTime: 0, epoch: 1 }
  for (const submission of ['direct', 'proxy']) {
    for (const [operation, question] of Object.entries(QUESTIONS)) {
      const more = { submission, include: ['transaction'] }
      const answer = await compute(operation, { ...question, ...more }, 'answer')
      await compute('resign', answer, 'resigned')
      await compute('verify', answer)
    }
    const salt = `0x${'5a'.repeat(32)}`
    await compute('area', { geometry: { geometry: POLYGON, salt }, submission }, 'answer')
    const operations = Object.entries(QUESTIONS).map(([operation, each]) => ({ operation, ...each }))
    const batch = await compute('batch', { operations, submission }, 'batch')
    await compute('resign', batch, 'resigned')
    await compute('zones', { geometry: POINT, zones: { uids: [zone] }, submission }, 'batch')
  }
  for (const [operation, question] of Object.entries(QUESTIONS))
    await visit('/quorum/v0/sign', { chainId, operation, ...question, ...terms }, 'quorum')
  await compute('reference', { geometry: POLYGON })
  // The tool keeps the signed answer in its session. The line occurs in no other request.
  const line = { type: 'LineString', coordinates: ring.slice(1, 4) }
  const tool = { name: 'length', arguments: { geometry: line, chain: LOCAL_CHAIN.slug } }
  await visit('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: tool })

  expect(Object.keys(QUESTIONS).toSorted()).toEqual(Object.keys(OPERATIONS).toSorted())
  const { paths } = (await (await fetch(`${api.url}/openapi.json`)).json()) as { paths: object }
  // GraphQL, which this API does not have, only reads records.
  const posts = Object.entries(paths).flatMap(([path, methods]) =>
    'post' in methods && path !== '/graphql' ? path : [],
  )
  expect([...visited].toSorted()).toEqual(posts.toSorted())

  const stored = await rows<{ entries: Buffer; count: number }>(
    world.databaseUrl,
    'SELECT entries, length(leaves) / 32 AS count FROM log_group',
  )
  const entries = stored.flatMap(({ entries, count }) => decodeBundle(entries, count)).map(decodeEntry)
  const logged = new Set(entries.map(({ signature, kind }) => `${kind} ${signature}`))
  const kept = [...logged].filter((each) => !returned.has(each))
  expect(kept).toEqual([expect.stringMatching(/^answer /)])
  expect([...logged].toSorted()).toEqual([...returned, ...kept].toSorted())
  for (const { kind, layout } of entries) expect(kind === 'quorum').toBe(layout === 'quorum')
})

/** URL of the service without a quorum, which also names no chain. */
const urlWithoutChains = () =>
  serve((request, response) => {
    void fetch(`${world.url}${request.url}`).then(async (given) => {
      const content = Buffer.from(await given.arrayBuffer())
      const body = request.url === '/' ? { ...JSON.parse(content.toString()), chains: [] } : undefined
      response.writeHead(given.status, { 'content-type': given.headers.get('content-type') ?? '' })
      response.end(body ? JSON.stringify(body) : content)
    })
  })

test(
  'geo log monitor finds an answer that the quorum attested and the log of its operator does not have',
  { tags: ['slow'] },
  async () => {
    const { chain } = world
    const contract = new Contract(quorum, QUORUM_ABI, await chain.provider.getSigner(9))
    const first = (await chain.provider.getBlockNumber()) + 1
    const now = (await chain.provider.getBlock('latest'))!.timestamp
    // Ahead of the clock, so that it is not before the first entry of the log on a slow machine.
    const timestamp = Math.floor(Date.now() / 1000) + 30
    const terms = { timestamp, deadline: Math.max(now, timestamp) + 300, expirationTime: 0, epoch: 1 }
    const signed = await post('/quorum/v0/sign', { chainId, operation: 'area', geometry: POLYGON, ...terms })
    const land = async (answer: object, signature: string) =>
      mined(chain, (await contract.getFunction('land').send(answer, 1, signature)).hash)
    const folder = temporaryFolder()
    const monitor = async (url = api.url, state = 'state.json', ...more: string[]) => {
      let stdout = ''
      const sink = (write: (text: string) => void) =>
        new Writable({ write: (chunk, _, done) => (write(String(chunk)), done()) })
      const code = await run(
        [
          ...['log', 'monitor', '--once', '--json', '-q', '--url', url, '--rpc', chain.url],
          ...['--chain', LOCAL_CHAIN.slug, '--state', state, '--from-block', String(first)],
          ...more,
        ],
        {
          ...{ stdin: Readable.from([]), stdout: sink((text) => (stdout += text)), stderr: sink(() => {}) },
          ...{ env: {}, cwd: folder, signal: new AbortController().signal },
        },
      )
      return [code, [...stdout.matchAll(/"kind":"(\w+)"/g)].map(([, kind]) => kind)]
    }
    try {
      await land(signed.answer, signed.signature)
      await expect.poll(monitor).toEqual([0, []])
      // The operator signs another answer, without an entry.
      const secret = { ...signed.answer, recipient: contract.target as string }
      const digest = quorumDigest(quorumDomain(chainId, quorum), secret)
      await land(secret, new Wallet(LOCAL_SIGNER_KEY).signingKey.sign(digest).serialized)
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 600_000 })
      // A service that no longer names the quorum, nor the chain: an earlier run remembers both. A first run
      // is given the quorum.
      expect(await monitor(await urlWithoutChains())).toEqual([1, ['unlogged']])
      expect(await monitor(world.url, 'first.json')).toEqual([0, []])
      const contracts = ['--quorum-contracts', `${chainId}:${quorum}`]
      expect(await monitor(world.url, 'given.json', ...contracts)).toEqual([1, ['unlogged']])
    } finally {
      vi.useRealTimers()
      removeFolder(folder)
    }
  },
)
