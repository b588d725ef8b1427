// SPDX-License-Identifier: MIT
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { untilAborted } from './waiting'

test('work that fails after its signal was aborted is not an unhandled rejection', async () => {
  const reason = new Error('left')
  const signal = AbortSignal.abort(reason)
  await expect(untilAborted(Promise.reject(new Error('no response')), signal)).rejects.toBe(reason)
  // vitest reports an unhandled rejection as an error of the run.
  await setImmediate()
})
