import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { attest, locationRequest, revoke } from '../dev/chain'
import {
  audit,
  startFaultyWorld,
  startIndexerBehind,
  startIndexerProcess,
  type FaultyWorld,
  type KeptIndexer,
  type KeptProcess,
} from './behind'
import { rows } from './database'
import { expectInvariants } from './invariants'
import type { Fault } from './rpc-proxy'
import { LOCAL_CHAIN, mine } from './world'

/**
 * World of a test file that imports this: an indexer behind a proxy with faults on demand. The invariants of
 * docs/spec/trust.md 6 hold after each test.
 */
export let world: FaultyWorld
export let indexer: KeptIndexer
let start: typeof startIndexerBehind = startIndexerBehind
/** Restarts the stopped indexer behind these faults. */
export function restart(faults: readonly Fault[] = [], settings: NodeJS.ProcessEnv = {}): void {
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
beforeAll(async () => {
  world = await startFaultyWorld()
  restart()
  await world.caughtUp()
})
afterEach(() => expectInvariants(world))
afterAll(async () => {
  await indexer?.stop()
  await world?.stop()
})

let longitude = -180
export const place = () => locationRequest({ type: 'Point', coordinates: [(longitude += 0.5), 10] })
export const until = async (is: () => boolean | Promise<boolean>) => {
  while (!(await is())) await pause(20)
}
export const query = <Row extends object>(sql: string, values?: unknown[]) =>
  rows<Row>(world.databaseUrl, sql, values)
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
export async function whileDown(settings: NodeJS.ProcessEnv = {}, ...behind: Fault[]): Promise<string[]> {
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
/** Runs the audit. Returns the number of events that it repaired. */
export async function repaired(): Promise<number> {
  const before = await repairedSoFar()
  const { code, output } = await audit(world)
  const count = (await repairedSoFar()) - before
  expect([code, output]).toEqual([
    count ? 1 : 0,
    expect.stringContaining(count ? `; ${count} differed in the log` : 'the log matches'),
  ])
  return count
}
