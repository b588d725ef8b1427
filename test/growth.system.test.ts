import type { CDPSession } from 'playwright-core'
import { beforeAll, expect } from 'vitest'
import { attest, locationRequest, revoke } from '../dev/chain'
import { openPage, WITHOUT_PACE } from './browser'
import { hunt } from './seed'
import { startTestWorld, type TestWorld } from './world'
import { withChromium } from './needs'

/** Memory of the explorer during live changes. */

/** Number of changes at effort 1; `npm run hunt` makes those of several minutes. */
const CHANGES = 3
/** Changes before the first measurement. They fill caches and lists of bounded length. */
const WARM_UP = 5
/**
 * Bytes by which the heap may grow: what the engine keeps for code that runs more often, such as compiled
 * code (0.7 to 1.5 MB within 15 changes, 1.6 MB within 75), and an allowance per change.
 */
const ENGINE = 2_000_000
const PER_CHANGE = 25_000

let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld()
})

interface Size {
  heap: number
  nodes: number
  listeners: number
}
/** Heap size of the page after garbage collection. */
async function sizeOf(session: CDPSession): Promise<Size> {
  await session.send('HeapProfiler.collectGarbage')
  const { metrics } = await session.send('Performance.getMetrics')
  const of = (wanted: string) => metrics.find(({ name }) => name === wanted)!.value
  return { heap: of('JSHeapUsedSize'), nodes: of('Nodes'), listeners: of('JSEventListeners') }
}

withChromium.describe('the explorer', () => {
  hunt('needs no more memory after many live changes', CHANGES, async ({ cases, report }) => {
    // Each animation of the map and each pixel costs processor time, but no memory that remains.
    await using browser = await openPage({ viewport: { width: 900, height: 500 } })
    const { page } = browser
    await page.addInitScript(WITHOUT_PACE)
    await page.goto(`${world.url}?at=10,10,6`)
    await page.locator('[data-live=live]').waitFor()
    const session = await page.context().newCDPSession(page)
    await session.send('Performance.enable')
    let changes = 0
    /** Attests a place, revokes it, and waits until the page shows the revocation. */
    const change = async () => {
      const point = { type: 'Point' as const, coordinates: [10 + (changes % 7) / 10, 10] }
      const uid = await attest(world.chain, locationRequest(point, { memo: `Place ${changes}` }))
      const item = page.locator(`[data-record="base-sepolia-${uid}"]`)
      await item.waitFor()
      await item.click()
      await revoke(world.chain, uid)
      await page.locator('.card .standing.bad').waitFor()
      await page.keyboard.press('Escape')
      await page.locator('.card').waitFor({ state: 'detached' })
      changes++
    }
    /** Measures the page while its list shows one record, regardless of the number of records. */
    const measured = async () => {
      await page.getByLabel('Memo contains').fill('Place 0')
      await page.getByLabel('Memo contains').press('Enter')
      await expect.poll(() => page.locator('.list .place').count()).toBe(1)
      return sizeOf(session)
    }
    while (changes < WARM_UP) await change()
    const before = await measured()
    await page.getByRole('button', { name: 'Clear all filters' }).click()
    while (changes < WARM_UP + cases) await change()
    let after = await measured()
    /** Limits that are exceeded. What a request or a timer holds for a moment is no growth. */
    const exceeded = async () => {
      after = await sizeOf(session)
      return [
        after.listeners > before.listeners + 20 && 'listeners',
        after.nodes > before.nodes * 1.1 && 'nodes',
        after.heap > before.heap + ENGINE + PER_CHANGE * cases && 'heap',
      ].filter(Boolean)
    }
    await expect.poll(exceeded).toEqual([])
    report(`${changes} changes: ${JSON.stringify(before)} before, ${JSON.stringify(after)} after`)
    expect(browser.complaints).toEqual([])
  })
})
