import { expect, test } from 'vitest'
import { OPERATION_ROWS, writeLabel } from '../../src/operations'
import { parseBody } from './body'

const parse = (json: string) => parseBody(Buffer.from(json)) as Record<string, never>

/** A length slightly below half a centimetre whose double is that of half a centimetre. */
const LONG = '1.00499999999999999'

test.each(
  OPERATION_ROWS.flatMap(([name, { parameters = [] }]) =>
    parameters.map((each) => [name, each.name] as const),
  ),
)('the body parser rounds the text of the %s parameter %s, not its double', (name, member) => {
  const label = (json: string) => {
    const { operations, ...whole } = parse(json)
    return writeLabel(name, [((operations as Record<string, number>[] | undefined)?.[0] ?? whole)[member]!])
  }
  expect(label(`{"${member}":${LONG}}`)).toBe(`${name}:100`)
  expect(label(`{"${member}" : 1.005}`)).toBe(`${name}:101`)
  expect(label(`{"operations":[{"x":1,\n"${member}"\t:\n100499999999999999E-17 }]}`)).toBe(`${name}:100`)
  const escaped = member.replace(/./g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
  expect(label(`{"${escaped}":${LONG}}`)).toBe(`${name}:100`)
})
test('the body parser reads all other numbers and texts like JSON.parse', () => {
  const body = `{"radii":${LONG},"a":[${LONG},{"radiu":${LONG}}],"text":"\\"radius\\":${LONG}"}`
  expect(parse(body)).toEqual(JSON.parse(body))
})
test.each([`0${LONG}`, `${LONG}.5`, `-${LONG}e`, `${LONG}x`])('the parser rejects a radius of %s', (number) =>
  expect(() => parse(`{"radius":${number}}`)).toThrow(/valid JSON/),
)
