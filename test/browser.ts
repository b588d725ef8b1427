import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { source as axe, type AxeResults } from 'axe-core'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { afterAll, TestRunner } from 'vitest'
import { CHROMIUM, launchOptions } from '../dev/chromium'

/** Folder of the screenshots for review. */
const SCREENSHOTS = '.local/screenshots'
const TABLET = { width: 820, height: 1180 }
/** A phone, a tablet and a desktop, which is the size of a new page. */
export const SIZES = [{ width: 390, height: 844 }, TABLET, { width: 1280, height: 800 }] as const
/** Milliseconds that a step of a page in a hook may take before it counts as hanging. */
const STEP_MS = 60_000

export interface OpenPage extends AsyncDisposable {
  readonly page: Page
  /** errors and warnings of the page's console, its uncaught errors, and failed requests */
  readonly complaints: string[]
  /** URL of every request that the page sent */
  readonly requested: readonly string[]
  /** serious or critical findings of axe-core, as `rule: element` */
  barriers(): Promise<string[]>
  /**
   * horizontal scrolling at three sizes, and findings of axe-core on a phone in light and on a desktop in
   * dark, each with a picture of this name. `drawn` resolves when the page is drawn at a size.
   */
  faults(name: string, drawn?: () => Promise<void>): Promise<string[]>
  /** saves a screenshot under this name if PICTURES is set */
  picture(name: string): Promise<void>
}
export interface PageOptions extends Pick<
  BrowserContextOptions,
  'viewport' | 'colorScheme' | 'reducedMotion' | 'hasTouch' | 'isMobile' | 'locale' | 'timezoneId'
> {
  /** default: true */
  webgl?: boolean
  /** true if the test looks at the pixels of the map; by default, the map is drawn with COARSE */
  isSharp?: boolean
}

/**
 * Pixels of the map per pixel of the page, in each direction. The map loads, places and finds the same
 * features, but the emulation of a graphics card draws a sixteenth of the pixels.
 */
const COARSE = 0.25

/**
 * Options of tests that concern only the texts and forms of a page, which then shows its plain map. The
 * emulation of a graphics card takes more than half of the processor time of most pages.
 */
export const WITHOUT_MAP: PageOptions = { webgl: false }

/**
 * Opens a page in CHROMIUM, which can reach only this machine, so a page that loads an external resource
 * fails visibly. Motion is reduced, unless `reducedMotion` is passed. Close the page with `await using`.
 */
export async function openPage({
  webgl = true,
  isSharp = Boolean(process.env.PICTURES),
  ...options
}: PageOptions = {}): Promise<OpenPage> {
  const browser = await browserWith(webgl)
  const page = await browser.newPage({ viewport: SIZES[2], reducedMotion: 'reduce', ...options })
  if (!isSharp) await page.addInitScript(`devicePixelRatio = ${COARSE}`)
  // Times out before the test does, so that the error names the element for which a hanging test waits.
  page.setDefaultTimeout((TestRunner.getCurrentTest()?.timeout ?? 2 * STEP_MS) / 2)
  const complaints: string[] = []
  const requested: string[] = []
  page.on('console', (message) => {
    const text = message.text()
    // The driver warns that the browser reads each drawn map: pages are composed on the CPU.
    if (text.includes('GPU stall due to ReadPixels')) return
    // The text about a failed request does not name it.
    const { url } = message.location()
    if (['error', 'warning'].includes(message.type()))
      complaints.push(text.startsWith('Failed to load resource') ? `${text} ${url}` : text)
  })
  page.on('pageerror', (error) => complaints.push(String(error.stack)))
  page.on('request', (request) => requested.push(request.url()))
  const barriers = async () => {
    if (!(await page.evaluate('globalThis.axe !== undefined'))) await page.evaluate(axe)
    // The other results list each element of the page.
    const { violations } = await page.evaluate<AxeResults>(`axe.run({ resultTypes: ['violations'] })`)
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
  }
  const picture = async (name: string) => {
    if (!process.env.PICTURES) return
    await mkdir(SCREENSHOTS, { recursive: true })
    await page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`) })
  }
  const faults = async (name: string, drawn = async () => {}) => {
    const found: string[] = []
    for (const [i, size] of SIZES.entries()) {
      const colorScheme = i === 0 ? 'light' : 'dark'
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize(size)
      await drawn()
      const at = `${name} at ${size.width}`
      const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
      if (wide > size.width) found.push(`${at}: ${wide} pixels wide`)
      // A tablet shows elements that the phone or the desktop shows too.
      if (size !== TABLET)
        for (const barrier of await barriers()) found.push(`${at}, ${colorScheme}: ${barrier}`)
      await picture(`${name}-${size.width}-${colorScheme}`)
    }
    return found
  }
  return {
    ...{ page, complaints, requested, barriers, faults, picture },
    // Closes the page with its context, and so its storage.
    [Symbol.asyncDispose]: () => page.close(),
  }
}

/** A phone with a touch screen. */
export const PHONE: PageOptions = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

/**
 * Script with which a page shows changes after 0.3 s instead of up to 5 s (PACE_MS of web/map/live.ts), for
 * tests that would wait for several updates.
 */
export const WITHOUT_PACE = `const later = setTimeout
  setTimeout = (work, ms, ...rest) => later(work, ms > 1000 && ms <= 5000 ? 300 : ms, ...rest)`

/** Resolves when the map of a page is drawn. */
export const idle = (page: Page): Promise<void> => page.locator('.map[data-state=idle]').waitFor()
/** Middle of the map of a page, in pixels. */
export async function middle(page: Page): Promise<{ x: number; y: number }> {
  const { x, y, width, height } = (await page.locator('.map').boundingBox())!
  return { x: x + width / 2, y: y + height / 2 }
}

/**
 * Browsers that the pages of a test file share: starting one costs more than most pages. A browser that has
 * crashed is replaced.
 */
const browsers = new Map<boolean, Promise<Browser>>()
afterAll(async () => {
  for (const browser of browsers.values()) await (await browser.catch(() => undefined))?.close()
})

async function browserWith(webgl: boolean): Promise<Browser> {
  const running = await browsers.get(webgl)?.catch(() => undefined)
  if (running?.isConnected()) return running
  const { args, ...options } = launchOptions(webgl)
  // The emulation of a graphics card then draws only maps, which saves a quarter of the processor time.
  const started = chromium.launch({ ...options, args: [...args, '--disable-gpu-compositing'] })
  browsers.set(webgl, started)
  return started
}

/**
 * Opens an address of the pages as a link within them does, without loading them again: a form or the
 * explorer with other parameters is reset.
 */
export const follow = (page: Page, address: string): Promise<unknown> =>
  page.evaluate(`history.pushState(null, '', ${JSON.stringify(address)})
    dispatchEvent(new PopStateEvent('popstate'))`)

export { CHROMIUM }
