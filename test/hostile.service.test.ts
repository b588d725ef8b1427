import { afterAll, beforeAll, expect, test } from 'vitest'
import { PublishedGraphql } from '../api/graphql/published'
import { PublishedViews } from '../api/graphql/sql'
import { startApi, type TestApi } from './api'
import { createMigratedDatabase, type TestDatabase } from './database'
import { FAMILIES, hostileShape } from './hostile'
import { insertRecords } from './records'
import { SILENT } from './rpc-proxy'

/**
 * Tests that responses are bounded in bytes for records with the largest geometries that fit into one
 * transaction: lists, features, GraphQL and exports. api/tiles/hostile.service.test.ts tests tiles.
 */
const SIZE = 125_000
const COPIES = 8
const COUNT = COPIES * Object.keys(FAMILIES).length
/**
 * Number of characters of a page, and of the record that exceeds it. The record contains its geometry twice,
 * once as attested.
 */
const PAGE = 4_000_000 + 3 * SIZE

let database: TestDatabase
let graphql: PublishedGraphql
let api: TestApi
beforeAll(async () => {
  database = await createMigratedDatabase()
  const shapes = Object.keys(FAMILIES).map((memo) => ({ memo, geometry: hostileShape(memo, SIZE) }))
  for (let copy = 0; copy < COPIES; copy++) await insertRecords(database.url, shapes, 1_000 * copy + 1)
  graphql = new PublishedGraphql(new PublishedViews(database.url, () => {}, false), SILENT)
  await graphql.start()
  api = await startApi({ databaseUrl: database.url, graphql })
})
afterAll(() => graphql?.close())

const get = async (path: string, init?: RequestInit) => {
  const response = await fetch(api.url + path, init)
  const text = await response.text()
  return {
    status: response.status,
    text,
    next: /<([^>]*)>; ?rel="?next/.exec(response.headers.get('link') ?? '')?.[1],
  }
}

test.each([
  '/api/v0/location-records?limit=1000',
  '/api/v0/location-records?limit=1000&format=geojson',
  '/api/v0/location-records?limit=1000&bbox=-180,-90,180,90',
  '/ogc/collections/location-records/items?limit=1000',
])('the service returns every record of %s once, in pages that end early', async (path) => {
  const uids: string[] = []
  let pages = 0
  for (let next: string | undefined = path; next; pages++) {
    const page = await get(next)
    expect(page.status).toBe(200)
    expect(page.text.length).toBeLessThan(PAGE)
    uids.push(...[...page.text.matchAll(/"uid":"(0x[0-9a-f]{64})"/g)].map(([, uid]) => uid!))
    const { pathname, search } = new URL(page.next ?? api.url)
    next = page.next && pathname + search
  }
  expect(pages).toBeGreaterThan(1)
  expect([uids.length, new Set(uids).size]).toEqual([COUNT, COUNT])
})

test('the service exports every record', async () => {
  const { status, text } = await get('/api/v0/location-records?format=ndjson')
  expect(status).toBe(200)
  expect(text.trim().split('\n')).toHaveLength(COUNT)
})

test('the service returns up to 16 MiB by GraphQL, and an error above this limit', async () => {
  const ask = (first: number, fields: string) =>
    get('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: `{ locationRecords(first: ${first}) { nodes { ${fields} } } }` }),
    })
  const few = await ask(10, 'uid geometry')
  expect(few.status).toBe(200)
  expect(few.text).not.toContain('"errors"')
  const all = await ask(COUNT, 'uid geometry location')
  expect(all.text).toContain('larger than 16 MiB')
  expect((await ask(COUNT, 'uid memo')).text.match(/"uid"/g)).toHaveLength(COUNT)
})
