import { afterAll, afterEach, beforeAll } from 'vitest'
import { endAll } from './ends'

/** Records whether a test of the file failed. Set-ups, such as worlds, then keep their logs. */
const state = globalThis as { testFileFailed?: boolean }
beforeAll(() => {
  state.testFileFailed = false
})
afterEach(({ task }) => {
  if (task.result?.state === 'fail') state.testFileFailed = true
})
// Registers the hook first, because vitest runs hooks of a file in reverse order.
afterAll(endAll)
