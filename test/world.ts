import { setTimeout as pause } from 'node:timers/promises'
import type { TransactionReceipt } from 'ethers'
import { LOCAL_CHAIN, mined, type LocalChain } from '../dev/chain'
import { blankSettings, freePort } from '../dev/services'
import { startWorld, waitForHead, type World } from '../dev/world'
import { createMigratedDatabase, removeFolder, rows, temporaryFolder } from './database'
import { openApiChecker } from './openapi'

export interface TestWorld extends Omit<World, 'chain'> {
  readonly chain: LocalChain
  readonly url: string
  readonly databaseUrl: string
  /** Resolves once everything mined so far, on every local chain, is in the database. */
  caughtUp: () => Promise<void>
  /** GET, parsed. Like post, throws when the answer does not match the service's own OpenAPI document. */
  get: (path: string) => Promise<{ status: number; body: any }>
  /** POST of JSON, parsed. */
  post: (path: string, body: unknown) => Promise<{ status: number; body: any }>
}

/**
 * The whole service as `npm start` brings it up, on free ports, in memory, without limits, and without sample
 * places unless asked for; with one local chain, or those of CHAINS.
 */
export async function startTestWorld(
  environment: NodeJS.ProcessEnv = {},
  { samples = false } = {},
): Promise<TestWorld> {
  const database = await createMigratedDatabase()
  const CHAINS = environment.CHAINS ?? LOCAL_CHAIN.slug
  const [port, chainPort] = await Promise.all([freePort(), freePort(CHAINS.split(',').length)])
  const folder = temporaryFolder()
  const world = await startWorld({
    environment: {
      ...process.env,
      // The settings of the developer's own service must not leak in.
      ...blankSettings(),
      DATABASE_URL: database.url,
      CHAINS,
      PORT: String(port),
      LOCAL_CHAIN_PORT: String(chainPort),
      RATE_LIMIT_PER_HOUR: '0',
      RECORDS_RATE_LIMIT_PER_HOUR: '0',
      HEAD_POLL_SECONDS: '0.3',
      // copies.service.test.ts tries several.
      API_PROCESSES: '1',
      ...environment,
    },
    folder,
    samples,
    keep: false,
    report: () => {},
    progress: () => {},
  })
  const chain = world.chain!
  const url = `http://127.0.0.1:${port}`
  const checker = openApiChecker(await (await fetch(`${url}/openapi.json`)).json())
  const ask = async (path: string, method: string, request?: unknown) => {
    const response = await fetch(url + path, {
      method,
      ...(request !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(request),
      }),
    })
    const body: unknown = await response.json()
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
  return {
    ...world,
    chain,
    url,
    databaseUrl: world.settings.databaseUrl,
    caughtUp: async () => {
      for (const each of world.chains.values()) await waitForHead(world.settings, each)
    },
    get: (path) => ask(path, 'GET'),
    post: (path, body) => ask(path, 'POST', body),
    stop: async () => {
      await world.stop()
      await database.drop()
      removeFolder(folder)
    },
  }
}

/** Resolves once the indexers read the answers of all attesters. */
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

/** Mines one block of all these transactions; returns their receipts. */
export async function inOneBlock(
  chain: LocalChain,
  sends: readonly (() => Promise<{ hash: string }>)[],
): Promise<TransactionReceipt[]> {
  const hashes: string[] = []
  await chain.provider.send('evm_setAutomine', [false])
  try {
    // One by one: anvil may give two simultaneous transactions the same nonce, and then refuses one.
    for (const send of sends) hashes.push((await send()).hash)
    await mine(chain, 1)
  } finally {
    // Otherwise nothing is mined any more, and later tests wait forever.
    await chain.provider.send('evm_setAutomine', [true])
  }
  return Promise.all(hashes.map((hash) => mined(chain, hash)))
}

export { LOCAL_CHAIN }
