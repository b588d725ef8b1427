import { expect, test } from 'vitest'
import { seededRandom } from '../dev/random'
import { CHAINS } from '../src/chains'
import { project, type ChainEvent } from '../src/indexer/project'
import { watchedOf } from '../src/indexer/registry'
import { Database, replayPage } from '../src/indexer/store'
import { EventKind } from '../src/model'
import { createDatabase, createMigratedDatabase, migrate, rows } from './database'
import { FAMILIES, attestedPlace, hostile, type Attested } from './hostile'
import { migrateTo, schemaOf } from './migrations'

/**
 * An event log with every kind of location type, geometry and text, with revocations, and with payloads that
 * have no record or no geometry.
 */
function realisticLog(): { events: ChainEvent[]; bodies: Map<string, Attested['body']> } {
  const random = seededRandom(14)
  let n = 0
  const place = (location: string, type: string) => attestedPlace(n++, location, type, `place ${n}`)
  const places = [
    place('{"type":"Point","coordinates":[2.2945,48.8584]}', 'geojson-point'),
    place('13.3777,52.5163', 'coordinate-decimal+lon-lat'),
    place('LINESTRING(179 0,-179 1)', 'wkt'),
    place('89283082837ffff', 'h3'),
    place('u33dc0', 'geohash'),
    place('{"x":133777,"y":525163,"scale":10000}', 'scaledCoordinates'),
    place('Unter den Linden 1', 'address'),
    place('{"type":"Point","coordinates":[500,0]}', 'geojson'),
    // This text is too long for an index entry.
    place('x', Array.from({ length: 4_000 }, () => String.fromCharCode(0x4e00 + random() * 20_000)).join('')),
    ...Object.values(FAMILIES).map((shape) => place(JSON.stringify(shape(12)), 'geojson-polygon')),
  ]
  const attested = [...places, ...Array.from({ length: 60 }, () => hostile(n++, random))]
  const revoked = [...attested.filter((_, i) => i % 5 === 1), attestedPlace(9_999, '', '')]
  const revocations = revoked.map(({ event }): ChainEvent => ({
    ...attestedPlace(n++, '', '').event,
    kind: EventKind.REVOKED,
    uid: event.uid,
  }))
  return {
    events: [...attested.map(({ event }) => event), ...revocations],
    bodies: new Map(attested.map(({ event, body }) => [event.uid, body])),
  }
}

test('the migrations bring a database of the first migration to the state of a new database', async () => {
  const old = await createDatabase()
  const fresh = await createMigratedDatabase()
  const { events, bodies } = realisticLog()
  const writtenAt = new Date('2026-07-01Z')
  const chains = [CHAINS[0]!, CHAINS[3]!]
  try {
    await migrateTo(old.url, 1)
    for (const { slug } of chains) {
      const { events: log, rows: projected } = project(slug, events, bodies, writtenAt)
      const records = projected.location_record
      expect([log.length, records.length > 40, records.some(({ geometry }) => !geometry)]).toEqual([
        events.length,
        true,
        true,
      ])
      for (const { url } of [old, fresh])
        for (const [table, given] of [
          [
            'attestation_event',
            log.map((row) => ({ ...row, data: row.data && `\\x${row.data.toString('hex')}` })),
          ],
          ['location_record', records],
        ] as const)
          await rows(url, `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1)`, [
            JSON.stringify(given),
          ])
    }
    await migrate(old.url)
    expect(await schemaOf(old.url)).toEqual(await schemaOf(fresh.url))
    await expectSame('SELECT * FROM attestation_event ORDER BY id')
    await expectSame(
      `SELECT to_jsonb(record) - ARRAY['geom', 'reach', 'map_x', 'map_y', 'line', 'line_version', 'area_square_centimeters', 'length_centimeters'] AS record FROM location_record AS record ORDER BY id`,
    )
    await expectSame('SELECT * FROM record_hour ORDER BY chain, hour')
    await expectSame('SELECT chain, total, revoked FROM record_state ORDER BY chain')
    await expectSame('SELECT * FROM published.attestation_event ORDER BY id')
    await expectSame('SELECT id, geom IS NULL AS nowhere FROM location_record ORDER BY id')
    // The shapes that the trigger wrote earlier remain until a replay.
    await replay(old.url)
    await expectSame(
      `SELECT id, geom, reach, map_x, map_y, problem, revoked, revocation_time, line_version, area_square_centimeters, length_centimeters,
         location_line(line, revoked, 'epoch', 'epoch') AS line FROM location_record ORDER BY id`,
    )
    while ((await rows(old.url, 'SELECT count_records(chain, 20) FROM record_uncounted')).length);
    await expectSame('SELECT * FROM record_count ORDER BY dimension, chain, value, revoked')
  } finally {
    await Promise.all([old.drop(), fresh.drop()])
  }

  async function expectSame(sql: string): Promise<void> {
    const expected = await rows(fresh.url, sql)
    expect(expected.length).toBeGreaterThan(0)
    expect(await rows(old.url, sql)).toEqual(expected)
  }
  async function replay(url: string): Promise<void> {
    const database = new Database(url, () => {})
    try {
      for (const chain of chains) {
        const [all, last] = [1_000, 2 ** 31 - 1]
        const { differing } = await replayPage(database, chain, watchedOf(chain), '', all, last, true)
        expect(new Set(differing.map(({ what }) => what))).toEqual(new Set(['different']))
      }
    } finally {
      await database.close()
    }
  }
})
