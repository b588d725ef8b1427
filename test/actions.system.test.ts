import type { Geometry } from 'geojson'
import type { CDPSession, Locator, Page, Request } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { CHROMIUM, openPage, SIZES, WITHOUT_MAP, type OpenPage, idle, middle, PHONE } from './browser'
import { LOCAL_CHAIN, startTestWorld, type TestWorld } from './world'
import { withChromium } from './needs'

/**
 * Tests that exploring, asking and attesting are actions on one map, and possible by touch on a phone, and of
 * the search field that the actions share, in a real browser (needs chromium).
 */

let world: TestWorld
let tower: { chain: string; uid: string; longitude: number; latitude: number }
let park: { chain: string; uid: string; prover: string }
beforeAll(async () => {
  world = await startTestWorld({ CHAINS: LOCAL_CHAIN.slug }, { samples: true })
  const found = async (query: string) => (await world.get(`/api/v0/location-records?${query}`)).body.data[0]
  tower = await found('memo=Eiffel&location_type=geojson-point&chain=base-sepolia')
  park = await found('memo=Champ+de+Mars&chain=base-sepolia')
  if (!CHROMIUM) return
  mapped = await openPage({ colorScheme: 'dark' })
  phone = await openPage(PHONE)
  plain = await openPage(WITHOUT_MAP)
})
/** Pages that the tests share: with a map, on a phone with a map, and without a map. */
let mapped: OpenPage
let phone: OpenPage
let plain: OpenPage

const action = (page: Page, name: string) =>
  page.getByRole('navigation').getByRole('link', { name, exact: true })
const parameters = (page: Page) => new URL(page.url()).searchParams
const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true })
/** Opens an address, and marks the map so that the test notices if the page creates another one. */
async function opened({ page }: OpenPage, path: string): Promise<Page> {
  await page.goto(world.url + path)
  await idle(page)
  await page.evaluate(`document.querySelector('.maplibregl-canvas').dataset.first = ''`)
  return page
}
const isFirstMap = async (page: Page) => {
  expect(await page.locator('.maplibregl-canvas').count()).toBe(1)
  expect(await page.locator('.maplibregl-canvas[data-first]').count()).toBe(1)
}

let presses = 0
const MEANS: [string, () => OpenPage, (link: Locator) => Promise<void>][] = [
  [
    ...(['mouse and keyboard', () => mapped] as const),
    (link) => (presses++ % 2 === 0 ? link.press('Enter') : link.click()),
  ],
  ['touch on a phone', () => phone, (link) => link.tap()],
]

