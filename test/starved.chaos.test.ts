import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { attest } from '../dev/chain'
import { HASTY, TIMEOUT_MS, type KeptProcess } from './behind'
import {
  HISTORY_AND_HEAD,
  asProcess,
  inFaultyWorld,
  indexer,
  place,
  records,
  until,
  whileDown,
  world,
} from './faulty'
import type { Fault } from './rpc-proxy'
import { LOCAL_CHAIN, mine } from './world'

/**
 * Starves the process of an indexer while it changes from history to the head: it stands still during its
 * calls, and the chain grows beyond its finality until it gets the response. Some responses arrive after the
 * time-out.
 */
inFaultyWorld()
const STARVED_CALLS = 40
const LATE_EVERY = 15

test.each(['before', 'after'] as const)(
  'an indexer that is suspended during each call continues, with responses %s new blocks',
  async (when) => {
    const { chain, proxy, caughtUp } = world
    await asProcess()
    let calls = 0
    const starving: Fault = ({ method, params }) => {
      if (++calls > STARVED_CALLS) return undefined
      const blocks = calls % 2 ? 1 : LOCAL_CHAIN.finality + 2
      const isLate = calls % LATE_EVERY === 0
      return {
        ask: async (ask) => {
          const own = indexer as KeptProcess
          own.signal('SIGSTOP')
          try {
            const early = when === 'before' ? await ask(method, params) : undefined
            await mine(chain, blocks)
            if (isLate) await pause(TIMEOUT_MS + 100)
            return early ?? (await ask(method, params))
          } finally {
            own.signal('SIGCONT')
          }
        },
      }
    }
    const uids = await whileDown(HASTY, starving)
    await until(() => calls > STARVED_CALLS)
    proxy.misbehave()
    await caughtUp()
    uids.push(await attest(chain, place()))
    await caughtUp()
    expect(await records(uids)).toEqual([...HISTORY_AND_HEAD, 'valid'])
    expect(indexer.exits, indexer.log()).toEqual([])
  },
)
