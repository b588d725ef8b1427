import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Geometry, LineString, Polygon, Position } from 'geojson'
import solc from 'solc'
import { beforeAll, expect, onTestFailed, test } from 'vitest'
import { LOCAL_CHAIN, attest, locationRequest, testAccount } from '../dev/chain'
import { follow, idle, middle, openPage, WITHOUT_MAP, type OpenPage, type PageOptions } from './browser'
import { insertRecords } from './records'
import { compilePrograms } from './typescript'
import { StandIn } from './wallet'
import { startTestWorld, type TestWorld } from './world'
import { ROUND_THE_POLE, point, square } from './shapes'
import { withChromium } from './needs'

const UNKNOWN_UID = `0x${'12'.repeat(32)}`

/** Tests of the playground on the running service, in a real browser (needs chromium). */

let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld()
})

const at = (longitude: number, latitude: number) => point([longitude, latitude])
const addressOf = (parameters: Record<string, string>) =>
  `${world.url}/playground?${new URLSearchParams(parameters).toString()}`
/** Opens the playground with a request in its address. */
async function open(parameters: Record<string, string>, options: PageOptions): Promise<OpenPage> {
  const browser = await openPage(options)
  await browser.page.goto(addressOf(parameters))
  return browser
}
/** Page with a map that tests share. */
let mapped: OpenPage | undefined
/** Loads the playground, with a request in its address, into the shared page with a map. */
async function onMap(parameters: Record<string, string> = {}): Promise<OpenPage> {
  mapped ??= await openPage()
  await mapped.page.goto(addressOf(parameters))
  return mapped
}
/** Shows a request in an open playground, and removes the answer of the earlier one. */
async function show({ page }: OpenPage, parameters: Record<string, string>): Promise<void> {
  await follow(page, addressOf(parameters))
  // The problem of the earlier form is removed with it.
  await page.locator('.result').waitFor({ state: 'detached' })
  await page.locator('[role=alert]:not(.notice)').filter({ hasText: /\S/ }).waitFor({ state: 'detached' })
}
/** Page without a map that tests share. After a failed test, the next one opens another page. */
let shared: OpenPage | undefined
/** Shows a request in the shared page. Tests that provoke errors are the last ones to use it. */
async function form(parameters: Record<string, string> = {}): Promise<OpenPage> {
  onTestFailed(async () => {
    await shared?.[Symbol.asyncDispose]()
    shared = undefined
  })
  shared ??= await open({}, WITHOUT_MAP)
  await show(shared, parameters)
  return shared
}
/** Text of a place, which has members that are not of GeoJSON, as many programs write them. */
const text = (geometry: Geometry) =>
  geometry.type === 'Point'
    ? geometry.coordinates.join(', ')
    : JSON.stringify({ type: 'Feature', id: null, name: 'A place', geometry })

async function ask({ page }: OpenPage): Promise<void> {
  // Resolves after the page has loaded the chains.
  await page.locator('option', { hasText: LOCAL_CHAIN.slug }).waitFor({ state: 'attached' })
  await page.locator('form > button.primary').click()
}
async function verified({ page }: OpenPage): Promise<void> {
  await page.locator('.checks:not(:has(:not([data-check=good])))').waitFor()
  expect(await page.locator('.checks > li').count()).toBe(2)
}
// Leaves out the map's notice about late tiles, which depends on how busy the machine is.
const alert = ({ page }: OpenPage) =>
  page.locator('[role=alert]:not(.notice)').filter({ hasText: /\S/ }).first().innerText()

