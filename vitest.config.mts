import { availableParallelism, totalmem } from 'node:os'
import path from 'node:path'
import { defineConfig } from 'vitest/config'

/**
 * Service tests mostly wait for blocks, time-outs and processes, so five of them keep two cores busy. With an
 * embedded database each takes half a gigabyte more: as many as have 3 GB each.
 */
const workers = process.env.TEST_DATABASE_URL ? 5 : Math.max(1, Math.min(5, Math.floor(totalmem() / 3e9)))

/** What V8 makes of packages and programs, for the workers and the processes that they start (Node 22.8). */
process.env.NODE_COMPILE_CACHE ||= path.resolve('node_modules/.cache/compile')

export default defineConfig({
  // As Node loads it in the service: PostGraphile's copy must be ours too.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    // They end what hangs, and nothing else: ten times what the slowest test or hook takes on two busy cores.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    expect: { poll: { timeout: 300_000 } },
    maxWorkers: process.env.npm_lifecycle_event === 'test:unit' ? availableParallelism() : workers,
    tags: [{ name: 'hunt', description: 'randomised tests, which `npm run hunt` repeats with other seeds' }],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{src,api,test,packages}/**/*.test.ts'],
          exclude: ['**/*.{service,chaos}.test.ts', '**/node_modules/**'],
          // They share modules, which takes a third less time.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'service',
          isolate: false,
          include: ['{src,api,test,packages}/**/*.service.test.ts'],
          globalSetup: 'test/run.ts',
        },
      },
      {
        extends: true,
        test: { name: 'chaos', include: ['test/*.chaos.test.ts'], globalSetup: 'test/run.ts' },
      },
    ],
  },
})
