import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { CHROMIUM, follow, middle, openPage, PHONE, SIZES, WITHOUT_MAP, type OpenPage } from './browser'
import { LOCAL_CHAIN, startTestWorld, type TestWorld } from './world'
import { withChromium } from './needs'

/** Layout, contrast and accessibility of all pages in a real browser (needs chromium). */

let world: TestWorld
let record: { chain: string; uid: string }
let pages: Record<string, string>
beforeAll(async () => {
  world = await startTestWorld({ CHAINS: LOCAL_CHAIN.slug }, { samples: true })
  const { body } = await world.get('/api/v0/location-records?memo=Champ+de+Mars&chain=base-sepolia')
  record = body.data[0]
  pages = {
    explorer: '/',
    record: `/?record=${record.chain}-${record.uid}&at=2.3,48.85,12`,
    playground: '/playground',
    attest: '/attest',
    manual: '/manual',
    search: '/manual?q=polygon',
    page: '/manual/guide/first-steps',
    docs: '/docs',
    graphql: '/graphql',
    ogc: '/ogc',
    collections: '/ogc/collections?f=html',
    records: '/api/v0/location-records?format=html&limit=20',
    one: `/api/v0/location-records/${record.uid}?chain=${record.chain}&format=html`,
    answers: '/api/v0/answers?format=html',
    error: '/errors/rate-limited',
    missing: '/api/v0/location-records/0x12?format=html',
    log: '/log',
  }
  if (!CHROMIUM) return
  mapped = await openPage()
  plain = await openPage(WITHOUT_MAP)
})
/** Pages that the tests share, with a map and without one. */
let mapped: OpenPage
let plain: OpenPage
beforeEach(async () => {
  for (const { page } of CHROMIUM ? [mapped, plain] : []) {
    await page.setViewportSize(SIZES[2])
    await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none' })
  }
})

/** Resolves when a page has drawn its map, or GraphiQL its schema, if it has one. */
async function drawn(page: Page): Promise<void> {
  await page.waitForLoadState('load')
  if (page.url().endsWith('/log')) await page.locator('.log h1').waitFor()
  else if ((await page.locator('#app').count()) > 0) await page.locator('.map[data-state=idle]').waitFor()
  if (page.url().endsWith('/graphql')) await page.getByText('attestationEventById').first().waitFor()
}
const opened = async (page: Page, path: string) => {
  await page.goto(world.url + path, { referer: world.url })
  await drawn(page)
}

/** Pages of the app, whose texts are messages (web/messages), and an element that only this page shows. */
const APP = {
  ...{ explorer: '.list', record: '.card .facts', playground: '.geometry-a' },
  ...{ attest: '.geometry-place', log: '.log h1' },
} as const
/** Shows a page of the app as a link within it does. */
async function show(page: Page, name: keyof typeof APP): Promise<void> {
  await follow(page, world.url + pages[name]!)
  await page.locator(APP[name]).waitFor()
  await drawn(page)
}

/** Header of a page: its size, its font, and the text and box of each link. */
const HEADER = `{
  const box = (element) => {
    const { x, y, width, height } = element.getBoundingClientRect()
    return [element.textContent, ...[x, y, width, height].map(Math.round)].join()
  }
  const link = document.querySelector('.site nav > a:not([aria-current])')
  const { width, height } = document.querySelector('header.site').getBoundingClientRect();
  [width, height, getComputedStyle(link).font, ...[...document.querySelectorAll('.site .brand, .site nav > a')].map(box)]
}`

