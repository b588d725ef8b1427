/**
 * Queries of records: reads parameters into a search, which the store and workers carry out.
 *
 * parameters.ts defines the parameters, groups.ts those of statistics by group. filter.ts translates a CQL2
 * filter (room cql2) into conditions on the properties in queryables.ts. search.ts plans a search and is
 * entered once per search. candidates.ts reads the records that may be at a place, sieve.ts measures them
 * exactly, and nearest.ts finds the nearest ones.
 */

export {
  BOM,
  checkBom,
  choiceOf,
  choiceTag,
  CQL2_FILTER,
  CRS84,
  CRS84H,
  DEFAULT_LIMIT,
  FILTERS,
  INCLUDE,
  MAX_LIMIT,
  MAX_RADIUS,
  readAddress,
  readAttributes,
  readChain,
  readCrs,
  readMemoWords,
  readSort,
  readTimeSort,
  RECORD_PATH,
  type RecordChoice,
  SORTS,
  TIME_SORTS,
  uidReader,
} from './parameters'
export { groupParameters, groupsRequest, SUM } from './groups'
export { QUERYABLES } from './queryables'
export { type PageQuery, RecordSearch, Search, type SearchQuery } from './search'
export type { Place } from './sieve'
