import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { attest, locationRequest, revoke } from '../dev/chain'
import { follow, idle, middle, openPage, SIZES, WITHOUT_MAP, type OpenPage } from './browser'
import { ADDRESSES, insertRecords } from './records'
import { startTestWorld, type TestWorld } from './world'
import { withChromium } from './needs'

/** Tests of the explorer's time filter, chips, watches and outlines in a real browser. */

const DAY_MS = 86_400_000
let world: TestWorld

beforeAll(async () => {
  world = await startTestWorld()
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS
  const at = (days: number) => today - days * DAY_MS
  const point = (longitude: number) => ({ type: 'Point', coordinates: [longitude, 10] })
  await insertRecords(world.databaseUrl, [
    ...[0, 0, 2, 10, 40].map((days, i) => ({
      ...{ chain: 'celo', memo: `${days} days ago`, timestamp: at(days), geometry: point(2 * i) },
    })),
    {
      ...{ chain: 'celo', memo: 'A large area', timestamp: at(1) },
      geometry: { type: 'Polygon', coordinates: [[[-3, 3], [12, 3], [12, 14], [-3, 14], [-3, 3]]] }, // oxfmt-ignore
    },
  ])
})

/** Waits until the map shows a number of places. */
const shows = (page: Page, places: number) =>
  page.locator(`[data-places="${places}"]`).waitFor({ state: 'attached' })
/** Waits until the list shows a number of places. */
const lists = (page: Page, places: number) =>
  page.locator('.list h2', { hasText: new RegExp(`^${places} place`) }).waitFor()
const histogram = (page: Page) => page.locator('.histogram')

