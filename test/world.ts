import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { toBeHex, zeroPadValue, type TransactionReceipt } from 'ethers'
import { LOCAL_CHAIN, LOCAL_SIGNER_KEY, mined, startLocalChain, type LocalChain } from '../dev/chain'
import { built, forgetBuilt, startHere, stopAll } from '../dev/in-process'
import { freePort, startService, type Service } from '../dev/services'
import { blankSettings } from '../dev/settings'
import { looks, waitForHead, waitForLook } from '../dev/indexed'
import { addressOf, setLocalChain, setLocalDefaults } from '../dev/local-settings'
import { attestSamples, startWorld, type World } from '../dev/world'
import { ACTIVE_SLUGS, CHAINS, chainNamed, settingSuffix, type Chain } from '../src/chains'
import { readSettings } from '../src/config'
import { preparedState } from './chains'
import { createMigratedDatabase, createTemplate, rows, temporaryFolder } from './database'
import { atEnd } from './ends'
import { openApiChecker, type OpenApiChecker } from './openapi'

export interface TestWorld extends Omit<World, 'chain' | 'broken'> {
  readonly chain: LocalChain
  readonly url: string
  readonly databaseUrl: string
  /** rejects if an indexer of this process cannot continue */
  readonly indexing?: Promise<unknown>
  /** resolves when everything mined so far, on every local chain, is in the database */
  caughtUp: () => Promise<void>
  /**
   * Sends a GET and parses the response. Like post, throws if the response does not match the service's own
   * OpenAPI document.
   */
  get: (path: string) => Promise<{ status: number; body: any }>
  /** Sends JSON by POST and parses the response. */
  post: (path: string, body: unknown) => Promise<{ status: number; body: any }>
}

interface TestWorldOptions {
  /** with the sample places of `npm start`, on the active chains, of which CHAINS may select some */
  samples?: boolean
  /** with chains whose clocks show the present, as with sample places; by default that of 40 days ago */
  present?: boolean
  /** with indexers and the API in their own processes, like `npm start`: they can be killed */
  processes?: boolean
  /** Unix milliseconds for the API's timestamps, unless `processes` is set; the system clock by default */
  clock?: () => number
}

/**
 * The whole service on free ports, without limits, and by default without sample places. It has one local
 * chain, or the chains of CHAINS. The chains start with deployed contracts, and the database is a copy of the
 * run's template. Indexers and API run in this process, from the built modules, unless `processes` is set. It
 * is stopped after the file's tests.
 */
export async function startTestWorld(
  environment: NodeJS.ProcessEnv = {},
  { samples = false, present = samples, processes = false, clock }: TestWorldOptions = {},
): Promise<TestWorld> {
  const sampled = samples ? await sampledWorld() : undefined
  const database = await createMigratedDatabase(sampled?.template)
  const chains = environment.CHAINS ?? (samples ? ACTIVE_SLUGS.join(',') : LOCAL_CHAIN.slug)
  const folder = temporaryFolder()
  const settings = { ...(await environmentOf(database.url)), ...environment, CHAINS: chains }
  const start = processes ? startProcesses : startInProcess
  // Some tests use other database URLs, with several servers.
  const read = environment.DATABASE_URL === undefined ? rows : undefined
  const world = await start({
    environment: settings,
    folder,
    loadedFrom: (chain) => sampled?.stateOf(chain.slug) ?? preparedState(chain),
    ...(present && { startsAt: Math.floor(Date.now() / 1000) }),
    ...(clock && { clock }),
  })
  return {
    ...world,
    ...clientOf(`http://127.0.0.1:${world.settings.port}`),
    chain: world.chain!,
    databaseUrl: database.url,
    caughtUp: async () => {
      for (const each of world.chains.values())
        await Promise.race([
          waitForHead(world.settings, each, undefined, read),
          world.indexing ?? new Promise(() => {}),
        ])
    },
    stop: atEnd(async () => {
      try {
        await world.stop()
      } finally {
        await database.drop()
      }
      if ((globalThis as { testFileFailed?: boolean }).testFileFailed)
        console.error(`A test of this file failed. The logs of its world: ${folder}`)
    }),
  }
}

