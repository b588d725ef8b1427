import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { attest, locationRequest, revoke } from '../dev/chain'
import { BodyReader } from '../src/indexer/bodies'
import { RangeAuditor } from '../src/indexer/range-auditor'
import { Registry } from '../src/indexer/registry'
import { Database, finalBlock } from '../src/indexer/store'
import { ALL_SCHEMAS } from '../src/location'
import {
  startFaultyWorld,
  startIndexerBehind,
  startIndexerProcess,
  type FaultyWorld,
  type KeptIndexer,
  type KeptProcess,
} from './behind'
import { expectInvariants } from './invariants'
import { SILENT, testRpc, type Fault } from './rpc-proxy'
import { LOCAL_CHAIN, mine } from './world'

/** World of a test file that calls `inFaultyWorld`: an indexer behind a proxy with faults on demand. */
export let world: FaultyWorld
export let indexer: KeptIndexer
let start: typeof startIndexerBehind
let usual: NodeJS.ProcessEnv
/**
 * Starts the world for the tests of this file. The invariants of docs/spec/trust.md 6 hold after each test.
 * @param settings of the indexer, unless `restart` gets others
 * @param how starts the indexer: in this process, or as a process
 */
export function inFaultyWorld(settings: NodeJS.ProcessEnv = {}, how = startIndexerBehind): void {
  beforeAll(async () => {
    // Files of a worker share this module.
    ;[start, usual, longitude] = [how, settings, -180]
    world = await startFaultyWorld()
    restart()
    await world.caughtUp()
  })
  afterEach(() => expectInvariants(world))
  afterAll(async () => {
    await indexer?.stop()
    await world?.stop()
  })
}
/** Restarts the stopped indexer behind these faults. */
export function restart(faults: readonly Fault[] = [], settings = usual): void {
  indexer = start(world, faults, settings)
}
/** Runs the indexer as a process, in this test and in later ones, for `kill`. */
export async function asProcess(): Promise<void> {
  if (start === startIndexerProcess) return
  start = startIndexerProcess
  await indexer.stop()
  restart()
  await world.caughtUp()
}
/** Kills the process of the indexer, which is restarted. */
export const kill = () => (indexer as KeptProcess).kill()

let longitude = -180
export const place = () => locationRequest({ type: 'Point', coordinates: [(longitude += 0.5), 10] })
export const until = async (is: () => boolean | Promise<boolean>) => {
  while (!(await is())) await pause(20)
}
export const query = <Row extends object>(sql: string, values?: unknown[]) => world.query<Row>(sql, values)
export const records = async (uids: readonly string[]) => {
  const found = new Map(
    (
      await query<{ uid: string; revoked: boolean }>(
        'SELECT uid, revoked FROM location_record WHERE uid = ANY($1)',
        [uids],
      )
    ).map(({ uid, revoked }) => [uid, revoked ? 'revoked' : 'valid']),
  )
  return uids.map((uid) => found.get(uid) ?? 'missing')
}
/** Creates history, and events in hot blocks, while the indexer is down. Then restarts it. */
export async function whileDown(settings: NodeJS.ProcessEnv = usual, ...behind: Fault[]): Promise<string[]> {
  const { chain } = world
  await indexer.stop()
  const uids = [await attest(chain, place()), await attest(chain, place()), await attest(chain, place())]
  await revoke(chain, uids[1]!)
  await mine(chain, LOCAL_CHAIN.finality + 3)
  uids.push(await attest(chain, place()), await attest(chain, place()))
  await revoke(chain, uids[4]!)
  restart(behind, settings)
  return uids
}
export const HISTORY_AND_HEAD = ['valid', 'revoked', 'valid', 'valid', 'revoked']
/** Mines blocks beyond finality, so that the audit reads all events. */
export async function finalize(): Promise<void> {
  await mine(world.chain, LOCAL_CHAIN.finality + 1)
  await world.caughtUp()
}
export const repairedSoFar = async () =>
  Number(
    (await query<{ repaired_events: string }>('SELECT repaired_events FROM chain_status'))[0]!
      .repaired_events,
  )
/**
 * Audits all final blocks in this process, next to the indexer: by proofs like `npm run audit`, or by
 * rereading. Calls `before` when the schemas and attesters are loaded.
 */
export async function audited(how: 'prove' | 'reread' = 'prove', before = async () => {}) {
  const database = new Database(world.databaseUrl, () => {})
  try {
    const rpc = testRpc([world.proxy.url])
    const parts = { chain: LOCAL_CHAIN, rpc, database, log: SILENT }
    const registry = new Registry({ ...parts, policy: ALL_SCHEMAS, lease: undefined })
    await registry.load()
    const auditor = new RangeAuditor({ ...parts, registry, bodies: new BodyReader(rpc, LOCAL_CHAIN.eas) })
    await before()
    const { height: to } = (await finalBlock(database.query, LOCAL_CHAIN))!
    return await auditor[how]({ from: LOCAL_CHAIN.firstBlock, to })
  } finally {
    await database.close()
  }
}