withChromium.describe('the three actions of the map pages', () => {
  test.each(MEANS)(
    'share a map with one view, and each restores its own filters and fields, by %s',
    async (name, open, use) => {
      const browser = open()
      const page = await opened(browser, '/?memo=tower&at=2.30000%2C48.86000%2C12.00')
      const start = page.url()
      await browser.picture(`actions-explore-${name}`)
      await use(action(page, 'Ask'))
      await page.getByRole('heading', { name: 'Ask about places' }).waitFor()
      expect(new URL(page.url()).pathname).toBe('/playground')
      expect(await action(page, 'Ask').getAttribute('aria-current')).toBe('page')
      // The filter stays in force, and visible.
      await page.locator('[data-chip=memo]').waitFor()
      await idle(page)
      await use(action(page, 'Attest'))
      await field(page, 'Memo').fill('A memo')
      expect(new URL(page.url()).pathname).toBe('/attest')
      await use(action(page, 'Explore'))
      await page.locator('.list').waitFor()
      expect(page.url()).toBe(start)
      // The address of a map that was moved would show another view.
      await idle(page)
      await page.getByRole('button', { name: 'Zoom in' }).click()
      await expect.poll(() => parameters(page).get('at')).toBe('2.30000,48.86000,13.00')

      await use(action(page, 'Ask'))
      await page.getByRole('button', { name: 'Draw a point as From' }).click()
      await page.getByText('Click the map.').waitFor()
      const { x, y } = await middle(page)
      await page.mouse.click(x, y)
      await expect.poll(() => field(page, 'From').inputValue()).toMatch(/^-?[\d.]+, -?[\d.]+$/)
      const from = await field(page, 'From').inputValue()
      // A private place appears in no address, but remains in the form.
      await page.getByRole('button', { name: 'Make private: From' }).click()
      const kept = await field(page, 'From').inputValue()
      await use(action(page, 'Attest'))
      expect(await field(page, 'Memo').inputValue()).toBe('A memo')
      expect(await browser.barriers()).toEqual([])
      await browser.picture(`actions-attest-${name}`)
      await use(action(page, 'Explore'))
      await use(action(page, 'Ask'))
      expect(await field(page, 'From').inputValue()).toBe(kept)
      expect(page.url()).not.toContain(from.split(',')[0])
      await browser.picture(`actions-ask-${name}`)
      expect(await browser.barriers()).toEqual([])
      await isFirstMap(page)
      expect(browser.requested.filter((url) => new URL(url).pathname === '/attest')).toEqual([])
      expect(browser.complaints).toEqual([])
    },
  )

  test('have the filters in their addresses, and restore them from there', async () => {
    const { page, complaints } = plain
    await page.goto(`${world.url}/?memo=tower&chain=base-sepolia`)
    for (const name of ['Ask', 'Attest']) {
      await action(page, name).click()
      await expect.poll(() => parameters(page).get('filters')).toBe('chain=base-sepolia&memo=tower')
      await page.reload()
      await page.locator('[data-chip=memo]:visible').waitFor()
    }
    // Fields of the forms have the names of filters.
    const filters = encodeURIComponent('chain=celo&memo=tower')
    await page.goto(`${world.url}/playground?op=within&radius=20&filters=${filters}`)
    await page.locator('[data-chip=chain]').waitFor()
    expect(await page.getByLabel('Radius, metres').inputValue()).toBe('20')
    await page.locator('[data-chip=memo]').click()
    await expect.poll(() => parameters(page).get('filters')).toBe('chain=celo')
    await action(page, 'Explore').click()
    expect([...parameters(page).keys()].filter((name) => name !== 'at')).toEqual(['chain'])
    await page.goBack()
    await page.locator('[data-chip=chain]').waitFor()
    expect(parameters(page).get('radius')).toBe('20')
    await page.locator('[data-chip=chain]').press('Enter')
    await expect.poll(() => parameters(page).has('filters')).toBe(false)
    await page.locator('[data-chip=chain]').waitFor({ state: 'detached' })
    expect(await page.locator('.panel select:focus').count()).toBe(1)
    expect(complaints).toEqual([])
  })

  test('receive the changes of the records that the map shows', async () => {
    const { page } = plain
    const stream = page.waitForRequest(/location-records\/stream\?chain=base-sepolia/)
    await page.goto(`${world.url}/playground?chain=base-sepolia&filters=chain%3Dcelo`)
    await stream
  })

  test('keep what is typed into a filter in the moment when it appears', async () => {
    const { page } = plain
    await page.goto(`${world.url}/playground`)
    await idle(page)
    await page.evaluate(`new MutationObserver((_, observer) => {
      const field = document.querySelector('.filters input')
      if (!field) return
      observer.disconnect()
      field.value = 'tower'
      field.dispatchEvent(new Event('input', { bubbles: true }))
    }).observe(document.body, { childList: true, subtree: true })`)
    await action(page, 'Explore').click()
    await page.getByLabel('Memo contains').press('Enter')
    await page.locator('[data-chip=memo]').waitFor()
  })

  test('open at their addresses, and follow the back and forward buttons', async () => {
    const page = await opened(mapped, `/playground?op=contains&a=2.2,48.8&b=2.4,48.9&chain=base-sepolia`)
    expect(await field(page, 'Container').inputValue()).toBe('2.2,48.8')
    await action(page, 'Explore').click()
    await page.getByLabel('Memo contains').fill('tower')
    await page.getByLabel('Memo contains').press('Enter')
    await page.locator('[data-chip=memo]').waitFor()
    await page.locator('.place').first().click()
    await page.locator('.card .facts').waitFor()
    await page.locator('.card').getByRole('link', { name: 'Measure from here' }).click()
    await expect.poll(() => field(page, 'From').inputValue()).toMatch(/^0x[0-9a-f]{64}$/)
    expect(await field(page, 'To').inputValue()).toBe('')
    expect(await page.locator('.card').count()).toBe(0)
    await page.goBack()
    await page.locator('.card .facts').waitFor()
    expect(parameters(page).get('memo')).toBe('tower')
    await page.goBack()
    await page.locator('.card').waitFor({ state: 'detached' })
    await page.goBack()
    await expect.poll(() => field(page, 'Container').inputValue()).toBe('2.2,48.8')
    expect(await field(page, 'Geometry').inputValue()).toBe('2.4,48.9')
    await page.goForward()
    await page.goForward()
    await page.locator('.card .facts').waitFor()
    await page.goForward()
    await expect.poll(() => field(page, 'From').inputValue()).toMatch(/^0x[0-9a-f]{64}$/)
    await isFirstMap(page)
    expect(mapped.complaints).toEqual([])
  })

  test('do not use the memo of a link to another form as a filter of the explorer', async () => {
    const { page, complaints } = plain
    await page.goto(`${world.url}/attest?place=2.2945,48.8584&memo=Mine`)
    // The page names the link's author.
    await page.getByRole('note').waitFor()
    await idle(page)
    expect(await page.locator('[data-chip]').count()).toBe(0)
    expect(await field(page, 'Memo').inputValue()).toBe('Mine')
    expect(complaints).toEqual([])
  })

  test('attest the place that was clicked last, also if that of an earlier click arrives first', async () => {
    const { page } = plain
    await page.goto(`${world.url}/attest`)
    const requests: Request[] = []
    const releases: (() => void)[] = []
    await page.route('**/api/v0/location-records/0x*', async (route) => {
      requests.push(route.request())
      await new Promise<void>((resolve) => releases.push(resolve))
      await route.continue()
    })
    for (const index of [0, 1]) {
      await page.locator('.plain-map > g:not(.plain-found)').nth(index).dispatchEvent('click')
      await expect.poll(() => releases.length).toBe(index + 1)
    }
    for (const [i, release] of releases.entries()) {
      release()
      await (await requests[i]!.response())!.finished()
    }
    const { geometry } = (await (await requests[1]!.response())!.json()) as { geometry: Geometry }
    const text = geometry.type === 'Point' ? geometry.coordinates.join(', ') : JSON.stringify(geometry)
    await expect.poll(() => field(page, 'Place').inputValue()).toBe(text)
    await page.unrouteAll()
  })

  test('use a record that is clicked on the map as their place, but keep a place to attest', async () => {
    const page = await opened(mapped, `/?at=${tower.longitude},${tower.latitude},17`)
    const { x, y } = await middle(page)
    await action(page, 'Attest').click()
    await field(page, 'Place').waitFor()
    await idle(page)
    // Without the histogram, the map is higher.
    const at = await middle(page)
    await page.mouse.click(at.x, at.y)
    const place = `${tower.longitude}, ${tower.latitude}`
    await expect.poll(() => field(page, 'Place').inputValue()).toBe(place)
    await field(page, 'Place').fill('1, 2')
    await idle(page)
    await page.mouse.click(at.x, at.y)
    await action(page, 'Ask').click()
    await field(page, 'From').fill(place)
    await idle(page)
    // The map may still move to the typed place, so one click may miss the record.
    const clicked = async () => {
      await page.mouse.click(at.x, at.y)
      return field(page, 'From').inputValue()
    }
    await expect.poll(clicked, { interval: 500 }).toMatch(/^0x[0-9a-f]{64}$/)
    await action(page, 'Attest').click()
    expect(await field(page, 'Place').inputValue()).toBe('1, 2')
    await action(page, 'Explore').click()
    // The histogram makes the map lower again.
    await expect.poll(() => middle(page)).toEqual({ x, y })
    await idle(page)
    await page.mouse.click(x, y)
    await page.locator('.card').waitFor()
    await isFirstMap(page)
    expect(mapped.complaints).toEqual([])
  })
})

