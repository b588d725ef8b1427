import type { Client } from 'pg'
import { LINE_VERSION, recordLine, type RecordFields } from '../src/location'
import type { Bench } from './bench'

/** Migrated database that already has the records, which the benchmark does not change. */
export const FILLED = process.env.BENCH_RECORDS_DATABASE_URL
/** Records per statement of fill(). */
const CHUNK = 100_000

/**
 * Number of cities with records around them. Their sizes follow a power law: a tenth of the cities has half
 * of all records.
 */
const CITIES = 2_000
/**
 * Number of attesters. The most active one has about a thousand times as many records as the least active
 * one.
 */
export const PROVERS = 20_000
const CHAIN_SLUGS = `ARRAY['base-sepolia', 'sepolia', 'arbitrum', 'celo']`
/** Time of record 0, and the seconds between two records. */
export const FIRST_TIME = Date.UTC(2020, 0, 1)
export const SECONDS_BETWEEN = 20

/** Seeds of the generated properties of records and cities. */
const SEEDS = { lng: 1, lat: 2, city: 3, prover: 4, distance: 5, angle: 6 }
/**
 * A number from 0 to 1 that depends only on a whole number and the name, so that each run generates the same
 * records.
 */
const uniform = (whole: string, name: keyof typeof SEEDS) =>
  `((hashint8extended(${whole}, ${SEEDS[name]}) >> 11) & 4503599627370495)::float8 / 4503599627370496::float8`
/** Coordinate `lng` or `lat` of a city, which depends only on its number. */
const city = (number: string) => ({
  lng: `((${uniform(number, 'lng')}) * 350 - 175)`,
  lat: `((${uniform(number, 'lat')}) * 120 - 50)`,
})
const cityOf = (i: string) => `floor(${CITIES} * power((${uniform(i, 'city')}), 3))`
/** Address of an attester, by a number up to PROVERS. */
export const proverAddress = (number: string) =>
  `'0x' || substr(md5('prover' || (${number})::text) || md5('address' || (${number})::text), 1, 40)`
const OFFSET = (i: string) => ({
  distance: `(0.08 * sqrt(-2 * ln(1e-12::float8 + ${uniform(i, 'distance')})))`,
  angle: `(2 * pi() * ${uniform(i, 'angle')})`,
})
/** Formats a number without trailing zeros, as in canonical JSON. */
const plain = (number: string) => `trim_scale(${number})`

/**
 * An INSERT of the records from number $1 to $2: positions around cities, one every 20 seconds, on four
 * chains, by 20,000 attesters. 90 % are points, the others lines and polygons of some hundred metres, in
 * canonical JSON like that of the indexer. The table's triggers, if enabled, fill the derived columns.
 */
export function insertRecordsSql(table = 'location_record'): string {
  const { lng, lat } = city('city')
  const { distance, angle } = OFFSET('i')
  return `INSERT INTO ${table} (id, uid, chain, prover, subject, timestamp, event_timestamp, srs, location_type, location, longitude, latitude,
      recipe_types, recipe_payloads, media_types, media_data, memo, revoked, created_at, updated_at, geometry, schema_uid, ref_uid, revocable,
      expiration_time, block_number, block_hash, transaction_hash, log_index, geom)
    SELECT chain || '-' || uid, uid, chain, prover, prover, time, time - interval '90 seconds', 'EPSG:4326', 'geojson-' || kind, geometry,
      CASE kind WHEN 'point' THEN lng END, CASE kind WHEN 'point' THEN lat END, '{}', '{}', '{}', '{}', 'Place ' || i, i % 50 = 0, time + interval '3.25 seconds', time + interval '3.25 seconds', geometry,
      '0xba4171c92572b1e4f241d044c32cdf083be9fd946b8766977558ca6378c824e2', '0x' || repeat('0', 64), true, 0, i, uid, uid, 0,
      CASE kind WHEN 'point' THEN ST_SetSRID(ST_MakePoint(lng::float8, lat::float8), 4326) ELSE ST_SetSRID(ST_GeomFromGeoJSON(geometry), 4326) END
    FROM (SELECT *, CASE kind WHEN 'point' THEN format('{"coordinates":[%s,%s],"type":"Point"}', lng, lat)
        WHEN 'linestring' THEN format('{"coordinates":[[%s,%s],[%s,%s],[%s,%s]],"type":"LineString"}', lng, lat, ${plain('lng + 0.002')}, ${plain('lat + 0.001')}, ${plain('lng + 0.004')}, lat)
        ELSE format('{"coordinates":[[[%1$s,%2$s],[%3$s,%2$s],[%3$s,%4$s],[%1$s,%4$s],[%1$s,%2$s]]],"type":"Polygon"}', lng, lat, ${plain('lng + 0.003')}, ${plain('lat + 0.002')}) END AS geometry
      FROM (SELECT i, '0x' || md5('uid' || i) || md5('attestation' || i) AS uid, (${CHAIN_SLUGS})[1 + i % 4] AS chain, ${proverAddress(`floor(${PROVERS} * power(${uniform('i', 'prover')}, 3))`)} AS prover,
          timestamptz 'epoch' + (${FIRST_TIME / 1000} + i * ${SECONDS_BETWEEN}) * interval '1 second' AS time,
          CASE WHEN i % 21 = 7 THEN 'linestring' WHEN i % 21 = 13 THEN 'polygon' ELSE 'point' END AS kind,
          ${plain(`round((${lng} + ${distance} * cos(${angle}))::numeric, 6)`)} AS lng, ${plain(`round((${lat} + ${distance} * sin(${angle}))::numeric, 6)`)} AS lat
        FROM (SELECT i::int, ${cityOf('i')}::int AS city FROM generate_series($1::int, $2::int) AS i) AS numbered) AS placed) AS shaped`
}

