// SPDX-License-Identifier: MIT
import { afterEach, expect, test, vi } from 'vitest'
import type { Entry } from '../../src/tlog'
import { UnavailableError } from '../http/problems'
import { LogWriter, type WriterParts } from './writer'

afterEach(() => void vi.useRealTimers())

const ENTRY: Omit<Entry, 'time'> = {
  ...{ kind: 'answer', chainId: 84_532, attester: `0x${'11'.repeat(20)}`, schema: `0x${'22'.repeat(32)}` },
  ...{ layout: 'v1', separator: `0x${'33'.repeat(32)}`, recipient: `0x${'00'.repeat(20)}`, data: '0x55' },
  ...{ expirationTime: 0, revocable: true, refUID: `0x${'00'.repeat(32)}`, nonce: 1, deadline: 2 },
  signature: `0x${'44'.repeat(65)}`,
}

test(
  'the writer rejects the entries of all groups four seconds after each was queued',
  { timeout: 9_000 },
  async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const sizes: number[] = []
    const store = {
      append: (entries: unknown[]) => {
        // Time passes during the first two statements only.
        if (sizes.push(entries.length) <= 2) vi.advanceTimersByTime(2_001)
        return Promise.resolve(undefined)
      },
      state: () => Promise.resolve(null),
    }
    const parts = { store, clock: () => 0, refusal: () => undefined, reason: () => 'it starts.' }
    const writer = new LogWriter(parts as unknown as WriterParts)
    const add = (count: number) =>
      Promise.allSettled(Array.from({ length: count }, () => writer.append(ENTRY)))
    const reasons = (await add(2_001)).map((result) => (result as PromiseRejectedResult).reason.message)
    expect([...new Set(reasons)]).toEqual(['The transparency log accepts no entries: it starts.'])
    expect(Math.max(...sizes)).toBe(1_000)
    expect(sizes.length).toBeLessThan(7)
  },
)

test('the writer commits no entry whose answer became invalid while the log accepted none', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const committed: number[] = []
  let isOpen = false
  const store = {
    append: (entries: unknown[]) => {
      vi.advanceTimersByTime(1_001)
      if (isOpen) committed.push(entries.length)
      return Promise.resolve(isOpen ? 'log.example' : undefined)
    },
    state: () => {
      isOpen = true
      return Promise.resolve(null)
    },
  }
  const parts = { store, clock: () => 0, refusal: () => undefined, reason: () => 'it starts.' }
  const writer = new LogWriter(parts as unknown as WriterParts)
  const results = await Promise.allSettled([
    writer.append(ENTRY),
    writer.append({ ...ENTRY, nonce: 2 }, () => Promise.reject(new Error('revoked'))),
  ])
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  expect(committed).toEqual([1])
})

test('the writer commits no entry whose answer is no longer valid when it is appended', async () => {
  const append = vi.fn(() => Promise.resolve('log.example'))
  const parts = { store: { append }, clock: () => 0, refusal: () => undefined, reason: () => '' }
  const writer = new LogWriter(parts as unknown as WriterParts)
  const revoked = new Error('revoked')
  await expect(writer.append(ENTRY, () => Promise.reject(revoked))).rejects.toBe(revoked)
  expect(append).not.toHaveBeenCalled()
})

test.each([
  ['committed', undefined],
  ['rejected', new Error('the database is down')],
])(
  'an entry with a slow check holds up others only briefly, and is committed if those are %s',
  async (_, fault) => {
    const sizes: number[] = []
    let end = () => {}
    const check = new Promise<void>((resolve) => (end = resolve))
    const store = {
      append: async (entries: unknown[]) => {
        end()
        if (sizes.push(entries.length) === 1 && fault) throw fault
        return 'log.example'
      },
    }
    const parts = { store, clock: () => 0, refusal: () => undefined, reason: () => '' }
    const writer = new LogWriter(parts as unknown as WriterParts)
    const [slow, other] = await passing(
      Promise.allSettled([writer.append({ ...ENTRY, nonce: 2 }, () => check), writer.append(ENTRY)]),
    )
    expect([slow.status, other.status]).toEqual(['fulfilled', fault ? 'rejected' : 'fulfilled'])
    expect(sizes).toEqual([1, 1])
  },
)

test('an entry is rejected if its check does not end', async () => {
  const parts = { store: {}, clock: () => 0, refusal: () => undefined, reason: () => '' }
  const writer = new LogWriter(parts as unknown as WriterParts)
  const [entry] = await passing(Promise.allSettled([writer.append(ENTRY, () => new Promise<void>(() => {}))]))
  expect(entry).toMatchObject({ reason: expect.any(UnavailableError) })
})

/** Lets time pass until this outcome is known. */
async function passing<T>(outcome: Promise<T>): Promise<T> {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] })
  let isKnown = false
  void outcome.then(() => (isKnown = true))
  while (!isKnown) await vi.advanceTimersByTimeAsync(50)
  return outcome
}

test.each([
  ['too few witnesses have confirmed its size.', true, 5],
  [
    'the tree has changed. Restore a newer state, or start a new log (docs/operations/log.md).',
    true,
    undefined,
  ],
  // A process without the key has not even read the state.
  [
    'LOG_KEY: missing. Set it to the key of the log, or start a new log (docs/operations/log.md).',
    false,
    undefined,
  ],
])('the writer recommends a retry unless the operator must act: %s', async (why, isStored, retryAfter) => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const append = () => {
    vi.advanceTimersByTime(4_001)
    return Promise.resolve(undefined)
  }
  const store = { append, state: async () => ({ stopped: isStored ? why : null }) }
  const parts = { store, clock: () => 0, refusal: () => undefined, reason: () => why }
  const writer = new LogWriter(parts as unknown as WriterParts)
  const error = await writer.append(ENTRY).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(UnavailableError)
  expect(error).toMatchObject({ retryAfter })
})
