// SPDX-License-Identifier: MIT
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { hunt } from '../../../../test/seed'
import { earliestOf } from './attested'
import { comparisonOf, prune, readState, REMEMBERED_SECONDS } from './state'

const DAY = 86_400
const NOW = 1_800_000_000

/** An attestation, with the true time of its entry; undefined if it was signed in secret. */
interface True {
  key: string
  time: number
  signed: number
  logged: number | undefined
  hasDeadline: boolean
}

describe('readState', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'geo-state-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'state.json')
  const errorOf = (content: unknown) => {
    writeFileSync(file, JSON.stringify(content))
    try {
      return readState(file)
    } catch (error) {
      return error
    }
  }
  test.each([1, 2, 4])('names the version of a state of version %i', (version) => {
    const message = expect.stringMatching(new RegExp(`version ${version} [^]*version 3\\b`))
    expect(errorOf({ version, raised: [] })).toMatchObject({ name: 'UsageError', message })
  })
  test.each([[null], [{}], [{ version: 3 }], [{ version: '1.0.0' }]])(
    'names no version for %j, which is not a state',
    (content) => {
      const message = expect.not.stringMatching(/version/)
      expect(errorOf(content)).toMatchObject({ name: 'UsageError', message })
    },
  )
})

describe('comparisonOf', () => {
  test('waits a minute for the entry of an answer that landed in a block of an hour ago', () => {
    const time = NOW - 3_600
    const found = { key: 'a', time, signed: NOW - 9, earliest: time - 9, seen: NOW }
    const results = [60, 61].map((late) => comparisonOf(found, { contents: {} }, 0, NOW + late))
    expect(results).toEqual(['waiting', 'unlogged'])
  })

  hunt(
    'raises no alarm for a logged answer, whatever the monitor could not read',
    10,
    ({ cases, random }) => {
      const between = (least: number, most: number) => Math.floor(least + random() * (most - least))
      for (let round = 0; round < cases; round++) {
        const landed = Array.from({ length: 300 }, (_, n): True => {
          const time = NOW + between(0, 90 * DAY)
          const hasDeadline = random() < 0.7
          const signed = time - between(5, hasDeadline ? 7 * DAY : 40 * DAY)
          // An answer that is signed again has its entry later than the time of its payload.
          const again = Math.min(time - 1, signed + between(0, 2 * DAY))
          const logged = random() < 0.2 ? undefined : random() < 0.5 ? signed : again
          return { key: String(n), time, signed, logged, hasDeadline }
        }).toSorted((a, b) => a.time - b.time)
        const state = readState(undefined)
        // A first run with --from-block forgets no content.
        if (random() < 0.7) state.pruned = NOW - REMEMBERED_SECONDS
        /** Difference of the monitor's clock from the true time. */
        const clock = between(-240, 240)
        let [log, chain] = [state.pruned ?? 0, NOW]
        const results = new Map<string, string>()
        const found = new Map<string, number>()
        for (let now = NOW, ends = 0; ends < 2; now += between(900, random() < 0.02 ? 20 * DAY : DAY)) {
          // The last two reads are complete: they show whether earlier ones skipped an attestation.
          const isLast = now > NOW + 91 * DAY
          if (isLast) ends++
          const [readsLog, readsChain] = [isLast || random() < 0.7, isLast || random() < 0.6]
          if (readsLog) {
            // An entry is published a minute after it was committed, at the latest.
            const until = now - between(0, 60)
            for (const { key, logged = -1 } of landed)
              if (logged >= log && logged < until && logged >= (state.pruned ?? 0))
                state.contents[key] = logged
            log = until
          }
          if (readsChain) {
            for (const { key, time, signed, hasDeadline } of landed) {
              if (time < chain || time >= now) continue
              const earliest = earliestOf({ time, signed }, hasDeadline)
              found.set(key, now)
              state.unmatched.push({ chain: 'c', uid: key, time, signed, earliest, seen: now + clock, key })
            }
            chain = now
          }
          if (!readsLog) continue
          state.unmatched = state.unmatched.filter((each) => {
            const result = comparisonOf(each, state, NOW, now + clock)
            if (result !== 'waiting') results.set(each.key, result)
            return result === 'waiting'
          })
          prune(state, now + clock, readsChain)
        }
        const isOlder = ({ time, signed }: True) => signed < NOW && time < NOW + REMEMBERED_SECONDS
        for (const each of landed) {
          const { key, logged, time, signed } = each
          const result = results.get(key)
          const allowed = [logged === undefined ? (isOlder(each) ? 'older' : 'unlogged') : 'logged']
          if (isOlder(each)) allowed.push('older')
          // After a long outage, or without a deadline, the entry may be older than all remembered contents.
          const delay = found.get(key)! - time
          if (delay > 29 * DAY || (!each.hasDeadline && found.get(key)! - signed > 7 * DAY))
            allowed.push('unknown')
          expect([each, allowed]).toEqual([each, expect.arrayContaining([result])])
        }
        expect([...results.values()].filter((result) => result === 'unlogged').length).toBeGreaterThan(10)
      }
    },
  )
})
