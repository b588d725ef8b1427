import { choiceOf, FILTERS } from '../query'
import { queryOf, readQuery } from '../http/parameters'
import { lowered } from '../store'
import type { ChangeFilter } from './changes'

/** Filters of changes: the filters of the list that a single record can be checked against. */
const { chain, prover, subject, schema, location_type, bbox } = FILTERS
export const CHANGE_FILTERS = { chain, prover, subject, schema, location_type, bbox }
const QUERY = queryOf(CHANGE_FILTERS)

export function filterOf(query: typeof QUERY.static): ChangeFilter {
  const { chain, prover, subject, schema, locationType, bbox } = choiceOf(query)
  return { chain, prover, subject, schema, locationType: locationType && lowered(locationType), bbox }
}

/** Reads a filter from the query texts of the stream. Throws a RecordsError. */
export function filterOfTexts(texts: Readonly<Record<string, string>>): ChangeFilter {
  return filterOf(readQuery(QUERY, texts))
}
