import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { EVENTS, eventOf, eventTable, messageType } from './events'

test.each([
  ['docs/reference/streams.md', 'event', (name: string) => name],
  ['docs/reference/webhooks.md', '`type`', messageType],
] as const)('%s lists every event (-u writes its table)', async (file, head, nameOf) => {
  const rows = [[head, 'meaning', 'data'], ['---', '---', '---'], ...eventTable(nameOf)]
  const page = readFileSync(file, 'utf8')
  const before = new RegExp(`^\\| ${head} \\|.*\\n(?:\\|.*\\n)*`, 'm')
  expect(before.test(page)).toBe(true)
  const text = rows
    .map((cells) => (cells[0] === '---' ? '|---|---|---|' : `| ${cells.join(' | ')} |`))
    .join('\n')
  await expect(page.replace(before, () => `${text}\n`)).toMatchFileSnapshot(`../../${file}`)
})
test('the stream sends a reorg as a correction to listeners of final changes', () => {
  expect([eventOf('reorged', 'latest'), eventOf('reorged', 'final'), eventOf('new', 'final')]).toEqual([
    ...['reorged', 'corrected', 'new'],
  ])
  expect(Object.keys(EVENTS).map((name) => messageType(name as keyof typeof EVENTS))).toEqual([
    ...['record.new', 'record.revoked', 'record.reorged', 'record.corrected', 'reset'],
  ])
})
