import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { source as axe, type AxeResults } from 'axe-core'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { afterAll, TestRunner } from 'vitest'
import { CHROMIUM, launchOptions } from '../dev/chromium'

/** Folder of the screenshots for review. */
const SCREENSHOTS = '.local/screenshots'
/** Milliseconds that a step of a page in a hook may take before it counts as hanging. */
const STEP_MS = 60_000

export interface OpenPage extends AsyncDisposable {
  readonly page: Page
  /** errors and warnings of the page's console, its uncaught errors, and failed requests */
  readonly complaints: readonly string[]
  /** URL of every request that the page sent */
  readonly requested: readonly string[]
  /** serious or critical findings of axe-core, as `rule: element`; with `rules`, of these rules only */
  barriers(rules?: readonly string[]): Promise<string[]>
  /** saves a screenshot under this name if PICTURES is set */
  picture(name: string): Promise<void>
}
export interface PageOptions extends Pick<
  BrowserContextOptions,
  'viewport' | 'colorScheme' | 'reducedMotion' | 'hasTouch' | 'isMobile' | 'locale' | 'timezoneId'
> {
  /** default: true */
  webgl?: boolean
}

/**
 * Options of tests that concern only the texts and forms of a page, which then shows its plain map. The
 * emulation of a graphics card takes more than half of the processor time of most pages.
 */
export const WITHOUT_MAP: PageOptions = { webgl: false }

/**
 * Opens a page in CHROMIUM, which can reach only this machine, so a page that loads an external resource
 * fails visibly. Close the page with `await using`.
 */
export async function openPage({ webgl = true, ...options }: PageOptions = {}): Promise<OpenPage> {
  const browser = await browserWith(webgl)
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options })
  // Times out before the test does, so that the error names the element for which a hanging test waits.
  page.setDefaultTimeout((TestRunner.getCurrentTest()?.timeout ?? 2 * STEP_MS) / 2)
  const complaints: string[] = []
  const requested: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error.stack)))
  page.on('request', (request) => requested.push(request.url()))
  return {
    page,
    complaints,
    requested,
    barriers: async (rules) => {
      // The other results list each element of the page.
      const options = {
        resultTypes: ['violations'],
        ...(rules && { runOnly: { type: 'rule', values: rules } }),
      }
      if (!(await page.evaluate('globalThis.axe !== undefined'))) await page.evaluate(axe)
      const { violations } = await page.evaluate<AxeResults>(`axe.run(${JSON.stringify(options)})`)
      return violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
    },
    picture: async (name) => {
      if (!process.env.PICTURES) return
      await mkdir(SCREENSHOTS, { recursive: true })
      await page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`) })
    },
    // Closes the page with its context, and so its storage.
    [Symbol.asyncDispose]: () => page.close(),
  }
}

/** A phone with a touch screen. */
export const PHONE: PageOptions = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
/** Layouts in which a test checks its page, by name. */
export const LAYOUTS: [string, PageOptions][] = [
  ['phone-dark', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }],
  ['tablet-light', { viewport: { width: 820, height: 1180 }, colorScheme: 'light' }],
  ['desktop-dark', { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' }],
]

/** Rules of axe-core whose result depends on colours. */
export const COLOURS = ['color-contrast', 'link-in-text-block']

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
  const started = chromium.launch(launchOptions(webgl))
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
