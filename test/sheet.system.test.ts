import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { COMPUTE } from '../src/operations'
import { prepareGeometry, readGeometry } from '../src/geodesy'
import { attest, LOCAL_CHAIN, locationRequest, revoke } from '../dev/chain'
import { follow, idle, openPage, SIZES, WITHOUT_MAP, type OpenPage } from './browser'
import { rows } from './database'
import { insertRecords } from './records'
import { startTestWorld, type TestWorld } from './world'
import { TOWER } from './positions'
import { withChromium } from './needs'

/** Tests of the sheet of a place in a real browser, on the running service and a local chain. */

let world: TestWorld
const uids: Record<'tower' | 'park' | 'fiji' | 'pole' | 'withdrawn' | 'mine' | 'long', string> = {} as never
const PARK = {
  type: 'Polygon' as const,
  coordinates: [[[-74, 40.7], [-73.9, 40.7], [-73.9, 40.8], [-74, 40.7]]], // oxfmt-ignore
}
const FIJI = {
  type: 'Polygon' as const,
  coordinates: [[[177, -19], [-178, -18], [180, -15], [177, -19]]], // oxfmt-ignore
}

beforeAll(async () => {
  world = await startTestWorld()
  const { chain } = world
  uids.tower = await attest(chain, locationRequest(TOWER, { memo: 'Eiffel Tower' }))
  uids.park = await attest(chain, locationRequest(PARK, { memo: 'A park' }), 1)
  uids.fiji = await attest(chain, locationRequest(FIJI, { memo: 'Fiji' }), 1)
  uids.pole = await attest(
    chain,
    locationRequest({ type: 'Point', coordinates: [0, 90] }, { memo: 'Pole' }),
    1,
  )
  uids.withdrawn = await attest(chain, locationRequest(TOWER, { memo: 'Withdrawn' }))
  await revoke(chain, uids.withdrawn)
  uids.mine = await attest(chain, locationRequest(TOWER, { memo: 'To be revoked' }))
  const far = { type: 'Point' as const, coordinates: [100, -50] }
  uids.long = await attest(chain, locationRequest(far, { memo: 'x'.repeat(300) }), 2)
  await world.caughtUp()
})

const sheet = (page: Page) => page.locator('.card')
/** True if the sheet scrolls sideways. */
const isWide = (page: Page) => sheet(page).evaluate((card: any) => card.scrollWidth > card.clientWidth)
const check = (page: Page, name: string, state: string) =>
  sheet(page).locator(`[data-name=${name}][data-check=${state}]`)
const pageOf = (uid: string) => `${world.url}/r/base-sepolia/${uid}`

