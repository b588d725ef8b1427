import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { removeFolder, temporaryFolder } from '../../test/database'
import { OWN_WORK, type Work } from './work'
import { Workers, workerErrors } from './workers'

const folder = temporaryFolder()
const file = path.join(folder, 'worker.js')
writeFileSync(
  file,
  `exports.hold = (shared) => { Atomics.add(new Int32Array(shared), 1, 1); Atomics.wait(new Int32Array(shared), 0, 0) }
   exports.add = ([a, b]) => a + b`,
)
afterAll(() => removeFolder(folder))

const workOf = (client: string, signal = OWN_WORK.signal): Work => ({ ...OWN_WORK, client, signal })

test('the worker pool lets a client use one of two threads, until the client disconnects', async () => {
  const workers = new Workers(file, {
    slots: { all: 2, each: 1, waiting: 8, waitingEach: 2, waitMs: 600_000 },
    taskMs: 600_000,
    ...workerErrors('Too many tasks.', 'Too slow.'),
  })
  const shared = new SharedArrayBuffer(8)
  const begun = new Int32Array(shared)
  const leave = new AbortController()
  const hostile = workOf('hostile', leave.signal)
  const holding = Array.from({ length: 3 }, () => workers.run('hold', shared, hostile))
  await expect(workers.run('hold', shared, hostile)).rejects.toMatchObject({ status: 429 })
  await expect.poll(() => Atomics.load(begun, 1)).toBe(1)
  let spent = 0
  const victim = { ...workOf('victim'), spend: (ms: number) => (spent += ms) }
  expect([await workers.run('add', [1, 2], victim), spent > 0]).toEqual([3, true])
  leave.abort(new Error('gone'))
  expect(await Promise.allSettled(holding)).toEqual(
    Array(3).fill({ status: 'rejected', reason: new Error('gone') }),
  )
  expect(Atomics.load(begun, 1)).toBe(1)
  // Both threads work again after the failure.
  expect(await Promise.all(['a', 'b'].map((client) => workers.run('add', [2, 3], workOf(client))))).toEqual([
    5, 5,
  ])
  await workers.close()
})

test.each([
  ['too long', 'TooExpensiveError', () => performance.now() * 1000],
  ['too long because of other load', 'UnavailableError', () => 0],
])('the worker pool ends a task that takes %s', async (_, name, processorTime) => {
  const limits = {
    slots: { all: 1, each: 1, waiting: 1, waitingEach: 1, waitMs: 600_000 },
    taskMs: 50,
    ...workerErrors('Too many tasks.', 'Too slow.'),
  }
  const workers = new Workers(file, limits, processorTime)
  let spent = 0
  const work = { ...OWN_WORK, spend: (ms: number) => (spent += ms) }
  await expect(workers.run('hold', new SharedArrayBuffer(8), work)).rejects.toMatchObject({ name })
  expect(spent).toBeGreaterThan(0)
  await workers.close()
})
