import { availableParallelism, totalmem } from 'node:os'
import path from 'node:path'
import { defineConfig } from 'vitest/config'

const cores = availableParallelism()
/**
 * Number of test files that run at once. Service tests mostly wait for blocks, databases and timers: on two
 * cores, all of them take 191 s with 6 files at once, 229 s with 4. A worker and an embedded database take
 * some 1.5 GB.
 */
const workers = (waiting: number) => Math.max(1, Math.min(cores + waiting, Math.floor(totalmem() / 2e9)))

/**
 * With embedded databases, fewer service files run at once: each worker has its own process with Postgres and
 * PostGIS, which uses as much processor time as the tests.
 */
const embedded = process.env.TEST_DATABASE === 'embedded'

/**
 * Cache of V8's compiled code of packages and programs, for the workers and the processes that they start
 * (Node 22.8).
 */
process.env.NODE_COMPILE_CACHE ||= path.resolve('node_modules/.cache/compile')

const command = process.env.npm_lifecycle_event ?? ''
/** How much randomised tests try, and others that take long (test/seed.ts). */
const effort = Number((process.env.EFFORT ||= command === 'test:all' ? '1' : '0.1'))
/** `npm test` leaves out slow tests unless EFFORT asks for more. */
const isQuick = /^test(:unit)?$/.test(command) && effort < 1

/**
 * Packages of this repository, which unit tests read as sources. So they need no build, and test what was
 * last written.
 */
const sources = Object.entries({
  client: 'client/src/index.ts',
  'client/kernel': 'client/src/kernel.ts',
  mcp: 'mcp/src/index.ts',
}).map(([name, file]) => ({
  find: new RegExp(`^@geospatial-attestation/${name}$`),
  replacement: path.resolve('packages', file),
}))

export default defineConfig({
  // Resolves graphql as Node does in the service, so that PostGraphile and the service share one copy.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    // Limits for tests that hang. A test that needs longer sets its own limit, and test/run.ts limits the
    // run.
    testTimeout: effort < 1 ? 60_000 : 240_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    tags: [
      { name: 'hunt', description: 'randomised tests, which `npm run hunt` repeats with other seeds' },
      {
        ...{ name: 'slow', timeout: 240_000, skip: isQuick },
        description: 'unit and service tests that take seconds, which `npm test` leaves out',
      },
    ],
    // Compiled test files and sources stay between runs, by the hash of their text and of this configuration.
    experimental: { fsModuleCache: true, fsModuleCachePath: 'node_modules/.cache/vitest' },
    // The tiers of CONTRIBUTING, by the names of their files.
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          alias: sources,
          include: ['{src,api,test,packages}/**/*.test.ts'],
          exclude: ['**/*.{service,smoke,system,chaos}.test.ts', '**/node_modules/**'],
          // Test files share modules, which saves a third of the time.
          isolate: false,
          maxWorkers: cores,
          expect: { poll: { interval: 5, timeout: 30_000 } },
        },
      },
      // Tiers of one number run together, so that no tier waits for the last file of another one.
      tier('service', 1, { isolate: false }),
      tier('smoke', 1),
      tier('system', 2),
      tier('chaos', 2),
    ],
  },
})

/** @param groupOrder groups of tiers run one after another, so that service files keep their workers */
function tier(name: string, groupOrder: number, options: { isolate?: boolean } = {}) {
  return {
    extends: true as const,
    test: {
      name,
      include: [`{src,api,test,packages}/**/*.${name}.test.ts`],
      exclude: ['**/node_modules/**'],
      globalSetup: 'test/run.ts',
      setupFiles: ['test/failures.ts'],
      // Browsers and compilers use whole processors. If more of them ran at once, each would exceed its time
      // limits.
      maxWorkers: workers(groupOrder > 1 ? 1 : embedded ? 2 : 4),
      sequence: { groupOrder },
      ...options,
    },
  }
}
