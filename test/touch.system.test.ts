import type { CDPSession, Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { CHROMIUM, idle, middle, openPage, PHONE, WITHOUT_MAP, type OpenPage } from './browser'
import { startTestWorld, type TestWorld } from './world'

/** The main tasks by touch on a phone, in a real browser (needs chromium). */

let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld({}, { samples: true })
})

/** View of the map in the address: longitude, latitude and zoom. */
const view = (page: Page) =>
  (new URL(page.url()).searchParams.get('at') ?? '').split(',').map(Number) as [number, number, number]
async function opened(browser: OpenPage, path: string) {
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

describe.skipIf(!CHROMIUM)('the explorer on a phone, by touch,', () => {
  test('lets one finger drag and two fingers zoom the map', async () => {
    await using browser = await openPage(PHONE)
    const { page, fingers, middle } = await opened(browser, '/?at=2,48,4')
    await swipe(fingers, [line(middle, { x: middle.x + 90, y: middle.y })])
    await expect.poll(() => view(page)[0]).toBeLessThan(0)
    expect(view(page)[2]).toBeCloseTo(4, 1)
    await idle(page)
    const [left, right] = [-1, 1].map((side) =>
      line({ x: middle.x + side * 20, y: middle.y }, { x: middle.x + side * 90, y: middle.y }),
    )
    await swipe(fingers, [left!, right!])
    await expect.poll(() => view(page)[2]).toBeGreaterThan(5)
    expect(browser.complaints).toEqual([])
  })

  test('finds a place, opens it from the list and closes it', async () => {
    await using browser = await openPage({ ...WITHOUT_MAP, ...PHONE })
    const { page } = await opened(browser, '/')
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

  test('opens a place from the map', async () => {
    await using browser = await openPage(PHONE)
    const { body } = await world.get(
      '/api/v0/location-records?memo=Eiffel&location_type=geojson-point&chain=base-sepolia',
    )
    const { longitude, latitude, uid } = body.data[0]
    const { page, middle } = await opened(browser, `/?at=${longitude},${latitude},16`)
    await page.touchscreen.tap(middle.x, middle.y)
    await expect.poll(() => page.url()).toContain(uid)
    expect(browser.complaints).toEqual([])
  })

  test('asks a question about places that the user draws', async () => {
    await using browser = await openPage(PHONE)
    const { page, middle } = await opened(browser, '/playground')
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
    await browser.picture('touch-answer')
    expect(browser.complaints).toEqual([])
  })

  test('draws and attests a place', async () => {
    await using browser = await openPage(PHONE)
    const { page, middle } = await opened(browser, '/attest')
    await page.getByRole('button', { name: 'Draw a line as Place' }).tap()
    await page.getByText('Click to add points.').waitFor()
    const end = { x: middle.x + 60, y: middle.y + 20 }
    for (const { x, y } of [{ x: middle.x - 60, y: middle.y }, end, end]) await page.touchscreen.tap(x, y)
    await expect.poll(() => page.getByRole('textbox', { name: 'Place' }).inputValue()).toContain('LineString')
    await page.getByRole('textbox', { name: 'Memo' }).fill('Drawn by a finger')
    await page.getByRole('button', { name: 'Attest place with a test account' }).tap()
    await page.locator('.attested-place[data-indexed=true]').waitFor()
    await browser.picture('touch-attested')
    // The record is not found until it is indexed.
    const others = browser.complaints.filter((each) => !each.includes('status of 404 (Not Found)'))
    expect(others).toEqual([])
  })
})
