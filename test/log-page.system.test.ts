import { createGeo } from '@geospatial-attestation/client'
import type { Page } from 'playwright-core'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { formatNote, formatVerifierKey, parseCheckpoint, signNote } from '../src/tlog'
import { openPage, WITHOUT_MAP, type OpenPage } from './browser'
import { MemoryLog, seededKey } from './tlog'
import { startTestWorld, type TestWorld } from './world'
import { withChromium } from './needs'

/** Tests of the page of the transparency log, on the running service, in a real browser (needs chromium). */
let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld()
})

withChromium.describe('the page of the log', () => {
  let browser: OpenPage
  let page: Page
  beforeAll(async () => {
    browser = await openPage(WITHOUT_MAP)
    page = browser.page
    await page.clock.install()
  })
  afterEach(() => page.unrouteAll())
  /** Lets the page read the checkpoint again, for which it otherwise waits seconds. */
  const readAgain = () => page.clock.fastForward(5_000)

  test('verifies the checkpoint, and the proof of an answer or a leaf', async () => {
    const geo = createGeo({ url: world.url, chain: 'base-sepolia' })
    const answer = (await geo.distance([2.2945, 48.8584], [13.3777, 52.5163])) as never as {
      log: { leaf: string }
    }
    await expect.poll(async () => (await geo.logged(answer as never))?.state).toBe('included')
    await page.goto(`${world.url}/log`)
    await page.locator('[data-size]').waitFor()
    expect(Number(await page.locator('[data-size]').getAttribute('data-size'))).toBeGreaterThan(0)
    await page.getByText('Verified', { exact: true }).waitFor()
    const verify = async (pasted: string) => {
      await page.getByLabel('Answer as JSON, or its leaf').fill(pasted)
      await page.getByRole('button', { name: 'Verify proof' }).click()
      await page.locator('.log [role=status]:not(:empty)').waitFor()
      return page.locator('.log [role=status]').innerText()
    }
    expect(await verify(JSON.stringify(answer))).toMatch(/^Included as entry \d+ of \d+\.$/)
    expect(await verify(answer.log.leaf.toUpperCase())).toMatch(/^Included as entry \d+ of \d+\.$/)
    expect([browser.complaints, await browser.barriers()]).toEqual([[], []])
    await page.getByText('This log has no witnesses.').waitFor()
    // The page keeps the first key, and reads later why the log is closed.
    const other = formatVerifierKey(await seededKey('other.example', 'ed25519', 3))
    await page.route('**/log/v0/', (route) =>
      route.fulfill({
        json: { policy: `log ${other}\nquorum none\n`, open: false, reason: 'restored.' },
      }),
    )
    const alert = page.getByRole('alert').getByText('restored.')
    await expect.poll(() => readAgain().then(() => alert.count())).toBe(1)
    expect(await verify(answer.log.leaf)).toMatch(/^Included/)
    expect(
      await verify(JSON.stringify({ ...answer, log: { ...answer.log, leaf: 'ab'.repeat(32) } })),
    ).toMatch(/^Missing\./)
    expect(await verify('ab'.repeat(32))).toContain('no entry with this leaf')
    for (const pasted of ['nothing', '5', 'null'])
      expect([pasted, await verify(pasted)]).toEqual([pasted, expect.stringContaining('Paste the JSON')])
    expect(await verify('{"log":{}}')).toContain('chainId')
    expect(await verify(answer.log.leaf)).toMatch(/^Included/)
    await page.getByLabel('Answer as JSON, or its leaf').fill('ab'.repeat(32))
    expect(await page.locator('.log [role=status]').innerText()).toBe('')
  })
  test('verifies cosignatures by the policy, and names the witnesses that lag', async () => {
    const [a, b] = await Promise.all([1, 2].map((n) => seededKey(`w${n}.example`, 'cosignature', n)))
    const { policy, ...rest } = (await world.get('/log/v0/')).body as { policy: string }
    const witnesses = [a!, b!].map((key, at) => `witness ${'ab'[at]} ${formatVerifierKey(key)}\n`)
    const json = { ...rest, policy: policy.replace('quorum none', `${witnesses.join('')}quorum a`) }
    const { note } = parseCheckpoint(await (await fetch(`${world.url}/log/v0/checkpoint`)).text())
    const cosigned = async (text: string, time = 1_795_219_200) =>
      formatNote({ ...note, signatures: [...note.signatures, await signNote(text, a!, time)] })
    await page.route('**/log/v0/', (route) => route.fulfill({ json }))
    const show = async (checkpoint: string) => {
      await page.route('**/log/v0/checkpoint', (route) => route.fulfill({ body: checkpoint }))
      await page.goto(`${world.url}/log`)
    }
    await show(await cosigned(note.text))
    const standing = (name: string) => page.locator(`[data-witness=${name}]`).innerText()
    expect(await standing('a')).toBe('a: verified, cosigned at 2026-11-21T00:00:00Z')
    expect(await standing('b')).toMatch(/^b: lags/)
    await page.getByText('1 of 2 have cosigned this checkpoint, which is a quorum.').waitFor()
    // A witness may state any time.
    await show(await cosigned(note.text, Number.MAX_SAFE_INTEGER))
    expect(await standing('a')).toContain(`cosigned at ${Number.MAX_SAFE_INTEGER} s`)
    await show(formatNote(note))
    await page.getByText('0 of 2 have cosigned this checkpoint, which is not a quorum.').waitFor()
    // Without an earlier checkpoint, only the signature can reveal the forgery.
    await page.evaluate('localStorage.clear()')
    await show(await cosigned(note.text.replace('\n', '\n1')))
    await page.getByRole('alert').waitFor()
    expect(await page.locator('[data-witness]').count()).toBe(0)
  })
  test('compares each checkpoint with the last one that the browser saw, also after a reload', async () => {
    const log = new MemoryLog(await seededKey('pages.example/log', 'ed25519', 7))
    const entries = Array.from({ length: 700 }, (_, n) => Buffer.from(`entry ${n}`))
    await log.append(...entries.slice(0, 300)).sign()
    let served = log
    await page.route('**/log/v0/**', async (route) => {
      const path = new URL(route.request().url()).pathname.replace(/^.*\/log\/v0\//, '')
      const policy = `log ${formatVerifierKey(log.key)}\nquorum none\n`
      if (path === '') return route.fulfill({ json: { policy } })
      await route.fulfill({ body: Buffer.from(served.read(path)!) })
    })
    const visit = async () => {
      await page.goto(`${world.url}/log`)
      await page.locator('[data-size], [role=alert]').first().waitFor()
      return page.locator('.log').innerText()
    }
    const earlier = () => page.locator('[data-earlier]').getAttribute('data-earlier')
    expect(await visit()).toContain('has not seen the log before')
    await log.append(...entries.slice(300)).sign()
    let isAltered = true
    const read = log.read.bind(log)
    log.read = (path) =>
      isAltered && path.startsWith('tile/0/') ? Buffer.from(read(path)!).fill(0) : read(path)
    const altered = await visit()
    expect(altered).toContain('expected those of the tree of size 700')
    expect(altered).not.toContain('The log was rewritten')
    isAltered = false
    await visit()
    expect(await earlier()).toBe('300')
    await visit()
    expect(await earlier()).toBe('700')
    const fork = new MemoryLog(log.key)
    for (const count of [600, 700, 900]) {
      served = fork.append(...Array.from({ length: count - fork.size }, () => Buffer.from('other')))
      await fork.sign()
      const problem = count < log.size ? 'but had 700' : 'The log was rewritten'
      expect([count, await visit()]).toEqual([count, expect.stringContaining(problem)])
      const evidence = await page.locator('.log pre').innerText()
      for (const { note } of [log, fork]) expect(evidence).toContain(formatNote(note).trim())
    }
    const evidence = await page.locator('.log pre').innerText()
    served = log
    // The second read begins after the page has shown the result of the first.
    for (let reads = 0; reads < 2; reads++)
      await Promise.all([page.waitForResponse('**/log/v0/checkpoint'), readAgain()])
    expect(await page.locator('.log pre').innerText()).toBe(evidence)
    expect(await page.locator('[data-size]').count()).toBe(0)
    await visit()
    expect(await earlier()).toBe('700')
  })
})
