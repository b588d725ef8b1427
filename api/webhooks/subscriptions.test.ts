import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SafeSender } from '../outgoing'
import { readWebhooksFile } from './subscriptions'
import { sentence, testSentences } from '../../test/sentences'

/** Tests the reader of WEBHOOKS_FILE: the subscriptions, or the error with its remedy. */
const ROW = { id: 'maps', url: 'https://maps.example/hook', secret: `whsec_${'A'.repeat(32)}` }
const sender = new SafeSender(new Set(['hooks.internal:8080', 'plain.internal:80', 'tls.internal:443']))
let folder: string
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'geospatial-test-'))
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await sender.close()
})

function read(value: unknown) {
  const file = path.join(folder, 'webhooks.json')
  writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value))
  return readWebhooksFile(file, sender)
}
const OTHER = { ...ROW, id: 'other' }

test.each([
  ['http://plain.internal/x', true],
  ['http://plain.internal:80/x', true],
  ['http://plain.internal:8080/x', false],
  ['https://tls.internal:443/x', true],
  ['http://tls.internal/x', false],
])('the subscription reader compares the port of a private host: %s', (url, isAccepted) => {
  expect(read([{ ...ROW, url }]).refused.length).toBe(isAccepted ? 0 : 1)
})

test('the subscription reader fills in defaults, and sorts the newest secret first', () => {
  const oldSecret = `whsec_${'B'.repeat(32)}`
  const { subscriptions, refused } = read([ROW, { ...OTHER, url: 'http://hooks.internal:8080/x', oldSecret }])
  expect(refused).toEqual([])
  expect(subscriptions).toEqual([
    { id: 'maps', url: ROW.url, finality: 'final', filter: {}, secrets: [ROW.secret] },
    {
      ...{ id: 'other', url: 'http://hooks.internal:8080/x', finality: 'final', filter: {} },
      secrets: [ROW.secret, oldSecret],
    },
  ])
})

test('the subscription reader refuses a file that is not a list as a whole', () => {
  expect(() => read(ROW)).toThrow(sentence())
})

test.each<[string, unknown, string, string?]>([
  ['an id with a space', { ...ROW, id: 'my maps' }, sentence('', '/id')],
  ['NUL in its id', { ...ROW, id: 'maps\0' }, sentence('', '/id')],
  ['half a surrogate pair in its id', { ...ROW, id: 'maps\ud83d' }, sentence('', '/id')],
  ['the id of another one', OTHER, sentence('', 'other'), 'other'],
  ['a finality of another API', { ...ROW, finality: 'safe' }, sentence('', '/finality'), 'maps'],
  ['a short secret', { ...ROW, secret: 'whsec_x' }, sentence('', '/secret'), 'maps'],
  ['nothing of it', {}, sentence('', '/id')],
  ['null', null, sentence()],
  ['an id that is no text', { ...ROW, id: 5 }, sentence('', '/id')],
  ['no url', { ...ROW, url: undefined }, sentence('', '/url: missing; expected string'), 'maps'],
  ['no secret', { ...ROW, secret: undefined }, sentence('', '/secret'), 'maps'],
  ['an unknown field', { ...ROW, colour: 'red' }, sentence('', '/colour: unexpected property'), 'maps'],
  ['a filter that there is not', { ...ROW, filter: { limit: '3' } }, sentence('', 'filter: '), 'maps'],
  [
    'half a surrogate pair',
    { ...ROW, filter: { location_type: '\ud83d' } },
    sentence('', 'filter: '),
    'maps',
  ],
  ['NUL in its url', { ...ROW, url: 'https://maps.example/\0' }, sentence('', 'url: '), 'maps'],
  ['a private host', { ...ROW, url: 'http://hooks.internal/' }, sentence('', 'url: '), 'maps'],
  ['a password', { ...ROW, url: 'https://u:p@maps.example/' }, sentence('', 'url: '), 'maps'],
])('the subscription reader refuses an entry with %s, but reads other entries', (_, entry, problem, id) => {
  const { subscriptions, refused } = read([OTHER, entry, { ...ROW, id: 'last' }])
  expect(subscriptions.map((each) => each.id)).toEqual(['other', 'last'])
  expect(refused).toEqual([{ id, problem }])
  expect(refused[0]!.problem).toMatch(/^\[1\]: /)
})

test.each<[string, (row: string) => string, string | undefined]>([
  ['a repeated secret', (row) => row.replace('}', `,"secret":"${ROW.secret}"}`), 'maps'],
  ['a repeated id, one of them escaped', (row) => row.replace('{', '{"\\u0069d":"first",'), 'maps'],
  ['a repeated filter', (row) => row.replace('}', ',"filter":{"chain":"celo","chain":"base"}}'), 'maps'],
  ['the key __proto__', (row) => row.replace('}', ',"__proto__":{}}'), 'maps'],
  ['100 levels', (row) => row.replace('}', `,"filter":${'['.repeat(100)}${']'.repeat(100)}}`), 'maps'],
  ['a repeated key and no id', () => '{"a":1,"a":2}', undefined],
])('the reader refuses the text of an entry with %s, but reads other entries', (_, textOf, id) => {
  const entry = textOf(JSON.stringify(ROW))
  const { subscriptions, refused } = read(
    `\ufeff[ ${JSON.stringify(OTHER)},\n${entry} , ${JSON.stringify({ ...ROW, id: 'last' })}]`,
  )
  expect(subscriptions.map((each) => each.id)).toEqual(['other', 'last'])
  expect(refused).toEqual([{ id, problem: sentence() }])
  expect(refused[0]!.problem).toMatch(/^\[1\]: /)
})

testSentences()
