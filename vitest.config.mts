import { availableParallelism } from 'node:os'
import path from 'node:path'
import { defineConfig } from 'vitest/config'

/** Service tests wait for blocks, databases and timers: more of them than there are cores run at a time. */
const cores = availableParallelism()
const workers = Number(process.env.TEST_WORKERS ?? cores + 2)

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
          maxWorkers: cores,
        },
      },
      tier('service', 1, { isolate: false }),
      tier('smoke', 2),
      tier('system', 3),
      tier('chaos', 4),
    ],
  },
})

/** @param groupOrder tiers run one after another: a worker is kept only for files of one tier */
function tier(name: string, groupOrder: number, options: { isolate?: boolean } = {}) {
  return {
    extends: true as const,
    test: {
      name,
      include: [`{src,api,test,packages}/**/*.${name}.test.ts`],
      exclude: ['**/node_modules/**'],
      globalSetup: 'test/run.ts',
      setupFiles: ['test/failures.ts'],
      maxWorkers: workers,
      sequence: { groupOrder },
      ...options,
    },
  }
}
