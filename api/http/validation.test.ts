import { Type } from '@sinclair/typebox'
import { expect, test } from 'vitest'
import { constant, named, oneOf, ref } from './schema'
import { compileCheck, documented, unchecked, withRules } from './validation'

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
  [[], 'body: expected a JSON object with the fields speed, place, steps'],
  [{ speeed: 1 }, 'speeed: unknown field; known ones are speed, place, steps'],
  [{ constructor: 1 }, 'constructor: unknown field; known ones are speed, place, steps'],
  [{}, 'speed: expected a number'],
  [{ speed: '1' }, 'speed: expected a number'],
  [{ speed: 1, place: {} }, 'place.at: expected a string'],
  [{ speed: 0 }, 'speed: expected a speed up to 9'],
  [{ speed: NaN }, 'speed: expected a speed up to 9'],
  [{ speed: 1, place: null }, 'place: expected a JSON object with the fields at'],
  [{ speed: 1, place: { at: 'X' } }, 'place.at: expected a string'],
  [{ speed: 1, steps: [] }, 'steps: expected a list of 1 to 2'],
  [{ speed: 1, steps: [null] }, 'steps[0]: expected a JSON object with kind'],
  [{ speed: 1, steps: [{}] }, 'steps[0]: kind: expected one of walk, rest'],
  [{ speed: 1, steps: [{ kind: 'rest' }, { kind: 'walk' }] }, 'steps[1]: from: missing; expected a place'],
  [
    { speed: 1, steps: [{ kind: 'walk', from: 1, start: 2 }] },
    'steps[0]: from, start: the same parameter twice; give one',
  ],
])('%j is refused with its place and what would be right', (body, message) => {
  expect(problem(body)).toBe(message)
})
test('a valid body has no problem; an unchecked property may be anything', () => {
  expect(problem({ speed: 9, place: { at: 'x' }, steps: [{ kind: 'walk', start: 5 }] })).toBeUndefined()
})
test('a problem names the body property that it is in', () => {
  expect([check({ speed: 1, place: {} })?.property, check({ x: 1 })?.property]).toEqual(['place', undefined])
})
test('the OpenAPI schema has one form for each alias of a property', () => {
  const { oneOf: forms } = documented(Walk) as unknown as { oneOf: { required: string[] }[] }
  expect(forms.map(({ required }) => required)).toEqual([
    ['kind', 'from'],
    ['kind', 'start'],
  ])
})
