import { expect, test } from 'vitest'
import { readBbox, readPoint } from './positions'
import { RecordsError } from './problems'

test.each([
  ['near', () => readPoint('190,10', 'near'), '-170'],
  ['near', () => readPoint('-540,10', 'near'), '-180'],
  ['bbox', () => readBbox('-200,0,10,10'), '160'],
  ['bbox', () => readBbox('0,0,200.25,10'), '-159.75'],
])('the parser refuses %s beyond the antimeridian with the corrected longitude', (_, read, right) => {
  expect(read).toThrow(RecordsError)
  expect(read).toThrow(expect.objectContaining({ detail: expect.stringMatching(`gives ${right}$`) }))
})

test.each([
  ['near', () => readPoint('37.77,-122.41', 'near'), 'got -122.41'],
  ['bbox', () => readBbox('37.7,-122.5,37.8,-122.3'), 'got -122.5'],
  ['bbox', () => readBbox('2,49,3,48'), 'got 49 before 48'],
])('the parser names the latitude of %s that is wrong', (_, read, named) => {
  expect(read).toThrow(expect.objectContaining({ detail: expect.stringContaining(named) }))
})

test('the parser moves positions that rounding put out of range to the limit', () => {
  expect(readPoint('180.00000000000023,-90.00000000001', 'near')).toEqual([180, -90])
  expect(readBbox('-180.0000000001,0,180.0000000001,10')).toEqual([-180, 0, 180, 10])
})
