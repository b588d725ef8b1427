import { availableParallelism, totalmem } from 'node:os'
import path from 'node:path'
import { defineConfig } from 'vitest/config'

const cores = availableParallelism()
/**
 * Service tests wait for blocks, databases and timers: on two cores, 6 files at a time take 191 s, 4 take
 * 229 s. A worker and an embedded database take some 1.5 GB.
 */
const workers = Math.max(1, Math.min(cores + 4, Math.floor(totalmem() / 2e9)))

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
      // Together: none waits for the last file of another.
      tier('smoke', 2),
      tier('system', 2),
      tier('chaos', 2),
    ],
  },
})

/** @param groupOrder groups of tiers run one after another: service files keep their workers */
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
