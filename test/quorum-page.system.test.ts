import path from 'node:path'
import { createGeo } from '@geospatial-attestation/client'
import { Wallet } from 'ethers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Pages } from '../api/web'
import { bringToPresent, deployQuorum, LOCAL_CHAIN } from '../dev/chain'
import { parseSignerKey } from '../src/tlog'
import { startApi, type TestApi } from './api'
import { openPage, WITHOUT_MAP, type OpenPage } from './browser'
import { rows } from './database'
import { startTestWorld, type TestWorld } from './world'
import { withChromium } from './needs'

/** Tests that the playground can ask a quorum of three operators, in a real browser (needs chromium). */

const THRESHOLD = 2
const WALLETS = ['1', '2', '3']
  .map((digit) => new Wallet(`0x${digit.repeat(64)}`))
  .sort((a, b) => (a.address.toLowerCase() < b.address.toLowerCase() ? -1 : 1))
let world: TestWorld
let contract: string
let operators: TestApi[]
beforeAll(async () => {
  world = await startTestWorld()
  const { chain } = world
  await bringToPresent(chain)
  contract = await deployQuorum(chain, {
    operators: WALLETS.map(({ address }) => address),
    threshold: THRESHOLD,
  })
  const [state] = await rows<{ key: string }>(world.databaseUrl, 'SELECT key FROM log_state')
  const logKey = await parseSignerKey(state!.key)
  operators = await Promise.all(
    WALLETS.map(({ privateKey }, i) =>
      startApi({
        ...{ databaseUrl: world.databaseUrl, rpcUrl: chain.url, key: privateKey, quorum: contract },
        pages: Pages.in(path.resolve('dist/web'), { [LOCAL_CHAIN.id]: chain.url }),
        ...(i === 0 && { logKey }),
      }),
    ),
  )
})
afterAll(async () => {
  await Promise.all((operators ?? []).map((each) => each.close()))
  await world?.stop()
})

withChromium.describe('a quorum in the playground', () => {
  let browser: OpenPage
  beforeAll(async () => {
    browser = await openPage(WITHOUT_MAP)
  })

  test('shows an answer with verified signatures, which lands', async () => {
    const { page, complaints } = browser
    const question = { op: 'within', a: '2.2945, 48.8584', b: '2.3499, 48.853', chain: LOCAL_CHAIN.slug }
    await page.goto(`${operators[0]!.url}/playground?${new URLSearchParams(question).toString()}`)
    await page.locator('option', { hasText: LOCAL_CHAIN.slug }).waitFor({ state: 'attached' })
    await page.getByLabel('Radius, metres').fill('5000')
    await page.getByText('Ask several operators').click()
    await page.getByLabel('Operators').fill(operators.map(({ url }) => url).join('\n'))
    await page.getByLabel('Signatures needed').fill('4')
    await page.getByRole('button', { name: 'Use these operators' }).click()
    await page.getByRole('alert').filter({ hasText: 'from 1 to their number' }).waitFor()
    await page.getByLabel('Signatures needed').fill('2')
    await page.getByRole('button', { name: 'Use these operators' }).click()
    await page.getByText('Asks 3 operators: 2 must sign the same answer').waitFor()
    await page.locator('option', { hasText: LOCAL_CHAIN.slug }).waitFor({ state: 'attached' })
    await page.getByRole('button', { name: 'Ask', exact: true }).click()
    await page.locator('.result', { hasText: /^Yes\. .*: within 5 km\.$/ }).waitFor()
    await page.locator('.checks:not(:has([data-check=waiting]))').waitFor()
    const claims = await page.locator('.checks [data-check=claimed]').allInnerTexts()
    expect(claims.filter((text) => /operator [012] of epoch 1/.test(text))).toHaveLength(2)
    expect(await page.locator('.checks [data-check=good]').allInnerTexts()).toEqual([
      expect.stringMatching(/^Recomputed in your browser: within 5000 m is true/),
    ])
    await page.getByText(contract).first().waitFor()
    expect(await browser.faults('quorum')).toEqual([])
    await page.getByRole('button', { name: 'Publish with a test account' }).click()
    await page.locator('[data-checked=true]').waitFor()
    expect(complaints).toEqual([])
    // From here, the service alone answers.
    await page.getByRole('button', { name: 'Ask this service only' }).click()
    expect(new URL(page.url()).searchParams.has('operators')).toBe(false)
  })

  test('is verified on the page of the log of an operator', async () => {
    const urls = operators.slice(0, THRESHOLD).map(({ url }) => url)
    const geo = createGeo({ url: urls[0]!, chain: LOCAL_CHAIN.id })
    const quorum = await geo.quorum({ operators: urls, k: THRESHOLD })
    const answer = await quorum.distance([1, 2], [1, 3])
    await expect.poll(async () => (await geo.logged(answer))[0]!.log?.state).toBe('included')
    const { page, complaints } = browser
    await page.goto(`${urls[0]}/log`)
    const verify = async (pasted: object) => {
      await page.getByLabel('Answer as JSON, or its leaf').fill(JSON.stringify(pasted))
      await page.getByRole('button', { name: 'Verify proof' }).click()
      await page.locator('.log [role=status]:not(:empty)').waitFor()
      return page.locator('.log [role=status]').innerText()
    }
    expect(await verify(answer)).toContain(`the operator ${WALLETS[0]!.address}`)
    expect(await verify({ ...answer, result: 1 })).toContain('altered')
    const unnamed = answer.operators!.map(({ log: _, ...each }) => each)
    expect(await verify({ ...answer, operators: unnamed })).toContain(`${urls[1]}/log`)
    expect(complaints).toEqual([])
  })

  test('sends a private place to operators that a link names only after the reader agreed', async () => {
    const address = new URLSearchParams({
      ...{ op: 'distance', a: '1, 2', b: '1, 3', k: '2' },
      operators: operators.map(({ url }) => url).join(),
    })
    const { page } = browser
    const sent: string[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST') sent.push(new URL(request.url()).origin)
    })
    await page.goto(`${operators[0]!.url}/playground?${address.toString()}`)
    await page.locator('option', { hasText: LOCAL_CHAIN.slug }).waitFor({ state: 'attached' })
    await page.getByRole('button', { name: 'Make private: From' }).click()
    const ask = page.getByRole('button', { name: 'Ask', exact: true })
    await ask.click()
    await page.getByRole('alert').filter({ hasText: 'would receive the private place' }).waitFor()
    expect(sent).toEqual([])
    await page.getByLabel('Send the private place to').check()
    await ask.click()
    await page.locator('.checks:not(:has([data-check=waiting]))').waitFor()
    expect(new Set(sent)).toContain(operators[1]!.url)
  })

  test('shows no answer with too few signatures, and names the operators that did not sign', async () => {
    const urls = [operators[0]!.url, operators[1]!.url, 'http://127.0.0.1:9']
    const address = new URLSearchParams({
      op: 'distance',
      a: '1, 2',
      b: '1, 3',
      operators: urls.join(),
      k: '3',
    })
    const { page } = browser
    await page.goto(`${operators[0]!.url}/playground?${address.toString()}`)
    await page.locator('option', { hasText: LOCAL_CHAIN.slug }).waitFor({ state: 'attached' })
    await page.getByRole('button', { name: 'Ask', exact: true }).click()
    await page.getByRole('alert').filter({ hasText: 'http://127.0.0.1:9' }).waitFor()
    expect(await page.locator('.answer').count()).toBe(0)
  })
})
