import { expect, test } from 'vitest'
import { isShareable } from '../web/panel/shareable'

/** Tests which texts about a place may appear in the address of a page. */

const SALT = `0x${'5a'.repeat(32)}`
const PRIVATE = `{"geometry":{"type":"Point","coordinates":[2.2945,48.8584]},"salt":"${SALT}"}`

test.each([
  ['', ''],
  ['a position', '2.2945, 48.8584'],
  ['a UID', SALT],
  ['GeoJSON', '{"type":"Point","coordinates":[2.2945,48.8584]}'],
  ['half GeoJSON', '{"type":"Point","coordinates":[2.2945,48.'],
])('an address may contain %s', (_, text) => {
  expect(isShareable(text)).toBe(true)
})

test.each([
  ['whole', PRIVATE],
  ['without its last brace', PRIVATE.slice(0, -1)],
  ['with a trailing comma', PRIVATE.replace(/}$/, ',}')],
  ['after words', `Here: ${PRIVATE}`],
  ['in a list', `[${PRIVATE}]`],
  ['with a number that is being edited', PRIVATE.replace('48.8584', '48.')],
  ['with an unknown type', PRIVATE.replace('Point', 'Pt')],
  ['with a Feature without geometry', `{"geometry":{"type":"Feature"},"salt":"${SALT}"}`],
  ['in capitals', PRIVATE.toUpperCase()],
  ['with an escaped name', PRIVATE.replace('salt', String.raw`\u0073\u0041lt`)],
  ['as JSON in JSON', JSON.stringify(PRIVATE.replace('salt', String.raw`\u0073alt`))],
])('an address never contains a private place %s', (_, text) => {
  expect(isShareable(text)).toBe(false)
})
