import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CHROMIUM, openPage } from './browser'
import { insertRecords } from './records'
import { startTestWorld, type TestWorld } from './world'

/**
 * Budgets of the explorer's main thread with 50,000 records. They are compared with the CPU time of its
 * tasks, which does not depend on other processes of the machine.
 */

const RECORDS = 50_000
/** Milliseconds until the next paint after an interaction; factor by which the processor is slower. */
const [INTERACTION_MS, SLOWER] = [200, 4]
/** Milliseconds of a task while the map is dragged. */
const TASK_MS = 100
/** Limit of a test that hangs: the measured times do not depend on it. */
const HANGS = { timeout: 240_000 }

let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld({}, { samples: true })
  const geometries = Array.from({ length: RECORDS }, (_, i) => ({
    type: 'Point',
    coordinates: [((i * 0.75487766) % 1) * 360 - 180, ((i * 0.56984029) % 1) * 140 - 60],
  }))
  await insertRecords(
    world.databaseUrl,
    geometries.map((geometry, i) => ({ chain: 'base-sepolia', memo: `Place ${i}`, geometry })),
    1_000_000,
  )
}, 300_000)
afterAll(() => world?.stop())

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

/**
 * Runs steps on a page, and returns the tasks of its main thread, and its interactions until the main thread
 * has finished the next frame. What follows is the work of the compositor and of the graphics card, which the
 * CPU replaces here.
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
  // The page runs more tasks than the other pages of the browser.
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
  return { tasks, interactions }
}
/** Names of the events of tasks; newer versions of Chromium use the second. */
const TASK = /^(?:ThreadControllerImpl::)?RunTask$/
const longest = (spans: readonly Span[]) => [...spans].sort((a, b) => b.cpu - a.cpu).slice(0, 5)
const report = (what: string, spans: readonly Span[]) =>
  console.log(
    `${what}: ${longest(spans)
      .map(({ name, cpu, from, to }) => `${name} ${Math.round(cpu)} ms of ${Math.round((to - from) / 1_000)}`)
      .join(', ')}`,
  )

describe.skipIf(!CHROMIUM)(`with ${RECORDS} records`, () => {
  test(
    `the page paints within ${INTERACTION_MS} ms of each interaction, on a slower processor`,
    HANGS,
    async () => {
      await using browser = await openPage()
      const { page } = browser
      const idle = () => page.locator('.map[data-state=idle]').waitFor()
      await page.goto(world.url)
      await idle()
      const hits = page.getByRole('listbox').getByRole('option')
      const { interactions } = await traced(page, async () => {
        await page.keyboard.press('/')
        await page.keyboard.type('sant', { delay: 40 })
        await hits.filter({ hasText: 'Santiago' }).first().waitFor()
        // Keys during the search for a town with a typing error.
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
      report('interactions', interactions)
      expect(interactions.length).toBeGreaterThan(20)
      expect(longest(interactions).filter(({ cpu }) => SLOWER * cpu > INTERACTION_MS)).toEqual([])
    },
  )

  test(`no task takes ${TASK_MS} ms while the map is dragged`, HANGS, async () => {
    await using browser = await openPage()
    const { page } = browser
    await page.goto(`${world.url}?at=10,30,3`)
    await page.locator('.map[data-state=idle]').waitFor()
    const { tasks } = await traced(page, async () => {
      for (let round = 0; round < 3; round++) {
        await page.mouse.move(700, 400)
        await page.mouse.down()
        for (let step = 0; step < 60; step++) await page.mouse.move(700 - 6 * step, 400 + 2 * (step % 30))
        await page.mouse.up()
      }
      await page.locator('.map[data-state=idle]').waitFor()
    })
    report('tasks while dragging', tasks)
    expect(tasks.length).toBeGreaterThan(100)
    expect(longest(tasks).filter(({ cpu }) => cpu > TASK_MS)).toEqual([])
  })
})
