import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { source as axe, type AxeResults } from 'axe-core'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { afterAll } from 'vitest'

/** The browser of this machine; undefined where it has none. */
export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  (file) => existsSync(file),
)
/** Where screenshots are kept, to be looked at. */
const SCREENSHOTS = '.local/screenshots'
/** WebGL 2 by the processor: the test's machine need not have a graphics card. */
const SOFTWARE_WEBGL = [
  ...['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
  // The rest of a page is drawn without it, which takes a third less processor time.
  '--disable-gpu-rasterization',
]
const NO_WEBGL = ['--disable-gpu', '--disable-webgl', '--disable-webgl2', '--disable-3d-apis']
/** Milliseconds; only ends what hangs, as the time limits of tests (vitest.config.mts). */
const HANGS_MS = 600_000

export interface OpenPage extends AsyncDisposable {
  readonly page: Page
  /** Errors and warnings of the page's console, its uncaught errors, and requests that failed. */
  readonly complaints: readonly string[]
  /** The URL of every request that the page sent. */
  readonly requested: readonly string[]
  /** What axe-core finds serious or critical, as `rule: element`. */
  barriers(): Promise<string[]>
  /** Keeps a screenshot under this name. */
  picture(name: string): Promise<void>
}
export interface PageOptions extends Pick<
  BrowserContextOptions,
  'viewport' | 'colorScheme' | 'reducedMotion'
> {
  /** Default: true. */
  webgl?: boolean
}

/**
 * A page in CHROMIUM, whose network ends at this machine: a page that loads something from elsewhere fails
 * visibly. Close it by `await using`.
 */
export async function openPage({ webgl = true, ...options }: PageOptions = {}): Promise<OpenPage> {
  const browser = await browserWith(webgl)
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options })
  page.setDefaultTimeout(HANGS_MS)
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
    barriers: async () => {
      const { violations } = await page.evaluate<AxeResults>(`${axe}; axe.run()`)
      return violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
    },
    picture: async (name) => {
      await mkdir(SCREENSHOTS, { recursive: true })
      await page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`) })
    },
    // With its context, and so its storage.
    [Symbol.asyncDispose]: () => page.close(),
  }
}

/** The pages of a test file share a browser: its start costs more than most pages. A lost one is replaced. */
const browsers = new Map<boolean, Promise<Browser>>()
afterAll(async () => {
  for (const browser of browsers.values()) await (await browser.catch(() => undefined))?.close()
})

async function browserWith(webgl: boolean): Promise<Browser> {
  const running = await browsers.get(webgl)?.catch(() => undefined)
  if (running?.isConnected()) return running
  const started = chromium.launch({
    executablePath: CHROMIUM,
    timeout: HANGS_MS,
    args: [
      '--no-sandbox',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
      ...(webgl ? SOFTWARE_WEBGL : NO_WEBGL),
    ],
  })
  browsers.set(webgl, started)
  return started
}
