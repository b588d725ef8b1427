import { afterEach, beforeAll } from 'vitest'

/** Notes for the set-up of tests, such as worlds, that a test of the file failed: its logs are kept then. */
const state = globalThis as { testFileFailed?: boolean }
beforeAll(() => {
  state.testFileFailed = false
})
afterEach(({ task }) => {
  if (task.result?.state === 'fail') state.testFileFailed = true
})