withChromium.describe('the pages of the web interface', () => {
  test(
    'have one header, and no serious accessibility violation, console error or horizontal scrolling at three sizes',
    // 17 pages, each in three layouts.
    { timeout: 600_000 },
    async () => {
      const { page, complaints } = mapped
      const found: string[] = []
      const headers: Record<string, unknown> = {}
      for (const [name, path] of Object.entries(pages)) {
        const reported = complaints.length
        if (name === 'record' || name === 'playground' || name === 'attest') await show(page, name)
        else await opened(page, path)
        headers[name] = await page.evaluate(HEADER)
        found.push(...(await mapped.faults(`face-${name}`, () => drawn(page))))
        // The browser reports the status of a page that does not exist.
        for (const complaint of complaints.slice(reported))
          if (name !== 'missing' || !complaint.includes('status of 400')) found.push(`${name}: ${complaint}`)
      }
      expect(found).toEqual([])
      for (const [name, header] of Object.entries(headers)) expect(header, name).toEqual(headers.explorer)
    },
  )

  test.each([
    ['longer words', 'en-XA', 'ltr', {}],
    // actions.system.test.ts has a map from right to left.
    ['words from right to left', 'ar-XB', 'rtl', WITHOUT_MAP],
  ])(
    'have room for %s at three sizes, and the language of the browser',
    { timeout: 240_000 },
    async (_, locale, direction, options) => {
      await using browser = await openPage({ ...options, locale })
      const { page } = browser
      const found: string[] = []
      await opened(page, '/')
      for (const name of Object.keys(APP) as (keyof typeof APP)[]) {
        await show(page, name)
        expect(await page.evaluate('document.dir')).toBe(direction)
        // Each message is in brackets. Titles of shortened values show the whole value.
        const labels = await page.evaluate<string[]>(`['aria-label', 'title', 'placeholder'].flatMap((name) =>
          [...document.querySelectorAll('#app [' + name + ']')].map((each) => each.getAttribute(name)))`)
        for (const label of labels) if (!/\[.*\]|^0x/.test(label)) found.push(`${name}: ${label}`)
        for (const size of SIZES) {
          await page.setViewportSize(size)
          await drawn(page)
          const wide = await page.evaluate<number>('document.documentElement.scrollWidth')
          if (wide > size.width) found.push(`${name} at ${size.width}: ${wide} pixels wide`)
          await browser.picture(`face-${name}-${size.width}-${locale}`)
        }
      }
      expect(found).toEqual([])
      // The language in the address has priority over the browser's.
      await opened(page, '/?lang=en')
      expect(await page.evaluate('[document.documentElement.lang, document.dir]')).toEqual(['en', 'ltr'])
    },
  )

  test("have no serious accessibility violation in the explorer's filters on a phone", async () => {
    await using browser = await openPage({ ...WITHOUT_MAP, ...PHONE, colorScheme: 'dark' })
    const { page } = browser
    await opened(page, '/')
    await page.getByText('Filters', { exact: true }).click()
    await page.getByLabel('Memo contains').fill('Champ')
    await page.getByLabel('Memo contains').press('Enter')
    await page.getByText('Filters (1)').waitFor()
    expect(await browser.barriers()).toEqual([])
    expect(browser.complaints).toEqual([])
  })

  test('show a menu with the pages for which the header of a phone has no room', async () => {
    const { page } = plain
    await page.setViewportSize({ width: 320, height: 600 })
    for (const path of ['/', '/ogc']) {
      await opened(page, path)
      await page.locator('.site summary').click()
      expect(await page.locator('.site details a').allTextContents()).toEqual([
        'Manual',
        'API',
        'GraphQL',
        'GIS',
        'Log',
      ])
      await page.locator('.site details').getByRole('link', { name: 'Manual' }).click()
      await page.getByRole('heading', { name: 'Manual' }).waitFor()
    }
  })
})