withChromium.describe('the sheet of a place', () => {
  test('leaves the focus where the user moved it, if the sheet is loaded late', async () => {
    const { page } = plain
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    await page.route(/\/assets\/sheet-[^/]*\.js$/, async (route) => {
      await held
      await route.continue()
    })
    const asked = page.waitForRequest(/\/assets\/sheet-[^/]*\.js$/)
    await page.goto(`${world.url}/r/${park.chain}/${park.uid}`)
    await asked
    await page.getByLabel('Memo contains').fill('tow')
    release()
    await page.locator('.card .facts').waitFor()
    await page.keyboard.type('er')
    expect(await page.getByLabel('Memo contains').inputValue()).toBe('tower')
    // A card that has loaded takes the focus, so that Escape closes it.
    await page.getByRole('button', { name: 'Close the record' }).click()
    await page.locator('.place').first().click()
    await page.locator('.card').waitFor()
    await page.keyboard.press('Escape')
    await page.locator('.card').waitFor({ state: 'detached' })
    await page.unrouteAll()
  })

  test('does not cover the place that it describes on a phone', async () => {
    const { page } = phone
    const isVisible = async () => {
      await page.locator('.card .facts').waitFor()
      await idle(page)
      const [place, card, map] = await Promise.all(
        ['.selected-place', '.card', '.map'].map((each) => page.locator(each).boundingBox()),
      )
      const y = place!.y + place!.height / 2
      expect(y).toBeLessThan(card!.y)
      expect(y).toBeGreaterThan(map!.y)
    }
    for (const { chain, uid } of [park, tower]) {
      await page.goto(`${world.url}/r/${chain}/${uid}`)
      await isVisible()
      await phone.picture('actions-sheet-phone')
    }
    // The place is near the bottom of the map, which the sheet will cover.
    await page.goto(`${world.url}/?at=${tower.longitude},${tower.latitude + 0.012},12`)
    await idle(page)
    await page.locator(`[data-record="${tower.chain}-${tower.uid}"]`).tap()
    await isVisible()
  })

  test.each([
    [1440, 'en'],
    [1280, 'ar-XB'],
  ])('leaves the area that it describes next to it at %i pixels, %s', async (width, language) => {
    const { page } = mapped
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ reducedMotion: 'no-preference' })
    await page.goto(`${world.url}/r/${park.chain}/${park.uid}?lang=${language}`)
    await page.locator('.card .facts').waitFor()
    await idle(page)
    const distance = async () => {
      const [place, card, map] = await Promise.all(
        ['.selected-place', '.card', '.map'].map(async (each) => (await page.locator(each).boundingBox())!),
      )
      const [before, after] = [card!.x - map!.x, map!.x + map!.width - card!.x - card!.width]
      const middle = before > after ? map!.x + before / 2 : map!.x + map!.width - after / 2
      return Math.abs(place!.x + place!.width / 2 - middle)
    }
    await expect.poll(distance).toBeLessThan(30)
    await page.setViewportSize(SIZES[2])
    await page.emulateMedia({ reducedMotion: 'reduce' })
  })
})

