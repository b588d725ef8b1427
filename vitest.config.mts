import { availableParallelism } from 'node:os'
import path from 'node:path'
import { defineConfig } from 'vitest/config'

/** Service tests wait for blocks, databases and timers: more of them than there are cores run at a time. */
const workers = availableParallelism() + 1

/** What V8 makes of packages and programs, for the workers and the processes that they start (Node 22.8). */
process.env.NODE_COMPILE_CACHE ||= path.resolve('node_modules/.cache/compile')

export default defineConfig({
  // As Node loads it in the service: PostGraphile's copy must be ours too.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    // They end what hangs. A test that needs longer says so; test/run.ts limits the run.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: process.env.npm_lifecycle_event === 'test:unit' ? availableParallelism() : workers,
    tags: [{ name: 'hunt', description: 'randomised tests, which `npm run hunt` repeats with other seeds' }],
    // The tiers of CONTRIBUTING, by the names of their files.
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{src,api,test,packages}/**/*.test.ts'],
          exclude: ['**/*.{service,smoke,system,chaos}.test.ts', '**/node_modules/**'],
          // Files share modules, which takes a third less time.
          isolate: false,
        },
      },
      tier('service', { isolate: false }),
      tier('smoke'),
      tier('system'),
      tier('chaos'),
    ],
  },
})

function tier(name: string, options: { isolate?: boolean } = {}) {
  return {
    extends: true as const,
    test: {
      name,
      include: [`{src,api,test,packages}/**/*.${name}.test.ts`],
      exclude: ['**/node_modules/**'],
      globalSetup: 'test/run.ts',
      ...options,
    },
  }
}