interface Case {
  operation: string
  body: Record<string, unknown>
  inputs: Geometry[]
  radius?: string
  /** roles of the drawn features */
  drawn: string
}
const CASES: Case[] = [
  {
    operation: 'distance',
    inputs: [at(179.5, -17), at(-179.5, -16)],
    body: { from: at(179.5, -17), to: at(-179.5, -16) },
    drawn: 'measured end',
  },
  {
    operation: 'within',
    inputs: [at(30, 89), at(-150, 89.5)],
    radius: '170000',
    body: { geometry: at(30, 89), target: at(-150, 89.5), radius: 170_000 },
    drawn: 'buffer measured end',
  },
  {
    operation: 'contains',
    inputs: [ROUND_THE_POLE, at(0, 90)],
    body: { container: ROUND_THE_POLE, geometry: at(0, 90) },
    drawn: 'measured',
  },
  {
    operation: 'intersects',
    inputs: [square(10, 50), square(10.5, 50.5)],
    body: { geometry1: square(10, 50), geometry2: square(10.5, 50.5) },
    drawn: 'overlap measured end',
  },
  { operation: 'area', inputs: [ROUND_THE_POLE], body: { geometry: ROUND_THE_POLE }, drawn: 'overlap' },
  {
    operation: 'length',
    inputs: [{ type: 'LineString', coordinates: [[170, 60], [-170, 60]] }], // oxfmt-ignore
    body: { geometry: { type: 'LineString', coordinates: [[170, 60], [-170, 60]] } }, // oxfmt-ignore
    drawn: 'measured',
  },
]

