import { expect, test } from 'vitest'
import { parsePosition, positionText } from './changes'

test('a position of as many chains as CHAINS_FILE can add, with the longest slugs, can be read again', () => {
  const ids = Object.fromEntries(
    Array.from({ length: 105 }, (_, i) => [
      `${String(i).padStart(3, 'c')}${'-long'.repeat(7)}-0`,
      1e15 - 1 - i,
    ]),
  )
  const position = { epoch: 'AbC_-123', ids }
  expect(Object.keys(ids)[0]).toHaveLength(40)
  expect(parsePosition(positionText(position))).toEqual(position)
  expect(parsePosition(positionText({ ...position, epoch: 'x'.repeat(10_000) }))).toBeUndefined()
})