/** Starts another API of a world in a process, which is stopped after the file's tests. */
export async function startApiProcess(
  { databaseUrl, chain }: TestWorld,
  settings: NodeJS.ProcessEnv,
): Promise<Service> {
  const environment: NodeJS.ProcessEnv = {
    ...(await environmentOf(databaseUrl)),
    RPC_URL_BASE_SEPOLIA: chain.url,
    SIGNER_PRIVATE_KEY: LOCAL_SIGNER_KEY,
    ...settings,
  }
  const api = startService(`api-${environment.PORT}`, ['dist/api/main.js'], environment, temporaryFolder())
  atEnd(() => api.stop())
  await api.ready
  return api
}

/** Settings of a service on free ports, without limits. The developer's own settings must not apply. */
async function environmentOf(databaseUrl: string): Promise<NodeJS.ProcessEnv> {
  const [port, chainPort] = await Promise.all([freePort(), freePort(CHAINS.length)])
  return {
    ...process.env,
    ...blankSettings(),
    DATABASE_URL: databaseUrl,
    PORT: String(port),
    LOCAL_CHAIN_PORT: String(chainPort),
    RATE_LIMIT_PER_HOUR: '0',
    RECORDS_RATE_LIMIT_PER_HOUR: '0',
    // copies.system.test.ts starts several API instances.
    API_PROCESSES: '1',
  }
}

interface WorldParts {
  environment: NodeJS.ProcessEnv
  folder: string
  loadedFrom: (chain: Chain) => string | undefined
  startsAt?: number
  clock?: () => number
}
/** `indexing` rejects if an indexer of this process cannot continue. */
type Started = Omit<World, 'broken'> & { indexing?: Promise<unknown> }

function startProcesses(parts: WorldParts): Promise<Started> {
  return startWorld({ ...parts, samples: false, keep: false, report: () => {}, progress: () => {} })
}

async function startInProcess(parts: WorldParts): Promise<Started> {
  const { environment, folder, loadedFrom, startsAt, clock } = parts
  const stops: (() => Promise<unknown>)[] = []
  const stop = () => stopAll(stops)
  try {
    return await bringUp()
  } catch (error) {
    await stop()
    throw error
  }

  async function bringUp(): Promise<Started> {
    const rows = environment.CHAINS!.split(',').map((slug) => chainNamed(slug)!)
    const named = { ...environment }
    for (const row of rows) named[`RPC_URL_${settingSuffix(row)}`] = 'http://127.0.0.1'
    const { signer, attesterAddress, localChainPort } = readSettings(named, ['chains'])
    const owner = attesterAddress ?? (signer ? addressOf(signer) : undefined)
    const started = await Promise.all(
      rows.map(async (chain, i) => {
        const state = loadedFrom(chain)
        const local = await startLocalChain({
          ...{ chain, port: localChainPort + i },
          ...(owner !== undefined && { signer: owner }),
          ...(state !== undefined && { loadedFrom: state }),
          ...(startsAt !== undefined && { startsAt }),
        })
        stops.push(() => local.stop())
        return local
      }),
    )
    for (const each of started) setLocalChain(environment, each)
    setLocalDefaults(environment, { signer })
    const settings = readSettings(environment, ['database', 'chains', 'signer'])
    const before = await looks(settings.databaseUrl)
    const { indexing, stop: stopService } = await startHere(settings, path.join(folder, 'service.log'), clock)
    stops.push(stopService)
    await Promise.race([
      indexing,
      Promise.all(
        started.map(async (each) => {
          await waitForHead(settings, each)
          await waitForLook(settings, each, before)
        }),
      ),
    ])
    const chains = new Map(started.map((each) => [each.chain.slug, each]))
    const chain = chains.get(LOCAL_CHAIN.slug) ?? started[0]
    return { settings, chains, chain, services: new Map(), stop, indexing }
  }
}

/** Requests to an API, whose responses are compared with its own OpenAPI document. */
function clientOf(url: string): Pick<TestWorld, 'url' | 'get' | 'post'> {
  let checker: OpenApiChecker | undefined
  const ask = async (path: string, method: string, request?: unknown) => {
    const response = await fetch(url + path, {
      method,
      ...(request !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(request),
      }),
    })
    const body: unknown = await response.json()
    // Many tests of pages send no request.
    checker ??= openApiChecker(await (await fetch(`${url}/openapi.json`)).json())
    checker.check({
      method,
      path,
      request,
      status: response.status,
      type: response.headers.get('content-type')!,
      response: body,
    })
    return { status: response.status, body }
  }
  return { url, get: (path) => ask(path, 'GET'), post: (path, body) => ask(path, 'POST', body) }
}

