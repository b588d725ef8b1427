import { Type } from '@sinclair/typebox'
import { expect, test } from 'vitest'
import { constant, named, oneOf, ref } from './schema'
import { compileCheck, documented, unchecked, withRules } from './validation'
import { sentence, testSentences } from '../../test/sentences'

const Place = named('Place', Type.Object({ at: Type.String({ pattern: '^[a-z]+$' }) }))
const Walk = Type.Object({
  kind: constant('walk'),
  from: withRules(unchecked(ref(Place)), { missing: 'missing; expected a place', aliases: ['start'] }),
})
const Request = Type.Object({
  speed: withRules(Type.Number({ exclusiveMinimum: 0, maximum: 9 }), { form: 'expected a speed up to 9' }),
  place: Type.Optional(ref(Place)),
  steps: Type.Optional(
    Type.Array(withRules(oneOf([Walk, Type.Object({ kind: constant('rest') })]), { discriminator: 'kind' }), {
      minItems: 1,
      maxItems: 2,
    }),
  ),
})
const check = compileCheck(Request)
const problem = (body: unknown) => {
  const found = check(body)
  return found && `${found.place}: ${found.problem}`
}

test.each([
  [[], 'body'],
  [{ speeed: 1 }, 'speeed'],
  [{ constructor: 1 }, 'constructor'],
  [{ [`${'x'.repeat(39)}\u{1f600}y`]: 1 }, `${'x'.repeat(39)}\u{1f600}`],
  [{}, 'speed'],
  [{ speed: '1' }, 'speed'],
  [{ speed: 1, place: {} }, 'place.at'],
  [{ speed: 0 }, 'speed'],
  [{ speed: NaN }, 'speed'],
  [{ speed: 1, place: null }, 'place'],
  [{ speed: 1, place: { at: 'X' } }, 'place.at'],
  [{ speed: 1, steps: [] }, 'steps'],
  [{ speed: 1, steps: [null] }, 'steps[0]'],
  [{ speed: 1, steps: [{}] }, 'steps[0]: kind'],
  [{ speed: 1, steps: [{ kind: 'rest' }, { kind: 'walk' }] }, 'steps[1]: from'],
  [{ speed: 1, steps: [{ kind: 'walk', from: 1, start: 2 }] }, 'steps[0]: from, start'],
])('the body validator refuses %j with its place and the rule', (body, field) => {
  expect(problem(body)).toEqual(sentence(field))
})
test('the body validator names required fields first, and optional fields as such', () => {
  const both = Type.Object({ note: Type.Optional(Type.String()), ...Walk.properties })
  const optional = Type.Object({ note: Type.Optional(Type.String()) })
  expect([both, optional].map((schema) => compileCheck(schema)(null)!.problem)).toEqual([
    'expected a JSON object with the fields kind, from or start; optional: note',
    'expected a JSON object with the optional field note',
  ])
})
test('the body validator accepts a valid body, and any value of an unchecked property', () => {
  expect(problem({ speed: 9, place: { at: 'x' }, steps: [{ kind: 'walk', start: 5 }] })).toBeUndefined()
})
test('the body validator names the body property of a problem', () => {
  expect([check({ speed: 1, place: {} })?.property, check({ x: 1 })?.property]).toEqual(['place', undefined])
})
test('the schema of a body documents one form for each alias of a property', () => {
  const { oneOf: forms } = documented(Walk) as unknown as { oneOf: { required: string[] }[] }
  expect(forms.map(({ required }) => required)).toEqual([
    ['kind', 'from'],
    ['kind', 'start'],
  ])
})

testSentences()
