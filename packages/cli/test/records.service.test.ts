// SPDX-License-Identifier: MIT
import { readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { attest, locationRequest, revoke, testAccount } from '../../../dev/chain'
import { serve } from '../../../test/http-server'
import { insertRecords, somePlaces } from '../../../test/records'
import { square } from '../../../test/shapes'
import { startTestWorld, type TestWorld } from '../../../test/world'
import { openShell, type Shell } from './geo'

/**
 * Compares `geo records` as a table and as files, `watch`, and the commands about the service with the API's
 * own responses.
 */
let world: TestWorld
let shell: Shell
/** Number of records in the test service. */
let all: number
const LIST = '/api/v0/location-records'
const FORMATS = ['csv', 'ndjson', 'geojson'] as const
beforeAll(async () => {
  world = await startTestWorld({ CHAINS: 'base-sepolia,celo' })
  shell = openShell(world)
  const places = somePlaces(120, 1).map((place, i) => ({ ...place, chain: i % 4 ? 'base-sepolia' : 'celo' }))
  const prover = testAccount(0).address.toLowerCase()
  const london = { type: 'Point', coordinates: [-0.12, 51.5] }
  const named = { timestamp: Date.UTC(2026, 0, 2), geometry: square(13.2, 52.2, 0.5), prover }
  await insertRecords(world.databaseUrl, [
    ...places,
    { ...named, locationType: 'geojson-polygon' },
    { ...named, geometry: london },
  ])
  // Line breaks, quotes and commas inside a record must not be mistaken for its end.
  const memo = 'one\n{"two"},\n"three",\x1b[31m\u009b31m\u202e four'
  await attest(world.chain, locationRequest({ type: 'Point', coordinates: [-123.393, -48.877] }, { memo }), 9)
  await world.caughtUp()
  all = (await world.get(`${LIST}/stats`)).body.total
  expect(all).toBe(123)
})

const raw = async (query: string) => (await fetch(`${world.url}${LIST}?${query}`)).text()
const content = (file: string) => readFileSync(path.join(shell.folder, file), 'utf8')
const listed = async (query: string): Promise<any[]> => (await world.get(`${LIST}?${query}`)).body.data

describe('geo records, to a file or stdout,', () => {
  test.each(FORMATS)('writes %s as the service sends it, to stdout and to a file', async (format) => {
    const expected = await raw(`format=${format}`)
    const { code, stdout, stderr } = await shell.geo(['records', '--format', format])
    expect([code, stderr, stdout === expected]).toEqual([0, '', true])
    expect(await shell.geo(['records', '-o', `all.${format}`])).toEqual({
      ...{ code: 0, stdout: '' },
      stderr: expect.stringMatching(new RegExp(`^${all} records, \\d+\\.\\d kB, in all\\.${format}\n$`)),
    })
    expect(content(`all.${format}`) === expected).toBe(true)
    expect(readdirSync(shell.folder).filter((name) => name.endsWith('.part'))).toEqual([])
  })

  test.each([
    ['geoparquet', 'geoparquet'],
    ['geoparquet2', 'geoparquet&version=2'],
    ['flatgeobuf', 'flatgeobuf'],
  ])(
    'writes %s as the service sends it, to stdout and to a file',
    { tags: ['slow'] },
    async (format, wanted) => {
      for (const limit of [undefined, '3']) {
        const query = `format=${wanted}${limit ? `&limit=${limit}` : ''}`
        const expected = Buffer.from(await (await fetch(`${world.url}${LIST}?${query}`)).arrayBuffer())
        const args = ['records', '--format', format, ...(limit ? ['--limit', limit] : [])]
        expect(await shell.geo([...args, '-o', 'all.bin'])).toEqual({
          ...{ code: 0, stdout: '' },
          stderr: expect.stringMatching(/^\d+\.\d kB, in all\.bin\n$/),
        })
        expect(readFileSync(path.join(shell.folder, 'all.bin')).equals(expected)).toBe(true)
        const piped = shell.start(args)
        const chunks: Buffer[] = []
        piped.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
        expect((await piped.ended).code).toBe(0)
        expect(Buffer.concat(chunks).equals(expected)).toBe(true)
      }
    },
  )

  test.each(FORMATS)('writes complete records as %s, up to the limit', async (format) => {
    const uids = (await listed('limit=1000')).map(({ uid }) => uid as string)
    expect(uids).toHaveLength(all)
    // The record with line breaks is the newest, so every result contains it.
    for (const limit of [1, all - 1, all, all + 1, 1001]) {
      const { stdout } = await shell.geo(['records', '--format', format, '--limit', String(limit)])
      const first = uids.slice(0, limit)
      if (format === 'geojson')
        expect(JSON.parse(stdout).features.map((each: any) => each.properties.uid)).toEqual(first)
      if (format === 'ndjson')
        expect(
          stdout
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line).uid),
        ).toEqual(first)
      if (format === 'csv') {
        expect(stdout === (await raw(`format=csv&limit=${limit}`))).toBe(true)
        const marked = await shell.geo(['records', '--format', 'csv', '--bom', '--limit', String(limit)])
        expect(marked.stdout === `\ufeff${stdout}`).toBe(true)
      }
    }
    const none = await shell.geo(['records', '--format', format, '--limit', '5', '--bbox', '-30,-60,-29,-59'])
    expect(none.stdout).toBe(await raw(`format=${format}&bbox=-30,-60,-29,-59`))
  })

  test.each(FORMATS)('writes the nearest records as %s, complete and up to the limit', async (format) => {
    const nearest = ['--near', '0,0', '--sort', 'distance']
    const query = 'near=0,0&sort=distance'
    for (const limit of [3, 1000]) {
      const { stdout } = await shell.geo([
        'records',
        '--format',
        format,
        ...nearest,
        '--limit',
        String(limit),
      ])
      expect(stdout).toBe(await raw(`format=${format}&${query}&limit=${limit}`))
    }
    for (const limit of [[], ['--limit', '1001']]) {
      const { code, stdout, stderr } = await shell.geo(['records', '--format', format, ...nearest, ...limit])
      expect([code, stdout]).toEqual([2, ''])
      expect(stderr).toContain(
        `As ${format}, at most 1000 nearest places are available. Set --limit 1000 or less`,
      )
    }
    const { stdout } = await shell.geo(['records', '--json', ...nearest])
    expect(JSON.parse(stdout)).toEqual(await listed(`${query}&limit=1000`))
  })

  test('writes all records as a JSON list, one record per line', async () => {
    const { stdout } = await shell.geo(['records', '--json'])
    expect(JSON.parse(stdout)).toEqual(await listed('limit=1000'))
    expect(stdout.split('\n')).toHaveLength(all + 3)
    // No control character reaches a terminal, and the value is unchanged.
    expect(stdout).not.toMatch(/[\x1b\u009b\u202e]/)
    expect((await shell.geo(['records', '--json', '--bbox', '-30,-60,-29,-59'])).stdout).toBe('[]\n')
  })

  test.each(FORMATS)('cuts %s that arrives in tiny chunks at the same positions', async (format) => {
    const box = 'bbox=-124,-60,-90,60'
    const whole = Buffer.from(await raw(`format=${format}&${box}`))
    const url = await serve((request, response) => {
      response.writeHead(200)
      let at = 0
      // Splits the file into chunks of 1 to 7 bytes, so that each end of a record is at a chunk boundary in
      // one of the runs.
      const next = () => {
        if (at >= whole.length) return response.end()
        response.write(whole.subarray(at, (at += 1 + ((at * 31) % 7))), () => setImmediate(next))
      }
      next()
    })
    for (const limit of ['1', '2', '3']) {
      const { stdout } = await shell.geo(['records', '--format', format, '--limit', limit, '--url', url])
      expect(stdout).toBe(await raw(`format=${format}&${box}&limit=${limit}`))
    }
  })

  test('fails if a page of the nearest records ended early', async () => {
    const query = 'near=0,0&sort=distance'
    const [lines, list] = [await raw(`format=ndjson&${query}&limit=2`), await raw(`${query}&limit=3`)]
    const url = await serve((request, response) => {
      const isFile = request.url!.includes('ndjson')
      response.setHeader('content-type', isFile ? 'application/x-ndjson' : 'application/json')
      response.end(isFile ? lines : list)
    })
    const args = ['records', '--near', '0,0', '--sort', 'distance', '--format', 'ndjson']
    const { code, stderr } = await shell.geo([...args, '--limit', '3', '--url', url])
    expect([code, stderr]).toEqual([2, expect.stringContaining('only the nearest 2 fit. Set --limit 2,')])
  })

  test('fails without leaving a file if an export is cut off', async () => {
    const url = await serve((request, response) => {
      response.writeHead(200, { 'content-type': 'text/csv' })
      response.write('uid\n0x1\n', () => response.destroy())
    })
    const args = ['records', '--format', 'csv', '--url', url]
    expect(await shell.geo([...args, '-o', 'broken.csv'])).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/^geo: The export was interrupted \(.*\). Run it again\.\n$/),
    })
    expect(readdirSync(shell.folder).filter((name) => /broken|\.part$/.test(name))).toEqual([])
    expect((await shell.geo(args)).code).toBe(4)
  })
})

