import { expect, test } from 'vitest'
import { SharedRead } from './shared'

test('a value is read once for all of its time, anew after it, after a failure, and when the clock was set back', async () => {
  let now = 1_000_000
  let reads = 0
  let broken = false
  const shared = new SharedRead(async () => (broken ? Promise.reject(new Error('no')) : ++reads), 250, () => now)
  expect(await Promise.all([shared.get(), shared.get()])).toEqual([1, 1])
  now += 249
  expect(await shared.get()).toBe(1)
  now += 1
  expect(await shared.get()).toBe(2)
  now -= 3_600_000
  expect(await shared.get()).toBe(3)
  broken = true
  now += 300
  await expect(shared.get()).rejects.toThrow('no')
  broken = false
  expect(await shared.get()).toBe(4)
})

test('whoever met an old value has it read again, once for all who met it', async () => {
  let reads = 0
  const shared = new SharedRead(async () => ++reads, 250, () => 0)
  expect(await shared.get()).toBe(1)
  expect(await Promise.all([shared.insteadOf(1), shared.insteadOf(1), shared.insteadOf(1)])).toEqual([2, 2, 2])
  expect(await shared.insteadOf(1)).toBe(2)
})
