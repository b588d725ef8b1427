import { locationTexts } from '@geospatial-attestation/client/kernel'
import { encodeAbiParameters, parseAbiParameters, toHex } from 'viem'
import { describe, expect, test } from 'vitest'
import { decodeLocation, LOCATION_SCHEMA } from '../src/location'
import { shows } from '../web/sheet/shows'

const ACCOUNT = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const NONE = toHex(0, { size: 32 })

/** Record, details and event of a place as the service returns them. */
function served(location_type: string, location: string, srs = 'EPSG:4326') {
  const data = encodeAbiParameters(
    parseAbiParameters('uint256, string, string, string, string[], bytes[], string[], string[], string'),
    [1_700_000_000n, srs, location_type, location, ['proof'], ['0x01ff'], [], [], 'Tower'],
  )
  const { geometry, recipePayloads } = decodeLocation(LOCATION_SCHEMA.uid, data)
  const fields = { schemaUid: LOCATION_SCHEMA.uid, refUid: NONE, revocable: true, expirationTime: '0' }
  const event = { ...fields, data, attester: ACCOUNT, recipient: ACCOUNT, time: '1700000100' }
  const record = {
    ...{ memo: 'Tower', location, location_type, srs, media_data: [], media_types: [] },
    ...{ longitude: geometry?.point?.[0] ?? null, latitude: geometry?.point?.[1] ?? null },
    ...{ recipe_types: ['proof'], recipe_payloads: recipePayloads, prover: ACCOUNT, subject: ACCOUNT },
    ...{ timestamp: '2023-11-14T22:15:00.000Z', event_timestamp: '2023-11-14T22:13:20.000Z' },
  }
  const details = { ...fields, geometry: geometry && JSON.parse(geometry.json) }
  return { record, details, event }
}
const isShown = ({ record, details, event }: ReturnType<typeof served>) =>
  shows(
    record as never,
    details as never,
    locationTexts({ ...event, schema: event.schemaUid })!,
    event as never,
  )

const tower = served('coordinate-decimal+lon-lat', '2.2945, 48.8584')

describe('the comparison of a sheet with the attested content', () => {
  test.each([
    ['coordinate-decimal+lon-lat', '2.2945, 48.8584'],
    ['coordinate-decimal+lat-lon', '48.8584, 2.2945'],
    ['geojson-point', '{"coordinates":[-180,5.10],"type":"Point"}'],
    ['geojson-polygon', '{"type":"Polygon","coordinates":[[[170,-10],[170,10],[-170,10],[170,-10]]]}'],
    ['wkt', 'LINESTRING (1 2, 3 4)'],
    ['h3', '8a2a1072b59ffff'],
    ['geohash', 'u09tunqu'],
    ['a type that nobody knows', 'here'],
  ])('accepts what the service reads from %s', async (type, location) => {
    expect(await isShown(served(type, location))).toBe(true)
  })

  test.each([
    ['a longitude', { record: { longitude: -74 } }],
    ['a latitude', { record: { latitude: null } }],
    ['a proof', { record: { recipe_payloads: ['3q0='] } }],
    ['an attribute', { record: { attributes: { verified: true } } }],
    ['a memo', { record: { memo: 'x' } }],
    ['a location', { record: { location: '2.2945, 48.8585' } }],
    ['a location type', { record: { location_type: 'coordinate-decimal+lat-lon' } }],
    ['a reference system', { record: { srs: 'EPSG:3857' } }],
    ['media', { record: { media_data: ['ipfs://x'] } }],
    ['a type of a medium', { record: { media_types: ['image/png'] } }],
    ['a type of a proof', { record: { recipe_types: [] } }],
    ['an attester', { record: { prover: NONE.slice(0, 42) } }],
    ['a recipient', { record: { subject: NONE.slice(0, 42) } }],
    ['a time', { record: { timestamp: '2023-11-14T22:15:01.000Z' } }],
    ['a time of the event', { record: { event_timestamp: '2001-01-01T00:00:00.000Z' } }],
    ['a schema', { details: { schemaUid: NONE } }],
    ['a reference', { details: { refUid: `0x${'1'.repeat(64)}` } }],
    ['irrevocability', { details: { revocable: false } }],
    ['an expiration', { details: { expirationTime: '2000000000' } }],
    ['a geometry', { details: { geometry: { type: 'Point', coordinates: [-74, 40] } } }],
    ['no geometry', { details: { geometry: null } }],
  ] as [string, { record?: object; details?: object }][])(
    'rejects %s that was not attested',
    async (_, { record, details }) => {
      const forged = {
        ...tower,
        record: { ...tower.record, ...record },
        details: { ...tower.details, ...details },
      }
      expect(await isShown(forged)).toBe(false)
    },
  )
})
