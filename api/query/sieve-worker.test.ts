import { AbiCoder } from 'ethers'
import { expect, test } from 'vitest'
import { fieldTypes } from '../../src/eas'
import { distanceCentimeters, prepareGeometry, readGeometry, withEffort } from '../../src/geodesy'
import { LOCATION_SCHEMA, decodeLocation } from '../../src/location'
import { placeOf } from './sieve'
import { distances, sift } from './sieve-worker'

/** Geometry of an attestation, as it is stored. */
function storedOf(location: string): string {
  const values = [0n, 'EPSG:4326', 'geojson', location, [], [], [], [], '']
  const payload = AbiCoder.defaultAbiCoder().encode(fieldTypes(LOCATION_SCHEMA.fields), values)
  return decodeLocation(LOCATION_SCHEMA.uid, payload).geometry!.json
}

test('the sieve measures distances of stored points like those of geometries', () => {
  const place = placeOf({ type: 'Point', coordinates: [13.4, 52.5] }, 'near')
  const given = [
    [0, 0],
    [-179.5, -12.25, 100],
    [1e-7, -89.999999],
  ].map((coordinates) => JSON.stringify({ type: 'Point', coordinates }))
  const stored = given.map(storedOf)
  const expected = stored.map((text) => {
    const [from, to] = [text, place.geometry].map((each) =>
      prepareGeometry(readGeometry(JSON.parse(each), 'point')),
    )
    return distanceCentimeters(from!, to!)
  })
  expect(distances({ geometry: place.geometry, candidates: stored })).toEqual(expected)
})

test(
  'the sieve stops at candidates that take long to prepare, measures the others, and remembers them',
  { tags: ['slow'] },
  () => {
    const spike = (i: number) => [0, i % 2 ? 50 + i / 1_000 : i / 1_000]
    const candidates = Array.from({ length: 8 }, (_, k) => {
      const ring = [
        ...Array.from({ length: 90 }, (_, i) => spike(i)),
        [160 + k / 1_000, 50],
        [160, 0],
        [0, 0],
      ]
      return JSON.stringify({ type: 'Polygon', coordinates: [ring] })
    })
    const task = {
      geometry: JSON.stringify({ type: 'Point', coordinates: [5, 25] }),
      candidates: [...candidates, JSON.stringify({ type: 'MultiPoint', coordinates: [[5, 25]] })],
    }
    const refused = candidates.map(() => null)
    // Beyond an outer limit, the last candidate could not be measured either.
    expect(withEffort(120_000, () => sift(task))).toEqual([...refused, true])
    expect(withEffort(1_000, () => sift(task))).toEqual([...refused, true])
    expect(withEffort(1_000, () => distances(task))).toEqual([...refused, 0])
  },
)
