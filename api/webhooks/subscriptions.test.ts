import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SafeSender } from '../compute'
import { readWebhooksFile } from './subscriptions'
import { sentence, testSentences } from '../../test/sentences'

/** WEBHOOKS_FILE: what it says, or what would be right. */
const ROW = { id: 'maps', url: 'https://maps.example/hook', secret: `whsec_${'A'.repeat(32)}` }
const sender = new SafeSender(new Set(['hooks.internal:8080']))
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
  writeFileSync(file, JSON.stringify(value))
  return readWebhooksFile(file, sender)
}

test('what is left out has its default; the newest secret is the first', () => {
  const oldSecret = `whsec_${'B'.repeat(32)}`
  expect(read([ROW, { ...ROW, id: 'other', url: 'http://hooks.internal:8080/x', oldSecret }])).toEqual([
    { id: 'maps', url: ROW.url, finality: 'final', filter: {}, secrets: [ROW.secret] },
    {
      ...{ id: 'other', url: 'http://hooks.internal:8080/x', finality: 'final', filter: {} },
      secrets: [ROW.secret, oldSecret],
    },
  ])
})

test.each<[string, unknown, string]>([
  ['no list', ROW, sentence()],
  ['an id with a space', [{ ...ROW, id: 'my maps' }], sentence('', '/0/id')],
  ['one id twice', [ROW, ROW], sentence()],
  ['a finality of another API', [{ ...ROW, finality: 'safe' }], sentence('', '/0/finality')],
  ['a short secret', [{ ...ROW, secret: 'whsec_x' }], sentence('', '/0/secret')],
  ['nothing of it', [{}], sentence('', '/0/id')],
  ['no url', [{ ...ROW, url: undefined }], '/0/url: missing; expected string'],
  ['no secret', [{ ...ROW, secret: undefined }], sentence('', '/0/secret')],
  ['an unknown field', [{ ...ROW, colour: 'red' }], '/0/colour: unexpected property'],
  ['a filter that there is not', [{ ...ROW, filter: { limit: '3' } }], 'maps: filter: '],
  [
    'a private host that no setting names',
    [{ ...ROW, url: 'http://hooks.internal/' }],
    sentence('maps: url'),
  ],
  ['a password', [{ ...ROW, url: 'https://u:p@maps.example/' }], sentence('url')],
])('%s is refused', (_, value, message) => {
  expect(() => read(value)).toThrow(message)
})

testSentences()
