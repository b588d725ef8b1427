// SPDX-License-Identifier: MIT
import type { Geo } from '@geospatial-attestation/client'
import { expect, test } from 'vitest'
import { toCentimeters } from '../../../src/geodesy'
import { linesOf } from './questions'

test.each([
  ['9007199254740992', 2 ** 53],
  ['9007199254740993', undefined],
  ['9007199254740992.5', undefined],
  ['1.0000000000000001', undefined],
  ['{"row":[1234567890123456789]}', undefined],
  ['1e400', undefined],
  ['1e-400', undefined],
  ['0.0', 0],
  ['0.30000000000000004', 0.1 + 0.2],
  ['"\\"1234567890123456789"', '"1234567890123456789'],
])('accepts an id that JSON.parse does not change: %s', async (id, accepted) => {
  const others =
    '"recipient":"9007199254740992","from":"1,1","to":{"type":"Point","coordinates":[1,2.0000000000000001]}'
  const line = `{"operation":"distance",${others},"id":${id}}`
  const [found] = await linesOf(line, {} as Geo, { chain: () => Promise.resolve({ id: 8453 }) })
  expect(found!.asked).toMatchObject(
    accepted === undefined ? { problem: expect.stringMatching(/^id:/) } : { id: accepted },
  )
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
