import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { EVENTS } from '../../src/events'
import { eventOf, eventTable, messageType } from './events'

const PAGE = 'docs/reference/streams.md'
test(`${PAGE} lists every event (-u writes its table)`, async () => {
  const page = readFileSync(PAGE, 'utf8')
  const before = /(?<=^\| event \|.*\n\|---.*\n)(?:\|.*\n)*/m
  expect(before.test(page)).toBe(true)
  const text = eventTable().map((cells) => `| ${cells.join(' | ')} |\n`)
  await expect(page.replace(before, () => text.join(''))).toMatchFileSnapshot(`../../${PAGE}`)
})
test('the stream sends a reorg as a correction to listeners of final changes', () => {
  expect([eventOf('reorged', 'latest'), eventOf('reorged', 'final'), eventOf('new', 'final')]).toEqual([
    ...['reorged', 'corrected', 'new'],
  ])
  expect(Object.keys(EVENTS).map((name) => messageType(name as keyof typeof EVENTS))).toEqual([
    ...['record.new', 'record.revoked', 'record.reorged', 'record.corrected', 'reset'],
  ])
})
