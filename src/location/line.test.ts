import { expect, test } from 'vitest'
import { LINE_VERSION, recordLine } from './line'

const at = (time: string) => new Date(`2026-${time}Z`)

/**
 * Another line of this record requires a new LINE_VERSION, so that readers do not use lines of earlier
 * versions.
 */
test('a change of the form of stored lines requires a new version', () => {
  const line = recordLine({
    ...{ uid: `0x${'ab'.repeat(32)}`, chain: 'celo' },
    ...{ prover: `0x${'a'.repeat(40)}`, subject: `0x${'0'.repeat(39)}b` },
    ...{ timestamp: at('01-02T03:04:05'), event_timestamp: '2026-01-02T03:04:05.5+00:00' },
    ...{ srs: 'EPSG:4326', location_type: 'geojson-point', location: '{"type":"Point"}' },
    ...{ longitude: 1e-7, latitude: -90, recipe_types: [], recipe_payloads: [] },
    ...{ media_types: ['image/png', 'a"b'], media_data: ['data:,', ''], memo: 'Grüße\n' },
    ...{ revoked: false, created_at: at('07-01T00:00:00'), updated_at: at('07-02T00:00:00.001') },
    ...{ problem: null, attributes: { bb: [1e21, true, null], a: {}, é: 'x' } },
  })
  expect({ LINE_VERSION, line }).toEqual({
    LINE_VERSION: 1,
    line:
      `{"uid":"0x${'ab'.repeat(32)}","chain":"celo",` +
      '"prover":"0xaAaAaAaaAaAaAaaAaAAAAAAAAaaaAaAaAaaAaaAa","subject":"0x000000000000000000000000000000000000000b",' +
      '"timestamp":"2026-01-02T03:04:05.000Z","event_timestamp":"2026-01-02T03:04:05.500Z",' +
      '"srs":"EPSG:4326","location_type":"geojson-point","location":"{\\"type\\":\\"Point\\"}",' +
      '"longitude":0.0000001,"latitude":-90,"recipe_types":[],"recipe_payloads":[],' +
      '"media_types":["image/png","a\\"b"],"media_data":["data:,",""],"memo":"Grüße\\n",' +
      '"revoked":false,"created_at":"2026-07-01T00:00:00.000Z","updated_at":"2026-07-02T00:00:00.001Z",' +
      '"problem":null,"attributes":{"a": {}, "bb": [1000000000000000000000, true, null], "é": "x"}}',
  })
})

test('a stored line omits an optional field if it is null, and no other field', () => {
  const fields = { problem: null, attributes: null, longitude: null }
  const blank = { prover: `0x${'0'.repeat(40)}`, subject: `0x${'0'.repeat(40)}` }
  const times = Object.fromEntries(
    ['timestamp', 'event_timestamp', 'created_at', 'updated_at'].map((name) => [name, new Date(0)]),
  )
  const line = recordLine({ ...blank, ...times, ...fields } as never)
  expect(line).toMatch(/"longitude":null,.*"problem":null[,}]/)
  expect(line).not.toContain('attributes')
})