/** View of the map in the address: longitude, latitude and zoom. */
const view = (page: Page) =>
  (new URL(page.url()).searchParams.get('at') ?? '').split(',').map(Number) as [number, number, number]
async function touched(browser: OpenPage, path: string) {
  const { page } = browser
  await page.goto(world.url + path)
  await idle(page)
  const fingers = await page.context().newCDPSession(page)
  return { page, fingers, middle: await middle(page) }
}
interface Point {
  x: number
  y: number
}
/** Moves fingers along paths with equal numbers of points. */
async function swipe(fingers: CDPSession, paths: readonly (readonly Point[])[]): Promise<void> {
  const at = (step: number) => paths.map((path, id) => ({ ...path[step]!, id }))
  const send = (type: 'touchStart' | 'touchMove' | 'touchEnd', touchPoints: ReturnType<typeof at>) =>
    fingers.send('Input.dispatchTouchEvent', { type, touchPoints })
  await send('touchStart', at(0))
  for (let step = 1; step < paths[0]!.length; step++) await send('touchMove', at(step))
  await send('touchEnd', [])
}
/** Points on the way from one position to another. */
const STEPS = 12
const line = (from: Point, to: Point): Point[] =>
  Array.from({ length: STEPS + 1 }, (_, i) => ({
    x: from.x + ((to.x - from.x) * i) / STEPS,
    y: from.y + ((to.y - from.y) * i) / STEPS,
  }))