withChromium.describe('the playground in a browser', () => {
  /** Snippets of the answers, which one run of each compiler checks. */
  const snippets: { operation: string; result: unknown; typescript: string; solidity: string }[] = []

  /** Asks a question. Returns the result when the page has verified and drawn the answer. */
  async function answerTo({ operation, inputs, radius, body, drawn }: Case, browser: OpenPage) {
    const { page } = browser
    const [a, b] = inputs.map(text)
    await show(browser, { op: operation, a: a!, ...(b && { b }), ...(radius && { radius }) })
    const answered = page.waitForResponse((response) => response.url().includes('/compute/'))
    await ask(browser)
    const shown = (await (await answered).json()) as { result: unknown; inputRefs: string[] }
    const direct = await world.post(`/compute/v0/${operation}`, { chainId: LOCAL_CHAIN.id, ...body })
    expect({ result: shown.result, inputRefs: shown.inputRefs }).toEqual({
      result: direct.body.result,
      inputRefs: direct.body.inputRefs,
    })
    await verified(browser)
    await page.locator(`.answer[data-drawn]`).waitFor()
    expect(await page.locator('.answer').getAttribute('data-drawn')).toContain(
      operation === 'contains' ? '' : drawn,
    )
    // The address contains the request: another page shows the same.
    expect(new URL(page.url()).searchParams.get('op')).toBe(operation)
    expect(new URL(page.url()).searchParams.get('a')).toBe(a)
    return shown.result
  }

  test('draws answers at the antimeridian, at a pole, and with the most kinds of features on its map', async () => {
    const browser = await onMap()
    for (const each of CASES.filter(({ operation }) =>
      ['distance', 'within', 'intersects'].includes(operation),
    )) {
      await answerTo(each, browser)
      await idle(browser.page)
      await browser.picture(`playground-${each.operation}`)
    }
    expect(browser.complaints).toEqual([])
  })

  test('shows the result of the API and a working command, and no English sentence in another language', async () => {
    await using browser = await open({}, { locale: 'en-XA', ...WITHOUT_MAP })
    const { page, complaints } = browser
    for (const each of CASES) {
      const { operation } = each
      const result = await answerTo(each, browser)
      const [curl, typescript, solidity] = await page.locator('.snippet pre').allTextContents()
      expect(await answerOfCurl(curl!)).toMatchObject({ result })
      snippets.push({ operation, result, typescript: typescript!, solidity: solidity! })
      // An answer of `within` has its distance only after it is computed.
      if (operation === 'within') await page.locator('.result', { hasText: ': [' }).waitFor()
      const sentences = await page.locator('.result, .checks li').allInnerTexts()
      const english = sentences.flatMap(
        (sentence) => sentence.match(/^[^[]*[a-z]{2}|\][^[]*[a-z]{3}/gi) ?? [],
      )
      expect(english, operation).toEqual([])
      await browser.picture(`playground-${operation}-other-language`)
    }
    expect(complaints).toEqual([])
  })

  // The limit only ends a compiler that hangs.
  test('shows programs that compile and print the results of the answers', { timeout: 240_000 }, async () => {
    expect(snippets).not.toEqual([])
    const programs = compilePrograms(
      snippets.map(({ operation, typescript }) => ({ name: operation, source: typescript })),
    )
    // One program with a number, and one whose result has units.
    for (const [i, { operation, result }] of snippets.entries()) {
      if (operation !== 'within' && operation !== 'area') continue
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', programs[i]!])
      expect(stdout, operation).toContain(String(result))
    }
    expect(solidityErrors(snippets.map(({ operation, solidity }) => [`${operation}.sol`, solidity]))).toEqual(
      [],
    )
  })

  test('answers in a sentence that names the places and their distance, in the chosen units', async () => {
    const attested = async (longitude: number, latitude: number, memo: string) =>
      attest(world.chain, locationRequest(at(longitude, latitude), { memo }))
    const [tower, church] = [
      await attested(2.2945, 48.8584, 'Eiffel Tower'),
      await attested(2.3499, 48.853, 'Notre-Dame'),
    ]
    await world.caughtUp()
    const { body } = await world.post('/compute/v0/distance', {
      ...{ chainId: LOCAL_CHAIN.id, from: tower, to: church },
    })
    const meters = `${(body.result as number).toLocaleString('en')} m`
    const isolated = (name: string) => `\u2068${name}\u2069`
    const browser = await form()
    const { page, complaints } = browser
    for (const [radius, sentence] of [
      // The keyboards of some phones have no point.
      [
        '1250,5',
        `No. ${isolated('Eiffel Tower')} is ${meters} from ${isolated('Notre-Dame')}: not within 1,250.5 m.`,
      ],
      ['5000', `Yes. ${isolated('Eiffel Tower')} is ${meters} from ${isolated('Notre-Dame')}: within 5 km.`],
      [
        '1250.5',
        `No. ${isolated('Eiffel Tower')} is ${meters} from ${isolated('Notre-Dame')}: not within 1,250.5 m.`,
      ],
    ] as const) {
      await show(browser, { op: 'within', a: tower, b: church, radius })
      await page.getByText('Record on base-sepolia: Notre-Dame').waitFor()
      await ask(browser)
      await page.locator('.result', { hasText: sentence }).waitFor()
      await page.getByLabel('Units').selectOption('nautical')
      const miles = ((body.result as number) / 1852).toFixed(2)
      await page.locator('.result', { hasText: `is ${miles} nmi (${meters}) from` }).waitFor()
      await browser.picture('playground-sentence')
      await page.getByLabel('Units').selectOption('metric')
    }
    await show(browser, { op: 'distance', a: '1,2', b: '1,3' })
    await ask(browser)
    await page.locator('.result', { hasText: /^The position 1, 2 is .* from the position 1, 3\.$/ }).waitFor()
    expect(complaints).toEqual([])
  })

  test('sends geometries drawn on the map, without serious axe findings', async () => {
    const browser = await onMap({ op: 'contains' })
    const { page, complaints } = browser
    const canvas = page.locator('canvas.maplibregl-canvas')
    const drawn = async (name: string, places: readonly (readonly [number, number])[]) => {
      await page.getByRole('button', { name }).click()
      await page.locator('.maplibregl-map[data-drawing]').waitFor()
      await page
        .getByText(/Click (the map|to add)/)
        .last()
        .waitFor()
      for (const [x, y] of places) await canvas.click({ position: { x, y } })
      await page.locator('.maplibregl-map:not([data-drawing])').waitFor()
    }
    await drawn('Draw a polygon as Container', [[200, 200], [400, 200], [400, 400], [200, 400], [200, 400]]) // oxfmt-ignore
    const container = await page.getByLabel('Container', { exact: true }).inputValue()
    expect((JSON.parse(container) as Polygon).coordinates[0]).toHaveLength(5)
    await page.locator('canvas.maplibregl-canvas').waitFor({ state: 'attached' })
    await page.getByLabel('Geometry', { exact: true }).fill('')
    await drawn('Draw a point as Geometry', [[437, 378]])
    expect(await page.getByLabel('Geometry', { exact: true }).inputValue()).toMatch(/^-?[\d.]+, -?[\d.]+$/)
    await ask(browser)
    await verified(browser)
    await page.locator('.answer[data-drawn]').waitFor()
    expect(await browser.barriers()).toEqual([])
    expect(complaints).toEqual([])
    await browser.picture('playground-drawn')
  })

  test('measures a line that is drawn by clicks while the drawing library loads', async () => {
    const browser = await onMap({ op: 'length' })
    const { page, complaints } = browser
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    await page.route(/\/assets\/drawing-[^/]+\.js$/, async (route) => {
      await held
      await route.continue()
    })
    const library = page.waitForRequest(/\/assets\/drawing-[^/]+\.js$/)
    // A drawing that is ended before the library is loaded must not start with it.
    await page.getByRole('button', { name: 'Draw a point as Line' }).click()
    await page.getByRole('button', { name: 'Draw a line as Line' }).click()
    await library
    const canvas = page.locator('canvas.maplibregl-canvas')
    // The map moves below this click, which then counts no more.
    await canvas.click({ position: { x: 150, y: 350 } })
    await page.mouse.move(500, 300)
    await page.mouse.down()
    await page.mouse.move(560, 340, { steps: 5 })
    await page.mouse.up()
    await page.locator('.map[data-state=idle]').waitFor()
    const clicked = [[200, 200], [400, 250], [300, 400]] as const // oxfmt-ignore
    for (const [x, y] of clicked) await canvas.click({ position: { x, y } })
    release()
    const field = page.getByLabel('Line', { exact: true })
    await expect
      .poll(async () => {
        await page.keyboard.press('Enter')
        return field.inputValue()
      })
      .toContain('LineString')
    expect((JSON.parse(await field.inputValue()) as LineString).coordinates).toHaveLength(3)
    await ask(browser)
    await verified(browser)
    await page.unrouteAll()
    expect(complaints).toEqual([])
  })

  test('uses a record that is clicked on the map as the geometry, and copies the shown values', async () => {
    // Records of other chains than the request's are not shown.
    await insertRecords(world.databaseUrl, [{ chain: 'celo', geometry: at(-60.5, -30.25) }])
    const uid = await attest(world.chain, locationRequest(at(-60.5, -30.25)))
    await world.caughtUp()
    const browser = await onMap({ a: '-60.5, -30.25' })
    const { page, complaints } = browser
    await page.locator('[data-places="1"]').waitFor({ state: 'attached' })
    await idle(page)
    const { x, y } = await middle(page)
    await page.mouse.click(x, y)
    await page.getByText('Record on base-sepolia').waitFor()
    expect(await page.getByLabel('From', { exact: true }).inputValue()).toBe(uid)
    await page.getByLabel('To', { exact: true }).fill('0, 0')
    await ask(browser)
    await verified(browser)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.locator('[data-snippet=curl] summary').click()
    await page.locator('[data-snippet=curl] .copy').click()
    await page.getByText('Copied').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
      await page.locator('[data-snippet=curl] pre').textContent(),
    )
    expect(complaints).toEqual([])
  })

  test('removes a record of another chain once the chain is known, even if its tile was loading', async () => {
    await insertRecords(world.databaseUrl, [{ chain: 'celo', geometry: at(-50.5, -20.25) }], 2)
    await attest(world.chain, locationRequest(at(-50.5, -20.25)))
    await world.caughtUp()
    const { page, complaints } = (mapped ??= await openPage())
    const ofAllChains = /\/14\/5893\/9133\.mvt\?revoked=false$/
    const asked = page.waitForRequest(ofAllChains)
    const isFiltered = page.waitForResponse(/\/14\/.*\.mvt\?revoked=false&chain=base-sepolia$/)
    // The page is still loading the list of chains when it requests the tile, which arrives after the list.
    await page.route(`${world.url}/`, (route) => asked.then(() => route.continue()))
    await page.route(ofAllChains, (route) => isFiltered.then(() => route.continue()))
    await page.goto(addressOf({ a: '-50.5, -20.25' }))
    await page.locator('[data-places="1"]').waitFor({ state: 'attached' })
    await page.unrouteAll()
    expect(complaints).toEqual([])
  })

  test('sends only the salted hash of a private place, writes it into no link, and can save it', async () => {
    const browser = await form({ a: '-60.5, -30.25', b: '0, 0' })
    const { page, complaints } = browser
    await page.getByRole('button', { name: 'Make private: From' }).click()
    const kept = await page.getByLabel('From', { exact: true }).inputValue()
    const { geometry, salt } = JSON.parse(kept) as { geometry: Geometry; salt: string }
    expect([geometry, salt]).toEqual([at(-60.5, -30.25), expect.stringMatching(/^0x[0-9a-f]{64}$/)])
    expect(page.url()).not.toMatch(/60\.5|[?&]a=/)
    expect(await page.getByRole('button', { name: 'Make private: From' }).count()).toBe(0)
    const saved = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Save the private From' }).click()
    expect(readFileSync(await (await saved).path(), 'utf8')).toBe(kept)
    await ask(browser)
    await verified(browser)
    await page.locator('.answer[data-drawn]').waitFor()
    const ref = (await world.post('/compute/v0/reference', { geometry: { geometry, salt } })).body.inputRef
    expect(await page.locator('.fields').innerText()).toContain(ref)
    expect(page.url()).not.toMatch(/60\.5|[?&]a=/)
    expect(await browser.barriers()).toEqual([])
    expect(complaints).toEqual([])
    await page.getByText('may contain what you typed before').waitFor()
    // Leaving the page would lose the salt.
    const question = page.waitForEvent('dialog')
    await page.evaluate('void setTimeout(() => location.reload())')
    const dialog = await question
    expect(dialog.type()).toBe('beforeunload')
    await dialog.dismiss()
    // So would a link to another question.
    const replacing = page.waitForEvent('dialog')
    const followed = follow(page, addressOf({ op: 'area', a: '1, 2' }))
    await (await replacing).dismiss()
    await followed
    expect(await page.getByLabel('From', { exact: true }).inputValue()).toBe(kept)
    await browser.picture('playground-private')
    // While the user edits the text, it is not valid JSON.
    await page.getByLabel('From', { exact: true }).fill(kept.slice(0, -1))
    expect(await page.evaluate<string>('location.href')).not.toMatch(/60\.5|[?&]a=/)
    const asked = page.waitForEvent('dialog')
    await page.evaluate('void setTimeout(() => location.reload())')
    await (await asked).dismiss()
    await page.getByLabel('From', { exact: true }).fill('')
  })

  test('accepts a record that is named by its UID, and asks on its chain once the record is known', async () => {
    const record = await attested()
    const browser = await form()
    const { page, complaints, requested } = browser
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    let isRefused = true
    await page.route('**/api/v0/location-records/0x*', (route) =>
      isRefused ? route.fulfill({ status: 403 }) : held.then(() => route.continue()),
    )
    const before = requested.length
    await show(browser, { op: 'distance', a: record, b: '0, 0' })
    await ask(browser)
    await page.locator('#problem-a', { hasText: '403' }).waitFor()
    isRefused = false
    await ask(browser)
    await page.locator('form > button.primary[aria-disabled=true]').waitFor()
    expect(requested.slice(before).filter((url) => url.includes('/compute/'))).toEqual([])
    release()
    await page.getByText('Record on base-sepolia: A place <b>&').waitFor()
    await verified(browser)
    await page.unrouteAll()
    expect(await page.locator('.fields').innerText()).toContain(record)
    // The following tests expect no complaint.
    expect(complaints.splice(0).filter((each) => !each.includes('403'))).toEqual([])
  })

  test('draws an answer once a record that it names is loaded', async () => {
    const record = await attested()
    const browser = await form()
    const { page } = browser
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    await page.route('**/api/v0/location-records/0x*', (route) => held.then(() => route.continue()))
    await show(browser, { op: 'distance', a: record, b: '0, 0', chain: LOCAL_CHAIN.slug })
    await ask(browser)
    await page.locator('.result').waitFor()
    release()
    await page.locator('.answer[data-drawn="measured end"]').waitFor()
    await page.unrouteAll()
  })

  test('detects an altered answer, and does not show the button to land it', async () => {
    const browser = await form({ a: '0, 0', b: '1, 1' })
    const { page } = browser
    await page.route('**/compute/v0/distance', async (route) => {
      const response = await route.fetch()
      const answer = (await response.json()) as { result: number }
      await route.fulfill({ response, json: { ...answer, result: answer.result + 1 } })
    })
    await ask(browser)
    await page.getByText('Do not use this answer').waitFor()
    await page.locator('.checks:not(:has(:not([data-check=bad])))').waitFor()
    expect(await page.locator('.checks > li').count()).toBe(2)
    expect(await page.getByRole('button', { name: /Publish/ }).count()).toBe(0)
    await page.unroute('**/compute/v0/distance')
  })

  test('reads a record of the chain in the address: another chain may have the same UID', async () => {
    const record = await attested()
    const { page, requested } = await form({ a: record, b: '0, 0', chain: LOCAL_CHAIN.slug })
    await page.getByText('Record on base-sepolia').waitFor()
    expect(requested).toContain(
      `${world.url}/api/v0/location-records/${record}?format=geojson&chain=${LOCAL_CHAIN.slug}`,
    )
  })

  test('lands an answer by one click on the local chain, reads it there, and links to it', async () => {
    const browser = await form({ a: '0, 0', b: '1, 1' })
    const { page, complaints } = browser
    await ask(browser)
    await verified(browser)
    await page.getByRole('button', { name: 'Publish with a test account' }).click()
    await page.locator('[data-checked=true]').waitFor()
    const uid = await page.locator('[data-uid]').innerText()
    const attestation = await (await world.chain.eas()).getAttestation!(uid)
    expect(attestation.uid).toBe(uid)
    // The record's chain is on this machine, so no external explorer shows it.
    expect(await page.getByRole('link', { name: 'Show it' }).count()).toBe(0)
    await browser.picture('playground-landed')
    expect(complaints).toEqual([])
  })

  test('lands an answer through a wallet that was on another chain', async () => {
    const wallet = new StandIn(world.chain, { chainId: 1 })
    await using browser = await openWith(wallet)
    const { page, complaints } = browser
    await page.getByText('on chain 1: the wallet will ask to switch to base-sepolia').waitFor()
    expect(await page.getByText(testAccount(3).address).count()).toBe(1)
    const release = wallet.holdTransactions()
    await page.getByRole('button', { name: 'Publish with Stand-in' }).click()
    // The wallet shows the request for this answer, so neither a field nor a link replaces the answer.
    const action = page.getByRole('button', { name: 'Ask', exact: true })
    await expect.poll(() => action.isDisabled()).toBe(true)
    expect(await page.getByLabel('Operation').isDisabled()).toBe(true)
    const address = () => page.evaluate<string>('location.href')
    const before = await address()
    await follow(page, `${world.url}/playground?op=area`)
    expect(await address()).toBe(before)
    release()
    await page.locator('[data-checked=true]').waitFor()
    expect([wallet.chainId, await action.isEnabled()]).toEqual([LOCAL_CHAIN.id, true])
    expect(complaints).toEqual([])
  })
  test('reports what a wallet refuses with a clear message, and adds the local node to it', async () => {
    const wallet = new StandIn(world.chain)
    await using browser = await openWith(wallet)
    const button = browser.page.getByRole('button', { name: 'Publish with Stand-in' })
    for (const [refusal, words] of [
      [
        { refuses: { eth_sendTransaction: 4001 } },
        /^You rejected the request in your wallet. Nothing was sent/,
      ],
      [{ refuses: { eth_requestAccounts: 4001 } }, /^You rejected the request in your wallet/],
      [{ refuses: { eth_requestAccounts: -32002 } }, /already shows a request of this page/],
      [{ chainId: 1, stays: true }, /still on another chain. Select base-sepolia/],
      [{ chainId: 1, refuses: { wallet_switchEthereumChain: 4001 } }, /^You rejected/],
    ] as const) {
      Object.assign(wallet, { chainId: LOCAL_CHAIN.id, refuses: {}, stays: false }, refusal)
      await button.click()
      await expect.poll(() => alert(browser)).toMatch(words)
      // The user can try again after a failure.
      expect(await button.isEnabled()).toBe(true)
      // The next message is another one.
      Object.assign(wallet, { refuses: { eth_requestAccounts: 4100 } })
      await button.click()
      await expect.poll(() => alert(browser)).toMatch(/does not allow this page to use the account/)
    }
    // The page adds the local node to a wallet that does not know the chain.
    Object.assign(wallet, { chainId: 1, refuses: { wallet_switchEthereumChain: 4902 }, stays: false })
    await button.click()
    await browser.page.locator('[data-checked=true]').waitFor()
    expect(wallet.added).toEqual([world.chain.url])
  })
  test('lands the last signature of an answer that was re-signed before the wallet failed', async () => {
    const wallet = new StandIn(world.chain, { refuses: { eth_sendTransaction: 4001 } })
    await using browser = await openWith(wallet)
    // Another answer uses the nonce of the first signature.
    const geo = await client()
    await geo.land(await geo.distance([3, 3], [4, 4]), await world.chain.provider.getSigner(0))
    const button = browser.page.getByRole('button', { name: 'Publish with Stand-in' })
    const signedAgain = browser.page.locator('.steps', { hasText: 'Signed again' })
    await button.click()
    await signedAgain.waitFor()
    await expect.poll(() => alert(browser)).toMatch(/^You rejected/)
    wallet.refuses = {}
    await button.click()
    await browser.page.locator('[data-checked=true]').waitFor()
    expect(await signedAgain.count()).toBe(0)
  })
  test('names the software to install if there is no wallet, unless the chain is local', async () => {
    await using browser = await openPage(WITHOUT_MAP)
    await browser.page.route('**/local-nodes', (route) => route.fulfill({ json: {} }))
    await browser.page.goto(`${world.url}/playground?a=0,0&b=1,1`)
    await ask(browser)
    await browser.page.getByText('Install a wallet extension').waitFor()
    expect(await browser.page.getByRole('button', { name: /Publish/ }).count()).toBe(0)
  })

  test('offers to repeat a check that could not be performed, and only then to land the answer', async () => {
    const browser = await form({ op: 'distance', a: await attested(), b: '0, 0' })
    const { page } = browser
    await page.route('**/graphql', (route) => route.fulfill({ status: 429, json: { detail: 'Busy.' } }))
    await ask(browser)
    await page.locator('.checks [data-check=unknown]').waitFor()
    expect(await page.getByText('Do not use this answer').count()).toBe(0)
    expect(await page.getByRole('button', { name: /Publish/ }).count()).toBe(0)
    await page.unroute('**/graphql')
    await page.getByRole('button', { name: 'Retry now' }).press('Enter')
    await verified(browser)
    await page.getByRole('button', { name: 'Publish with a test account' }).waitFor()
    // The button that had the focus is removed.
    expect(await page.locator('.answer h2:focus').count()).toBe(1)
  })

  test('rejects input at its field', async () => {
    const browser = await form()
    const { page } = browser
    for (const [parameters, label, words] of [
      [{ a: '0, 95', b: '0, 0' }, 'From', /Longitude comes first/],
      [{ a: '0, 0', b: '{"type":"Point"' }, 'To', /valid JSON/],
      [{ a: '0, 0', b: '0x12' }, 'To', /64 hex digits; this text has 2/],
      [{ a: '0, 0' }, 'To', /Choose a place/],
      [{ op: 'area', a: '0, 0' }, 'Polygon', /Polygon/],
      [{ op: 'within', a: '0, 0', b: '0, 0', radius: '-1' }, 'Radius, metres', /at least 0/],
      // One or a thousand.
      [{ op: 'within', a: '0, 0', b: '0, 0', radius: '1,000' }, 'Radius, metres', /at least 0/],
      [{ a: UNKNOWN_UID, b: '0, 0' }, 'From', /no attestation|not found/i],
    ] as const) {
      await show(browser, parameters)
      if (parameters.a === UNKNOWN_UID) await page.getByText('not indexed yet').waitFor()
      await ask(browser)
      expect(await alert(browser)).toMatch(words)
      expect(await page.getByText('not indexed yet').count()).toBe(0)
      const wide = await page
        .locator('.panel')
        .evaluate((panel: any) => panel.scrollWidth - panel.clientWidth)
      expect(wide).toBe(0)
      const name = await page
        .locator('[aria-invalid=true]')
        .evaluate((field: any) => String(field.ariaLabel ?? field.labels[0].textContent))
      expect(name).toContain(label)
    }
  })
  test('asks a question that was submitted before the chains were loaded, as soon as they are', async () => {
    await using browser = await openPage(WITHOUT_MAP)
    const { page } = browser
    let respond = () => {}
    const asked = new Promise<void>((resolve) => (respond = resolve))
    await page.route(`${world.url}/`, async (route) => {
      await asked
      await route.continue()
    })
    await page.goto(addressOf({ a: '0, 0', b: '1, 1' }))
    const button = page.locator('form > button.primary')
    await button.press('Enter')
    await expect.poll(() => button.isDisabled()).toBe(true)
    respond()
    await verified(browser)
    expect(await button.and(page.locator(':focus')).count()).toBe(1)
    expect(browser.complaints).toEqual([])
  })
  test('reports a status of the service with a clear message, and retries', async () => {
    const browser = await form({ a: '0, 0', b: '1, 1' })
    const { page } = browser
    for (const [status, headers, words] of [
      [429, { 'retry-after': '1800' }, /Too many questions .* Try again in 30 minutes/],
      [503, {}, /cannot answer at the moment.*Nothing was signed/],
      [0, {}, /does not respond/],
    ] as const) {
      await page.route('**/compute/v0/distance', (route) =>
        status === 0
          ? route.abort()
          : route.fulfill({ status, headers, json: { title: 'Refused', detail: 'for a while' } }),
      )
      await ask(browser)
      expect(await alert(browser)).toMatch(words)
      await page.unroute('**/compute/v0/distance')
      await ask(browser)
      await verified(browser)
    }
  })

  // The map of the page is looked at without an answer (face.system.test.ts).
  test('has no clipped text and no serious axe finding with an answer and without WebGL', async () => {
    await using browser = await open({ a: '0, 0', b: '1, 1' }, WITHOUT_MAP)
    await ask(browser)
    await verified(browser)
    expect(await browser.faults('playground without WebGL', () => idle(browser.page))).toEqual([])
    expect(browser.complaints).toEqual([])
  })
})