describe('geo records, for filters,', () => {
  test.each([
    [['--chain', 'celo'], 'chain=celo'],
    [['--chain', '42220'], 'chain=celo'],
    [['--bbox', '-10,35,30,60'], 'bbox=-10,35,30,60'],
    [['--near', '-0.1278,51.5074', '--radius', '200000'], 'near=-0.1278,51.5074&radius=200000'],
    [
      ['--intersects', 'POLYGON((13 52,14 52,14 53,13 53,13 52))'],
      'intersects=POLYGON((13 52,14 52,14 53,13 53,13 52))',
    ],
    [['--intersects', 'box.wkt'], 'intersects=POLYGON((13 52,14 52,14 53,13 53,13 52))'],
    [['--revoked', 'true'], 'revoked=true'],
    [
      ['--location-type', 'geojson-polygon', '--sort', 'timestamp'],
      'location_type=geojson-polygon&sort=timestamp',
    ],
    [
      ['--prover', '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'],
      'prover=0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    ],
    [
      ['--from-timestamp', '2020', '--to-timestamp', '2100-01-01T00:00Z'],
      'fromTimestamp=2020&toTimestamp=2100-01-01T00:00Z',
    ],
  ])('passes %j to the API', async (args, query) => {
    shell.write('box.wkt', 'POLYGON((13 52,14 52,14 53,13 53,13 52))\n')
    const expected = await listed(`${query}&limit=1000`)
    expect(expected.length).toBeGreaterThan(0)
    expect(JSON.parse((await shell.geo(['records', '--json', ...args])).stdout)).toEqual(expected)
  })
})

describe('geo records on a terminal', () => {
  test('prints a table of the newest records without control characters', async () => {
    const { code, stdout, stderr } = await shell.geo(['records'])
    expect(code).toBe(0)
    const lines = stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(21)
    expect(lines[0]).toMatch(/^UID +CHAIN +TIME +TYPE +LNG +LAT +MEMO$/)
    const [newest] = await listed('limit=1')
    const seen = newest.timestamp.replace('.000', '')
    expect(lines[1]!.replace(/ {2,}/g, '  ')).toBe(
      `${newest.uid}  base-sepolia  ${seen}  geojson-point  -123.3930  -48.8770  one {"two"}, "three",\ufffd[31m\ufffd31m\ufffd four`,
    )
    expect(stderr).toBe('The first 20 are shown: --limit shows more, --format csv writes all.\n')
    expect((await shell.geo(['records', '--bbox', '-30,-60,-29,-59'])).stderr).toBe('No matching records.\n')
    const revoked = await shell.geo(['records', '--revoked', 'true', '--limit', '100'])
    expect(revoked.stdout.split('\n')[1]).toMatch(/  \(revoked\)( |$)/)
    const one = await shell.geo(['record', newest.uid])
    expect(one.stdout).toContain(
      `one {"two"}, "three",\ufffd[31m\ufffd31m\ufffd four\nuid       ${newest.uid}\n`,
    )
  })
})

describe('geo, to read from the service,', () => {
  test('prints chains and statistics', async () => {
    await world.caughtUp()
    const { chains } = JSON.parse((await shell.geo(['chains', '--json'])).stdout)
    expect(chains).toMatchObject([
      { slug: 'base-sepolia', id: 84532, ready: true, records: { status: 'ready' } },
      { slug: 'celo', id: 42220, ready: true, proxy: { address: world.chains.get('celo')!.proxy } },
    ])
    expect((await shell.geo(['chains'])).stdout).toMatch(
      /^CHAIN +ID +SIGNS +RECORDS +BEHIND .*\nbase-sepolia +84532  yes /,
    )
    const { total, by_chain, revoked } = (await world.get('/api/v0/location-records/stats')).body
    expect(JSON.parse((await shell.geo(['stats', '--json'])).stdout)).toMatchObject({
      total,
      by_chain,
      revoked,
    })
    expect((await shell.geo(['stats'])).stdout).toMatch(/^\d+ records\nbase-sepolia +\d+\n[^]*\ncelo +\d+\n/)
    const grouped = (await shell.geo(['stats', '--by', 'chain,revoked', '--top', '1', '--sum', 'area']))
      .stdout
    expect(grouped).toMatch(
      /^CHAIN +REVOKED +RECORDS +AREA SQUARE METERS +RECORDS WITHOUT AREA\nbase-sepolia +false +\d+ +[\d,.]+ +\d+\n\d+ others +\d+ +[\d,.]+ +\d+\nall +\d+ +[\d,.]+ +\d+\n$/,
    )
    expect(JSON.parse((await shell.geo(['stats', '--by', 'chain', '--json'])).stdout).total).toBe(total)
  })

  test('prints the URL of the page, and opens a browser only if there is a display', async () => {
    const place = (await listed('limit=1'))[0].uid as string
    const page = `${world.url}/api/v0/location-records/${place}?format=html`
    expect(await shell.geo(['open', place])).toMatchObject({
      code: 0,
      stdout: `${page}\n`,
      stderr: expect.stringContaining('no display'),
    })
    expect((await fetch(page)).headers.get('content-type')).toContain('text/html')
  })

  test('watches changes until Ctrl-C, and resumes where it stopped', async () => {
    const filter = ['--bbox', '-124,-49,-123,-48']
    const watching = shell.start(['watch', ...filter])
    await watching.until('stderr', /Watching http/)
    const nemo = { type: 'Point' as const, coordinates: [-123.393, -48.877] }
    const uid = await attest(world.chain, locationRequest(nemo, { memo: 'Point\x1b[31m Nemo' }), 9)
    expect(await watching.until('stdout', /.*\n/)).toMatch(
      new RegExp(
        `^new {6}${uid}  base-sepolia  \\d{4}-.*Z  geojson-point  -123\\.393,-48\\.877  Point\ufffd\\[31m Nemo\n$`,
      ),
    )
    // The printed position is that of the last handled event.
    await watching.until('stdout', /\n/)
    watching.interrupt()
    const { code, stderr } = await watching.ended
    expect(code).toBe(130)
    const [, after] = /--after '([^']+)'/.exec(stderr)!
    await revoke(world.chain, uid, 9)
    await world.caughtUp()
    const onward = shell.start(['watch', ...filter, '--json', '--after', after!])
    const line = await onward.until('stdout', /.*"kind":"revoked".*\n/)
    expect(JSON.parse(line)).toMatchObject({ record: { uid, revoked: true } })
    onward.interrupt()
    expect((await onward.ended).code).toBe(130)
  })
  test('stops watching after --timeout, and reports the timeout', async () => {
    const { code, stderr } = await shell.start(['watch', '--timeout', '2']).ended
    expect([code, stderr]).toEqual([4, expect.stringMatching(/\n2 s have elapsed \(--timeout\)\.\n$/)])
  })
})
