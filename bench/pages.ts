import { chromium, type Page } from 'playwright-core'
import { CHROMIUM, launchOptions } from '../dev/chromium'
import { PlainError } from '../dev/services'
import type { Bench, Table } from './bench'
import { bringUp } from './compute'
import { fill } from './generated-records'

const RECORDS = Number(process.env.BENCH_PAGES || 50_000)
/**
 * Time budget in milliseconds from an interaction to the next paint, and the factor by which a phone's
 * processor is slower.
 */
const [INTERACTION_MS, SLOWER] = [200, 4]
/** Time budget in milliseconds of a task while the map is dragged. */
const TASK_MS = 100
/** Number of the longest interactions and tasks in the table. */
const LISTED = 5

/** Event of Chromium's trace; `ts` and `dur` are microseconds, and `tdur` those of CPU time of the thread. */
interface TraceEvent {
  name: string
  ph: string
  pid: number
  tid: number
  ts: number
  dur?: number
  tdur?: number
  args: { name?: string; data?: EventTiming }
}
/** Times in milliseconds. `commitFinishTime` is the end of the main thread's part of the next frame. */
interface EventTiming {
  type: string
  interactionId?: number
  timeStamp: number
  commitFinishTime?: number
}
/** A part of the trace of the main thread: begin and end in microseconds, and milliseconds of CPU time. */
interface Span {
  name: string
  from: number
  to: number
  cpu: number
}
/** Names of the events of tasks; newer versions of Chromium use the second. */
const TASK = /^(?:ThreadControllerImpl::)?RunTask$/

/**
 * Measures the explorer's main thread with 50,000 records: the CPU time of its interactions and of its tasks
 * while the map is dragged, compared with budgets. CPU time depends less on other processes than elapsed time
 * does.
 */
export async function pages(bench: Bench): Promise<Table[]> {
  if (!CHROMIUM) throw new PlainError('The benchmark of the pages needs Chromium, which is not installed.')
  const { world, environment } = await bringUp(bench, true)
  await fill(bench, await bench.connect(environment.DATABASE_URL!), 0, RECORDS)
  const browser = await chromium.launch(launchOptions(true))
  bench.atEnd(() => browser.close())
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  const url = world.settings.publicBaseUrl
  bench.report('interactions ...')
  const { interactions } = await interacting(page, url)
  bench.report('the map is dragged ...')
  const { tasks } = await dragging(page, url)
  return [
    [
      ...rowsOf('interaction until the next paint', interactions, INTERACTION_MS / SLOWER),
      ...rowsOf('task while the map is dragged', tasks, TASK_MS),
    ],
  ]
}

/** The longest spans, and the budget in milliseconds of CPU time for each. */
function rowsOf(kind: string, spans: readonly Span[], budgetMs: number): Table {
  return [...spans]
    .sort((a, b) => b.cpu - a.cpu)
    .slice(0, LISTED)
    .map(({ name, from, to, cpu }) => ({
      records: RECORDS,
      kind,
      of: spans.length,
      name,
      cpuMs: Math.round(cpu),
      elapsedMs: Math.round((to - from) / 1_000),
      budgetMs,
      overBudget: cpu > budgetMs ? 1 : 0,
    }))
}

const idle = (page: Page) => page.locator('.map[data-state=idle]').waitFor()

/** The main interactions of the explorer and the playground. */
async function interacting(page: Page, url: string) {
  await page.goto(url)
  await idle(page)
  const hits = page.getByRole('listbox').getByRole('option')
  return traced(page, async () => {
    await page.keyboard.press('/')
    await page.keyboard.type('sant', { delay: 40 })
    await hits.filter({ hasText: 'Santiago' }).first().waitFor()
    // Keys of a search for a town with a typing error.
    await page.keyboard.type('iagx', { delay: 250 })
    await hits.filter({ hasText: 'Santiago' }).first().waitFor()
    for (let i = 0; i < 2; i++) await page.keyboard.press('Escape')
    await page.getByRole('button', { name: '7 days' }).click()
    await page.getByRole('button', { name: 'All times' }).click()
    await page.locator('.place').first().click()
    await page.locator('.card').locator('[data-check=good], [data-check=bad]').first().waitFor()
    await page.keyboard.press('Escape')
    await page.getByLabel('Memo contains').fill('tower')
    await page.getByLabel('Memo contains').press('Enter')
    await page.locator('[data-chip=memo]').click()
    await page.getByRole('link', { name: 'Ask', exact: true }).click()
    await page.getByRole('textbox', { name: 'From' }).click()
    await page.getByRole('link', { name: 'Explore', exact: true }).click()
    await page.locator('.place').first().waitFor()
  })
}

async function dragging(page: Page, url: string) {
  await page.goto(`${url}?at=10,30,3`)
  await idle(page)
  return traced(page, async () => {
    for (let round = 0; round < 3; round++) {
      await page.mouse.move(700, 400)
      await page.mouse.down()
      for (let step = 0; step < 60; step++) await page.mouse.move(700 - 6 * step, 400 + 2 * (step % 30))
      await page.mouse.up()
    }
    await idle(page)
  })
}

/**
 * Runs steps on a page, and returns the tasks of its main thread, and its interactions until the main thread
 * has finished the next frame. The work after that is done by the compositor and the graphics card, which the
 * CPU emulates here.
 */
async function traced(page: Page, run: () => Promise<void>) {
  const browser = page.context().browser()!
  await browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline'] })
  let trace: string
  try {
    await run()
  } finally {
    trace = (await browser.stopTracing()).toString()
  }
  const { traceEvents: events } = JSON.parse(trace) as { traceEvents: TraceEvent[] }
  const tasksOf = ({ pid, tid }: TraceEvent) =>
    events
      .filter((each) => each.pid === pid && each.tid === tid && each.ph === 'X' && TASK.test(each.name))
      .map(({ ts, dur = 0, tdur = 0 }): Span => ({ name: 'task', from: ts, to: ts + dur, cpu: tdur / 1_000 }))
  // Each page of the browser has a main thread. The one with the most tasks is that of the tested page.
  const [tasks = []] = events
    .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
    .map(tasksOf)
    .sort((a, b) => b.length - a.length)
  const interactions = events.flatMap(({ name, ph, ts, args: { data } }): Span[] => {
    if (name !== 'EventTiming' || ph !== 'b' || !data?.interactionId || !data.commitFinishTime) return []
    const to = ts + (data.commitFinishTime - data.timeStamp) * 1_000
    const during = tasks.filter((task) => task.from < to && task.to > ts)
    return [{ name: data.type, from: ts, to, cpu: during.reduce((sum, { cpu }) => sum + cpu, 0) }]
  })
  if (tasks.length === 0) throw new Error('The trace has no tasks: the names of its events have changed.')
  return { tasks, interactions }
}