test('the pages get the RPC endpoints of this machine only if the settings allow it', async () => {
  const policy = (await fetch(`${world.url}/playground`)).headers.get('content-security-policy')
  expect(await (await fetch(`${world.url}/local-nodes`)).json()).toEqual({
    [LOCAL_CHAIN.id]: world.chain.url,
  })
  expect(policy).toContain(`connect-src 'self' ${world.chain.url}`)
  const other = await startTestWorld({ DEPLOYMENT_NAME: 'staging' })
  try {
    expect(await (await fetch(`${other.url}/local-nodes`)).json()).toEqual({})
    const closed = (await fetch(`${other.url}/playground`)).headers.get('content-security-policy')
    expect(closed).toMatch(/connect-src 'self'$/)
  } finally {
    await other.stop()
  }
})

async function client() {
  const { createGeo } = await import('@geospatial-attestation/client')
  return createGeo({ url: world.url, chain: LOCAL_CHAIN.id })
}

/** Attests a place with a hostile memo. Returns its UID when it is indexed. */
async function attested(): Promise<string> {
  const geo = await client()
  const place = { location: at(2, 48) as { type: 'Point'; coordinates: Position }, memo: 'A place <b>&' }
  const { uid } = await geo.attest(place, await world.chain.provider.getSigner(0))
  await world.caughtUp()
  return uid
}

/** Opens the playground with an answer, in a browser that has this wallet. */
async function openWith(wallet: StandIn): Promise<OpenPage> {
  const browser = await openPage(WITHOUT_MAP)
  await wallet.install(browser.page)
  await browser.page.goto(`${world.url}/playground?a=0,0&b=1,1`)
  await ask(browser)
  await verified(browser)
  return browser
}

const run = promisify(execFile)

async function answerOfCurl(command: string): Promise<unknown> {
  return JSON.parse((await run('sh', ['-c', command])).stdout)
}

function solidityErrors(sources: readonly [file: string, content: string][]): string[] {
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(sources.map(([file, content]) => [file, { content }])),
    settings: { outputSelection: { '*': { '*': ['abi'] } } },
  }
  const read = (file: string) => ({
    contents: readFileSync(file.replace('@geospatial-attestation/contracts', 'packages/contracts'), 'utf8'),
  })
  const { errors = [] } = JSON.parse(solc.compile(JSON.stringify(input), { import: read })) as {
    errors?: { severity: string; formattedMessage: string }[]
  }
  return errors.filter(({ severity }) => severity === 'error').map(({ formattedMessage }) => formattedMessage)
}
