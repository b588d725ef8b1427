// SPDX-License-Identifier: MIT
import { expect, test } from 'vitest'
import { groupsOf } from './submission'
import type { Answer } from './types'

const answer = (schema: string, attester: string, deadline: number) =>
  ({ attestByDelegation: { data: {}, signature: {}, schema, attester, deadline } }) as unknown as Answer

test('answers of one transaction form groups of one schema, attester and deadline', () => {
  const answers = [answer('0x1', '0xa', 1), answer('0x1', '0xa', 1), answer('0x1', '0xa', 2)]
  answers.push(answer('0x1', '0xb', 2), answer('0x2', '0xb', 2), answer('0x2', '0xb', 2))
  const groups = groupsOf(answers) as { schema: string; attester: string; deadline: number; data: [] }[]
  expect(
    groups.map(({ schema, attester, deadline, data }) => [schema, attester, deadline, data.length]),
  ).toEqual([
    ['0x1', '0xa', 1, 2],
    ['0x1', '0xa', 2, 1],
    ['0x1', '0xb', 2, 1],
    ['0x2', '0xb', 2, 2],
  ])
})
