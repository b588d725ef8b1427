import { beforeEach, test, type TestContext } from 'vitest'
import { seededRandom } from '../dev/random'
import { checkBoundsEvery } from '../src/geodesy'

/**
 * Seed and effort of all randomised tests, which are called hunts. The seed is fixed unless SEED is set.
 * EFFORT multiplies the number of cases: 0.1 in `npm test`, 1 in `npm run test:all`, because a fixed seed
 * finds only what a commit broke. `npm run hunt` sets both, and looks for more.
 */
export const SEED = Number(process.env.SEED ?? 20_261_122)
export const EFFORT = Number(process.env.EFFORT)

/** Tests check every bound on which the kernel relies. */
checkBoundsEvery(1)

export interface Hunt extends TestContext {
  seed: number
  /** number of cases to try, at least one */
  cases: number
  /** numbers from 0 to 1 that follow from the seed only */
  random: () => number
  /** adds a line to the report of `npm run hunt` */
  report: (line: string) => void
}

declare module 'vitest' {
  interface TaskMeta {
    /** cases and report lines of the hunt */
    hunt?: { cases: number; lines: string[] }
  }
}

/** A pattern of vitest's option `-t`, without quotes that a shell would interpret. */
const patternOf = (name: string) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll("'", '.')

/** Prints the command that repeats a test if it fails: its file, or one test of it by its name. */
const repeatable = ({ task, onTestFailed }: TestContext, name?: string) =>
  onTestFailed(() => {
    const only = name === undefined ? '' : ` -t '${patternOf(name)}'`
    console.error(`To repeat: SEED=${SEED} EFFORT=${EFFORT} npx vitest run ${task.file.name}${only}`)
  })

/**
 * Random numbers that follow from SEED, for the tests of a file or of a `describe`. Tests share them, so a
 * failure prints the command that repeats the file.
 */
export function seeded(): () => number {
  beforeEach((context) => repeatable(context))
  return seededRandom(SEED)
}

/**
 * Defines a randomised test that tries a number of cases at effort 1. A failure prints the command that
 * repeats it. `npm run hunt` finds hunts by their tag, and their files by the calls of this function.
 * `npm test` leaves out hunts with the tag `slow`.
 */
export function hunt(
  name: string,
  casesAtEffort1: number,
  body: (hunt: Hunt) => unknown,
  tags: readonly 'slow'[] = [],
): void {
  // A limit in minutes that ends hanging tests on a busy machine.
  test(name, { tags: ['hunt', ...tags], timeout: 60_000 * (5 + EFFORT) }, async (context) => {
    repeatable(context, name)
    const cases = Math.max(1, Math.round(casesAtEffort1 * EFFORT))
    const lines: string[] = []
    context.task.meta.hunt = { cases, lines }
    const report = (line: string) => void lines.push(line)
    await body(Object.assign(context, { seed: SEED, cases, random: seededRandom(SEED), report }))
  })
}