withChromium.describe('the explorer on a phone, by touch,', () => {
  test('lets one finger drag and two fingers zoom the map', async () => {
    const { page, fingers, middle } = await touched(phone, '/?at=2,48,4')
    await swipe(fingers, [line(middle, { x: middle.x + 90, y: middle.y })])
    await expect.poll(() => view(page)[0]).toBeLessThan(0)
    expect(view(page)[2]).toBeCloseTo(4, 1)
    await idle(page)
    const [left, right] = [-1, 1].map((side) =>
      line({ x: middle.x + side * 20, y: middle.y }, { x: middle.x + side * 90, y: middle.y }),
    )
    await swipe(fingers, [left!, right!])
    await expect.poll(() => view(page)[2]).toBeGreaterThan(5)
    expect(phone.complaints).toEqual([])
  })

  test('finds a place, opens it from the list and closes it', async () => {
    await using browser = await openPage({ ...WITHOUT_MAP, ...PHONE })
    const { page } = await touched(browser, '/')
    await page.getByRole('combobox', { name: 'Search' }).tap()
    await page.getByRole('combobox', { name: 'Search' }).fill('champ de mars')
    await page.locator('.hits [data-kind=place]').first().tap()
    await page.locator('.card', { hasText: 'Champ de Mars' }).waitFor()
    await browser.picture('touch-sheet')
    await page.getByRole('button', { name: 'Close the record' }).tap()
    await page.locator('.card').waitFor({ state: 'detached' })
    await page.locator('.place').first().tap()
    await page.locator('.card').waitFor()
    expect(new URL(page.url()).searchParams.get('record')).toMatch(/-0x[0-9a-f]{64}$/)
    expect(browser.complaints).toEqual([])
  })

  test('draws the box of a filter', async () => {
    const { page, fingers, middle } = await touched(phone, '/?at=2,48,4')
    await page.getByText('Filters', { exact: true }).tap()
    await page.getByRole('button', { name: 'Draw a box' }).tap()
    const [from, to] = [-60, 60].map((by) => ({ x: middle.x + by, y: middle.y + by }))
    await swipe(fingers, [line(from!, to!)])
    await page.getByRole('button', { name: 'Clear box' }).waitFor()
    expect(view(page)).toEqual([2, 48, 4])
    expect(phone.complaints).toEqual([])
  })

  test('keeps the filter by time if a finger that scrolls begins on a slider', async () => {
    const { page, fingers } = await touched(phone, '/')
    await page.getByText('Time:').tap()
    const slider = page.getByLabel('From', { exact: true }).and(page.locator(':enabled'))
    await slider.waitFor()
    const { x, y, width, height } = (await slider.boundingBox())!
    const middle = { x: x + width / 2, y: y + height / 2 }
    await swipe(fingers, [line(middle, { x: middle.x, y: middle.y - 150 })])
    await expect.poll(() => page.locator('[data-time]').innerText()).toBe('All times')
    expect(parameters(page).has('fromTimestamp')).toBe(false)
  })

  test('closes the menu of the header when it opens the log', async () => {
    const { page } = await touched(phone, '/')
    await page.getByText('More', { exact: true }).tap()
    await page.getByRole('navigation').getByRole('link', { name: 'Log' }).filter({ visible: true }).tap()
    await page.getByRole('heading', { name: 'Transparency log' }).waitFor()
    expect(await page.locator('nav details[open]').count()).toBe(0)
  })

  test('opens a place from the map', async () => {
    const { longitude, latitude, uid } = tower
    const { page, middle } = await touched(phone, `/?at=${longitude},${latitude},16`)
    await page.touchscreen.tap(middle.x, middle.y)
    await expect.poll(() => page.url()).toContain(uid)
    expect(phone.complaints).toEqual([])
  })

  test('asks a question about places that the user draws', async () => {
    const { page, middle } = await touched(phone, '/playground')
    for (const [name, dx] of [
      ['From', -40],
      ['To', 40],
    ] as const) {
      await page.getByRole('button', { name: `Draw a point as ${name}` }).tap()
      await page.getByText('Click the map.').waitFor()
      await page.touchscreen.tap(middle.x + dx, middle.y)
      await expect
        .poll(() => page.getByRole('textbox', { name }).inputValue())
        .toMatch(/^-?[\d.]+, -?[\d.]+$/)
    }
    await page.getByRole('button', { name: 'Ask', exact: true }).tap()
    await page.locator('.answer[data-drawn]').waitFor()
    await page.locator('.answer [data-check=good]').nth(1).waitFor()
    // Only the panel scrolls to the answer. The header stays in place.
    expect(await page.evaluate('[scrollY, document.documentElement.scrollHeight - innerHeight]')).toEqual([
      0, 0,
    ])
    await phone.picture('touch-answer')
    expect(phone.complaints).toEqual([])
  })

  test('draws, while the drawing code loads, and attests a place', async () => {
    const { page, middle } = await touched(phone, '/attest')
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    await page.route('**/assets/drawing-*.js', (route) => held.then(() => route.continue()))
    await page.getByRole('button', { name: 'Draw a line as Place' }).tap()
    await page.getByText('Click to add points.').waitFor()
    const end = { x: middle.x + 60, y: middle.y + 20 }
    for (const { x, y } of [{ x: middle.x - 60, y: middle.y }, end, end]) await page.touchscreen.tap(x, y)
    release()
    await expect.poll(() => page.getByRole('textbox', { name: 'Place' }).inputValue()).toContain('LineString')
    await page.getByRole('textbox', { name: 'Memo' }).fill('Drawn by a finger')
    await page.getByRole('button', { name: 'Attest place with a test account' }).tap()
    await page.locator('.attested-place[data-indexed=true]').waitFor()
    await phone.picture('touch-attested')
    // The record is not found until it is indexed.
    const others = phone.complaints.filter((each) => !each.includes('status of 404 (Not Found)'))
    expect(others).toEqual([])
  })
})

