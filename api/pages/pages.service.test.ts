import { beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../test/api'
import { createMigratedDatabase, rows, type TestDatabase } from '../../test/database'
import { addressesOf, foreignElements } from '../../test/pages'
import { insertRecords, type StoredRecord } from '../../test/records'

/** Tests HTML pages, which only browsers get. The public address has a path, as behind a reverse proxy. */
const BASE = 'https://geo.example/attest'
const LIST = '/api/v0/location-records'
const ANSWERS = '/api/v0/answers'
/** UID of the n-th answer. */
const answerUid = (n: number) => `0x${n.toString(16).padStart(64, '0')}`
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'
/** Accept headers of programs: none, curl and fetch, a JSON client, axios, and Java. */
const PROGRAMS = [
  undefined,
  '*/*',
  'application/json',
  'application/json, text/plain, */*',
  'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2',
]
const HOSTILE = `<script>alert(1)</script> "><img src=x onerror=alert(1)> '><svg/onload=alert(1)> </title></style></pre></td> javascript:alert(1) &lt;b&gt; <!-- ]]> \u202e\u2028`
const hostileRecord = {
  chain: 'celo',
  memo: HOSTILE,
  location: HOSTILE,
  locationType: HOSTILE,
  recipeTypes: [HOSTILE],
  problem: HOSTILE,
  geometry: null,
}
let database: TestDatabase
let api: TestApi
let stored: StoredRecord[]

beforeAll(async () => {
  database = await createMigratedDatabase()
  api = await startApi({ databaseUrl: database.url, publicBaseUrl: BASE })
  stored = await insertRecords(
    database.url,
    Array.from({ length: 25 }, (_, i) => ({
      chain: 'celo',
      memo: `Place ${i}`,
      revoked: i === 3,
      geometry: i % 4 ? { type: 'Point', coordinates: [i, i / 2] } : null,
    })),
  )
  stored.push(...(await insertRecords(database.url, [hostileRecord], 100)))
  await rows(
    database.url,
    `UPDATE location_record SET srs = $1, media_types = ARRAY[$1], media_data = ARRAY[$1] WHERE memo = $1`,
    [HOSTILE],
  )
  // The last record has the hostile text.
  await rows(
    database.url,
    `INSERT INTO answer (id, uid, chain, attester, recipient, operation, result, units, value, input_refs, computed_at,
       timestamp, revoked, created_at, updated_at, schema_uid, ref_uid, revocable, expiration_time, block_number,
       block_hash, transaction_hash, log_index)
     SELECT 'celo-' || uid, uid, 'celo', $1, $1, CASE WHEN i = 25 THEN $2 ELSE 'distance' END, to_jsonb(i + 0.5),
       'meters', i * 100 + 50, ARRAY[uid, $3], now(), timestamptz '2026-01-01' + i * interval '1 minute', i = 3, now(),
       now(), $3, $3, true, 0, i, $3, $3, 0
     FROM generate_series(1, 25) AS i, lpad(to_hex(i), 64, '0') AS digits, concat('0x', digits) AS uid`,
    [`0x${'1'.repeat(39)}a`, HOSTILE, answerUid(0xf)],
  )
})

async function ask(path: string, accept?: string, headers: Record<string, string> = {}) {
  const answer = await fetch(`${api.url}${path.replace(BASE, '')}`, {
    headers: { ...(accept === undefined ? {} : { accept }), ...headers },
  })
  return {
    status: answer.status,
    type: answer.headers.get('content-type')!,
    headers: answer.headers,
    text: await answer.text(),
  }
}
const plain = (html: string) => html.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
const textOf = (html: string) => plain(html.replace(/<style>[^]*?<\/style>/, '').replace(/<[^>]+>/g, ''))
const linksOf = (html: string) =>
  [...html.matchAll(/<a href="([^"]+)">([^]*?)<\/a>/g)].map(([, href, text]) => ({
    href: plain(href!),
    text: textOf(text!),
  }))

/** Link from a record to the explorers of its chain and of EAS. */
const EXPLORER_PAGE = /^https:\/\/[a-z.-]+\.(?:org|io)\/(?:tx|attestation\/view)\/0x[0-9a-f]{64}$/

