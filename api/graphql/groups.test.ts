import { graphql, GraphQLObjectType, GraphQLScalarType, GraphQLSchema } from 'graphql'
import { expect, test } from 'vitest'
import { invalid, type TextQuery } from '../http/parameters'
import { RecordsError, StatusError, UnavailableError } from '../http/problems'
import { OWN_WORK, type Work } from '../http/work'
import { groupsPlugin } from './groups'

/** Tests root fields for statistics by group, without a database. */

const asked: Record<string, string>[] = []
const works: Work[] = []
const query: TextQuery = {
  description: 'Counts.',
  parameters: { by: { description: 'Dimensions.' }, location_type: {}, format: {} },
  answer: async (texts, work) => {
    asked.push(texts)
    works.push(work)
    if (texts.by === 'memo') throw invalid('by', 'Expected day')
    if (texts.by === 'hour') throw new UnavailableError('It takes too long.')
    if (texts.by === 'chain') throw new RecordsError('rate-limited', 'Too many of your requests are running.')
    return { data: [], groups: 0 }
  },
}

const WORK: Work = { ...OWN_WORK, client: '192.0.2.1' }
/** Executes a query on a schema with these root fields only. */
async function ask(source: string) {
  let root: GraphQLObjectType | undefined
  const json = new GraphQLScalarType({ name: 'JSON' })
  const builder = {
    hook: (_: string, make: (...given: unknown[]) => object) => {
      const fields = make({}, { getTypeByName: () => json }, { scope: { isRootQuery: true } })
      root = new GraphQLObjectType({ name: 'Query', fields: fields as never })
    },
  }
  void groupsPlugin({ recordGroups: query })(builder as never, {})
  return graphql({
    schema: new GraphQLSchema({ query: root! }),
    source,
    contextValue: { work: WORK, reading: [] },
  })
}

test('the groups query maps arguments to REST parameters, and omits null and the format', async () => {
  const { data } = await ask('{ recordGroups(by: "day", locationType: null) }')
  expect(JSON.parse(JSON.stringify(data))).toEqual({ recordGroups: { data: [], groups: 0 } })
  await ask('{ recordGroups(by: "day", locationType: "h3,geohash") }')
  expect(asked).toEqual([{ by: 'day' }, { by: 'day', location_type: 'h3,geohash' }])
  expect((await ask('{ recordGroups(format: "csv") }')).errors).toHaveLength(1)
})

test('the groups query runs as work of its client, so that each client has its own share', async () => {
  await ask('{ a: recordGroups(by: "day") b: recordGroups(by: "day") }')
  expect(works.slice(-2)).toEqual([WORK, WORK])
})

test('the groups query reports invalid arguments per field, and reports outages', async () => {
  const { data, errors } = await ask('{ a: recordGroups(by: "day") b: recordGroups(by: "memo") }')
  expect(JSON.parse(JSON.stringify(data))).toEqual({ a: { data: [], groups: 0 }, b: null })
  expect(errors).toMatchObject([{ message: 'Invalid by parameter: Expected day', path: ['b'] }])
  const [outage] = (await ask('{ recordGroups(by: "hour") }')).errors!
  expect(outage!.originalError).toBeInstanceOf(UnavailableError)
  const [refusal] = (await ask('{ recordGroups(by: "chain") }')).errors!
  expect(refusal!.originalError).toBeInstanceOf(StatusError)
  expect(refusal!.originalError).toMatchObject({ statusCode: 429, headers: { 'retry-after': '5' } })
})
