import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { beforeAll, expect, test } from 'vitest'
import { openPage } from './browser'
import { startTestWorld, type TestWorld } from './world'
import { withChromium } from './needs'

/** Tests the pages for people in a real browser that connects to this service only (needs chromium). */

let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld({}, { samples: true })
})

/** Bytes of the response's body to a request of a browser, compressed as the browser accepts it. */
async function sizeOf({ url, headers }: Sent): Promise<number> {
  const [response] = (await once(request(url, { headers }).end(), 'response')) as [IncomingMessage]
  // The stream of changes does not end.
  if (response.headers['content-type']?.startsWith('text/event-stream')) response.destroy()
  let bytes = 0
  response.on('data', (chunk: Buffer) => (bytes += chunk.length))
  await once(response, 'close')
  return bytes
}
interface Sent {
  url: string
  headers: Record<string, string>
}

withChromium.describe('the web interface in a browser', () => {
  test('shows land on the map, and loads nothing from other hosts', async () => {
    await using browser = await openPage()
    const { page, complaints, requested } = browser
    const sent = new Map<string, Sent>()
    page.on('request', (each) => {
      const { accept = '*/*', range } = each.headers()
      const headers = { accept, 'accept-encoding': 'gzip, br', ...(range && { range }) }
      // The map's worker requests again, from the browser's cache, the modules that it shares with the page.
      if (each.url().startsWith(world.url)) sent.set(`${each.url()} ${range}`, { url: each.url(), headers })
    })
    await page.goto(world.url)
    await page.locator('[data-places]').waitFor()
    await page.locator('.histogram rect').first().waitFor()
    await page.locator('.map[data-state=idle]').waitFor()
    await browser.picture('explorer')
    expect(complaints).toEqual([])
    expect(Number(await page.locator('[data-places]').getAttribute('data-places'))).toBeGreaterThan(300)
    // The page requests the histogram when it shows land and records.
    const all = [...sent.values()]
    const first = all.slice(
      0,
      all.findIndex(({ url }) => url.includes('sort=timestamp')),
    )
    const sizes = await Promise.all(first.map(async (each) => ({ ...each, bytes: await sizeOf(each) })))
    const bytes = sizes.reduce((sum, each) => sum + each.bytes, 0)
    console.log(`first view: ${bytes} B in ${first.length} requests`)
    expect(bytes, JSON.stringify(sizes)).toBeGreaterThan(300_000)
    expect(bytes, JSON.stringify(sizes)).toBeLessThan(400_000)
    expect(first.length, JSON.stringify(sizes)).toBeLessThanOrEqual(15)
    // The map keeps its view while the page loads, so the list is read once.
    expect(requested.filter((each) => /location-records\?bbox/.test(each))).toHaveLength(1)
    expect(new Set(requested.map((each) => new URL(each).origin))).toEqual(new Set([world.url]))
    expect(await browser.barriers()).toEqual([])
  })
  test('runs a query in GraphiQL', async () => {
    await using browser = await openPage()
    const { page, complaints, requested } = browser
    const shown = () =>
      page.evaluate<string>(`document.querySelector('.query-editor .CodeMirror').CodeMirror.getValue()`)
    const query = '{ locationRecords { totalCount } }'
    await page.goto(`${world.url}/graphql?query=${encodeURIComponent(query)}`)
    await page.locator('.query-editor .CodeMirror').waitFor()
    expect(await shown()).toBe(query)
    await page.goto(`${world.url}/graphql`)
    // The explorer shows the schema when it is loaded.
    await page.getByText('attestationEventById').first().waitFor()
    await page.click('.execute-button')
    await page.click('.execute-options li')
    await page.locator('.result-window .CodeMirror').getByText('totalCount').waitFor()
    const { data } = JSON.parse(
      await page.evaluate<string>(
        `document.querySelector('.result-window .CodeMirror').CodeMirror.getValue()`,
      ),
    )
    expect(data.locationRecords.totalCount).toBe(
      (await world.get('/api/v0/location-records?limit=1&total=true')).body.total,
    )
    await page.click('.docExplorerShow')
    await page.locator('.doc-explorer').getByText('root types').waitFor()
    expect(complaints).toEqual([])
    expect(new Set(requested.map((each) => new URL(each).origin))).toEqual(new Set([world.url]))
  })
})
