import { AbiCoder } from 'ethers'
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { attest, locationRequest, request, revoke } from '../dev/chain'
import { fieldTypes } from '../src/eas'
import { LOCATION_SCHEMA } from '../src/location'
import { follow, openPage, SIZES, WITHOUT_MAP, WITHOUT_PACE, type OpenPage, idle, middle } from './browser'
import { rows } from './database'
import { insertRecords } from './records'
import { startRedisProxy } from './redis-proxy'
import { startTestWorld, type TestWorld } from './world'
import { positions } from './positions'
import { withChromium } from './needs'

/** Tests of the explorer in a real browser, on the running service and a local chain (needs chromium). */

/** A PNG of one pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const HOSTILE =
  '<img src=x onerror="window.harmed=1"><script>window.harmed=1</script> \u202Egnirts lamron on ' +
  '\u0645\u0631\u062D\u0628\u0627 '
/** Base64 that is not a picture. */
const DAMAGED = 'AAAABBBB'.repeat(8)
const LONG = HOSTILE + 'x'.repeat(100_000)

let world: TestWorld
const uids: Record<'tower' | 'gate' | 'park' | 'hostile' | 'media' | 'unread', string> = {} as never

beforeAll(async () => {
  world = await startTestWorld()
  const { chain } = world
  const point = (longitude: number, latitude: number, memo: string) =>
    attest(chain, locationRequest({ type: 'Point', coordinates: [longitude, latitude] }, { memo }))
  uids.tower = await point(2.2945, 48.8584, 'Eiffel Tower')
  uids.gate = await point(13.3777, 52.5163, 'Brandenburg Gate')
  const ring = positions('-74 40.7, -73.9 40.7, -73.9 40.8, -74 40.7')
  uids.park = await attest(
    chain,
    locationRequest({ type: 'Polygon', coordinates: [ring] }, { memo: 'A park' }),
    1,
  )
  uids.hostile = await point(30, -20, LONG)
  uids.media = await attest(
    chain,
    payload('geojson-point', '{"type":"Point","coordinates":[100,-30]}', 'With media', [
      ['image/png', PNG],
      ['image/png', 'ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG'],
      ['image/png', DAMAGED],
      ['text/html', 'https://elsewhere.example/<b>'],
      ['text/html', 'javascript:window.harmed=1'],
    ]),
  )
  uids.unread = await attest(chain, payload('address', '10 Downing Street', 'Nowhere', []))
  await world.caughtUp()
})

/** Attests any text as a location. */
function payload(type: string, location: string, memo: string, media: readonly [string, string][]) {
  const values = [
    ...[0, 'EPSG:4326', type, location, [], []],
    ...[media.map(([each]) => each), media.map(([, each]) => each), memo],
  ]
  return request(
    LOCATION_SCHEMA.uid,
    AbiCoder.defaultAbiCoder().encode(fieldTypes(LOCATION_SCHEMA.fields), values),
  )
}

/** A slider of the filter by time. It is enabled once the time of the first record is known. */
const slider = (page: Page, label: 'From' | 'To') =>
  page.getByLabel(label, { exact: true }).and(page.locator(':enabled'))
/** Resolves when the map is drawn and shows this many places, and this many revoked ones. */
const mapShows = (page: Page, places: number, revoked = 0) =>
  page.locator(`[data-places="${places}"][data-revoked="${revoked}"]`).waitFor({ state: 'attached' })
const title = (page: Page, text: string) =>
  page.locator('.list h2', { hasText: new RegExp(`^${text}$`) }).waitFor()
const item = (page: Page, uid: string) => page.locator(`[data-record="base-sepolia-${uid}"]`)
const card = (page: Page) => page.locator('.card')
const clickMiddle = async (page: Page) => {
  const { x, y } = await middle(page)
  await page.mouse.click(x, y)
}
async function opened(browser: OpenPage, query = ''): Promise<Page> {
  await browser.page.goto(world.url + query)
  await idle(browser.page)
  return browser.page
}

