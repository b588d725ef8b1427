import type { LineString, Polygon } from 'geojson'
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { LOCAL_CHAIN, attest, locationRequest } from '../dev/chain'
import { follow, idle, openPage, PHONE, SIZES, WITHOUT_MAP, type OpenPage } from './browser'
import { pointShapefile } from './shapes'
import { StandIn } from './wallet'
import { startTestWorld, type TestWorld } from './world'
import { withChromium } from './needs'

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
/** Looks for the sent transaction until the service returns its record. */
const lookUntilShown = (browser: OpenPage) =>
  expect
    .poll(async () => {
      await button(browser, 'Look again')
        .click({ timeout: 1000 })
        .catch(() => {})
      return browser.page.locator('.attested-place[data-indexed=true]').count()
    })
    .toBe(1)
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

withChromium.describe('the attest page', () => {
  /** Pages that the tests share, without a wallet and with one. */
  let plain: OpenPage
  let withWallet: OpenPage
  let wallet: StandIn
  beforeAll(async () => {
    wallet = new StandIn(world.chain)
    plain = await openPage({ ...WITHOUT_MAP, viewport: { width: 390, height: 800 } })
    withWallet = await openPage(WITHOUT_MAP)
    await wallet.install(withWallet.page)
    // The tests replace contents of the form.
    plain.page.on('dialog', (dialog) => dialog.accept())
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
    // The user sees the order in which the numbers are read.
    await page.getByLabel('Place', { exact: true }).fill('48.8584, 2.2945')
    await page.getByText('Longitude 48.8584, latitude 2.2945.').waitFor()
    await page.getByLabel('Place', { exact: true }).fill(`48°51'30.24"N 2°17'40.2"E`)
    await page.getByText('Longitude 2.2945, latitude 48.8584.').waitFor()
    await page.getByLabel('Place', { exact: true }).fill('2.2945, 48.8584')
    await page.getByLabel('Memo').fill('Tower')
    await page.getByLabel('Recipient').fill('0x70997970C51812dc3A010C7d01b50e0d17dc79C8')
    expect(new URL(page.url()).searchParams.get('place')).toBe('2.2945, 48.8584')
    await button(browser, 'Attest place with a test account').press('Enter')
    const uid = await shown(browser)
    // The button that had the focus is removed.
    expect(await page.locator('.attested-place:focus').count()).toBe(1)
    // The test account asks nobody to confirm.
    expect(await page.locator('.steps').innerText()).not.toContain('your wallet')
    expect(await recordOf(uid)).toMatchObject({
      ...{ longitude: 2.2945, latitude: 48.8584, memo: 'Tower' },
      subject: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    })
    expect(new URL(page.url()).searchParams.get('memo')).toBe('Tower')
    expect((await (await world.chain.eas()).getAttestation!(uid)).revocable).toBe(true)
    // A second attestation needs a second decision.
    expect(await button(browser, 'Attest place with a test account').count()).toBe(0)
    await button(browser, 'Attest another place').press('Enter')
    expect(await page.locator('textarea:focus').count()).toBe(1)
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
      ['half a time', 'Time', { Place: '1, 2', keys: '0102' }, /^Enter a date in 1970/],
      ['no account', 'Recipient', { Place: '1, 2', Recipient: '0x12' }, /expected an address/],
      ['a medium without a type', 'Media', { Place: '1, 2', medium: 'ipfs://x' }, /^File 1 needs/],
      ['a large file', 'Media', { Place: '1, 2', file: '20000' }, /20,000 bytes/],
    ]
    for (const [what, field, given, words] of cases) {
      await page.getByLabel('Place', { exact: true }).fill(given.Place ?? '')
      await page.getByLabel('Time').fill(given.Time ?? '')
      await page.getByLabel('Recipient').fill(given.Recipient ?? '')
      if (given.keys) await page.getByLabel('Time').pressSequentially(given.keys)
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

  test('reports a file that the browser cannot read', async () => {
    const browser = await open(plain, { place: '1, 2' })
    const { page } = browser
    await page.evaluate(`
      arrayBuffer = File.prototype.arrayBuffer
      File.prototype.arrayBuffer = () => Promise.reject(new DOMException('Gone.', 'NotReadableError'))
    `)
    const file = { name: 'gone.txt', mimeType: 'text/plain', buffer: Buffer.from('x') }
    await page.getByLabel('Add a small file').setInputFiles(file)
    await page.locator('#problem-media[role=alert]').waitFor()
    await page.evaluate('File.prototype.arrayBuffer = arrayBuffer')
    await page.getByLabel('Add a small file').setInputFiles(file)
    await page.getByText('gone.txt').waitFor()
    expect(await page.locator('#problem-media[role=alert]').count()).toBe(0)
    expect(await button(browser, 'Attest place with a test account').isEnabled()).toBe(true)
  })

  test('shows the chains once the service responds, and keeps what was typed meanwhile', async () => {
    const { page } = plain
    await page.route(`${world.url}/`, (route) => route.abort())
    await page.goto(addressOf())
    await page.getByRole('alert').getByText('The service does not respond.').waitFor()
    await page.getByLabel('Recipient').fill('0x70997970C51812dc3A010C7d01b50e0d17dc79C8')
    await page.getByRole('alert').getByText('The service does not respond.').waitFor()
    await page.unroute(`${world.url}/`)
    await button(plain, 'Attest place with a test account').waitFor()
    expect(await page.getByLabel('Recipient').inputValue()).toMatch(/^0x7099/)
  })

  test('cannot be changed while the wallet is asked', async () => {
    const release = wallet.holdTransactions()
    const browser = await open(withWallet, { place: '1, 2', memo: 'Signed' })
    await browser.page.evaluate(`navigator.geolocation.getCurrentPosition = (done) => {
      globalThis.locate = () => done({ coords: { longitude: 5, latitude: 6, accuracy: 12 } })
    }`)
    await button(browser, 'Use my position as Place').click()
    await button(browser, 'Attest place with Stand-in').click()
    const memo = browser.page.getByLabel('Memo', { exact: true })
    expect(await memo.isDisabled()).toBe(true)
    await browser.page.evaluate('locate()')
    // The page that is loaded again would not know what the wallet sends.
    const question = browser.page.waitForEvent('dialog')
    await browser.page.evaluate('void setTimeout(() => location.reload())')
    await (await question).dismiss()
    // A link to another place does not replace the one of the wallet's request.
    await follow(browser.page, addressOf({ place: '3, 4' }))
    release()
    const { memo: attested, longitude } = await recordOf(await shown(browser))
    expect([attested, longitude, await memo.isEnabled()]).toEqual(['Signed', 1, true])
    expect(await browser.page.locator('.place-sources [role=status]').count()).toBe(0)
  })

  test('keeps its form locked, and then the transaction, if it is left while the wallet is asked', async () => {
    const release = wallet.holdTransactions()
    wallet.asked.length = 0
    const browser = await open(withWallet, { place: '1, 2', memo: 'Left' })
    const { page } = browser
    const attest = button(browser, 'Attest place with Stand-in')
    await attest.click()
    await expect.poll(() => wallet.asked).toContain('eth_sendTransaction')
    page.once('dialog', (dialog) => dialog.accept())
    await follow(page, `${world.url}/log`)
    await attest.waitFor({ state: 'detached' })
    await follow(page, addressOf({ place: '1, 2', memo: 'Left' }))
    await attest.waitFor()
    expect(await attest.isDisabled()).toBe(true)
    release()
    await page.getByRole('region', { name: 'Sent transaction' }).waitFor()
    expect(await attest.isDisabled()).toBe(true)
    await lookUntilShown(browser)
    expect(await recordOf(await shown(browser))).toMatchObject({ memo: 'Left' })
    expect(wallet.asked.filter((method) => method === 'eth_sendTransaction')).toHaveLength(1)
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
    await lookUntilShown(browser)
    expect(await recordOf(await shown(browser))).toMatchObject({ memo: 'Once' })
    expect(wallet.asked.filter((method) => method === 'eth_sendTransaction')).toHaveLength(1)
  })

  test('neither shows a transaction that was forgotten during its search, nor drops the next one', async () => {
    const uid = await attest(world.chain, locationRequest({ type: 'Point', coordinates: [1, 2] }))
    await world.caughtUp()
    const { page } = await open(withWallet, { place: '1, 2' })
    // The search for a hash also finds UIDs.
    const keep = async (transactionHash: string) => {
      const sent = JSON.stringify({ transactionHash, chain: LOCAL_CHAIN.slug })
      await page.evaluate(`sessionStorage.setItem('attest.sent', ${JSON.stringify(sent)})`)
      return sent
    }
    await keep(uid)
    await page.reload()
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    await page.route('**/graphql', (route) => held.then(() => route.continue()))
    const response = page.waitForResponse('**/graphql')
    await button(withWallet, 'Look again').click()
    await button(withWallet, 'Forget the transaction').click()
    const next = await keep(`0x${'5a'.repeat(32)}`)
    release()
    await (await response).finished()
    // The page handles the response to a later request after the one that it looked for.
    await page.getByRole('combobox', { name: 'Search' }).fill(uid)
    await page.getByRole('listbox').getByRole('option').waitFor()
    expect(await page.locator('.attested-place').count()).toBe(0)
    expect(await page.evaluate("sessionStorage.getItem('attest.sent')")).toBe(next)
    await page.evaluate("sessionStorage.removeItem('attest.sent')")
    await page.unrouteAll()
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

const place = (page: Page) => page.getByLabel('Place', { exact: true })
const filled = (page: Page, text: string) => expect.poll(() => place(page).inputValue()).toBe(text)
const openFile = (page: Page, name: string, buffer: Buffer | string) =>
  page
    .getByLabel('Open a file as Place')
    .setInputFiles({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(buffer) })

/** A TIFF directory: entries of [tag, type, count, bytes], with their values after it. */
function directory(entries: readonly [number, number, number, Buffer][], offset: number): Buffer {
  const head = Buffer.alloc(2 + 12 * entries.length + 4)
  head.writeUInt16LE(entries.length, 0)
  const values: Buffer[] = []
  let next = offset + head.length
  for (const [i, [tag, type, count, bytes]] of entries.entries()) {
    const at = 2 + 12 * i
    head.writeUInt16LE(tag, at)
    head.writeUInt16LE(type, at + 2)
    head.writeUInt32LE(count, at + 4)
    if (bytes.length <= 4) bytes.copy(head, at + 8)
    else {
      head.writeUInt32LE(next, at + 8)
      values.push(bytes)
      next += bytes.length
    }
  }
  return Buffer.concat([head, ...values])
}
/** Adds EXIF data with a position and a time to a JPEG picture. */
function withExif(jpeg: Buffer): Buffer {
  const long = (value: number) => {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32LE(value)
    return bytes
  }
  const degrees = (...parts: number[]) =>
    Buffer.concat(parts.flatMap((part) => [long(part * 100), long(100)]))
  const gpsAt = 38
  const gps = directory(
    [
      [1, 2, 2, Buffer.from('N\0')],
      [2, 5, 3, degrees(48, 51, 30)],
      [3, 2, 2, Buffer.from('W\0')],
      [4, 5, 3, degrees(2, 17, 40)],
    ],
    gpsAt,
  )
  const exifAt = gpsAt + gps.length
  const exif = directory(
    [
      [0x9003, 2, 20, Buffer.from('2026:05:01 12:30:45\0')],
      [0x9011, 2, 7, Buffer.from('+09:00\0')],
    ],
    exifAt,
  )
  const root = directory(
    [
      [0x8769, 4, 1, long(exifAt)],
      [0x8825, 4, 1, long(gpsAt)],
    ],
    8,
  )
  const tiff = Buffer.concat([Buffer.from('II*\0\x08\0\0\0', 'latin1'), root, gps, exif])
  const body = Buffer.concat([Buffer.from('Exif\0\0'), tiff])
  const head = Buffer.from([0xff, 0xe1, 0, 0])
  head.writeUInt16BE(body.length + 2, 2)
  return Buffer.concat([jpeg.subarray(0, 2), head, body, jpeg.subarray(2)])
}
/** A noisy photo of 1000 by 750 pixels, which no browser compresses well. */
const PHOTO = `(() => {
  const canvas = document.createElement('canvas')
  canvas.width = 1000
  canvas.height = 750
  const context = canvas.getContext('2d')
  const picture = context.createImageData(1000, 750)
  let state = 1
  for (let i = 0; i < picture.data.length; i++)
    picture.data[i] = i % 4 === 3 ? 255 : ((state = (state * 1103515245 + 12345) & 0x7fffffff) >> 16) & 255
  context.putImageData(picture, 0, 0)
  return canvas.toDataURL('image/jpeg', 0.9).split(',')[1]
})()`

/** Position, files, photos and drawing. */
withChromium.describe('the aids of the attest page', () => {
  /** Pages that the tests share: without a map, with one, and on a phone with one. */
  let plain: OpenPage
  let mapped: OpenPage
  let phone: OpenPage
  beforeAll(async () => {
    plain = await openPage({ ...WITHOUT_MAP, timezoneId: 'Europe/Berlin' })
    mapped = await openPage()
    phone = await openPage(PHONE)
    plain.page.on('dialog', (dialog) => dialog.accept())
    for (const { page } of [plain, mapped, phone]) await page.goto(`${world.url}/attest`)
  })
  let visits = 0
  /** Resets the form. */
  const open = async (browser: OpenPage) => {
    // An address with other parameters resets it.
    await follow(browser.page, `${world.url}/attest?visit=${++visits}`)
    await place(browser.page).waitFor()
    return browser
  }

  test('uses the position of the device, or reports why the position is missing', async () => {
    const browser = await open(plain)
    const { page } = browser
    await page.context().setGeolocation({ longitude: 2.29450001, latitude: 48.8584, accuracy: 12 })
    await page.context().grantPermissions(['geolocation'])
    await page.getByRole('button', { name: 'Use my position as Place' }).click()
    await filled(page, '2.2945, 48.8584')
    await page.getByText('Located within 12 m.').waitFor()
    await page.context().clearPermissions()
    await page.reload()
    await page.getByRole('button', { name: 'Use my position as Place' }).click()
    await page.getByText('This browser blocks the position').waitFor()
    expect(browser.complaints).toEqual([])
  })

  test('reduces a photo without its EXIF data, and offers its position and time', async () => {
    const browser = await open(plain)
    const { page, complaints } = browser
    const jpeg = withExif(Buffer.from(await page.evaluate<string>(PHOTO), 'base64'))
    await page
      .getByLabel('Add a photo')
      .setInputFiles({ name: 'photo.jpg', mimeType: 'image/jpeg', buffer: jpeg })
    const preview = page.locator('.photo img')
    await preview.waitFor()
    const [, type, data] = /^data:([^;]+);base64,(.*)$/.exec((await preview.getAttribute('src'))!)!
    const bytes = Buffer.from(data!, 'base64')
    expect(type).toMatch(/^image\/(webp|jpeg)$/)
    expect(bytes.length).toBeLessThanOrEqual(12_000)
    expect(bytes.includes('Exif')).toBe(false)
    expect(await place(page).inputValue()).toBe('')
    await page.getByRole('button', { name: /^Use its position/ }).click()
    await filled(page, '-2.294444, 48.858333')
    await page.getByRole('button', { name: 'Use its time 2026-05-01 05:30', exact: true }).click()
    expect(await page.getByLabel('Time').inputValue()).toBe('2026-05-01T05:30')
    const scrolled = () => preview.scrollIntoViewIfNeeded()
    expect(await browser.faults('attest-photo', scrolled)).toEqual([])
    // A photo that is removed offers nothing.
    await page.getByRole('button', { name: 'Remove file 1' }).click()
    await preview.waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })

  test('publishes a saved private place only after a confirmation', async () => {
    const { page } = await open(plain)
    const geometry = { type: 'Point', coordinates: [3, 4] }
    await openFile(page, 'private-place.json', JSON.stringify({ geometry, salt: `0x${'ab'.repeat(32)}` }))
    await page.getByText('This place is private.').waitFor()
    expect(page.url()).not.toContain('place=')
    await page.getByRole('button', { name: 'Publish this place' }).click()
    await filled(page, '3, 4')
  })

  const FILES: [string, string | Buffer, string][] = [
    [
      'a.kml',
      `<?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2"><Document><Placemark><name>A field</name><Polygon><outerBoundaryIs><LinearRing><coordinates>0,0,5 1,0,5 1,1,5 0,0,5</coordinates></LinearRing></outerBoundaryIs></Polygon></Placemark></Document></kml>`,
      '{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}',
    ],
    [
      'a.gpx',
      `<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg><trkpt lat="10" lon="20"/><trkpt lat="11" lon="21"/></trkseg></trk></gpx>`,
      '{"type":"LineString","coordinates":[[20,10],[21,11]]}',
    ],
    ['a.shp', pointShapefile(-60.5, -30.25), '-60.5, -30.25'],
  ]
  test('opens files with places, and lets the user choose among several places', async () => {
    const { page, complaints } = await open(plain)
    for (const [name, content, expected] of FILES) {
      await openFile(page, name, content)
      await filled(page, expected)
    }
    const point = (longitude: number, name: string) => ({
      ...{ type: 'Feature', properties: { name }, geometry: { type: 'Point', coordinates: [longitude, 0] } },
    })
    const two = { type: 'FeatureCollection', features: [point(1, 'First'), point(2, '<b>Second')] }
    await openFile(page, 'two.json', JSON.stringify(two))
    await page.getByText('Opened two.json: 2 places.').waitFor()
    await page.getByLabel('Place in the file').selectOption('<b>Second')
    await filled(page, '2, 0')
    // Another file begins with its first place.
    await openFile(page, 'others.json', JSON.stringify({ ...two, features: [point(3, 'A'), point(4, 'B')] }))
    await filled(page, '3, 0')
    expect(await page.getByLabel('Place in the file').inputValue()).toBe('0')
    expect(complaints).toEqual([])
    for (const [name, content, problem] of [
      ['not.kml', '<kml><unclosed></kml>', 'is not valid XML'],
      ['not.txt', 'some text', 'is not GeoJSON, KML, GPX or a shapefile'],
      ['none.gpx', '<gpx/>', 'has no geometry'],
    ] as const) {
      await openFile(page, name, content)
      await page.getByText(problem).waitFor()
    }
    // Files that the user drops onto the field, onto the map and onto the header.
    for (const [i, onto] of ['.place-sources', '.map', 'header'].entries()) {
      const isHandled = await page.evaluate(`(() => {
        const data = new DataTransfer()
        data.items.add(new File(['{"type":"Point","coordinates":[9,${i}]}'], 'dropped.json'))
        return ['dragover', 'drop'].every((type) => !document.querySelector('${onto}').dispatchEvent(
          new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true })))
      })()`)
      expect(isHandled).toBe(true)
      await filled(page, `9, ${i}`)
    }
    // Chromium describes a syntax error of XML in a document with inline styles, which the policy blocks.
    expect(complaints.filter((each) => !each.startsWith('Applying inline style'))).toEqual([])
  })

  test('rejects coordinates without all of their brackets at the field, also from a link', async () => {
    const { page, complaints } = mapped
    for (const coordinates of [
      [2, 48],
      [
        [2, 48],
        [3, 48],
        [3, 49],
        [2, 48],
      ],
    ]) {
      // oxfmt-ignore
      const polygon = JSON.stringify({ type: 'Polygon', coordinates })
      await follow(page, `${world.url}/attest?${new URLSearchParams({ place: polygon }).toString()}`)
      await page.getByRole('button', { name: 'Attest place with a test account' }).click()
      await page.locator('#problem-place[role=alert]', { hasText: /^coordinates\[0\]/ }).waitFor()
    }
    expect(complaints).toEqual([])
  })

  test('undoes the last position of a drawing, and edits the vertices of a geometry', async () => {
    const browser = await open(mapped)
    const { page, complaints } = browser
    const canvas = page.locator('canvas.maplibregl-canvas')
    await page.getByRole('button', { name: 'Draw a line as Place' }).click()
    await page.getByText('Click to add points.').waitFor()
    for (const position of [
      { x: 200, y: 200 },
      { x: 300, y: 200 },
      { x: 300, y: 420 },
    ])
      // oxfmt-ignore
      await canvas.click({ position })
    await page.getByRole('button', { name: 'Undo' }).click()
    await canvas.click({ position: { x: 400, y: 300 } })
    await page.keyboard.press('Enter')
    await page.locator('.maplibregl-map:not([data-drawing])').waitFor()
    const line = JSON.parse(await place(page).inputValue()) as LineString
    expect(line.coordinates).toHaveLength(3)
    const [, second, last] = line.coordinates
    expect(last![1]).toBeLessThan(second![1]!)

    const square: Polygon = { type: 'Polygon', coordinates: [[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]] } // oxfmt-ignore
    await place(page).fill(JSON.stringify(square))
    await idle(page)
    await page.getByRole('button', { name: 'Edit on the map: Place' }).click()
    await page.getByText('Drag a corner').waitFor()
    await idle(page)
    await browser.picture('attest-edit')
    // North-eastern corner of the framed square, inside 60 pixels of padding.
    const box = (await canvas.boundingBox())!
    const size = Math.min(box.width, box.height) - 120
    const corner = { x: box.x + box.width / 2 + size / 2, y: box.y + box.height / 2 - size / 2 }
    await page.mouse.move(corner.x, corner.y)
    await page.mouse.down()
    await page.mouse.move(corner.x - 80, corner.y + 80, { steps: 5 })
    await page.mouse.up()
    const north = async () => (JSON.parse(await place(page).inputValue()) as Polygon).coordinates[0]![2]![0]
    await expect.poll(north).toBeLessThan(9.5)
    const edited = JSON.parse(await place(page).inputValue()) as Polygon
    expect(edited.coordinates[0]).toHaveLength(5)
    expect(edited.coordinates[0]![0]).toEqual([0, 0])
    await page.getByRole('button', { name: 'Undo' }).click()
    await filled(page, JSON.stringify(square))
    await page.getByRole('button', { name: 'Done' }).click()
    await page.locator('.maplibregl-map:not([data-drawing])').waitFor()
    expect(complaints).toEqual([])
  })

  test('focuses the field of a problem, which is scrolled out of view on a phone', async () => {
    const browser = await open(phone)
    const { page } = browser
    await place(page).fill('2, 95')
    await page.getByRole('button', { name: /^Attest place with a test account/ }).tap()
    await page.getByText('Nothing was sent. Correct the marked field').waitFor()
    await expect.poll(() => page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe('Place')
    expect(browser.complaints).toEqual([])
  })

  const SQUARE: Polygon = { type: 'Polygon', coordinates: [[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]] } // oxfmt-ignore
  const TRIANGLE: Polygon = { type: 'Polygon', coordinates: [[[0, 0], [10, 0], [0, 10], [0, 0]]] } // oxfmt-ignore
  const remove = (page: Page) => page.getByRole('button', { name: 'Remove corner' })
  const slider = (page: Page) => page.getByRole('slider', { name: 'Corner' })
  /** Shows the square, and returns the pixel of its north-eastern corner. */
  async function squareOnMap(page: Page) {
    await place(page).fill(JSON.stringify(SQUARE))
    await idle(page)
    const box = (await page.locator('canvas.maplibregl-canvas').boundingBox())!
    const padding = Math.min(60, box.width / 6, box.height / 6)
    const size = Math.min(box.width, box.height) - 2 * padding
    return { x: box.x + box.width / 2 + size / 2, y: box.y + box.height / 2 - size / 2 }
  }
  const edit = (page: Page) => page.getByRole('button', { name: 'Edit on the map: Place' })
  const selected = (page: Page, text: string, click = async () => {}) => {
    const selection = () => slider(page).getAttribute('aria-valuetext')
    return expect
      .poll(
        async () => {
          if ((await selection()) !== text) await click()
          return selection()
        },
        // Not a double click. A click misses the corner while the map still moves to the square.
        { interval: 1_000 },
      )
      .toBe(text)
  }

  test('removes a corner by mouse: by the button and a right click', async () => {
    const browser = await open(mapped)
    const { page } = browser
    const { x, y } = await squareOnMap(page)
    await edit(page).click()
    await page.getByText('Drag a corner').waitFor()
    expect(await remove(page).count()).toBe(0)
    // Before the first change, there is nothing to undo.
    await page.getByRole('button', { name: 'Undo' }).click()
    for (const [name, way] of [
      ['button', () => remove(page).click()],
      ['right click', () => page.mouse.click(x, y, { button: 'right' })],
    ] as const) {
      await selected(page, '3 of 4: 10, 10', () => page.mouse.click(x, y))
      await page.locator('.selected-corner').waitFor()
      await way()
      await expect.poll(() => place(page).inputValue(), { message: name }).toBe(JSON.stringify(TRIANGLE))
      await page.getByRole('button', { name: 'Undo' }).click()
      await filled(page, JSON.stringify(SQUARE))
      await page.locator('.selected-corner').waitFor({ state: 'detached' })
    }
    // A click far from all corners selects none, and does not end the editing.
    await selected(page, '3 of 4: 10, 10', () => page.mouse.click(x, y))
    await page.mouse.click(x + 60, y)
    await remove(page).waitFor({ state: 'detached' })
    await page.keyboard.press('Delete')
    expect(await place(page).inputValue()).toBe(JSON.stringify(SQUARE))
    await page.getByRole('button', { name: 'Done' }).click()
    await slider(page).waitFor({ state: 'detached' })
    expect(await page.locator('.selected-corner').count()).toBe(0)
    expect(browser.complaints).toEqual([])
  })
  test('removes corners by keyboard alone, down to a triangle', async () => {
    const browser = await open(mapped)
    const { page } = browser
    await squareOnMap(page)
    await edit(page).focus()
    await page.keyboard.press('Enter')
    await slider(page).waitFor()
    // The button that started the editing has become Done, and has kept the focus.
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Done')
    for (let tabs = 0; tabs < 3 && !(await page.evaluate("document.activeElement.type === 'range'")); tabs++)
      await page.keyboard.press('Tab')
    await selected(page, '1 of 4: 0, 0')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    await selected(page, '3 of 4: 10, 10')
    expect(await browser.barriers()).toEqual([])
    await browser.picture('attest-corner')
    await page.keyboard.press('Delete')
    await filled(page, JSON.stringify(TRIANGLE))
    await selected(page, '3 of 3: 0, 10')
    expect(await remove(page).isDisabled()).toBe(true)
    await page.keyboard.press('Delete')
    expect(await place(page).inputValue()).toBe(JSON.stringify(TRIANGLE))
    expect(browser.complaints).toEqual([])
  })
  test('removes a corner by touch', async () => {
    const browser = await open(phone)
    const { page } = browser
    const { x, y } = await squareOnMap(page)
    await edit(page).tap()
    await page.getByText('Drag a corner').waitFor()
    await selected(page, '3 of 4: 10, 10', () => page.touchscreen.tap(x, y))
    await browser.picture('attest-corner-phone')
    await remove(page).tap()
    await filled(page, JSON.stringify(TRIANGLE))
    expect(await remove(page).isDisabled()).toBe(true)
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Remove corner')
    expect(browser.complaints).toEqual([])
  })
})
