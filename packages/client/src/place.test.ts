// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { knownSchema } from './place'

test('a schema is not a member that every object has', () => {
  expect(knownSchema('v0.1')?.fields).toContain('memo')
  for (const name of ['constructor', 'toString', '__proto__']) expect(knownSchema(name)).toBeUndefined()
})
