import type { Polygon } from 'geojson'
import { beforeAll, describe, expect, test } from 'vitest'
import { LOCAL_CHAIN } from '../dev/chain'
import { CHROMIUM, follow, openPage, SIZES, WITHOUT_MAP, type OpenPage } from './browser'
import { StandIn } from './wallet'
import { startTestWorld, type TestWorld } from './world'

/** Tests of the page that attests a place, on the running service, in a real browser (needs chromium). */

let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld()
})

/** Waits until the form has the chains of the service. */
const hasChains = ({ page }: OpenPage) =>
  page.locator('option', { hasText: LOCAL_CHAIN.slug }).waitFor({ state: 'attached' })
const addressOf = (parameters: Record<string, string> = {}) =>
  `${world.url}/attest?${new URLSearchParams(parameters).toString()}`
const button = ({ page }: OpenPage, name: string) => page.getByRole('button', { name, exact: true })
/** Waits until the service returns the record, and returns the UID of the attestation. */
async function shown({ page }: OpenPage): Promise<string> {
  await page.locator('.attested-place[data-indexed=true]').waitFor()
  return page.locator('[data-uid]').innerText()
}
/** Returns the complaints without those about a record that is not found yet, and about a busy service. */
const others = (complaints: readonly string[]) =>
  complaints.filter((complaint) => !/status of (404|503) /.test(complaint))