withChromium.describe('the map', () => {
  test('has legible buttons in light, in dark and with forced colours', async () => {
    const { page } = mapped
    await opened(page, '/')
    // The actions have one map, so that each is looked at once.
    for (const [name, shown, colorScheme, forcedColors] of [
      ['Explore', '.list', 'light', 'none'],
      ['Explore', '.list', 'dark', 'active'],
      ['Ask', '.geometry-a', 'dark', 'none'],
      ['Attest', '.geometry-place', 'light', 'active'],
    ] as const) {
      await page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
      await page.locator(shown).waitFor()
      await drawn(page)
      await page.emulateMedia({ colorScheme, forcedColors })
      const buttons = await page.locator('.map .maplibregl-ctrl-group button').all()
      expect(buttons.length).toBeGreaterThan(3)
      const boxes = await Promise.all(buttons.map(async (button) => (await button.boundingBox())!))
      for (const { width, height } of boxes) expect(Math.min(width, height)).toBeGreaterThanOrEqual(29)
      for (const contrast of await contrastsIn(page, await page.screenshot(), boxes))
        expect(contrast, `${name}, ${colorScheme}, ${forcedColors}`).toBeGreaterThan(4.5)
    }
  })

  test('has buttons, attribution and a note about streets that no card covers at each width', async () => {
    const { page } = mapped
    for (const width of [1280, 1024, 820, 390]) {
      await page.setViewportSize({ width, height: 800 })
      // The page of a phone is one from its start: its times are folded.
      if (width === 1280 || width === 390) await opened(page, pages.record!)
      await page.getByText('Champ de Mars').first().waitFor()
      await drawn(page)
      await page.locator('.street-note').waitFor()
      const covered = await page.evaluate(`[
        ...document.querySelectorAll('.map .maplibregl-ctrl-group button, .maplibregl-ctrl-attrib, .street-note')
      ].filter((element) => {
        const { x, y, width, height } = element.getBoundingClientRect()
        return [0.05, 0.5, 0.95].some(
          (share) => !element.contains(document.elementFromPoint(x + width * share, y + height / 2)),
        )
      }).map(({ className }) => className)`)
      expect(covered, String(width)).toEqual([])
    }
  })

  test('selects no area with a click for a point while the drawing code loads', async () => {
    const { page } = mapped
    await opened(page, '/playground')
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    await page.route('**/assets/drawing-*.js', async (route) => {
      await held
      await route.continue()
    })
    const asked = page.waitForRequest('**/assets/drawing-*.js')
    await page.getByRole('button', { name: 'Draw a point as From' }).click()
    await asked
    const point = await page.evaluate<{ x: number; y: number }>(`{
      const { x, y, width, height } = document.querySelector('.map').getBoundingClientRect()
      ;({ x: x + width / 2, y: y + height / 2 })
    }`)
    // The areas of countries are in the middle of the map, where a click would select them.
    await page.mouse.click(point.x, point.y)
    expect(await page.getByRole('textbox', { name: 'From' }).inputValue()).toBe('')
    release()
    await expect
      .poll(() => page.getByRole('textbox', { name: 'From' }).inputValue())
      .toMatch(/^[\d.-]+, [\d.-]+$/)
    await page.unrouteAll()
  })

  test('is a plain map with records on the ask and attest pages if there is no WebGL', async () => {
    const { page, complaints } = plain
    await opened(page, '/attest')
    await page.locator('.plain-map circle').nth(50).waitFor()
    expect(await plain.barriers()).toEqual([])
    await opened(page, '/playground')
    const place = page.locator('.plain-map g', { hasText: 'Champ de Mars' }).first()
    // The map may be drawn before the form takes places from it.
    await expect
      .poll(async () => {
        await place.dispatchEvent('click')
        return page.getByRole('textbox', { name: 'From' }).inputValue()
      })
      .toMatch(/^0x[0-9a-f]{64}$/)
    expect(complaints).toEqual([])
  })
})

withChromium.test('the list of records shows all formats of its downloads at each width', async () => {
  const { page } = plain
  await opened(page, '/')
  for (const width of [1280, 820, 390, 320]) {
    await page.setViewportSize({ width, height: 800 })
    await drawn(page)
    expect(await page.locator('.exports a').count()).toBe(6)
    const cut = await page.evaluate(`{
      const side = document.querySelector('.exports').closest('.side, .stage, main')
      const { right } = side.getBoundingClientRect()
      ;[...document.querySelectorAll('.exports a')].filter((link) => link.getBoundingClientRect().right > right)
        .map(({ textContent }) => textContent).concat(side.scrollWidth > side.clientWidth ? ['scrolls'] : [])
    }`)
    expect(cut, String(width)).toEqual([])
  }
})

