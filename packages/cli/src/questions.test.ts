// SPDX-License-Identifier: MIT
import type { Geo } from '@geospatial-attestation/client'
import { expect, test } from 'vitest'
import { toCentimeters } from '../../../src/geodesy'
import { linesOf } from './questions'

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