const recordOf = async (uid: string) => (await world.get(`/api/v0/location-records/${uid}`)).body
/** A PNG of one pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

const POINT = { type: 'Feature', properties: {}, geometry: { type: 'Point', coordinates: [1, 2] } }
const TWO_FEATURES = JSON.stringify({ type: 'FeatureCollection', features: [POINT, POINT] })
const CROSSED = '{"type":"Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,2],[0,0]]]}'

describe.skipIf(!CHROMIUM)('the attest page', () => {
  /** Pages that the tests share, without a wallet and with one. */
  let plain: OpenPage
  let withWallet: OpenPage
  let wallet: StandIn
  beforeAll(async () => {
    wallet = new StandIn(world.chain)
    plain = await openPage({ ...WITHOUT_MAP, viewport: { width: 390, height: 800 } })
    withWallet = await openPage(WITHOUT_MAP)
    await wallet.install(withWallet.page)
    for (const { page } of [plain, withWallet]) await page.goto(addressOf())
  })
  let visits = 0
  /** Opens the form with these contents, as a link does. */
  const open = async (browser: OpenPage, parameters: Record<string, string> = {}) => {
    // An address with other parameters resets the form.
    await follow(browser.page, addressOf({ ...parameters, visit: String(++visits) }))
    await hasChains(browser)
    return browser
  }

  test(
    'attests a drawn polygon with memo, time and media by a wallet on another chain, and shows it on the map',
    { timeout: 180_000 },
    async () => {
      const elsewhere = new StandIn(world.chain, { chainId: 1 })
      await using browser = await openPage()
      const { page, complaints } = browser
      await elsewhere.install(page)
      await page.goto(addressOf())
      await hasChains(browser)
      await page.locator('.map[data-state=idle]').waitFor()
      await button(browser, 'Draw a polygon as Place').click()
      await page.locator('.maplibregl-map[data-drawing]').waitFor()
      const canvas = page.locator('canvas.maplibregl-canvas')
      for (const [x, y] of [
        [200, 300],
        [400, 300],
        [400, 500],
        [200, 500],
        [200, 300],
      ] as const)
        // oxfmt-ignore
        await canvas.click({ position: { x, y } })
      await page.locator('.maplibregl-map:not([data-drawing])').waitFor()
      await page.getByLabel('Memo').fill('A field <b>of</b> \u202egrain')
      await page.getByLabel('Time').fill('2026-01-02T03:04')
      await button(browser, 'Add a link').click()
      await page.getByLabel('Link to file 1').fill('https://elsewhere.example/field.jpg')
      await page.getByLabel('Type of file 1').fill('image/jpeg')
      await page
        .getByLabel('Add a small file')
        .setInputFiles({ name: 'pixel.png', mimeType: 'image/png', buffer: PIXEL })
      await page.getByText('pixel.png').waitFor()
      expect(await browser.barriers()).toEqual([])
      await browser.picture('attest')

      await page.locator('[data-live=live]').waitFor()
      await page.locator('[data-places="0"]').waitFor({ state: 'attached' })
      await button(browser, 'Attest place with Stand-in').click()
      const uid = await shown(browser)
      await page.locator('[data-places="1"]').waitFor({ state: 'attached' })
      expect(elsewhere.chainId).toBe(LOCAL_CHAIN.id)
      const place = JSON.parse(await page.getByLabel('Place', { exact: true }).inputValue()) as Polygon
      expect(place.coordinates[0]).toHaveLength(5)
      const local = await page.evaluate<number>(`new Date('2026-01-02T03:04').getTime()`)
      expect(await recordOf(uid)).toMatchObject({
        ...{ prover: elsewhere.account, memo: 'A field <b>of</b> \u202egrain' },
        location_type: 'geojson-polygon',
        event_timestamp: new Date(local).toISOString(),
        media_types: ['image/jpeg', 'image/png'],
        media_data: ['https://elsewhere.example/field.jpg', PIXEL.toString('base64')],
      })
      expect((await world.get(`/api/v0/location-records/${uid}?format=geojson`)).body.geometry).toEqual(place)
      await browser.picture('attested')
      expect(others(complaints)).toEqual([])

      await page.getByRole('link', { name: 'open it in the explorer' }).click()
      await page.locator('.card').getByText('A field <b>of</b>').first().waitFor()
      await page.locator('.card img').waitFor()
      await page.locator('.map[data-state=idle]').waitFor()
      await page.locator('[data-places="1"]').waitFor({ state: 'attached' })
    },
  )

  test('shows the first field at the top in a narrow window', async () => {
    const { page } = plain
    await page.locator('.map[data-state=idle]').waitFor()
    expect(await page.locator('.panel').evaluate((panel) => panel.scrollTop)).toBe(0)
    await page.setViewportSize(SIZES[2])
  })

  test('attests a pasted position by one click on the local chain, and has the form in its address', async () => {
    const browser = await open(plain)
    const { page, complaints } = browser
    await page.getByLabel('Place', { exact: true }).fill('2.2945, 48.8584')
    await page.getByLabel('Memo').fill('Tower')
    await page.getByLabel('Recipient').fill('0x70997970C51812dc3A010C7d01b50e0d17dc79C8')
    expect(new URL(page.url()).searchParams.get('place')).toBe('2.2945, 48.8584')
    await button(browser, 'Attest place with a test account').click()
    const uid = await shown(browser)
    expect(await recordOf(uid)).toMatchObject({
      ...{ longitude: 2.2945, latitude: 48.8584, memo: 'Tower' },
      subject: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    })
    expect(new URL(page.url()).searchParams.get('memo')).toBe('Tower')
    expect((await (await world.chain.eas()).getAttestation!(uid)).revocable).toBe(true)
    // A second attestation needs a second decision.
    expect(await button(browser, 'Attest place with a test account').count()).toBe(0)
    await button(browser, 'Attest another place').click()
    await button(browser, 'Attest place with a test account').waitFor()
    expect(others(complaints)).toEqual([])
  })

  test('warns of a form that a link filled, and shows its whole memo before the user signs', async () => {
    const memo = `Lovely tower${'\n'.repeat(60)}I sell it for nothing\u202e\u200b`
    const browser = await open(plain, { place: '2.2945, 48.8584', memo })
    const { page, complaints } = browser
    const note = page.getByRole('note')
    await note.waitFor()
    const shown = page.locator('[data-memo]')
    expect(await shown.textContent()).toBe(
      'Lovely tower\n[60 line breaks]\nI sell it for nothing[U+202E][U+200B]',
    )
    // The whole text is visible: no part is scrolled out of sight within its box.
    expect(await shown.evaluate((box) => box.scrollHeight <= box.clientHeight)).toBe(true)
    await button(browser, 'Attest place with a test account').scrollIntoViewIfNeeded()
    await browser.picture('attest-linked')
    expect(await browser.barriers()).toEqual([])
    // The page must not attribute the user's own text to anyone else.
    await page.getByLabel('Memo', { exact: true }).fill('Mine')
    await note.waitFor()
    await page.getByLabel('Place', { exact: true }).fill('2, 48')
    await note.waitFor({ state: 'detached' })
    expect(await shown.textContent()).toBe('Mine')
    expect(others(complaints)).toEqual([])
  })
  test('does not warn of a link if the form is empty', async () => {
    const browser = await open(plain, { chain: LOCAL_CHAIN.slug })
    expect(await browser.page.getByRole('note').count()).toBe(0)
    await browser.page.getByLabel('Memo').fill('Mine')
    expect(await browser.page.getByRole('note').count()).toBe(0)
  })

  test('never writes a pasted private place into its address, even after edits make it invalid JSON', async () => {
    const browser = await open(plain, { place: '2.2945, 48.8584' })
    const { page, complaints } = browser
    const given = `{"geometry":{"type":"Point","coordinates":[60.5,30.25]},"salt":"0x${'5a'.repeat(32)}"}`
    // Reads the page's own URL, because page.url() lags behind.
    const address = () => page.evaluate<string>('location.href')
    for (const text of [given, given.slice(0, -1)]) {
      await page.getByLabel('Place', { exact: true }).fill('1, 2')
      expect(await address()).toMatch(/[?&]place=1/)
      await page.getByLabel('Place', { exact: true }).fill(text)
      expect(await address()).not.toMatch(/[?&]place=/)
    }
    expect(others(complaints)).toEqual([])
  })

  test('waits for a service that is unavailable, and shows the attestation afterwards', async () => {
    const browser = await open(plain, { place: '7, 8' })
    const { page } = browser
    await page.route('**/api/v0/location-records/0x*', (route) => route.abort())
    await button(browser, 'Attest place with a test account').click()
    await page.getByText('Waiting for the map').waitFor()
    await page.locator('.attested-place[data-indexed=false]').waitFor()
    await page.unroute('**/api/v0/location-records/0x*')
    expect(await recordOf(await shown(browser))).toMatchObject({ longitude: 7, latitude: 8 })
  })

  test('rejects a form at the field of its problem, without calling a wallet', async () => {
    const browser = await open(withWallet)
    const { page } = browser
    const cases: [what: string, field: string, given: Record<string, string>, words: RegExp][] = [
      ['nothing', 'Place', {}, /^Enter a place/],
      ['a UID', 'Place', { Place: `0x${'12'.repeat(32)}` }, /^This is the UID of an attestation/],
      ['a latitude first', 'Place', { Place: '0, 95' }, /Longitude comes first/],
      ['half JSON', 'Place', { Place: '{"type":"Point"' }, /valid JSON/],
      ['two features', 'Place', { Place: TWO_FEATURES }, /one/],
      [
        'a ring that crosses itself',
        'Place',
        { Place: CROSSED },
        /^coordinates\[0\]\[0\]: the edge that starts here crosses the one that starts at coordinates\[0\]\[2\]/,
      ],
      [
        'a time that no chain has',
        'Time',
        { Place: '1, 2', Time: '1969-12-30T12:00' },
        /^Enter a date in 1970/,
      ],
      ['no account', 'Recipient', { Place: '1, 2', Recipient: '0x12' }, /expected an address/],
      ['a medium without a type', 'Media', { Place: '1, 2', medium: 'ipfs://x' }, /^File 1 needs/],
      ['a large file', 'Media', { Place: '1, 2', file: '20000' }, /20,000 bytes/],
    ]
    for (const [what, field, given, words] of cases) {
      await page.getByLabel('Place', { exact: true }).fill(given.Place ?? '')
      await page.getByLabel('Time').fill(given.Time ?? '')
      await page.getByLabel('Recipient').fill(given.Recipient ?? '')
      if (given.medium) {
        await button(browser, 'Add a link').click()
        await page.getByLabel('Link to file 1').fill(given.medium)
      }
      // Input clears the problem of the previous case, and the next click the sentence at the button.
      await expect.poll(() => page.locator('[id^=problem-][role=alert]').count(), { message: what }).toBe(0)
      if (given.file)
        await page
          .getByLabel('Add a small file')
          .setInputFiles({ name: 'f.png', mimeType: 'image/png', buffer: Buffer.alloc(Number(given.file)) })
      else await button(browser, 'Attest place with Stand-in').click()
      const problem = page.locator(`#problem-${field.toLowerCase()}[role=alert]`)
      await expect.poll(() => problem.innerText(), { message: what }).toMatch(words)
      if (!given.file) await page.getByText('Nothing was sent. Correct the marked field').waitFor()
      // The user can correct the form and submit it again.
      expect(await button(browser, 'Attest place with Stand-in').isEnabled()).toBe(true)
      if (given.medium) await button(browser, 'Remove file 1').click()
    }
    expect(wallet.asked).not.toContain('eth_sendTransaction')
  })

  test('keeps a medium that is added while a photo is reduced, and does not attest meanwhile', async () => {
    const browser = await open(plain, { place: '1, 2' })
    const { page } = browser
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    await page.route('**/assets/photo-*.js', (route) => held.then(() => route.continue()))
    await page
      .getByLabel('Add a photo')
      .setInputFiles({ name: 'pixel.png', mimeType: 'image/png', buffer: PIXEL })
    await button(browser, 'Add a link').click()
    await page.getByLabel('Link to file 1').fill('ipfs://x')
    expect(await button(browser, 'Attest place with a test account').isDisabled()).toBe(true)
    release()
    await page.getByText('pixel.png').waitFor()
    expect(await page.getByLabel('Link to file 1').inputValue()).toBe('ipfs://x')
    expect(await button(browser, 'Attest place with a test account').isEnabled()).toBe(true)
  })

  test('cannot be changed while the wallet is asked', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    const request = wallet.request.bind(wallet)
    wallet.request = async (asked) => {
      if (asked.method === 'eth_sendTransaction') await held
      return request(asked)
    }
    const browser = await open(withWallet, { place: '1, 2', memo: 'Signed' })
    await browser.page.evaluate(`navigator.geolocation.getCurrentPosition = (done) => {
      globalThis.locate = () => done({ coords: { longitude: 5, latitude: 6, accuracy: 12 } })
    }`)
    await button(browser, 'Use my position as Place').click()
    await button(browser, 'Attest place with Stand-in').click()
    const memo = browser.page.getByLabel('Memo', { exact: true })
    expect(await memo.isDisabled()).toBe(true)
    await browser.page.evaluate('locate()')
    release()
    const { memo: attested, longitude } = await recordOf(await shown(browser))
    expect([attested, longitude, await memo.isEnabled()]).toEqual(['Signed', 1, true])
    expect(await browser.page.locator('.place-sources [role=status]').count()).toBe(0)
    wallet.request = request
  })

  test('sends no second transaction while the first one may be included', async () => {
    wallet.refuses = { eth_getTransactionReceipt: -32000 }
    wallet.asked.length = 0
    const browser = await open(withWallet, { place: '1, 2', memo: 'Once' })
    const { page } = browser
    const attest = button(browser, 'Attest place with Stand-in')
    // The client reads the receipt twenty times, with pauses.
    await page.clock.install()
    await attest.click()
    const sent = page.getByRole('region', { name: 'Sent transaction' })
    await expect.poll(() => page.clock.fastForward(500).then(() => sent.count())).toBe(1)
    expect(await attest.isDisabled()).toBe(true)
    await page.reload()
    await sent.waitFor()
    expect(await attest.isDisabled()).toBe(true)
    await expect
      .poll(async () => {
        await button(browser, 'Look again')
          .click({ timeout: 1000 })
          .catch(() => {})
        return page.locator('.attested-place[data-indexed=true]').count()
      })
      .toBe(1)
    expect(await recordOf(await shown(browser))).toMatchObject({ memo: 'Once' })
    expect(wallet.asked.filter((method) => method === 'eth_sendTransaction')).toHaveLength(1)
  })

  test('reports that the wallet refused, and offers to try again', async () => {
    wallet.refuses = { eth_sendTransaction: 4001 }
    const browser = await open(withWallet, { place: '1, 2', memo: 'Again' })
    await button(browser, 'Attest place with Stand-in').click()
    await browser.page.getByText('You rejected the request in your wallet. Nothing was sent.').waitFor()
    wallet.refuses = {}
    await button(browser, 'Attest place with Stand-in').click()
    expect(await recordOf(await shown(browser))).toMatchObject({ memo: 'Again' })
  })
})
