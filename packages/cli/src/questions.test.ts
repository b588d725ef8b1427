// SPDX-License-Identifier: MIT
import type { Geo } from '@geospatial-attestation/client'
import { expect, test } from 'vitest'
import { toCentimeters } from '../../../src/geodesy'
import { linesOf } from './questions'

test('rejects an id that JSON.parse changes', async () => {
  const ids = ['9007199254740992', '9007199254740993', '{"row":1234567890123456789}', '1e400', '7', '0.5']
  const text = ids.map((id) => `{"operation":"distance","from":"1,1","to":"2,2","id":${id}}`).join('\n')
  const lines = await linesOf(text, {} as Geo, { chain: () => Promise.resolve({ id: 8453 }) })
  const found = lines.map(({ asked }) => ('problem' in asked ? asked.problem.split(':')[0] : asked.id))
  expect(found).toEqual([2 ** 53, 'id', 'id', 'id', 7, 0.5])
})

test('a line of geo batch rounds the text of its radius, not its double', async () => {
  const lineOf = (radius: string) =>
    `{"operation":"within","geometry":"1,2","target":"1,2","radius":${radius}}`
  const text = ['1.00499999999999999', '1.005'].map(lineOf).join('\n')
  const lines = await linesOf(text, {} as Geo, { chain: () => Promise.resolve({ id: 8453 }) })
  const radii = lines.map(
    ({ asked }) => 'question' in asked && 'radius' in asked.question && asked.question.radius,
  )
  expect(radii.map((radius) => toCentimeters(Number(radius)))).toEqual([100, 101])
})