/** Checks any page: its CSP, its elements, the targets of its links. */
function expectSafe({ type, headers, text }: Awaited<ReturnType<typeof ask>>, path: string): void {
  expect([path, type, headers.get('x-content-type-options'), headers.get('referrer-policy')]).toEqual([
    path,
    'text/html; charset=utf-8',
    'nosniff',
    'no-referrer',
  ])
  expect(headers.get('content-security-policy')).toMatch(
    /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
  )
  expect(headers.get('vary')).toMatch(/accept/i)
  expect(foreignElements(text, ['table', 'thead', 'tbody', 'tr', 'th', 'td']), path).toEqual([])
  expect(text.match(/<[^>]*\s(on[a-z]+|style)\s*=/i), path).toBeNull()
  expect(
    addressesOf(text, BASE + path.replace(BASE, '')).filter(
      (to) => !to.startsWith(`${BASE}/`) && !EXPLORER_PAGE.test(to),
    ),
    path,
  ).toEqual([])
  expect(text, path).not.toMatch(/undefined|NaN|\[object/)
}

/** Paths that return an error, with its status. */
const ERRORS: [string, number][] = [
  ['/nothing', 404],
  ['/nothing/%3Cscript%3Ealert(1)%3C%2Fscript%3E', 404],
  ['/api/nothing', 404],
  ['/api/v0/nothing', 404],
  ['/docs/nothing', 404],
  ['/errors/nothing', 404],
  ['/ogc/nothing', 404],
  ['/ogc/collections/%3Cscript%3E', 404],
  ['/ogc/collections/location-records/items?bbox=1', 400],
  ['/ogc/collections/location-records/items/x', 404],
  [`${LIST}?bbox=1,2,3`, 400],
  [`${LIST}?%3Cscript%3E=1`, 400],
  [`${LIST}?intersects=%3Cscript%3E`, 400],
  [`${LIST}?limit=0`, 400],
  [`${LIST}/0x12`, 400],
  [`${LIST}/0x${'1'.repeat(64)}`, 404],
  [`${ANSWERS}?input=%3Cscript%3E`, 400],
  [`${ANSWERS}/0x${'1'.repeat(64)}`, 404],
  ['/compute/v0/distance', 405],
  ['/compute/v0/%3Cscript%3E', 404],
  ['/%zz', 400],
]

describe('an error page', () => {
  test.each(ERRORS)('for %s contains the JSON error safely, with status %i', async (path, status) => {
    const page = await ask(path, BROWSER)
    expect(page.status).toBe(status)
    expectSafe(page, path)
    // Each program gets several of the errors.
    const some = PROGRAMS.filter((_, i) => (i + ERRORS.findIndex(([each]) => each === path)) % 4 === 0)
    const answers = await Promise.all(some.map((accept) => ask(path, accept)))
    for (const answer of answers)
      expect([answer.status, answer.type, answer.text]).toEqual([
        status,
        expect.stringMatching(/^application\/(problem\+)?json; charset=utf-8$/),
        answers[0]!.text,
      ])
    const problem = JSON.parse(answers[0]!.text) as { message?: string; title?: string; detail: string }
    // The page contains the response that programs get, and has no ETag.
    expect(JSON.parse(plain(/<pre>([^]*)<\/pre>/.exec(page.text)![1]!))).toEqual(problem)
    expect(textOf(page.text)).toContain(problem.detail)
    expect(textOf(/<h1>[^]*<\/h1>/.exec(page.text)![0])).toBe(problem.message ?? problem.title)
    expect([page.headers.get('etag'), page.headers.get('link')]).toEqual([null, null])
    const head = await fetch(`${api.url}${path}`, { method: 'HEAD', headers: { accept: BROWSER } })
    // Errors of /compute name the method, which changes the length.
    const length = (headers: Headers) => (path.startsWith('/compute') ? '' : headers.get('content-length'))
    expect([head.status, head.headers.get('content-type'), length(head.headers)]).toEqual([
      status,
      page.type,
      length(page.headers),
    ])
  })
  test('is chosen by the parameters f and format, and only for GET and HEAD', async () => {
    expect((await ask(`${LIST}?bbox=1&format=html`)).type).toMatch(/^text\/html/)
    expect((await ask('/ogc/collections/location-records/items?bbox=1&f=html', '*/*')).type).toMatch(
      /^text\/html/,
    )
    for (const path of [`${LIST}?bbox=1&format=json`, `${LIST}?bbox=1&format=csv`, '/ogc/nothing?f=json'])
      expect((await ask(path, BROWSER)).type).toMatch(/^application\/json/)
    expect(
      (await fetch(`${api.url}/api/nothing`, { method: 'POST', headers: { accept: BROWSER } })).headers.get(
        'content-type',
      ),
    ).toMatch(/^application\/json/)
  })
  test('is sent without a database, and over the rate limit', async () => {
    const broken = await startApi({ publicBaseUrl: BASE, rateLimitPerHour: 2 })
    const get = () => fetch(`${broken.url}${LIST}`, { headers: { accept: BROWSER } })
    const [away, , limited] = [await get(), await get(), await get()]
    expect([away.status, away.headers.get('retry-after'), limited.status]).toEqual([503, '5', 429])
    for (const each of [away, limited])
      expect([each.headers.get('content-type'), (await each.text()).includes('<h1>')]).toEqual([
        'text/html; charset=utf-8',
        true,
      ])
    await broken.close()
  })
})

describe('the page of the record list', () => {
  test('has a row and a link for each record, links to other pages, and the same records in other formats', async () => {
    const { status, text } = await ask(`${LIST}?chain=celo&limit=10`, BROWSER)
    expect([status, textOf(text)]).toEqual([
      200,
      expect.stringContaining('Records 1 to 10 of 26 that match, newest first.'),
    ])
    const seen: string[] = []
    for (let at: string | undefined = `${LIST}?limit=10&chain=celo`; at;) {
      const page = await ask(at, BROWSER)
      expectSafe(page, at)
      const links = linksOf(page.text)
      const own = links
        .map(({ href }) => /location-records\/(0x[0-9a-f]{64})\?chain=celo$/.exec(href)?.[1])
        .filter((uid) => uid !== undefined)
      seen.push(...own)
      const of = (text: string) => links.find((link) => link.text === text)!.href
      const data = JSON.parse((await ask(of('JSON'))).text) as { data: { uid: string }[] }
      expect(data.data.map(({ uid }) => uid)).toEqual(own)
      const features = JSON.parse((await ask(of('GeoJSON'))).text) as { features: unknown[] }
      expect(features.features).toHaveLength(own.length)
      const csv = links.filter((link) => link.text === 'CSV').map(({ href }) => href)
      expect([
        (await ask(csv[0]!)).text.split('\r\n0x').length - 1,
        (await ask(csv[1]!)).text.split('\r\n0x').length - 1,
        (await ask(of('NDJSON'))).text.trimEnd().split('\n').length,
      ]).toEqual([own.length, 26, 26])
      at = links.find((link) => link.text === 'Next page')?.href
    }
    expect(seen).toEqual(stored.map(({ uid }) => uid).reverse())
    const second = linksOf((await ask(`${LIST}?limit=10&offset=10`, BROWSER)).text)
    expect(
      linksOf((await ask(second.find((link) => link.text === 'Previous page')!.href, BROWSER)).text).filter(
        ({ href }) => /0x[0-9a-f]{64}/.test(href),
      ),
    ).toHaveLength(10)
  })
  test.each([
    ['near=1,2&sort=distance', 3],
    ['near=1,2&radius=9000000&sort=distance&include=provenance&limit=2&total=true', 8],
  ])('links only to downloads that succeed, with %s', async (query, count) => {
    const { text } = await ask(`${LIST}?${query}`, BROWSER)
    const downloads = linksOf(text).filter(
      ({ href }) => href.startsWith(`${BASE}${LIST}?`) && /[?&]format=/.test(href),
    )
    expect(downloads).toHaveLength(count)
    for (const { href } of downloads) expect([href, (await ask(href)).status]).toEqual([href, 200])
  })
  test('describes the filters', async () => {
    const address = `0x${'1'.repeat(39)}a`
    const listText = async (query: string) => textOf((await ask(`${LIST}?${query}`, BROWSER)).text)
    for (const [query, words] of [
      ['chain=celo', 'on the chain celo'],
      [`prover=${address}`, `attested by ${address}`],
      [`subject=${address}`, `with the recipient ${address}`],
      [`schema=0x${'a'.repeat(64)}`, `with the schema 0x${'a'.repeat(64)}`],
      ['location_type=%3Cscript%3E', 'with the location type <script>'],
      ['revoked=true', 'revoked'],
      ['revoked=false', 'not revoked'],
      ['fromTimestamp=2026-01', 'attested after 2026-01-01T00:00:00.000Z'],
      ['toTimestamp=2027', 'attested before 2027-01-01T00:00:00.000Z'],
      ['bbox=-10,35,30,60', 'intersecting the box from longitude -10 to 30, latitude 35 to 60'],
      ['bbox=170,-20,-170,-10', 'from longitude 170 to -170 (across the antimeridian)'],
      ['near=1,2&radius=5000', 'within 5,000 m of longitude 1, latitude 2'],
      ['intersects=POINT(1 2)', 'intersecting {'],
      ['sort=event_timestamp', 'oldest first by time of the event'],
      ['chain=sepolia', 'No records here of 0 that match.'],
    ])
      expect([query, await listText(query!)]).toEqual([query, expect.stringContaining(words!)])
  })
  test('has format=html in its links only if format=html was requested', async () => {
    const links = linksOf((await ask(`${LIST}?format=html&limit=3`, '*/*')).text)
    for (const { text, href } of links.filter((link) => /^20|Next/.test(link.text)))
      expect([text, href]).toEqual([text, expect.stringContaining('format=html')])
    for (const { href } of linksOf((await ask(`${LIST}?limit=3`, BROWSER)).text).filter((link) =>
      /^20|Next/.test(link.text),
    ))
      expect(href).not.toContain('format')
  })
  test('has its own ETag and Vary: Accept for each representation of a URL', async () => {
    for (const path of [LIST, ANSWERS, `${ANSWERS}/${answerUid(1)}`]) {
      const [page, json] = [await ask(path, BROWSER), await ask(path)]
      const [a, b] = [page.headers.get('etag')!, json.headers.get('etag')!]
      expect([a === b, page.headers.get('vary'), json.headers.get('vary'), json.type]).toEqual([
        false,
        'accept, accept-encoding',
        'accept, accept-encoding',
        'application/json; charset=utf-8',
      ])
      const status = async (accept: string, tag: string) =>
        (await ask(path, accept, { 'if-none-match': tag })).status
      expect([
        await status(BROWSER, a),
        await status('*/*', b),
        await status(BROWSER, b),
        await status('*/*', a),
      ]).toEqual([304, 304, 200, 200])
      for (const accept of PROGRAMS) {
        const { text, headers } = await ask(path, accept)
        expect([text, headers.get('etag')]).toEqual([json.text, b])
      }
    }
  })
})

describe('the page of answers on chain', () => {
  test('has a row and a link for each answer, links to other pages, and other formats', async () => {
    const seen: string[] = []
    for (let at: string | undefined = `${ANSWERS}?limit=10&operation=distance`; at;) {
      const page = await ask(at, BROWSER)
      expectSafe(page, at)
      const links = linksOf(page.text)
      const own = links.flatMap(({ href }) => /answers\/(0x[0-9a-f]{64})\?chain=celo$/.exec(href)?.[1] ?? [])
      seen.push(...own)
      const of = (text: string) => links.find((link) => link.text === text)?.href
      const { data } = JSON.parse((await ask(of('JSON')!)).text) as { data: { uid: string }[] }
      expect(data.map(({ uid }) => uid)).toEqual(own)
      const csv = links.filter((link) => link.text === 'CSV').map(({ href }) => href)
      expect([
        (await ask(csv[0]!)).text.split('\r\n0x').length - 1,
        (await ask(csv[1]!)).text.split('\r\n0x').length - 1,
        (await ask(of('NDJSON')!)).text.trimEnd().split('\n').length,
        of('First page') !== undefined,
      ]).toEqual([own.length, 24, 24, at.includes('cursor')])
      at = of('Next page')
    }
    expect(seen).toEqual(Array.from({ length: 24 }, (_, i) => answerUid(24 - i)))
  })
  test('shows the result of each answer and the filters', async () => {
    const address = `0x${'1'.repeat(39)}a`
    const words = `operation=distance&input=${answerUid(3)}&attester=${address}&recipient=${address}`
    const list = textOf((await ask(`${ANSWERS}?${words}&sort=timestamp`, BROWSER)).text)
    expect(list).toContain('1 matching answer, oldest first.')
    for (const part of [
      `attested by ${address}`,
      `with the recipient ${address}`,
      'of the operation distance',
      `about the input ${answerUid(3)}`,
      'distance revoked3.5 meters0x000000…0003, 0x000000…000f',
    ])
      expect(list).toContain(part)
    const path = `${ANSWERS}/${answerUid(3)}`
    const page = await ask(path, BROWSER)
    expectSafe(page, path)
    expect(textOf(page.text)).toContain('distance is 3.5 meters')
    expect(textOf(page.text)).toContain('This answer was revoked')
    const json = linksOf(page.text).find(({ text }) => text === 'This answer as JSON')!
    expect((await ask(json.href, BROWSER)).text).toBe((await ask(path)).text)
  })
  test('has format=html in its links', async () => {
    const { text } = await ask(`${ANSWERS}?format=html&limit=3`, '*/*')
    for (const { text: name, href } of linksOf(text).filter((link) => /^20|Next/.test(link.text)))
      expect([name, href]).toEqual([name, expect.stringContaining('format=html')])
  })
})

test('every page escapes attested texts', async () => {
  const { uid, id } = stored.at(-1)!
  for (const path of [
    ...[`${LIST}?limit=2`, `${LIST}/${uid}?format=html`, `/ogc/collections/location-records/items/${id}`],
    ...[`${ANSWERS}?limit=2`, `${ANSWERS}/${answerUid(25)}`],
  ]) {
    const page = await ask(path, BROWSER)
    expect(page.status).toBe(200)
    if (path.startsWith('/api')) expectSafe(page, path)
    expect(page.text).not.toContain('<script')
    expect(textOf(page.text)).toContain(HOSTILE.slice(0, 60))
  }
  const whole = await ask(`${LIST}/${uid}?format=html`, BROWSER)
  // Memo, location, its type, srs, and both lists are shown.
  expect(textOf(whole.text).split('<script>alert(1)</script>').length - 1).toBeGreaterThanOrEqual(8)
})
