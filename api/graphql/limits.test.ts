import { buildSchema } from 'graphql'
import { expect, test } from 'vitest'
import { sentence, testSentences } from '../../test/sentences'
import { checkQuery } from './limits'

const schema = buildSchema('type Query { one: Int }')

test.each([
  ['fragment Some on Query { one }', undefined],
  ['fragment Some on Query { one }', 'Some'],
  ['query A { one } query B { one }', undefined],
  ['query A { one }', 'B'],
])('a query without one operation to run is refused: %s with the operation name %s', (text, name) => {
  expect(() => checkQuery(schema, text, name, {}, () => 1)).toThrow(sentence())
})
testSentences()