withChromium.describe('the explorer', () => {
  /** Pages that the tests share, with a map and without one. */
  let mapped: OpenPage
  let plain: OpenPage
  beforeAll(async () => {
    mapped = await openPage()
    plain = await openPage(WITHOUT_MAP)
  })

  test('shows attested places, and restores filters from its address', async () => {
    const page = await opened(mapped)
    await mapShows(page, 5)
    await title(page, '5 places in view')
    await page.locator('[data-live=live]').waitFor()
    await page.getByText('1 chain up to date').waitFor()
    await mapped.picture('explorer-world')

    await page.getByLabel('Memo contains').fill('TOWER eif')
    await page.getByLabel('Memo contains').press('Enter')
    await title(page, '1 place in view')
    await mapShows(page, 1)
    expect(page.url()).toContain('memo=TOWER+eif')
    const [csv] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'CSV' }).click(),
    ])
    expect(csv.suggestedFilename()).toBe('location-records.csv')
    await page.reload()
    await title(page, '1 place in view')
    await mapShows(page, 1)
    await page.getByRole('button', { name: 'Clear all filters' }).click()
    await title(page, '5 places in view')
    expect(await page.evaluate('document.activeElement.textContent')).toMatch(/^Filters/)

    await page.getByLabel('Attester').fill('nobody')
    await page.getByLabel('Attester').press('Enter')
    await page.getByText('Enter a full address: 0x and 40 hex digits').waitFor()
    expect(page.url()).not.toContain('prover')

    await page.getByLabel('Status').selectOption('Revoked')
    await page.getByText('No places match these filters').waitFor()
    await mapShows(page, 0)
    await page.getByRole('button', { name: 'clear the filters', exact: true }).click()
    await mapShows(page, 5)
    expect(await page.evaluate('document.activeElement.textContent')).toMatch(/^Filters/)

    await page.locator('.legend').getByRole('button', { name: 'Base Sepolia' }).click()
    await mapShows(page, 0)
    await page.getByText('hidden by the legend').waitFor()
    expect(mapped.complaints).toEqual([])
    expect(await mapped.barriers()).toEqual([])
  })

  test('filters by an area that the user drags on the map', async () => {
    const page = await opened(mapped, '?at=8,50,4')
    await mapShows(page, 2)
    await page.getByRole('button', { name: 'Draw a box' }).click()
    const { x, y, width, height } = (await page.locator('.map').boundingBox())!
    await page.mouse.move(x + width / 2, y + 10)
    await page.mouse.down()
    await page.mouse.move(x + width - 10, y + height - 10, { steps: 3 })
    await page.mouse.up()
    await title(page, '1 place in the area')
    await mapShows(page, 1)
    await item(page, uids.gate).waitFor()
    expect(parseFloat(new URL(page.url()).searchParams.get('bbox')!)).toBeCloseTo(8, 3)
    await page.getByRole('button', { name: 'Clear box' }).click()
    await mapShows(page, 2)
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Draw a box')
    await page.getByRole('button', { name: 'Use this view' }).click()
    await page.locator('[data-chip=bbox]').waitFor()
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Clear box')
    await opened(mapped, '?at=8,50,4&near=13.3777,52.5163&radius=1000')
    await title(page, '1 place in the area')
    await page.locator('[data-chip]').click()
    await title(page, '2 places in view')
    expect(await page.evaluate('document.activeElement.textContent')).toMatch(/^Watch/)
    expect(mapped.complaints).toEqual([])
  })

  test('filters by time sliders with the keyboard, and restores the sliders from its address', async () => {
    const aged = (days: number) =>
      rows(
        world.databaseUrl,
        `UPDATE location_record SET timestamp = timestamp - make_interval(days => $2) WHERE uid = $1`,
        [uids.tower, days],
      )
    await aged(10)
    try {
      const page = await opened(plain)
      // Without a map, the list has the places that no map can show.
      await title(page, '6 places in view')
      await slider(page, 'To').press('Home')
      await title(page, '1 place in view')
      await item(page, uids.tower).waitFor()
      expect(page.url()).toMatch(/toTimestamp=\d{4}-\d\d-\d\dT00/)
      const bound = await page.locator('[data-time]').innerText()
      await page.reload()
      await title(page, '1 place in view')
      expect(await page.locator('[data-time]').innerText()).toBe(bound)
      await slider(page, 'To').press('End')
      await title(page, '6 places in view')
      await slider(page, 'From').press('ArrowRight')
      await title(page, '5 places in view')
      expect(page.url()).toContain('fromTimestamp=')
      expect(plain.complaints).toEqual([])
    } finally {
      await aged(-10)
    }
  })

  /** More records than a list counts, all of them in view. */
  const MANY = 10_500
  test(
    `counts ${MANY} more places on the map and in the list, and still moves the map`,
    { timeout: 180_000 },
    async () => {
      const uidsBefore = (
        await rows<{ uid: string }>(world.databaseUrl, 'SELECT uid FROM location_record')
      ).map(({ uid }) => uid)
      await insertRecords(
        world.databaseUrl,
        Array.from({ length: MANY }, (_, i) => ({
          chain: 'base-sepolia',
          geometry: {
            type: 'Point',
            coordinates: [((i * 0.75487766) % 1) * 200 - 90, ((i * 0.56984029) % 1) * 60 - 10],
          },
        })),
        1_000_000,
      )
      try {
        const page = await opened(mapped)
        await title(page, 'More than 10,000 places in view')
        await expect
          .poll(async () => Number(await page.locator('[data-places]').getAttribute('data-places')))
          .toBeGreaterThan(MANY / 2)
        await mapped.picture('explorer-many')
        const before = page.url()
        await page.mouse.move(500, 400)
        await page.mouse.down()
        await page.mouse.move(650, 460, { steps: 10 })
        await page.mouse.up()
        await expect.poll(() => page.url()).not.toBe(before)
        await idle(page)
        expect(mapped.complaints).toEqual([])
      } finally {
        await rows(world.databaseUrl, 'DELETE FROM location_record WHERE NOT uid = ANY($1)', [uidsBefore])
      }
    },
  )

  test('opens a card from the map and from the list by keyboard, and restores it from the address', async () => {
    const page = await opened(mapped, '?at=2.2945,48.8584,10')
    await mapShows(page, 1)
    await clickMiddle(page)
    await card(page).getByText('Eiffel Tower').waitFor()
    await card(page).getByText('Not revoked.').waitFor()
    const linksOf = () =>
      card(page)
        .getByRole('link')
        .evaluateAll((all) => all.map((each) => (each as unknown as { href: string }).href))
    await card(page).getByText('All data').click()
    // No external explorer knows a chain on this machine.
    const links = await linksOf()
    expect(links.filter((link) => !link.startsWith(world.url) && !link.startsWith('data:'))).toEqual([])
    const rest = `${world.url}/api/v0/location-records/${uids.tower}?chain=base-sepolia`
    expect(links).toEqual(expect.arrayContaining([`${rest}&format=json`, `${rest}&format=geojson`]))
    await card(page)
      .getByText(/^Raw on-chain data/)
      .click()
    expect(await card(page).locator('pre').textContent()).toMatch(/^0x0{60}/)
    await mapped.picture('explorer-card')
    expect(await mapped.barriers()).toEqual([])

    await page.route('**/local-nodes', (route) => route.fulfill({ json: {} }))
    await page.reload()
    await card(page).getByText('Eiffel Tower').waitFor()
    await card(page).getByText('All data').click()
    await card(page).locator('a[href^="https://base-sepolia.easscan.org/"]').first().waitFor()
    const outside = await linksOf()
    expect(outside).toContain(`https://base-sepolia.easscan.org/attestation/view/${uids.tower}`)
    expect(outside.filter((each) => each.startsWith('https://sepolia.basescan.org/tx/0x'))).toHaveLength(1)
    await page.keyboard.press('Escape')
    await card(page).waitFor({ state: 'detached' })
    await item(page, uids.tower).focus()
    await page.keyboard.press('Enter')
    await card(page).getByText('Eiffel Tower').waitFor()
    await page.keyboard.press('Escape')
    await card(page).waitFor({ state: 'detached' })
    expect(await page.evaluate('document.activeElement.dataset.record')).toBe(`base-sepolia-${uids.tower}`)
    await page.unrouteAll()
    expect(mapped.complaints).toEqual([])
  })

  test('shows a new record live, and fades the record when it is revoked', async () => {
    await mapped.page.emulateMedia({ reducedMotion: 'no-preference' })
    const page = await opened(mapped, '?at=-60,-40,5')
    await page.evaluate(WITHOUT_PACE)
    await mapShows(page, 0)
    await page.locator('[data-live=live]').waitFor()
    const place = { type: 'Point' as const, coordinates: [-60, -40] }
    const uid = await attest(world.chain, locationRequest(place, { memo: 'Just now' }))
    await item(page, uid).waitFor()
    await mapShows(page, 1)
    await clickMiddle(page)
    await card(page).getByText('Just now').waitFor()
    await revoke(world.chain, uid)
    await card(page)
      .getByText(/^Revoked on/)
      .waitFor()
    await card(page).locator('.history li').nth(1).waitFor({ state: 'attached' })
    await mapShows(page, 1, 1)
    await mapped.picture('explorer-revoked')
    await page.emulateMedia({ reducedMotion: 'reduce' })
    expect(mapped.complaints).toEqual([])
  })

  test('shows attested texts and media as text, without running scripts', async () => {
    const page = await opened(mapped, `?record=base-sepolia-${uids.hostile}&at=30,-20,6`)
    const memo = card(page).locator('.memo')
    await memo.waitFor()
    expect(await memo.textContent()).toBe(LONG)
    expect((await memo.boundingBox())!.height).toBeLessThan(200)
    await mapShows(page, 1)
    const { x, y } = await middle(page)
    await page.mouse.move(x, y)
    await page.locator('.hint', { hasText: '<img src=x' }).waitFor()
    await mapped.picture('explorer-hostile')

    await follow(page, `${world.url}?record=base-sepolia-${uids.media}`)
    const media = card(page).locator('.media')
    // A picture that cannot be read is shown as text.
    await media.getByText(DAMAGED).waitFor()
    await media.locator('img').waitFor()
    expect(
      await media
        .locator('img')
        .evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth),
    ).toBe(1)
    expect(await media.getByRole('link').allTextContents()).toEqual([
      'https://ipfs.io/ipfs/QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG',
      'https://elsewhere.example/%3Cb%3E',
    ])
    await follow(page, `${world.url}?record=base-sepolia-${uids.unread}`)
    await card(page).getByText('Not on the map.').waitFor()
    expect(await page.evaluate('window.harmed')).toBeUndefined()
    // The sheet reads the chain through the local node.
    const origins = mapped.requested.map((each) => new URL(each).origin)
    expect(new Set(origins)).toEqual(new Set([world.url, new URL(world.chain.url).origin]))
    expect(mapped.complaints).toEqual([])
  })

  test('shows the whole texts of header and selects at each width, with scale and attribution below the map', async () => {
    const { page } = mapped
    for (const width of [1200, 1024, 768, 390, 320]) {
      await page.setViewportSize({ width, height: 800 })
      // The page of a phone is one from its start: its times are folded.
      if (width === 1200 || width === 390) await page.goto(world.url)
      await idle(page)
      if (!(await page.locator('.filters').isVisible()))
        await page.getByText('Filters', { exact: true }).click()
      const cut = `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('header nav'))`
      expect(await page.evaluate(cut)).toBe(0)
      // A select element without a width is as wide as its longest option.
      const selects = await page.evaluate<{ label: string; missing: number }[]>(
        `[...document.querySelectorAll('.filters select')].map((select) => {
          const free = select.cloneNode(true)
          free.style.cssText = 'position: absolute; width: max-content'
          select.after(free)
          const missing = Math.max(0, free.offsetWidth - select.offsetWidth)
          free.remove()
          return { label: select.parentElement.firstChild.data, missing }
        })`,
      )
      expect(selects).toEqual(['Chain', 'Status'].map((label) => ({ label, missing: 0 })))
      const boxOf = async (selector: string) => (await page.locator(selector).boundingBox())!
      const [stage, map] = [await boxOf('.stage'), await boxOf('.map')]
      const [scale, attribution] = ['scale', 'attrib'].map((name) => `.maplibregl-ctrl-${name}`)
      for (const selector of [scale!, attribution!]) {
        const { x, y, height, width: across } = await boxOf(selector)
        expect(y).toBeGreaterThanOrEqual(map.y + map.height)
        expect(y + height).toBeLessThanOrEqual(stage.y + stage.height)
        expect(x + across).toBeLessThanOrEqual(stage.x + stage.width)
        const whole = `(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)`
        expect(await page.evaluate(`${whole}(document.querySelector('${selector}'))`)).toBe(true)
        // No other element covers the target.
        const at = `document.elementFromPoint(${x + across / 2}, ${y + height / 2})`
        expect(await page.evaluate(`${at}.closest('${selector}') !== null`)).toBe(true)
      }
      const { x, width: across } = await boxOf(scale!)
      expect(x + across).toBeLessThanOrEqual((await boxOf(attribution!)).x)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
    }
    await page.setViewportSize(SIZES[2])
    expect(mapped.complaints).toEqual([])
  })

  test('shows a plain map and the list without WebGL', async () => {
    const page = await opened(plain)
    await page.getByText('This browser cannot show the full map').waitFor()
    await page.locator('.plain-land').waitFor()
    await page.locator('.plain-map circle').nth(3).waitFor()
    await plain.picture('explorer-plain')
    await item(page, uids.unread).click()
    await card(page).getByText('Not on the map.').waitFor()
    await page.locator('.plain-map g', { hasText: 'Eiffel Tower' }).locator('circle').click()
    await card(page).getByText('Eiffel Tower').waitFor()
    // Each part of the sheet is at its place in the sheet, and no part covers another one.
    await card(page).getByRole('link', { name: 'Attest here' }).click({ trial: true })
    await card(page).getByRole('button', { name: 'Close' }).click({ trial: true })
    expect(await plain.barriers()).toEqual([])
    await page.getByRole('combobox', { name: 'Search' }).fill('lisbon')
    await page.locator('.hits [data-kind=town]').filter({ hasText: 'Lisbon' }).first().click()
    const [x, y] = await page
      .locator('.plain-found circle')
      .evaluate((mark: any) => [mark.cx.baseVal.value, -mark.cy.baseVal.value])
    expect([x, y]).toEqual([expect.closeTo(-9.13, 1), expect.closeTo(38.72, 1)])
    expect(plain.complaints).toEqual([])
  })

  // The console reports the failures that the following tests provoke.
  test('never links a card of a local chain to external explorers, even after a card of another chain', async () => {
    await insertRecords(world.databaseUrl, [{ chain: 'celo', uid: uids.tower, memo: 'The same UID' }])
    try {
      const page = await opened(plain, `?record=celo-${uids.tower}`)
      await card(page).getByText('The same UID').waitFor()
      await card(page).locator('a[href*="celo"][href^="https://"]').first().waitFor({ state: 'attached' })
      // Records every link that the card shows, even for a moment.
      await page.evaluate(`
        links = new Set()
        new MutationObserver(() => {
          for (const { href } of document.querySelectorAll('.card a')) links.add(href)
        }).observe(document.body, { subtree: true, childList: true, attributes: true })
        history.pushState(null, '', '?record=base-sepolia-${uids.tower}')
        dispatchEvent(new PopStateEvent('popstate'))
      `)
      await card(page).getByText('Eiffel Tower').waitFor()
      await page.evaluate('new Promise(requestAnimationFrame)')
      const links = await page.evaluate<string[]>('[...links]')
      expect(links.join()).toContain('chain=base-sepolia')
      expect(links.filter((each) => /^https:.*(base-sepolia|basescan)/.test(each))).toEqual([])
    } finally {
      await rows(world.databaseUrl, "DELETE FROM location_record WHERE chain = 'celo'", [])
    }
  })

  test('counts a new record in the histogram within a minute', async () => {
    await using browser = await openPage(WITHOUT_MAP)
    const { page } = browser
    await page.clock.install()
    await page.goto(world.url)
    await page.locator('[data-live=live]').waitFor()
    const counted = async () => Number(await page.locator('.histogram').getAttribute('data-records'))
    await expect.poll(counted).toBeGreaterThan(0)
    const before = await counted()
    const place = { type: 'Point' as const, coordinates: [61, 41] }
    await item(page, await attest(world.chain, locationRequest(place, { memo: 'Counted' }))).waitFor()
    await page.clock.fastForward(60_000)
    await expect.poll(counted).toBe(before + 1)
  })

  test('lists no places for an invalid box in its address, and says that it is refused', async () => {
    const { page } = plain
    await page.goto(`${world.url}/?bbox=1,2,3`)
    await page.locator('.list .notice', { hasText: 'bbox' }).waitFor()
    expect(await page.locator('.list h2').innerText()).toBe('Filters refused')
    expect(await page.locator('.places li').count()).toBe(0)
  })

  test('reports that the service restarts, and recovers by itself', async () => {
    const proxy = await startRedisProxy(world.url)
    try {
      const { page } = mapped
      await page.goto(`http://${new URL(proxy.url).host}/?at=2.2945,48.8584,10`)
      await page.locator('[data-live=live]').waitFor()
      await mapShows(page, 1)
      await proxy.cut()
      await page.locator('[data-live=reconnecting]').waitFor()
      await page.getByRole('button', { name: 'Zoom out' }).click()
      await page.locator('.list').getByText('The service does not respond.').waitFor()
      await mapped.picture('explorer-restarting')
      await proxy.restore()
      await page.locator('[data-live=live]').waitFor()
      await title(page, '1 place in view')
      await mapShows(page, 1)
      await page.locator('body:not(:has(.notice))').waitFor()
    } finally {
      await proxy.close()
    }
  })

  test('loads the places of the map again after a failure, and after refused filters', async () => {
    const { page } = mapped
    const somePlaces = page.locator('[data-places]:not([data-places="0"])')
    const tiles = '**/tiles/location-records/**'
    await page.route(tiles, (route) => route.fulfill({ status: 503 }))
    await page.goto(world.url)
    await page.locator('.map-stage > .notice').getByText('Part of the map is missing').waitFor()
    await page.unroute(tiles)
    await somePlaces.waitFor({ state: 'attached' })
    await page.goto(`${world.url}/?memo=???`)
    await page.locator('.map-stage > .notice').getByText('the service refuses these filters').waitFor()
    await page.getByRole('button', { name: 'Clear all filters' }).click()
    await somePlaces.waitFor({ state: 'attached' })
    await page.locator('body:not(:has(.notice))').waitFor()
  })

  test('states the time of the retry after refused requests', async () => {
    const { page } = plain
    let isLimited = true
    await page.route('**/api/v0/location-records?*', (route) =>
      isLimited
        ? route.fulfill({ status: 429, headers: { 'retry-after': '1' }, json: { title: 'Too many' } })
        : route.continue(),
    )
    // The JSON of an error is not a map of the land.
    await page.route('**/land-*.json', (route) => route.fulfill({ status: 503, json: {} }), { times: 1 })
    await page.goto(world.url)
    await page.locator('.list').getByText('You have reached the request limit').waitFor()
    isLimited = false
    await page.locator('.list h2', { hasText: 'places in view' }).waitFor()
    await page.locator('.plain-land').waitFor()
  })
})