/** Inserts the records from number `first` to `last` with their lines, like an indexer. */
export async function insertWrittenRecords(client: Client, first: number, last: number): Promise<void> {
  await client.query('CREATE TEMP TABLE generated (LIKE location_record)')
  await client.query(insertRecordsSql('generated'), [first, last])
  const { rows } = await client.query<{ id: string; fields: RecordFields }>(
    `SELECT id, to_jsonb(generated) - ARRAY['geom', 'geometry'] AS fields FROM generated`,
  )
  await client.query(
    `UPDATE generated SET line = given.line, line_version = $3
     FROM unnest($1::text[], $2::text[]) AS given (id, line) WHERE generated.id = given.id`,
    [rows.map(({ id }) => id), rows.map(({ fields }) => recordLine(fields)), LINE_VERSION],
  )
  await client.query('INSERT INTO location_record SELECT * FROM generated ORDER BY timestamp')
  await client.query('DROP TABLE generated')
}

/** Database with this number of records: FILLED, or a new one. */
export async function filledDatabase(bench: Bench, count: number): Promise<string> {
  if (FILLED) return FILLED
  const databaseUrl = await bench.migratedDatabase()
  await fill(bench, await bench.connect(databaseUrl), 0, count)
  return databaseUrl
}

/**
 * Fills the table without its indexes and triggers, and then derives the triggers' tables by the statements
 * of the migration.
 */
export async function fill(bench: Bench, client: Client, from: number, to: number): Promise<void> {
  const indexes = (
    await client.query<{ name: string; definition: string }>(
      `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index WHERE indrelid = 'location_record'::regclass AND NOT indisprimary`,
    )
  ).rows
  await client.query('ALTER TABLE location_record DISABLE TRIGGER USER')
  const [primary] = (
    await client.query<{ conname: string }>(
      `SELECT conname FROM pg_constraint WHERE conrelid = 'location_record'::regclass AND contype = 'p'`,
    )
  ).rows
  await client.query(`ALTER TABLE location_record DROP CONSTRAINT "${primary!.conname}"`)
  for (const { name } of indexes) await client.query(`DROP INDEX ${name}`)
  for (let first = from + 1; first <= to; first += CHUNK) {
    const last = Math.min(to, first + CHUNK - 1)
    await insertWrittenRecords(client, first, last)
    bench.progress('records', last, to)
  }
  bench.report(`Indexing ${to} records ...`)
  await client.query(`SET maintenance_work_mem = '1GB'`)
  await client.query(`ALTER TABLE location_record ADD CONSTRAINT "${primary!.conname}" PRIMARY KEY (id)`)
  for (const [i, { definition }] of indexes.entries()) {
    await client.query(definition)
    bench.progress('indexes', i + 1, indexes.length)
  }
  await client.query('ALTER TABLE location_record ENABLE TRIGGER USER')
  await client.query('TRUNCATE record_state, record_hour, record_cell, record_group, record_uncounted')
  await client.query(
    `INSERT INTO record_state (chain, total, revoked) SELECT chain, count(*), count(*) FILTER (WHERE revoked) FROM location_record GROUP BY chain`,
  )
  await client.query(
    `INSERT INTO record_hour (chain, hour, total) SELECT chain, date_trunc('hour', timestamp, 'UTC'), count(*) FROM location_record GROUP BY 1, 2`,
  )
  await client.query(
    `INSERT INTO record_cell (level, x, y, chain, revoked, total, x_sum, y_sum)
     SELECT level, x >> (31 - level), y >> (31 - level), chain, revoked, count(*), sum(x), sum(y)
     FROM (SELECT chain, revoked, location_x(geom) AS x, location_y(geom) AS y FROM location_record) AS placed, (VALUES (4), (9), (14)) AS kept (level)
     WHERE x IS NOT NULL AND y IS NOT NULL GROUP BY 1, 2, 3, 4, 5`,
  )
  await client.query(
    `INSERT INTO record_uncounted SELECT chain, '-infinity' FROM record_state; SELECT count_records(chain, 2000000000) FROM record_state`,
  )
  await client.query('VACUUM (ANALYZE) location_record, record_cell, record_group')
}

/** Positions of the cities, the one with the most records first. */
export const CITIES_SQL = `SELECT city, ${city('city').lng} AS lng, ${city('city').lat} AS lat FROM generate_series(0, ${CITIES - 1}) AS city ORDER BY city`