withChromium.test('the header marks the current page if the user forces colours', async () => {
  const { page } = plain
  await page.emulateMedia({ forcedColors: 'active' })
  for (const path of ['/', '/manual']) {
    await page.goto(world.url + path)
    const links = page.locator('.site nav > a')
    const lines = await links.evaluateAll((all) =>
      all.map((link: any) => [
        link.hasAttribute('aria-current'),
        (globalThis as any).getComputedStyle(link).textDecorationLine,
      ]),
    )
    expect(lines.filter(([isCurrent]) => isCurrent)).toEqual([[true, 'underline']])
    expect(lines.filter(([isCurrent]) => !isCurrent).every(([, line]) => line === 'none')).toBe(true)
  }
})

withChromium.test('GraphiQL fills the height of the window', async () => {
  await opened(plain.page, '/graphql')
  expect(await plain.page.evaluate('[document.documentElement.scrollHeight, innerHeight]')).toEqual([
    800, 800,
  ])
})

withChromium.test('the map gets the colours of a page that becomes dark', async () => {
  const { page } = mapped
  await opened(page, '/?at=-35,30,4')
  const { x, y } = await middle(page)
  const sea = async () => (await page.screenshot({ clip: { x, y, width: 4, height: 4 } })).toString('base64')
  const light = await sea()
  await page.emulateMedia({ colorScheme: 'dark' })
  await expect.poll(sea).not.toBe(light)
  await page.emulateMedia({ colorScheme: 'light' })
  await expect.poll(sea).toBe(light)
})

withChromium.test('a slow response about the chains is awaited, and not requested again', async () => {
  await using browser = await openPage(WITHOUT_MAP)
  const { page, requested } = browser
  const asked = () => requested.filter((url) => url.endsWith('/ready')).length
  await page.clock.install()
  // This request gets no response.
  await page.route('**/ready', () => {})
  await page.goto(`${world.url}/`)
  await expect.poll(asked).toBe(1)
  await page.clock.runFor(20_000)
  await page.evaluate('1')
  expect(asked()).toBe(1)
})

withChromium.test(
  'GraphiQL shows whole values, a dark hint on a dark page, and the editor on a phone',
  async () => {
    await using browser = await openPage({ ...WITHOUT_MAP, colorScheme: 'dark' })
    const { page } = browser
    await opened(page, '/graphql')
    const cut = await page
      .locator('.graphiql-explorer-root input')
      .evaluateAll((all: any[]) => all.filter((each) => each.scrollWidth > each.clientWidth).length)
    expect(cut).toBe(0)
    await page.locator('.query-editor .cm-property', { hasText: 'locationRecords' }).first().hover()
    const hint = page.locator('.CodeMirror-info')
    await hint.waitFor()
    expect(await hint.evaluate((each: any) => (globalThis as any).getComputedStyle(each).filter)).toMatch(
      /^invert/,
    )
    await page.setViewportSize(SIZES[0])
    await page.goto(`${world.url}/graphql`)
    await page.getByRole('button', { name: 'Explorer' }).waitFor()
    await expect.poll(async () => (await page.locator('.query-editor').boundingBox())?.x).toBe(0)
  },
)

interface Box {
  x: number
  y: number
  width: number
  height: number
}
/** Contrast (WCAG 2.2, 1.4.3) between the darkest and the lightest pixel of each part of a picture. */
async function contrastsIn(page: Page, png: Buffer, boxes: readonly Box[]): Promise<number[]> {
  return page.evaluate<number[]>(`(async () => {
    const bytes = Uint8Array.from(atob('${png.toString('base64')}'), (each) => each.charCodeAt(0))
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d')
    context.drawImage(bitmap, 0, 0)
    const linear = (value) => (value <= 10 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4)
    return ${JSON.stringify(boxes)}.map(({ x, y, width, height }) => {
      // Without the edge, which may show what is behind the round corners.
      const { data } = context.getImageData(x + 6, y + 6, width - 12, height - 12)
      let [least, most] = [1, 0]
      for (let i = 0; i < data.length; i += 4) {
        const light = 0.2126 * linear(data[i]) + 0.7152 * linear(data[i + 1]) + 0.0722 * linear(data[i + 2])
        least = Math.min(least, light)
        most = Math.max(most, light)
      }
      return (most + 0.05) / (least + 0.05)
    })
  })()`)
}
