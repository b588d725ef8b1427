// `npm run hunt [-- --minutes 30 --effort 20 names...]` repeats the randomised tests (test/seed.ts) of files
// whose path contains a name, with random seeds, until the time is over. Adds each seed that fails to
// test/seeds.json. `--replay` repeats the seeds of that file instead.
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { createVitest } from 'vitest/node'

const { values: options, positionals: names } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    effort: { type: 'string', default: '20' },
    replay: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const [minutes, effort] = [Number(options.minutes), Number(options.effort)]
if (!(minutes > 0 && effort > 0)) throw new Error('--minutes and --effort: expected a number above 0.')
const SEEDS = 'test/seeds.json'
const seeds = JSON.parse(readFileSync(SEEDS, 'utf8'))
/** Maximum number of stored seeds per hunt: more would repeat the same defect. */
const KEPT_SEEDS = 3
/** Milliseconds that running tests have to end by themselves when the time is over. */
const PATIENCE_MS = 60_000
const HUNTS = /^import \{[^}]*\bhunt\b[^}]*\} from '[./\w]*\/seed'$/m

/** Number of rounds, cases and failed seeds of each hunt, by file and name. */
const report = new Map()
let isOver = false
/** The current run: its seed, its effort, its hunts. */
let run

if (options.replay && seeds.length === 0) process.exit()
// The time limit of a run (test/run.ts) applies to all rounds together, and only ends runs that hang.
process.env.TEST_MINUTES = String(options.replay ? 20 + 10 * seeds.length : minutes + 20)

const vitest = await createVitest('test', {
  watch: false,
  tagsFilter: ['hunt'],
  reporters: [
    {
      onTestCaseResult(test) {
        const { state, errors } = test.result()
        if (state === 'skipped' || (isOver && state === 'failed')) return
        ended(test.module.moduleId, test.name, test.meta().hunt, errors)
      },
      onTestModuleEnd(module) {
        const failed = [...module.children.allTests('failed')]
        if (isOver || failed.length > 0 || module.state() !== 'failed') return
        const errors = [module, ...module.children.allSuites()].flatMap((each) => each.errors())
        ended(module.moduleId, undefined, undefined, errors)
      },
    },
  ],
})

function ended(moduleId, test, hunt, errors = []) {
  const file = path.relative('.', moduleId)
  const key = test ? `${file}: ${test}` : file
  const row = report.get(key) ?? { rounds: 0, cases: 0, failed: [], lines: [] }
  report.set(key, row)
  row.rounds++
  row.cases += hunt?.cases ?? 0
  row.lines = hunt?.lines ?? []
  run.hunts++
  run.cases += hunt?.cases ?? 0
  if (errors.length === 0) return
  run.failures++
  row.failed.push(run.seed)
  console.log(`FAILED ${key}\n  ${repeatOf({ ...run, file, test })}`)
  for (const error of errors)
    for (let each = error; each; each = each.cause)
      console.log(`${each.stack ?? each.message}`.slice(0, 2_000).replace(/^/gm, '  '))
  if (options.replay || row.failed.length > KEPT_SEEDS) return
  const { seed, effort } = run
  seeds.push({ file, test, seed, effort, commit: commit(), date: new Date().toISOString() })
  writeFileSync(SEEDS, `${JSON.stringify(seeds, undefined, 2)}\n`)
  console.log(`  Added to ${SEEDS}: npm run test:all repeats it. Commit it, or remove it.`)
}

const patternOf = (name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll("'", '.')
const repeatOf = ({ file, test, seed, effort }) =>
  `SEED=${seed} EFFORT=${effort} npx vitest run ${file}${test ? ` -t '${patternOf(test)}'` : ''}`
/** Commit of the sources; undefined without git, or outside a repository. */
const commit = () =>
  spawnSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).stdout?.trim() || undefined

async function runOnce(seed, effort, specifications) {
  run = { seed, effort, hunts: 0, cases: 0, failures: 0 }
  Object.assign(process.env, { SEED: String(seed), EFFORT: String(effort) })
  await vitest.runTestSpecifications(specifications)
  return run
}

/** Repeats the listed seeds. Returns the number of seeds that fail or that name an unknown hunt. */
async function replay() {
  let failures = 0
  for (const entry of seeds) {
    vitest.setGlobalTestNamePattern(entry.test ? patternOf(entry.test) : /./)
    const specifications = await vitest.globTestSpecifications([entry.file])
    const { hunts, failures: failed } = await runOnce(entry.seed, entry.effort, specifications)
    if (hunts === 0) console.log(`NOT FOUND ${repeatOf(entry)}`)
    if (failed > 0 || hunts === 0) failures++
  }
  console.log(`${seeds.length} seeds of ${SEEDS} repeated, ${failures} failed.`)
  return failures
}

/**
 * Repeats hunts with random seeds until the time is over. Each project has an equal share of it: the one with
 * the least time runs next. Returns the number of failures.
 */
async function hunt() {
  const projects = new Map()
  for (const specification of await vitest.globTestSpecifications(names)) {
    if (!HUNTS.test(readFileSync(specification.moduleId, 'utf8'))) continue
    const { name } = specification.project
    if (!projects.has(name)) projects.set(name, { name, ms: 0, specifications: [] })
    projects.get(name).specifications.push(specification)
  }
  if (projects.size === 0) throw new Error(`No hunt found: ${names.join(', ')}.`)
  const end = setTimeout(stop, minutes * 60_000)
  process.once('SIGINT', stop)
  let failures = 0
  while (!isOver) {
    const [next] = [...projects.values()].sort((a, b) => a.ms - b.ms)
    const started = performance.now()
    const {
      seed,
      hunts,
      cases,
      failures: failed,
    } = await runOnce(randomInt(2 ** 31), effort, next.specifications)
    next.ms += performance.now() - started
    failures += failed
    const seconds = Math.round((performance.now() - started) / 1000)
    console.log(`${next.name}, seed ${seed}: ${hunts} hunts, ${cases} cases, ${failed} failed, ${seconds} s`)
  }
  clearTimeout(end)
  return failures
}

/** Ends the current run: hunts that have not begun are skipped, others have a minute to end. */
function stop() {
  isOver = true
  console.log('The time is over.')
  void vitest.cancelCurrentRun('keyboard-input')
  setTimeout(() => {
    console.log('Hunts that did not end by themselves are not in the report.')
    printReport()
    process.exit(1)
  }, PATIENCE_MS).unref()
}

function printReport() {
  console.log(`\n| hunt (effort ${effort}) | rounds | cases | failed seeds |\n|---|---|---|---|`)
  for (const [name, { rounds, cases, failed, lines }] of [...report].sort(([a], [b]) => (a < b ? -1 : 1)))
    console.log(`| ${[name, ...lines].join('; ')} | ${rounds} | ${cases} | ${failed.join(', ')} |`)
}

const failures = await (options.replay ? replay() : hunt())
if (!options.replay) printReport()
await vitest.close()
process.exit(failures > 0 ? 1 : 0)
