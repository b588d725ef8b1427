import { beforeAll, expect, test } from 'vitest'
import { getAddress } from 'ethers'
import { STORED_LINE, written } from '../../api/store/sql'
import { createMigratedDatabase, rows, type TestDatabase } from '../../test/database'
import { insertRecords, type GivenRecord } from '../../test/records'
import { hunt } from '../../test/seed'
import { LOCATION_TYPES } from './names'
import { RECORD_FIELD_LIST } from './record'

/** Compares lines with the JSON that Postgres writes from the columns of the same records. */

let database: TestDatabase
beforeAll(async () => {
  database = await createMigratedDatabase()
})

/** Random numbers of the hunt. */
let random: () => number
const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!
const hex = (length: number) => Array.from({ length }, () => pick([...'0123456789abcdef'])).join('')
const TEXTS = [
  ...[
    '',
    'a',
    'Grüße, 東京 🗼',
    '\u2028\u2029 \\ " / \b \f \n \r \t \u0001 \u001f \u007f \u0080 \ufeff \uffff',
  ],
  ...['","revoked":false,"created_at":"', ',"attributes":null}', '\\",\\"revoked\\":true', '\\n\\t\\r'],
  ...['","revoked":true,"created_at":"x","updated_at":"y"', "'; DROP TABLE location_record; --", '\r{}'],
]
const text = () => (random() < 0.01 ? pick(TEXTS).repeat(3_000) : pick(TEXTS) + pick(TEXTS))
const NUMBERS = [
  ...[0, -0, 1, -1.5, 1e-7, -2.5e-9, 5e-324, 1e21, 1.7976931348623157e308, 123456789012345680000],
  0.1 + 0.2,
]
const json = (depth: number): unknown => {
  const kind = depth > 3 ? random() * 0.6 : random()
  if (kind < 0.2) return pick(NUMBERS)
  if (kind < 0.4) return text()
  if (kind < 0.6) return pick([true, false, null])
  const size = Math.floor(random() * 4)
  if (kind < 0.8) return Array.from({ length: size }, () => json(depth + 1))
  return object(depth + 1)
}
const NAMES = [
  ...['', 'a', 'b', 'aa', 'B', 'ä', '東', '10', '9', 'length', '\ud83d\uddfc', '\uffff', '"', '\n'],
  '__proto__',
]
const object = (depth: number) =>
  Object.fromEntries(Array.from({ length: Math.floor(random() * 5) }, () => [pick(NAMES), json(depth)]))
const time = () =>
  new Date(pick([0, 1, 999, 253_402_300_799_000, Math.floor(random() * 253_402_300_799_999)]))
const coordinate = (most: number) =>
  pick([() => most, () => -most, () => 0, () => 1e-7, () => (random() * 2 - 1) * most, () => -5e-324])()
/** PostGIS writes no JSON of its shape. */
const NESTED = {
  type: 'GeometryCollection',
  geometries: [{ type: 'GeometryCollection', geometries: [{ type: 'Point', coordinates: [1, 2] }] }],
}

/** Number of records that are written at once. */
const RECORDS = 200
const given = (_: unknown, i: number): GivenRecord => {
  const prover = `0x${hex(40)}`
  const list = () => Array.from({ length: Math.floor(random() * 3) }, text)
  return {
    ...{ chain: pick(['base-sepolia', 'sepolia', 'arbitrum', 'celo', 'base']), uid: `0x${hex(64)}` },
    ...{ prover, subject: pick([prover, `0x${hex(40)}`]), memo: text(), location: text() },
    geometry: pick([null, NESTED, { type: 'Point', coordinates: [coordinate(180), coordinate(90)] }]),
    locationType: pick([...Object.values(LOCATION_TYPES).flatMap(({ spellings }) => spellings), text()]),
    attributes: pick([null, object(0), { deep: json(0) }]) as GivenRecord['attributes'] & object,
    problem: pick([null, null, text()]),
    revoked: i % 5 === 0,
    columns: {
      ...{ timestamp: time(), event_timestamp: time(), created_at: time(), updated_at: time() },
      ...{
        srs: text(),
        recipe_types: list(),
        recipe_payloads: list(),
        media_types: list(),
        media_data: list(),
      },
      expiration_time: pick(['0', '1', '18446744073709551615']),
    },
  }
}

