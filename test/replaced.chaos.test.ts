import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { attest, locationRequest, startLocalChain, type LocalChain } from '../dev/chain'
import { freePort } from '../dev/services'
import { startFaultyWorld, startIndexerProcess, type FaultyWorld, type KeptProcess } from './behind'
import { rows } from './database'
import type { Fault } from './rpc-proxy'
import { mine } from './world'

/**
 * Replaces a chain by one with the same id and another genesis, at several depths of history and at the head.
 * The indexer exits with status 2 and a remedy, and the database has blocks of the first chain only.
 */
const PLACES = 8
const BETWEEN = 30
/** Number of blocks that the provider allows in one eth_getLogs. */
const RANGE = 40
let world: FaultyWorld
/** The replacements: each is longer than the first chain, or ends before blocks that were indexed. */
const others: Record<'longer' | 'shorter', LocalChain | undefined> = { longer: undefined, shorter: undefined }
let indexer: KeptProcess | undefined
const fill = async (chain: LocalChain, places: number, between: number) => {
  for (let i = 0; i < places; i++) {
    await attest(chain, locationRequest({ type: 'Point', coordinates: [i, i] }))
    await mine(chain, between)
  }
}
beforeAll(async () => {
  for (const name of ['longer', 'shorter'] as const)
    others[name] = await startLocalChain({ port: await freePort(), startsAt: 1_600_000_000 })
  await fill(others.longer!, 2 * PLACES, BETWEEN)
  await fill(others.shorter!, 2, 10)
})
beforeEach(async () => {
  world = await startFaultyWorld()
  await fill(world.chain, PLACES, BETWEEN)
})
afterEach(async () => {
  await indexer?.stop()
  await world?.stop()
})
afterAll(async () => {
  for (const each of Object.values(others)) await each?.stop()
})

const narrow: Fault = ({ method, params }) =>
  method === 'eth_getLogs' && Number(params[0].toBlock) - Number(params[0].fromBlock) >= RANGE
    ? { error: { code: -32005, message: `eth_getLogs is limited to a ${RANGE} range` } }
    : undefined
/** Blocks of the database that the first chain does not have. */
async function strangers(): Promise<unknown[]> {
  const blocks = await rows<{ height: number; hash: string }>(
    world.databaseUrl,
    `SELECT DISTINCT block_number AS height, block_hash AS hash FROM attestation_event
     UNION SELECT height, hash FROM hot_block UNION SELECT indexed_height, indexed_hash FROM chain_status`,
  )
  expect(blocks.length).toBeGreaterThan(0)
  const found = await Promise.all(
    blocks.map(async ({ height, hash }) => (await world.chain.provider.getBlock(height))?.hash === hash),
  )
  return blocks.filter((_, i) => !found[i])
}

test.each([
  ['longer', 20],
  ['longer', 'head'],
  ['shorter', 20],
  ['shorter', 'head'],
] as const)(
  'the indexer exits with status 2 if it finds a %s chain, at request %s for logs of history',
  async (length, when) => {
    const other = others[length]!
    const replaced: Fault = ({ method, params }) => ({ ask: () => other.provider.send(method, params) })
    let requests = 0
    indexer = startIndexerProcess(world, [
      (call) => {
        if (call.method === 'eth_getLogs' && !narrow(call) && ++requests === when) {
          world.proxy.misbehave(narrow, replaced)
          return replaced(call)
        }
        return narrow(call)
      },
    ])
    if (when === 'head') {
      await world.caughtUp()
      world.proxy.misbehave(narrow, replaced)
    }
    expect(await indexer.refused).toMatch(/"level":"fatal".*empty database/)
    expect(indexer.exits).toEqual([2])
    expect(await strangers()).toEqual([])
    // The next start of the indexer ends in the same way.
    await indexer.stop()
    indexer = startIndexerProcess(world, [replaced])
    expect(await indexer.refused).toMatch(/"level":"fatal".*empty database/)
    expect(await strangers()).toEqual([])
  },
)