withChromium.describe('the explorer', () => {
  /** Pages that the tests share, without a map and with one. */
  let plain: OpenPage
  let mapped: OpenPage
  beforeAll(async () => {
    plain = await openPage(WITHOUT_MAP)
    mapped = await openPage({ isSharp: true })
    for (const { page } of [plain, mapped]) await page.goto(world.url)
  })
  beforeEach(() => plain.page.setViewportSize(SIZES[2]))
  /** Opens an address of the explorer, without other filters. */
  const open = async (browser: OpenPage, address = '') => {
    await follow(browser.page, world.url + address)
    return browser
  }

  test('has a histogram of time, presets and chips', async () => {
    const { page, complaints } = await open(plain)
    await lists(page, 6)
    await page.locator('.histogram[data-records="6"]').waitFor()
    expect(await histogram(page).getAttribute('data-bars')).toBe('5')
    await page.getByRole('button', { name: '7 days' }).click()
    await lists(page, 4)
    // The range begins within a day, and the title names this day.
    const dayIn = (text: string | null) => Math.floor(Date.parse(text!) / 86_400_000)
    const start = new URL(page.url()).searchParams.get('fromTimestamp')
    expect(dayIn(`${await page.getByLabel('First day').inputValue()}T00:00Z`)).toBe(dayIn(start))
    // The bars cover all times, so that the range can grow again.
    expect(await histogram(page).getAttribute('data-records')).toBe('6')
    await page.getByRole('button', { name: /^Remove the filter From/ }).waitFor()
    expect(await plain.faults('explorer-time')).toEqual([])
    await page.getByRole('button', { name: /^Remove the filter From/ }).click()
    await lists(page, 6)
    expect(complaints).toEqual([])
  })

  test('lets the user choose a time range by dragging over the histogram, or by days', async () => {
    const { page, complaints } = await open(plain)
    await lists(page, 6)
    await page.locator('.histogram[data-records="6"]').waitFor()
    const { x, y, width, height } = (await histogram(page).boundingBox())!
    await page.mouse.move(x + 0.6 * width, y + height / 2)
    await page.mouse.down()
    await page.mouse.move(x + 0.9 * width, y + height / 2, { steps: 4 })
    await page.mouse.up()
    await lists(page, 1)
    await page.locator('.places li', { hasText: '10 days ago' }).waitFor()
    const address = new URL(page.url()).searchParams
    expect(Date.parse(address.get('fromTimestamp')!)).toBeLessThan(Date.parse(address.get('toTimestamp')!))
    await page.getByLabel('First day').fill(new Date(Date.now() - 3 * DAY_MS).toISOString().slice(0, 10))
    await page.getByLabel('Last day').fill(new Date().toISOString().slice(0, 10))
    await lists(page, 4)
    // Each key that is typed makes another date, up to one in the year 2.
    const first = await page.getByLabel('First day').inputValue()
    const [year, month, day] = first.split('-')
    await page.getByLabel('Last day').pressSequentially(`${month}${day}${year}`)
    expect(await page.getByLabel('First day').inputValue()).toBe(first)
    await page.keyboard.press('Enter')
    await expect.poll(() => page.getByLabel('Last day').inputValue()).toBe(first)
    expect(await page.getByLabel('First day').inputValue()).toBe(first)
    await page.getByRole('button', { name: 'All times' }).click()
    await lists(page, 6)
    // In a narrow window the times are folded, and stay open once the user has opened them.
    await page.setViewportSize(SIZES[0])
    await page.goto(world.url)
    await page.locator('.time summary').click()
    await page.locator('.histogram[data-records="6"]').waitFor()
    await page.getByRole('button', { name: '7 days' }).click()
    await lists(page, 4)
    expect(await histogram(page).isVisible()).toBe(true)
    expect(complaints).toEqual([])
  })

  test('outlines an area in which there are many points', async () => {
    const { page } = await open(mapped, '?at=4,10,4')
    await shows(page, 6)
    await idle(page)
    const middleOf = async () => {
      const { x, y } = await middle(page)
      const clip = { x, y: y + 60, width: 4, height: 4 }
      return (await page.screenshot({ clip })).toString('base64')
    }
    const outlined = await middleOf()
    await mapped.picture('explorer-outlined')
    await page.getByLabel('Memo contains').fill('large')
    await page.getByLabel('Memo contains').press('Enter')
    await shows(page, 1)
    await idle(page)
    expect(await middleOf()).not.toBe(outlined)
  })

  test('shows the same place on several chains as one entry that names the chains', async () => {
    const place = { type: 'Point', coordinates: [100, -40] }
    const twin = { prover: ADDRESSES[0]!, geometry: place, memo: 'One place' }
    await insertRecords(
      world.databaseUrl,
      [
        { ...twin, chain: 'celo' },
        { ...twin, chain: 'arbitrum' },
        { ...twin, chain: 'sepolia', prover: ADDRESSES[1]! },
      ],
      5_000,
    )
    const { page, complaints } = await open(mapped, '?at=100,-40,8')
    await shows(page, 3)
    const chainsOf = (text: string) => text.match(/Celo|Arbitrum|Sepolia/g)!.sort()
    await page.locator('.list .place').nth(1).waitFor()
    const entries = await page.locator('.list .place .soft').allTextContents()
    expect(entries.map(chainsOf).sort()).toEqual([['Arbitrum', 'Celo'], ['Sepolia']])
    const hint = async () => {
      const { x, y } = await middle(page)
      await page.mouse.move(x, y)
      return page.locator('.hint').innerText()
    }
    await page.getByLabel('Attester').fill(twin.prover)
    await page.getByLabel('Attester').press('Enter')
    await shows(page, 2)
    expect(await hint()).toMatch(/^One place \(on (Arbitrum, Celo|Celo, Arbitrum)\)$/)
    await page.mouse.move(5, 5)
    await page.locator('.filters').getByLabel('Chain').selectOption('celo')
    await shows(page, 1)
    expect(await hint()).toBe('One place')
    expect(complaints).toEqual([])
  })

  test('watches filters while the page is open, and shows commands that watch without the page', async () => {
    const { page, complaints } = await open(plain, '?chain=base-sepolia&memo=x')
    await page.context().grantPermissions(['notifications'])
    await page.evaluate(`
      shown = []
      Notification = class {
        constructor(title, { body }) {
          shown.push(title + ': ' + body)
          globalThis.last = this
        }
      }
      Notification.permission = 'granted'
      Notification.requestPermission = async () => 'granted'
    `)
    await page.locator('.chips .watch').click()
    const panel = page.locator('.watch-panel')
    await panel.getByText('A watch cannot filter by Memo').waitFor()
    await panel.getByRole('button', { name: 'Notify me here' }).click()
    await panel.locator('[data-watching=live]').waitFor()
    const lines = await panel.locator('[data-line] pre').allTextContents()
    expect(lines[0]).toBe(`geo watch --chain base-sepolia --url ${world.url}`)
    expect(lines[1]).toBe(`curl -N '${world.url}/api/v0/location-records/stream?chain=base-sepolia'`)
    expect(lines[2]).toContain(`'{"url":"https://example.org/hook","filter":{"chain":"base-sepolia"}}'`)
    await plain.picture('watch')
    expect(await plain.barriers()).toEqual([])
    const place = { type: 'Point' as const, coordinates: [20, 20] }
    const uid = await attest(world.chain, locationRequest(place, { memo: 'Noticed' }))
    await panel.locator('.place', { hasText: 'Noticed' }).waitFor()
    await revoke(world.chain, uid)
    await panel.locator('.place', { hasText: 'Revoked' }).waitFor()
    expect(await page.evaluate('shown')).toEqual(['Attested: Noticed', 'Revoked: Noticed'])
    await panel.locator('.place').first().click()
    const revokedSheet = page.locator('.card').getByText(/^Revoked on/) // oxfmt-ignore
    await revokedSheet.waitFor()
    // A click on the notification opens the sheet, also from another page.
    await page.getByRole('navigation').getByRole('link', { name: 'Attest', exact: true }).click()
    await revokedSheet.waitFor({ state: 'detached' })
    await page.evaluate('last.onclick()')
    await revokedSheet.waitFor()
    expect(complaints).toEqual([])
    await panel.getByRole('button', { name: 'Stop' }).click()
    await panel.getByRole('button', { name: 'Close watching' }).click()
  })

  test('names the watch that is running, and replaces it by another one', async () => {
    const { page, complaints } = await open(plain, '?chain=base-sepolia')
    await page.context().grantPermissions(['notifications'])
    // Like Chromium on Android, which has permissions but no notifications of pages.
    await page.evaluate(`
      Notification = class { constructor() { throw new TypeError('Illegal constructor') } }
      Notification.permission = 'granted'
    `)
    await page.locator('.chips .watch').click()
    const panel = page.locator('.watch-panel')
    const [start, stop] = ['Notify me here', 'Stop'].map((name) => panel.getByRole('button', { name }))
    await start!.click()
    await panel.locator('[data-watching=live]').waitFor()
    expect(await start!.count()).toBe(0)
    await attest(world.chain, locationRequest({ type: 'Point', coordinates: [21, 21] }, { memo: 'Silent' }))
    await panel.locator('.place', { hasText: 'Silent' }).waitFor()
    expect(await panel.locator('[data-watching]').getAttribute('data-watching')).toBe('live')
    await panel.getByRole('button', { name: 'Close watching' }).click()
    await page.locator('.chips button', { hasText: 'Chain' }).click()
    await page.locator('.chips .watch').click()
    await panel.getByText('You already watch Chain: Base Sepolia').waitFor()
    await start!.click()
    await panel.getByText('You already watch').waitFor({ state: 'detached' })
    await panel.locator('[data-watching=live]').waitFor()
    await stop!.click()
    await start!.waitFor()
    await panel.getByRole('button', { name: 'Close watching' }).click()
    expect(complaints).toEqual([])
  })

  test('reports that changes may be missing if the service cannot resume the stream of a watch', async () => {
    const { page } = await open(plain, '?chain=base-sepolia')
    await page.locator('.chips .watch').click()
    const panel = page.locator('.watch-panel')
    const body = 'id: 1\nevent: reset\ndata: {"reason":"restored"}\n\n'
    const fulfil = { contentType: 'text/event-stream', body }
    await page.route('**/location-records/stream?*', (route) => route.fulfill(fulfil))
    await panel.getByRole('button', { name: 'Notify me here' }).click()
    await panel.getByText('Some changes may be missing here').waitFor()
    await page.unroute('**/location-records/stream?*')
    await panel.locator('[data-watching=live]').waitFor()
    await panel.getByRole('button', { name: 'Stop' }).click()
    await panel.getByRole('button', { name: 'Close watching' }).click()
  })

  test('watches the surroundings of a place from the sheet of the place', async () => {
    const place = { type: 'Point' as const, coordinates: [179.995, 20] }
    const uid = await attest(world.chain, locationRequest(place, { memo: 'At the antimeridian' }))
    await world.caughtUp()
    const { page } = await open(plain, `/r/base-sepolia/${uid}`)
    await page.locator('.card').getByRole('button', { name: 'Watch' }).click()
    const line = page.locator('.watch-panel [data-line=cli] pre')
    const [box] = /(?<=--bbox )\S+/.exec((await line.textContent())!)!
    // A box of a hundredth of a degree around the place, widened to a hundred-thousandth.
    const [west, south, east, north] = box.split(',').map(Number) as [number, number, number, number]
    expect([west, south, east, north].map((each) => Math.round(each * 1e3) / 1e3)).toEqual([
      ...[179.985, 19.99, -179.995, 20.01],
    ])
    await page.getByRole('button', { name: 'Close watching' }).click()
  })

  /** Drops files onto an element, and returns true if the page keeps the browser from showing them. */
  const drop = (page: Page, onto: string, files: Readonly<Record<string, string>>) =>
    page.evaluate<boolean>(`(() => {
      const data = new DataTransfer()
      for (const [name, text] of Object.entries(${JSON.stringify(files)})) data.items.add(new File([text], name))
      return ['dragover', 'drop'].every((type) => !document.querySelector('${onto}').dispatchEvent(
        new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true })))
    })()`)
  const card = (page: Page) => page.getByRole('complementary', { name: 'Place from a file' })
  const point = (longitude: number, name: string) => ({
    ...{ type: 'Feature', properties: { name }, geometry: { type: 'Point', coordinates: [longitude, 0] } },
  })
  const TWO = JSON.stringify({
    type: 'FeatureCollection',
    features: [point(1, 'Field '.repeat(20)), point(2, '<b>2')],
  })
  test('shows the place of a dropped file on the map', async () => {
    const { page, complaints } = await open(mapped, '?at=4,10,4')
    await idle(page)
    expect(await drop(page, '.map', { 'two.geojson': TWO })).toBe(true)
    await card(page).getByLabel('Place in the file').selectOption('<b>2')
    await expect.poll(() => new URL(page.url()).searchParams.get('at')).toMatch(/^2\.0\d*,0\./)
    expect(complaints).toEqual([])
  })
  test('asks about the place of a dropped file, or attests it', async () => {
    const { page, complaints } = await open(plain)
    const before = complaints.length
    expect(await drop(page, '.map', { 'two.dbf': 'x', 'two.geojson': TWO })).toBe(true)
    await card(page).getByText('Opened two.geojson: 2 places.').waitFor()
    await card(page).getByLabel('Place in the file').selectOption('<b>2')
    const cardFits = async () => {
      const wide = await card(page).evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)
      expect(wide).toBe(0)
    }
    expect(await plain.faults('dropped', cardFits)).toEqual([])
    await card(page).getByRole('button', { name: 'Ask about this place' }).click()
    await expect.poll(() => page.locator('.geometry-a textarea').inputValue()).toBe('2, 0')
    await page.goBack()
    await page.locator('.time').waitFor()
    expect(await card(page).count()).toBe(0)
    // No address may contain a saved private place.
    const secret = JSON.stringify({
      geometry: { type: 'Point', coordinates: [3, 4] },
      salt: `0x${'ab'.repeat(32)}`,
    })
    expect(await drop(page, 'header', { 'private.json': secret })).toBe(true)
    await card(page).getByRole('button', { name: 'Attest this place' }).click()
    await page.getByText('This place is private.').waitFor()
    expect(page.url()).not.toMatch(/salt|place=/)
    // The page of the log would remove the form.
    const question = page.waitForEvent('dialog')
    const left = follow(page, `${world.url}/log`)
    await (await question).dismiss()
    await left
    await page.getByText('This place is private.').waitFor()
    expect(new URL(page.url()).pathname).toBe('/attest')
    expect(complaints.slice(before)).toEqual([])
  })
  test('reports a dropped file without a place, and stays, also on the page of the log', async () => {
    const { page, complaints } = await open(plain)
    const before = complaints.length
    for (const [file, content, problem] of [
      ['a.json', 'null', "'a.json' has no geometry"],
      ['a.json', '{"type":"Point","coordinates":[1e9,95]}', 'latitude'],
    ] as const) {
      expect(await drop(page, '.map', { [file]: content })).toBe(true)
      await card(page).getByText(problem).waitFor()
      await page.keyboard.press('Escape')
      await card(page).waitFor({ state: 'detached' })
    }
    page.once('dialog', (dialog) => dialog.accept())
    await open(plain, '/log')
    await page.locator('main h1').first().waitFor()
    expect(await drop(page, 'header', { 'two.geojson': TWO })).toBe(true)
    expect(complaints.slice(before)).toEqual([])
  })

  test('accepts a filter for several attesters, as the API does', async () => {
    const { page, complaints } = await open(plain, `?prover=${ADDRESSES.slice(0, 2).join()}`)
    const before = complaints.length
    await page.getByRole('textbox', { name: 'Attester' }).focus()
    await page.getByLabel('Memo contains').focus()
    expect(await page.locator('.filters [aria-invalid=true]').count()).toBe(0)
    expect(complaints.slice(before)).toEqual([])
  })

  test('names the chains, the status and the radius of filters from a link, however it writes them', async () => {
    const { page } = plain
    const shown = async (query: string) => {
      await page.goto(`${world.url}?${query}`)
      const [chain, status] = await page
        .locator('.filters select')
        .evaluateAll((all: any[]) => all.map(({ selectedOptions: [option] }) => option?.text))
      return { chain, status, chips: await page.locator('[data-chip]').allInnerTexts() }
    }
    expect(await shown('chain=84532&near=2,48&radius=500000')).toEqual({
      ...{ chain: 'Base Sepolia', status: 'Active and revoked' },
      chips: ['Chain: Base Sepolia ✕', 'Near: 2,48, within 500 km ✕'],
    })
    expect(await shown('chain=celo,arbitrum&revoked=never')).toEqual({
      ...{ chain: 'Celo, Arbitrum', status: 'never' },
      chips: ['Chain: Celo, Arbitrum ✕', 'Status: never ✕'],
    })
  })

  test.each(['fromTimestamp=%2B275760-09-13T00:00:00Z', 'toTimestamp=-271821-04-20T00:00:00Z'])(
    'stays usable with the last time of JavaScript in its address: %s',
    async (query) => {
      const { page } = plain
      await page.goto(`${world.url}?${query}`)
      await page.locator('[data-chip]').click()
      await page.locator('.places li').first().waitFor()
    },
  )

  test('shows the times of a link also before the first record is known', async () => {
    const { page } = plain
    // This request gets no response.
    await page.route(/sort=timestamp/, () => {})
    await page.goto(`${world.url}?fromTimestamp=2026-01-05T00:00:00Z&toTimestamp=2026-01-08T00:00:00Z`)
    const days = page.locator('.days input')
    await days.first().waitFor()
    expect(await days.evaluateAll((all: any[]) => all.map(({ value }) => value))).toEqual([
      '2026-01-05',
      '2026-01-07',
    ])
    await page.unrouteAll()
  })
})
