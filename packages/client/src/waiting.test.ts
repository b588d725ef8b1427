// SPDX-License-Identifier: MIT
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { limitOf, pause, untilAborted } from './waiting'

test('work that fails after its signal was aborted is not an unhandled rejection', async () => {
  const reason = new Error('left')
  const signal = AbortSignal.abort(reason)
  await expect(untilAborted(Promise.reject(new Error('no response')), signal)).rejects.toBe(reason)
  // vitest reports an unhandled rejection as an error of the run.
  await setImmediate()
})

test.each([2 ** 31, Infinity])(
  '%s ms, which setTimeout does not accept, do not end at once',
  async (long) => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const ended = vi.fn()
    void pause(long).then(ended)
    limitOf(long, undefined, new Error('late')).signal.addEventListener('abort', ended)
    await vi.advanceTimersByTimeAsync(1_000_000)
    expect(ended).not.toHaveBeenCalled()
  },
)
