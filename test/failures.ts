import { afterEach, beforeAll } from 'vitest'

/** Records that a test of the file failed, for set-ups of tests such as worlds: their logs then stay. */
const state = globalThis as { testFileFailed?: boolean }
beforeAll(() => {
  state.testFileFailed = false
})
afterEach(({ task }) => {
  if (task.result?.state === 'fail') state.testFileFailed = true
})
