import { defineConfig } from 'vitest/config'

export default defineConfig({
  // As Node loads it in the service: PostGraphile's copy must be ours too.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['{src,api,dev,test}/**/*.test.ts'],
    // Worlds (a database, a chain, an indexer, an API) take seconds to start, more on a busy machine.
    testTimeout: 180_000,
    hookTimeout: 300_000,
    // An embedded database takes a gigabyte: two test files at a time.
    maxWorkers: 2,
  },
})
