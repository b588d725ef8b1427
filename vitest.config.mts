import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['{src,api,dev,test}/**/*.test.ts'],
    // Worlds (a database, a chain, an indexer, an API) take seconds to start, more on a busy machine.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // An embedded database takes a gigabyte: two test files at a time.
    maxWorkers: 2,
  },
})