const searchField = (page: Page) => page.getByRole('combobox', { name: 'Search' })
const hits = (page: Page) => page.getByRole('listbox').getByRole('option')
/** Searches for a text, and ignores hits of earlier searches. */
async function search(page: Page, text: string): Promise<void> {
  await searchField(page).fill('')
  await hits(page).first().waitFor({ state: 'detached' })
  await searchField(page).fill(text)
}
/** Resolves when the middle of the map is near a position, in latitude to half a hundredth of a degree. */
const flown = (page: Page, longitude: number, latitude: number) =>
  // The place lies next to its sheet, so its longitude is not exactly that of the middle.
  expect
    .poll(() => (new URL(page.url()).searchParams.get('at') ?? '').split(',').map(Number).slice(0, 2))
    .toEqual([expect.closeTo(longitude, 1), expect.closeTo(latitude, 2)])

withChromium.describe('the search field of the explorer', () => {
  beforeAll(async () => {
    await mapped.page.goto(world.url)
    await idle(mapped.page)
  })
  test('finds a place by words of its memo, by keyboard alone, and shows it', async () => {
    const browser = mapped
    const { page } = browser
    await page.emulateMedia({ reducedMotion: 'no-preference' })
    await page.keyboard.press('/')
    await page.keyboard.type('champ de mar')
    // Hits for the first letters may arrive before.
    await expect.poll(() => hits(page).first().innerText()).toContain('Champ de Mars: park in Paris')
    // Enter accepts a candidate of an input method, and opens no hit.
    await searchField(page).dispatchEvent('keydown', { key: 'Enter', isComposing: true })
    expect(await hits(page).first().isVisible()).toBe(true)
    await search(page, 'bridge')
    await hits(page).nth(2).waitFor()
    const chosen = page.locator('.hits [aria-selected=true]')
    for (const [key, at] of [
      ['ArrowDown', 1],
      ['ArrowUp', 0],
      ['ArrowUp', -1],
      ['ArrowDown', 0],
    ] as const) {
      await page.keyboard.press(key)
      expect(await chosen.innerText()).toBe(await hits(page).nth(at).innerText())
      expect(await searchField(page).getAttribute('aria-activedescendant')).toBe(
        await chosen.getAttribute('id'),
      )
    }
    await search(page, 'champ de mar')
    await hits(page).filter({ hasText: 'Champ de Mars' }).first().waitFor()
    expect(await browser.barriers()).toEqual([])
    await browser.picture('search-hits')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.url()).toContain(park.uid)
    await flown(page, 2.2985, 48.8558)
    await page.emulateMedia({ reducedMotion: 'reduce' })
    expect(browser.complaints).toEqual([])
  })
  test.each([
    ['chamb de masr', 'Champ de Mars'],
    ['chapm', 'Champ de Mars'],
    ['eifel towr', 'Eiffel Tower'],
  ])('finds %s in spite of typing errors', async (text, expected) => {
    const { page } = mapped
    await search(page, text)
    await hits(page).filter({ hasText: expected }).first().waitFor()
  })
  test.each([
    // Consecutive searches have hits at different positions, so each one moves the map.
    ['zürich', 'Zürich', 8.55, 47.3667],
    ['francisco', 'San Francisco', -122.4194, 37.7749],
    ['zurich', 'Zürich', 8.55, 47.3667],
    ['lodz', 'Łódź', 19.474, 51.7706],
    ['ＴＲＯＭＳＯ', 'Tromsø', 18.9551, 69.6489],
    ['copenhagn', 'Copenhagen', 12.5655, 55.6759],
    ['48.8584, 2.2945', '48.8584° N, 2.2945° E', 2.2945, 48.8584],
    [`33°51'31"S 151°12'51"E`, '33.858611° S, 151.214167° E', 151.2142, -33.8586],
    ['geo:37.786971,-122.399677', '37.786971° N, 122.399677° W', -122.3997, 37.787],
  ])('moves the map to %s', async (text, title, longitude, latitude) => {
    const { page, complaints } = mapped
    await search(page, text)
    await page
      .locator('.hits :is([data-kind=town], [data-kind=position])')
      .filter({ hasText: title })
      .first()
      .click()
    await flown(page, longitude, latitude)
    expect(complaints).toEqual([])
  })
  test('opens the hit of the typed text when Enter is pressed before it is found', async () => {
    const { page, complaints } = mapped
    await search(page, 'champ de mars')
    await hits(page).filter({ hasText: 'Champ de Mars' }).first().waitFor()
    await searchField(page).fill('tromso')
    await page.keyboard.press('Enter')
    await flown(page, 18.9551, 69.6489)
    expect(complaints).toEqual([])
  })
  test('opens no hit of an earlier text by arrow keys and Enter', async () => {
    const { page } = plain
    await page.goto(world.url)
    await idle(page)
    await search(page, 'bridge')
    await hits(page).nth(2).waitFor()
    let respond = () => {}
    const pressed = new Promise<void>((resolve) => (respond = resolve))
    await page.route('**/graphql*', (route) => pressed.then(() => route.continue()))
    await searchField(page).fill(park.uid)
    for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) await page.keyboard.press(key)
    respond()
    await expect.poll(() => page.url()).toContain(park.uid)
    await page.unrouteAll()
  })
  test('finds a UID, the transaction that attested it, and its attester', async () => {
    const { page, complaints } = plain
    await page.goto(world.url)
    await idle(page)
    await searchField(page).fill(park.uid.toUpperCase().replace('0X', '0x'))
    await hits(page).filter({ hasText: 'Champ de Mars' }).waitFor()
    const { body } = await world.post('/graphql', {
      query: `{ locationRecordByChainAndUid(chain: "${park.chain}", uid: "${park.uid}") { transactionHash } }`,
    })
    await search(page, body.data.locationRecordByChainAndUid.transactionHash)
    await hits(page).filter({ hasText: 'Champ de Mars' }).click()
    await expect.poll(() => page.url()).toContain(park.uid)
    await search(page, park.prover)
    await hits(page)
      .filter({ hasText: /Attester of \d+ places/ })
      .click()
    await expect.poll(() => new URL(page.url()).searchParams.get('prover')).toBe(park.prover)
    await search(page, `0x${'12'.repeat(32)}`)
    await page.getByText('Nothing found for').waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('Nothing found for').waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })
  test.each<[what: string, text: () => string]>([
    ['a UID without 0x', () => park.uid.slice(2)],
    ['a link to the page of a place', () => `${world.url}/r/${park.chain}/${park.uid}`],
    ['a link of a block explorer', () => `https://example.org/attestation/view/${park.uid}?tab=data`],
    [
      'a memo, followed by more than a filter may contain',
      () => `Champ de Mars: park in Paris from the Eiffel Tower to the military school ${'x'.repeat(80)}`,
    ],
  ])('finds a place by %s', async (_, text) => {
    const { page, complaints } = mapped
    await search(page, text())
    await hits(page).filter({ hasText: 'Champ de Mars' }).first().waitFor()
    expect(complaints).toEqual([])
  })
  test.each([
    ['question marks', '???'],
    ['a wildcard', '%'],
    ['a word that is longer than a filter', 'x'.repeat(150)],
    ['a word that a filter would cut within a character', `x${'𝕏'.repeat(80)}`],
  ])('finds nothing for %s', async (_, text) => {
    const { page, complaints } = mapped
    await search(page, text)
    await page.getByText('Nothing found for').waitFor()
    expect(complaints).toEqual([])
  })
  test('keeps the focus while the sheet of a hit is loaded and the next text is typed', async () => {
    const { page, complaints } = plain
    let release = () => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    await page.route(/\/sheet-.*\.js$/, async (route) => (await released, route.continue()))
    const isGeometry = (request: Request) => request.postData()?.includes('query Geometry') === true
    let answer = () => {}
    const answered = new Promise<void>((resolve) => (answer = resolve))
    await page.route('**/graphql', async (route) => {
      if (isGeometry(route.request())) await answered
      await route.continue()
    })
    await page.goto(world.url)
    await searchField(page).fill('champ de mar')
    await hits(page).filter({ hasText: 'Champ de Mars' }).first().click()
    await expect.poll(() => page.url()).toContain(park.uid)
    await searchField(page).fill(park.prover)
    await hits(page)
      .filter({ hasText: /Attester of \d+ places/ })
      .waitFor()
    release()
    await page.getByRole('heading', { name: 'Champ de Mars' }).waitFor()
    expect(await searchField(page).and(page.locator(':focus')).count()).toBe(1)
    // The geometry of the hit arrives after the user has opened another place.
    const geometry = page.waitForResponse((response) => isGeometry(response.request()))
    await page.locator('[data-record]:not([aria-current])').first().press('Enter')
    answer()
    await (await geometry).finished()
    // The page handles the response to a later request after the geometry.
    await searchField(page).fill('champ de mars')
    await hits(page).filter({ hasText: 'Champ de Mars' }).first().waitFor()
    expect(await page.locator('.plain-found > *').count()).toBe(0)
    await page.unrouteAll()
    expect(complaints).toEqual([])
  })
  test('finds places while the worker of the towns cannot be loaded, and later finds towns', async () => {
    const { page } = plain
    let refused = 0
    await page.route(/towns-worker/, (route) => (refused++, route.abort()))
    const busy = { status: 503, headers: { 'retry-after': '1' }, json: {} }
    await page.route('**/api/v0/location-records?memo=*', (route) => route.fulfill(busy), { times: 1 })
    await page.goto(world.url)
    await idle(page)
    await searchField(page).fill('champ de mar')
    await hits(page).filter({ hasText: 'Champ de Mars' }).first().waitFor()
    expect(refused).toBeGreaterThan(0)
    await page.unroute(/towns-worker/)
    await searchField(page).fill('lisbon')
    await page.locator('.hits [data-kind=town]').filter({ hasText: 'Lisbon' }).first().waitFor()
  })
  test('moves the map of the attest page, by touch on a phone', async () => {
    const browser = mapped
    const { page } = browser
    await page.setViewportSize(SIZES[0])
    await page.goto(`${world.url}/attest`)
    await idle(page)
    await searchField(page).fill('lisbon')
    await page.locator('.hits [data-kind=town]').filter({ hasText: 'Lisbon' }).first().click()
    await idle(page)
    await browser.picture('search-attest-phone')
    expect(page.url()).toContain('/attest')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    // The explorer shows the place that was found.
    await searchField(page).fill('champ de mars')
    await hits(page).filter({ hasText: 'Champ de Mars' }).first().click()
    await expect.poll(() => page.url()).toContain('record=')
    await flown(page, 2.2985, 48.8558)
    expect(browser.complaints).toEqual([])
  })
})