withChromium.describe('the sheet of a place', () => {
  let browser: OpenPage
  let page: Page
  let isOnline = true
  beforeAll(async () => {
    browser = await openPage(WITHOUT_MAP)
    page = browser.page
    // Otherwise, the responses are the login page of a network.
    await page.route(/(local-nodes|attestation)$/, (route) =>
      isOnline ? route.continue() : route.fulfill({ body: '<html>' }),
    )
    await page.goto(world.url)
  })
  beforeEach(() => page.setViewportSize(SIZES[2]))
  /** Opens the sheet of a place at its address, as a link does. */
  const open = async (uid: string) => {
    await follow(page, pageOf(uid))
    await sheet(page)
      .locator(`[data-share="${pageOf(uid)}"]`)
      .waitFor()
  }

  test('shows three checks, and repeats them after a failure', async () => {
    isOnline = false
    await open(uids.tower)
    await sheet(page).getByRole('heading', { name: 'Eiffel Tower' }).waitFor()
    await check(page, 'chain', 'unknown').waitFor()
    isOnline = true
    await sheet(page).getByRole('button', { name: 'Retry now' }).press('Enter')
    // The button that had the focus is removed.
    await sheet(page).locator('section:has(.checks):focus').waitFor()
    for (const each of ['content', 'chain', 'standing']) await check(page, each, 'good').waitFor()
    expect(await page.locator('.time[open], .legend[open]').count()).toBe(2)
    expect(await browser.barriers()).toEqual([])
    expect(browser.complaints).toEqual([])
  })

  test('keeps a title without spaces within the sheet, next to its button', async () => {
    await open(uids.long)
    expect(await isWide(page)).toBe(false)
    const title = (await sheet(page).getByRole('heading', { level: 1 }).boundingBox())!
    const close = (await sheet(page).getByRole('button', { name: 'Close the record' }).boundingBox())!
    expect(close.y).toBe(title.y)
    expect(close.x).toBeGreaterThanOrEqual(title.x + title.width)
  })

  test('is printed alone and in full, like a form', async () => {
    for (const [selector, show] of [
      ['.card', () => open(uids.long)],
      ['.panel', () => follow(page, `${world.url}/attest`)],
    ] as const) {
      await show()
      await page.locator(selector).getByRole('heading', { level: 1 }).waitFor()
      await page.setViewportSize({ width: 700, height: 300 })
      await page.emulateMedia({ media: 'print' })
      const others = await page
        .locator(`:is(.site, .side, .plain-map):not(${selector})`)
        .filter({ visible: true })
        .count()
      const { height } = (await page.locator(selector).boundingBox())!
      const isWhole = await page
        .locator(selector)
        .evaluate((shown: any) => shown.scrollHeight <= shown.offsetHeight)
      const whole = await page.evaluate('document.documentElement.scrollHeight')
      await page.emulateMedia({ media: 'screen' })
      expect([others, isWhole, whole]).toEqual([0, true, Math.round(height)])
      expect(height).toBeGreaterThan(300)
    }
  })

  test('is replaced by a visible message if its code cannot be loaded', async () => {
    await using other = await openPage(WITHOUT_MAP)
    await other.page.route(/\/assets\/(sheet-[^/]+\.js|card-[^/]+\.css)$/, (route) => route.abort())
    await other.page.goto(pageOf(uids.tower))
    // Times out if something covers the message.
    await other.page.getByText('could not be loaded').click({ trial: true })
    await other.page.unrouteAll()
    await sheet(other.page).getByRole('heading', { name: 'Eiffel Tower' }).waitFor()
    await other.page.locator('.card-head').and(other.page.locator(':focus-within')).waitFor()
    // A style sheet that could not be loaded has no readable rules.
    const isStyled = `[...document.styleSheets].every(({ cssRules }) => cssRules.length > 0)`
    await expect.poll(() => other.page.evaluate(isStyled)).toBe(true)
  })

  test('keeps the focus off the list that it covers, and gives it back', async () => {
    await page.setViewportSize(SIZES[0])
    await follow(page, world.url)
    const entry = page.locator(`[data-record="base-sepolia-${uids.tower}"]`)
    await entry.press('Enter')
    await sheet(page).locator('.facts').waitFor()
    const isIn = (selector: string) =>
      page.evaluate(`document.activeElement.closest(${JSON.stringify(selector)}) !== null`)
    await page.locator('summary', { hasText: 'Time:' }).focus()
    await page.keyboard.press('Tab')
    expect(await isIn('.side')).toBe(false)
    await sheet(page).getByRole('button', { name: 'Close the record' }).press('Escape')
    await sheet(page).waitFor({ state: 'detached' })
    await expect.poll(() => isIn(`[data-record="base-sepolia-${uids.tower}"]`)).toBe(true)

    await page.locator('.side .watch').press('Enter')
    await sheet(page).getByRole('heading', { name: 'Watch', exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => isIn('.side .watch')).toBe(true)
  })

  test('keeps the focus on a button that copies although the clipboard is blocked', async () => {
    await open(uids.tower)
    await page.evaluate('navigator.clipboard.writeText = () => Promise.reject(new Error())')
    const copy = sheet(page).locator('.copy').first()
    await copy.press('Enter')
    await copy.getByText('Copied').waitFor()
    expect(await copy.and(page.locator(':focus')).count()).toBe(1)
    await page.reload()
  })

  test('marks its place in the list, also if its UID is in capitals', async () => {
    await follow(page, pageOf(`0x${uids.tower.slice(2).toUpperCase()}`))
    await page.locator(`.list [data-record="base-sepolia-${uids.tower}"][aria-current=true]`).waitFor()
  })

  test('measures an area by the kernel, in the units that the user chose', async () => {
    await open(uids.park)
    const size = sheet(page).locator('[data-size]')
    const whole = COMPUTE.area([prepareGeometry(readGeometry(PARK, 'geometry'))], [])
    const squareMeters = Number(whole) / 10_000
    expect(Number(await size.getAttribute('data-size'))).toBe(squareMeters)
    const exact = `${squareMeters.toLocaleString('en', { maximumFractionDigits: 4 })} m²`
    expect(await size.textContent()).toBe(`${(squareMeters / 1e6).toFixed(2)} km² (${exact})`)
    await sheet(page).getByLabel('Units').selectOption('imperial')
    expect(await size.textContent()).toBe(`${(squareMeters / 2_589_988.110336).toFixed(2)} sq mi (${exact})`)
    await page.reload()
    await size.waitFor()
    expect(await size.textContent()).toContain('sq mi')
    expect(browser.complaints).toEqual([])
  })

  test("names the attester, and links to the attester's other places", async () => {
    await open(uids.tower)
    const attester = sheet(page).locator('.attester')
    await attester.getByText(/3 places, first seen on .*, 33.3% revoked/).waitFor()
    await attester.getByRole('button', { name: 'More from this attester' }).click()
    await page.locator('.list h2', { hasText: '3 places' }).waitFor()
    expect(new URL(page.url()).searchParams.get('prover')).toMatch(/^0x/)
  })

  // shown-content.test.ts changes each part of a record.
  test('reports ways in which a service may lie', async () => {
    /** Opens a place while the service returns changed data. */
    const lying = async (uid: string, url: string, pattern: RegExp, text: string) => {
      await page.route(url, async (route) => {
        const response = await route.fetch()
        await route.fulfill({ response, body: (await response.text()).replace(pattern, text) })
      })
      // A place that is already open is not read again.
      await follow(page, world.url)
      await open(uid)
    }
    // Content of the event log that does not hash to the UID.
    await lying(uids.tower, '**/graphql', /"recipient":"0x0000/g, '"recipient":"0x1111')
    await check(page, 'content', 'bad').waitFor()
    await check(page, 'chain', 'good').waitFor()
    await page.unrouteAll()
    const record = (uid: string) => `**/api/v0/location-records/${uid}**`
    await lying(uids.tower, record(uids.tower), /Eiffel Tower/, 'Another tower')
    await sheet(page).getByRole('heading', { name: 'Another tower' }).waitFor()
    await check(page, 'content', 'bad').waitFor()
    // A record that the service shows as valid, although the chain has a revocation.
    await lying(uids.withdrawn, record(uids.withdrawn), /"revoked":true/, '"revoked":false')
    await check(page, 'content', 'good').waitFor()
    await check(page, 'standing', 'bad').waitFor()
    await page.unrouteAll()
  })

  test('names its place in the title of the document, and is closed by the back button', async () => {
    await open(uids.park)
    const isTitled = (name: string) => expect.poll(() => page.title()).toBe(`${name} · Attested places`)
    await isTitled('A park')
    await sheet(page).getByRole('button', { name: 'Close' }).click()
    await isTitled('Explore')
    await page.getByRole('combobox', { name: 'Search' }).fill('Eiffel Tower')
    await page.locator('.hits [role=option]').first().click()
    await isTitled('Eiffel Tower')
    await page.locator('.side .place', { hasText: 'Withdrawn' }).click()
    await isTitled('Withdrawn')
    await page.goBack()
    await isTitled('Eiffel Tower')
    await page.goBack()
    await isTitled('Explore')
    expect(await sheet(page).count()).toBe(0)
    await page.goForward()
    await isTitled('Eiffel Tower')
    await sheet(page).getByRole('link', { name: 'Measure from here' }).click()
    await isTitled('Ask')
    expect(browser.complaints).toEqual([])
  })

  test('opens with its place in view, next to the sheet', async () => {
    await using browser = await openPage({ viewport: { width: 720, height: 450 } })
    const { page } = browser
    await page.goto(pageOf(uids.park))
    const units = sheet(page).getByLabel('Units')
    for (const [system, symbol] of [
      ['imperial', 'mi'],
      ['nautical', 'nmi'],
      ['metric', 'km'],
    ] as const) {
      await units.selectOption(system)
      expect(await page.locator('.maplibregl-ctrl-scale').textContent()).toMatch(
        new RegExp(`^\\d+\\s?${symbol}$`),
      )
    }
    // Wide parts of the page are open only in a high window.
    expect(await page.locator('.time[open], .legend[open]').count()).toBe(0)
    const at = () => (new URL(page.url()).searchParams.get('at') ?? '').split(',').map(Number)
    for (const [uid, expected] of [
      [uids.park, [-73.95, 40.75, 7]],
      // An area across the antimeridian, and a position at a pole.
      [uids.fiji, [179.5, -17, 5]],
      [uids.pole, [0, 85, 1]],
    ] as const) {
      if (uid !== uids.park) {
        await page.setViewportSize(SIZES[2])
        await follow(page, pageOf(uid))
      }
      const isNear = () => {
        const [longitude, latitude, zoom] = at().map((each, i) => each - expected[i]!)
        // The place lies next to the sheet, up to 5 degrees from the middle of the map.
        return (
          Math.abs(Math.sin((longitude! * Math.PI) / 360)) < 0.05 && Math.abs(latitude!) < 0.5 && zoom! > 0
        )
      }
      await expect.poll(isNear, { message: String(expected) }).toBe(true)
      await idle(page)
      const [mark, map] = await Promise.all(
        ['.selected-place', '.map'].map((each) => page.locator(each).boundingBox()),
      )
      expect(mark!.y, String(expected)).toBeGreaterThan(map!.y)
      expect(mark!.y + mark!.height, String(expected)).toBeLessThan(map!.y + map!.height)
      const [, , zoom] = at()
      for (const times of [1, 2]) {
        await page.getByRole('button', { name: 'Zoom in' }).click()
        await expect.poll(() => at()[2]).toBeCloseTo(zoom! + times, 1)
      }
      await sheet(page).getByRole('button', { name: 'Zoom to place' }).click()
      await expect.poll(() => isNear() && Math.abs(at()[2]! - zoom!) < 0.1).toBe(true)
    }
    expect(browser.complaints).toEqual([])
  })

  test('has buttons to ask, attest and share, and revokes an own place of the user', async () => {
    await open(uids.mine)
    const actions = sheet(page).locator('.actions')
    const hrefOf = (name: string) => actions.getByRole('link', { name }).getAttribute('href')
    expect(await hrefOf('Measure from here')).toBe(
      `${world.url}/playground?op=distance&a=${uids.mine}&chain=base-sepolia`,
    )
    expect(await hrefOf('Is it inside')).toBe(
      `${world.url}/playground?op=contains&b=${uids.mine}&chain=base-sepolia`,
    )
    expect(await hrefOf('Attest here')).toBe(`${world.url}/attest?place=2.2945%2C+48.8584&chain=base-sepolia`)
    expect(await actions.locator('[data-share]').getAttribute('data-share')).toBe(pageOf(uids.mine))
    await actions.getByRole('button', { name: 'Share' }).click()
    await actions.getByText('Link copied').waitFor()
    await actions.getByText('Link copied').waitFor({ state: 'detached' })
    // A browser within an app of a phone, without a dialog to share.
    await page.evaluate(`matchMedia = () => ({ matches: true })
      navigator.share = () => Promise.reject(new DOMException('refused', 'NotAllowedError'))`)
    await actions.getByRole('button', { name: 'Share' }).click()
    await actions.getByText('Link copied').waitFor()
    await page.evaluate(`navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))
      document.execCommand = () => false`)
    await actions.locator('[data-share]').click()
    expect(await actions.getByLabel('Copy the link').inputValue()).toBe(pageOf(uids.mine))
    await actions.locator('.revoke summary').click()
    await actions.getByRole('button', { name: /Revoke .* with a test account/ }).click()
    await sheet(page).getByText(/^Revoked on/).waitFor() // oxfmt-ignore
    await check(page, 'standing', 'bad').waitFor()
    expect(browser.complaints).toEqual([])
  })

  test('hands a place that is too large for a link to the attest page', async () => {
    const corners = Array.from({ length: 300 }, (_, i): [number, number] => {
      const angle = (i / 150) * Math.PI
      return [10 + Math.cos(angle), 50 + Math.sin(angle)].map((each) => Number(each.toFixed(5))) as never
    })
    const area = { type: 'Polygon' as const, coordinates: [[...corners, corners[0]!]] }
    const uid = await attest(world.chain, locationRequest(area), 2)
    await world.caughtUp()
    await open(uid)
    await sheet(page).getByRole('button', { name: 'Attest here' }).click()
    const place = page.getByLabel('Place', { exact: true })
    await expect.poll(() => place.inputValue()).not.toBe('')
    expect(JSON.parse(await place.inputValue())).toEqual(area)
    // It replaces a private place only if the user agrees.
    await place.fill('{"salt"')
    await open(uid)
    const question = page.waitForEvent('dialog')
    const clicked = sheet(page).getByRole('button', { name: 'Attest here' }).click()
    await (await question).dismiss()
    await clicked
    expect(await place.inputValue()).toBe('{"salt"')
    await place.fill('')
  })

  test.each([
    ['the browser has no node', {}],
    ['the node fails', { [LOCAL_CHAIN.id]: 'broken' }],
  ])("reads the chain through the service's RPC endpoint if %s", async (_, nodes: Record<number, string>) => {
    const urls = Object.fromEntries(Object.entries(nodes).map(([id, path]) => [id, `${world.url}/${path}`]))
    await page.route('**/local-nodes', (route) => route.fulfill({ json: urls }))
    await page.route('**/broken', (route) =>
      route.fulfill({ json: { error: { code: -32_000, message: 'The node is syncing.' } } }),
    )
    await page.goto(pageOf(uids.tower))
    await check(page, 'chain', 'good').getByText("this service's node").waitFor()
    await check(page, 'standing', 'good').waitFor()
    await open(uids.withdrawn)
    await check(page, 'standing', 'bad').waitFor()
    await page.unrouteAll()
    // This browser does not have the attester's account.
    expect(await sheet(page).locator('.revoke').count()).toBe(0)
    expect(browser.complaints).toEqual([])
  })

  test('names the other chains of the same place, which are one entry in the list', async () => {
    const [{ location, prover, srs, type }] = (await rows<Record<string, string>>(
      world.databaseUrl,
      'SELECT location, prover, srs, location_type AS type FROM location_record WHERE uid = $1',
      [uids.tower],
    )) as [Record<string, string>]
    const twin = { memo: 'Eiffel Tower', prover: prover!, locationType: type!, location: location! }
    const [copy] = await insertRecords(world.databaseUrl, [
      { chain: 'celo', ...twin, geometry: TOWER, columns: { srs: srs! } },
    ])
    try {
      await open(uids.tower)
      await sheet(page).getByRole('button', { name: 'Celo' }).click()
      await sheet(page).locator('.facts', { hasText: 'Celo' }).waitFor()
      expect(page.url()).toContain(`record=celo-${copy!.uid}`)
      await page.goto(world.url)
      const entry = page.locator('.places li', { hasText: 'Eiffel Tower' })
      await entry.getByText('Base Sepolia, Celo').waitFor()
      expect(await entry.count()).toBe(1)
    } finally {
      await rows(world.databaseUrl, "DELETE FROM location_record WHERE chain = 'celo'", [])
    }
  })

  test('explains what to do about a place that is not indexed', async () => {
    await page.setViewportSize(SIZES[0])
    await follow(page, pageOf(`0x${'1'.repeat(64)}`))
    await sheet(page).getByText('A reorg may have removed it').waitFor()
    expect(await isWide(page)).toBe(false)
    await page.keyboard.press('Escape')
    await sheet(page).waitFor({ state: 'detached' })
    expect(new URL(page.url()).pathname).toBe('/')
  })

  test('names the supported chains if the chain of its address is not one of them', async () => {
    await follow(page, `${world.url}/?record=polygon-${uids.tower}`)
    await sheet(page).getByRole('heading', { name: 'Not found' }).waitFor()
    await sheet(page).getByText('base-sepolia').waitFor()
    // A retry would have the same result.
    expect(await sheet(page).getByRole('button', { name: 'Retry now' }).count()).toBe(0)
  })
})
