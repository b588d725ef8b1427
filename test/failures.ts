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
// Runs after the hooks of the file, because vitest runs those in reverse order.
afterAll(endAll)
