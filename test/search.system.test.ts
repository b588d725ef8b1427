import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import { CHROMIUM, openPage, SIZES, WITHOUT_MAP, type OpenPage, idle } from './browser'
import { LOCAL_CHAIN, startTestWorld, type TestWorld } from './world'

/** Tests the search field of the pages in a real browser (needs chromium). */

let world: TestWorld
let park: { chain: string; uid: string; prover: string }
beforeAll(async () => {
  world = await startTestWorld({ CHAINS: LOCAL_CHAIN.slug }, { samples: true })
  park = (await world.get('/api/v0/location-records?memo=Champ+de+Mars&chain=base-sepolia')).body.data[0]
})

const field = (page: Page) => page.getByRole('combobox', { name: 'Search' })
const hits = (page: Page) => page.getByRole('listbox').getByRole('option')
/** Page without a map that tests share. */
let plain: OpenPage
/** Page with an idle map that searches share. After a failed test, the next one opens a new page. */
let shared: OpenPage | undefined
async function sharedPage(): Promise<OpenPage> {
  onTestFailed(async () => {
    await shared?.[Symbol.asyncDispose]()
    shared = undefined
  })
  if (!shared) {
    shared = await openPage()
    await shared.page.goto(world.url)
    await idle(shared.page)
  }
  return shared
}
/** Searches for a text, and ignores hits of earlier searches. */
async function search(page: Page, text: string): Promise<void> {
  await field(page).fill('')
  await hits(page).first().waitFor({ state: 'detached' })
  await field(page).fill(text)
}
/** Resolves when the middle of the map is near a position, in latitude to half a hundredth of a degree. */
const flown = (page: Page, longitude: number, latitude: number) =>
  // The place lies next to its sheet, so its longitude is not exactly that of the middle.
  expect
    .poll(() => (new URL(page.url()).searchParams.get('at') ?? '').split(',').map(Number).slice(0, 2))
    .toEqual([expect.closeTo(longitude, 1), expect.closeTo(latitude, 2)])

describe.skipIf(!CHROMIUM)('the search field of the explorer', () => {
  beforeAll(async () => {
    plain = await openPage(WITHOUT_MAP)
  })
  test('finds a place by words of its memo, by keyboard alone, and shows it', async () => {
    const browser = await sharedPage()
    const { page } = browser
    await page.emulateMedia({ reducedMotion: 'no-preference' })
    await page.keyboard.press('/')
    await page.keyboard.type('champ de mar')
    // Hits for the first letters may arrive before.
    await expect.poll(() => hits(page).first().innerText()).toContain('Champ de Mars: park in Paris')
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
      expect(await field(page).getAttribute('aria-activedescendant')).toBe(await chosen.getAttribute('id'))
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
    const { page } = await sharedPage()
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
    const { page, complaints } = await sharedPage()
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
    const { page, complaints } = await sharedPage()
    await search(page, 'champ de mars')
    await hits(page).filter({ hasText: 'Champ de Mars' }).first().waitFor()
    await field(page).fill('tromso')
    await page.keyboard.press('Enter')
    await flown(page, 18.9551, 69.6489)
    expect(complaints).toEqual([])
  })
  test('finds a UID, the transaction that attested it, and its attester', async () => {
    const { page, complaints } = plain
    await page.goto(world.url)
    await idle(page)
    await field(page).fill(park.uid.toUpperCase().replace('0X', '0x'))
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
    const { page, complaints } = await sharedPage()
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
    const { page, complaints } = await sharedPage()
    await search(page, text)
    await page.getByText('Nothing found for').waitFor()
    expect(complaints).toEqual([])
  })
  test('keeps the focus while the sheet of a hit is loaded and the next text is typed', async () => {
    const { page, complaints } = plain
    let release = () => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    await page.route(/\/sheet-.*\.js$/, async (route) => (await released, route.continue()))
    await page.goto(world.url)
    await field(page).fill('champ de mar')
    await hits(page).filter({ hasText: 'Champ de Mars' }).first().click()
    await expect.poll(() => page.url()).toContain(park.uid)
    await field(page).fill(park.prover)
    await hits(page)
      .filter({ hasText: /Attester of \d+ places/ })
      .waitFor()
    release()
    await page.getByRole('heading', { name: 'Champ de Mars' }).waitFor()
    expect(await field(page).and(page.locator(':focus')).count()).toBe(1)
    await page.unrouteAll()
    expect(complaints).toEqual([])
  })
  test('finds places while the worker of the towns cannot be loaded, and later finds towns', async () => {
    const { page } = plain
    let refused = 0
    await page.route(/towns-worker/, (route) => (refused++, route.abort()))
    await page.goto(world.url)
    await idle(page)
    await field(page).fill('champ de mar')
    await hits(page).filter({ hasText: 'Champ de Mars' }).first().waitFor()
    expect(refused).toBeGreaterThan(0)
    await page.unroute(/towns-worker/)
    await field(page).fill('lisbon')
    await page.locator('.hits [data-kind=town]').filter({ hasText: 'Lisbon' }).first().waitFor()
  })
  test('moves the map of the attest page, by touch on a phone', async () => {
    const browser = await sharedPage()
    const { page } = browser
    await page.setViewportSize(SIZES[0])
    await page.goto(`${world.url}/attest`)
    await idle(page)
    await field(page).fill('lisbon')
    await page.locator('.hits [data-kind=town]').filter({ hasText: 'Lisbon' }).first().click()
    await idle(page)
    await browser.picture('search-attest-phone')
    expect(page.url()).toContain('/attest')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    // The explorer shows the place that was found.
    await field(page).fill('champ de mars')
    await hits(page).filter({ hasText: 'Champ de Mars' }).first().click()
    await expect.poll(() => page.url()).toContain('record=')
    await flown(page, 2.2985, 48.8558)
    expect(browser.complaints).toEqual([])
  })
})