/**
 * Line that Postgres alone produces from a row: `row_to_json`, checksums, times in full, and no optional
 * field that is null.
 */
const fromPostgres = (fields: string) => {
  let line = fields
  for (const name of ['prover', 'subject'])
    line = line.replace(
      new RegExp(`("${name}":")(0x[0-9a-f]{40})`),
      (_, key: string, address: string) => key + getAddress(address),
    )
  for (const [name] of RECORD_FIELD_LIST.filter(([, { type }]) => type === 'time'))
    line = line.replace(
      new RegExp(`([{,]"${name}":")([^".]{19})(?:\\.(\\d+))?"`),
      (_, key: string, seconds: string, decimals = '') =>
        `${key}${seconds}.${(decimals as string).padEnd(3, '0')}Z"`,
    )
  // No other text matches: texts escape quotes, and nested members have a space after the colon.
  for (const [name] of RECORD_FIELD_LIST.filter(([, { optional }]) => optional))
    line = line.replace(new RegExp(`,"${name}":null(?=[,}])`), '')
  return line
}
const FIELDS = RECORD_FIELD_LIST.map(([name, { type }]) =>
  type === 'time' ? `${name} AT TIME ZONE 'UTC' AS ${name}` : name,
).join()
interface Row {
  id: string
  line: string | null
  /** `row_to_json` of the fields */
  fields: string
  unwritten: string
}
const stored = () =>
  rows<Row>(
    database.url,
    `SELECT id, ${STORED_LINE} AS line, row_to_json((SELECT fields FROM (SELECT ${FIELDS}) AS fields))::text AS fields,
       E'\\r' || location_fields(id) AS unwritten FROM location_record ORDER BY id`,
  )

hunt('the writer of stored lines writes hostile records as the JSON that Postgres writes', 10, async (of) => {
  random = of.random
  for (let i = 0; i < of.cases; i++) {
    await rows(database.url, 'DELETE FROM location_record')
    await insertRecords(database.url, Array.from({ length: RECORDS }, given))
    const found = await stored()
    expect(found).toHaveLength(RECORDS)
    expect(found.filter(({ line }) => line === null)).toHaveLength(RECORDS / 2)
    for (const { line, fields, unwritten } of found) {
      const expected = fromPostgres(fields)
      expect(written(unwritten)).toBe(expected)
      if (line !== null) expect(line).toBe(expected)
      JSON.parse(expected)
    }
  }
})

test('a revocation, its rollback and a new time of writing change only their own fields of the stored line', async () => {
  for (const change of [
    `revoked = NOT revoked, revocation_time = now(), updated_at = '2031-02-03T04:05:06.007Z'`,
    `revoked = NOT revoked, revocation_time = NULL, updated_at = created_at`,
    `created_at = '1970-01-01', updated_at = '9999-12-31T23:59:59.999Z'`,
  ]) {
    await rows(database.url, `UPDATE location_record SET ${change}`)
    const found = await stored()
    expect(found.filter(({ line }) => line !== null)).toHaveLength(RECORDS / 2)
    for (const { line, fields } of found) if (line !== null) expect(line).toBe(fromPostgres(fields))
  }
})

test.each(RECORD_FIELD_LIST.filter(([name]) => !['revoked', 'created_at', 'updated_at'].includes(name)))(
  'the stored line is as new as the last change of %s',
  async (name) => {
    const [row] = await rows<{ id: string }>(
      database.url,
      `UPDATE location_record SET ${name} = ${name} WHERE id = (SELECT id FROM location_record WHERE line IS NOT NULL LIMIT 1)
       RETURNING id, line`,
    )
    expect(row).toEqual({ id: row!.id, line: null })
  },
)

test('a record has no stored line if another version wrote the record', async () => {
  const [row] = await rows<{ stored: string | null; line: string | null }>(
    database.url,
    `UPDATE location_record SET line_version = line_version + 1
     WHERE id = (SELECT id FROM location_record WHERE line IS NOT NULL LIMIT 1) RETURNING ${STORED_LINE} AS stored, line`,
  )
  expect(row).toEqual({ stored: null, line: expect.stringContaining('"uid"') as string })
})