/** A world with the sample places, in the state of its database and chains when it was stopped. */
interface SampledWorld {
  /** template for createMigratedDatabase */
  template: string
  stateOf: (slug: string) => string
}

/** Creates the world with the sample places once per run, for all workers. */
async function sampledWorld(): Promise<SampledWorld> {
  const folder = path.join(process.env.TEST_FOLDER!, 'sampled')
  const stateOf = (slug: string) => path.join(folder, `${slug}.json`)
  const template = await oncePerRun('sampled', async () => {
    mkdirSync(folder)
    await Promise.all(
      ACTIVE_SLUGS.map(async (slug) => {
        const chain = chainNamed(slug)!
        const local = await startLocalChain({ chain, port: await freePort(), stateFile: stateOf(slug) })
        await attestSamples(local, slug === LOCAL_CHAIN.slug)
        await local.stop()
      }),
    )
    const { template } = await createTemplate(async (url) => {
      const world = await startInProcess({
        environment: { ...(await environmentOf(url)), CHAINS: ACTIVE_SLUGS.join(',') },
        folder,
        loadedFrom: ({ slug }) => stateOf(slug),
        startsAt: Math.floor(Date.now() / 1000),
      })
      await world.stop()
    })
    return template
  })
  return { template, stateOf }
}

/** Returns the result of `make`, which only the first worker calls while the other workers wait. */
async function oncePerRun(name: string, make: () => Promise<string>): Promise<string> {
  const lock = path.join(process.env.TEST_FOLDER!, `${name}.lock`)
  const done = path.join(process.env.TEST_FOLDER!, `${name}.done`)
  try {
    closeSync(openSync(lock, 'wx'))
  } catch {
    while (!existsSync(done)) await pause(50)
    const text = readFileSync(done, 'utf8')
    if (text.startsWith('!')) throw new Error(`${name} could not be made: ${text.slice(1)}`)
    return text
  }
  const result = await make().catch((error: Error) => {
    write(`!${error.message}`)
    throw error
  })
  write(result)
  return result
  function write(text: string): void {
    writeFileSync(`${done}.part`, text)
    renameSync(`${done}.part`, done)
  }
}

/** Resolves when the indexers read the answers of all attesters. */
export async function answersAreRead({ url, databaseUrl, chains }: TestWorld): Promise<void> {
  const { chains: described } = (await (await fetch(url)).json()) as { chains: { proxy?: object }[] }
  const wanted = chains.size + described.filter(({ proxy }) => proxy).length
  const taken = () => rows(databaseUrl, 'SELECT FROM answer_attester WHERE read_from IS NOT NULL')
  while ((await taken()).length < wanted) await pause(50)
}

/** Mines empty blocks. */
export async function mine(chain: LocalChain, blocks: number): Promise<void> {
  await chain.provider.send('anvil_mine', [`0x${blocks.toString(16)}`])
}

/** Replaces the last blocks by empty ones, without their transactions. */
export async function reorg(chain: LocalChain, blocks: number): Promise<void> {
  // With a new coinbase, because anvil loses blocks that are mined again with the same hash.
  await chain.provider.send('anvil_setCoinbase', [zeroPadValue(toBeHex(++reorgs), 20)])
  await chain.provider.send('anvil_reorg', [blocks, []])
}
let reorgs = 0

/** Mines one block with all these transactions. Returns their receipts. */
export async function inOneBlock(
  chain: LocalChain,
  sends: readonly (() => Promise<{ hash: string }>)[],
): Promise<TransactionReceipt[]> {
  const hashes: string[] = []
  await chain.provider.send('evm_setAutomine', [false])
  try {
    // Sends them one by one, because anvil may assign the same nonce to two simultaneous transactions, and
    // then refuses one.
    for (const send of sends) hashes.push((await send()).hash)
    await mine(chain, 1)
  } finally {
    // Otherwise, no further block would be mined, and later tests would wait without end.
    await chain.provider.send('evm_setAutomine', [true])
  }
  return Promise.all(hashes.map((hash) => mined(chain, hash)))
}

export { built, forgetBuilt, LOCAL_CHAIN }
