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

test.each([
  ['top', '{ one(top: 2) }'],
  ['top', '{ one(top: ["a"]) }'],
  ['most', '{ one(filter: { most: "2" }) }'],
])('an error of a literal value names its argument or field %s: %s', (name, text) => {
  const fields = buildSchema(
    'type Query { one(top: String, filter: Filter): Int } input Filter { most: Int }',
  )
  const errors = [expect.objectContaining({ message: sentence(name) })]
  expect(() => checkQuery(fields, text, undefined, {}, () => 1)).toThrow(expect.objectContaining({ errors }))
})
testSentences()
