import type { GraphQLOutputType } from 'graphql'
import { GraphQLString } from 'graphql'
import type { Plugin } from 'postgraphile'
import type { TextQuery } from '../http/parameters'
import { RecordsError, RETRY_AFTER_SECONDS, StatusError } from '../http/problems'
import type { Work } from '../http/work'
import { QueryError } from './limits'

/** Root fields for statistics by group. Each is a query of the REST API, with its parameters as arguments. */

/** Queries by the name of the field. */
export type GroupQueries = Readonly<Record<string, TextQuery>>
/** Context of a resolver. */
export interface GroupContext {
  work: Work
  reading: Promise<unknown>[]
}

/** Parameters that choose a representation. */
const WITHOUT = ['format', 'bom']
const argumentOf = (parameter: string) =>
  parameter.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

export function groupsPlugin(queries: GroupQueries): Plugin {
  return (builder) => {
    builder.hook('GraphQLObjectType:fields', (fields, build, { scope }) => {
      if (!(scope as { isRootQuery?: boolean }).isRootQuery) return fields
      const { getTypeByName } = build as unknown as { getTypeByName: (name: string) => GraphQLOutputType }
      const json = getTypeByName('JSON')
      const more = Object.entries(queries).map(([name, query]) => [name, fieldOf(query, json)] as const)
      return { ...fields, ...(Object.fromEntries(more) as unknown as typeof fields) }
    })
  }
}

function fieldOf({ description, parameters, answer }: TextQuery, json: GraphQLOutputType) {
  const names = Object.keys(parameters).filter((name) => !WITHOUT.includes(name))
  return {
    type: json,
    description: `${description} Arguments and response are those of the REST API: texts, several values separated by commas.`,
    args: Object.fromEntries(
      names.map((name) => [
        argumentOf(name),
        { type: GraphQLString, description: parameters[name]!.description ?? null },
      ]),
    ),
    resolve: (_: unknown, args: Record<string, string | null>, { work, reading }: GroupContext) => {
      const texts = names.flatMap((name) => {
        const text = args[argumentOf(name)]
        return text == null ? [] : [[name, text] as const]
      })
      const answered = answer(Object.fromEntries(texts), work).catch((error: Error) => {
        if (!(error instanceof RecordsError)) throw error
        const message = `${error.message}: ${error.detail}`
        if (!error.retryable) throw new QueryError(message)
        throw new StatusError(error.status, message, { 'retry-after': String(RETRY_AFTER_SECONDS) })
      })
      reading.push(answered)
      return answered
    },
  }
}
