/**
 * Queries of records: parameters are read into a search, which the store and workers answer.
 *
 * parameters.ts has what may be asked; filter.ts says what a filter in CQL2 (room cql2) means, of the
 * properties in queryables.ts. search.ts plans a search and is entered once for it; candidates.ts reads
 * what may be at a place, sieve.ts measures it exactly, nearest.ts finds the nearest.
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
  readLocationType,
  readMemoWords,
  readSchemaUid,
  readSort,
  readTimeSort,
  RECORD_PATH,
  type RecordChoice,
  SORTS,
  TIME_SORTS,
} from './parameters'
export { QUERYABLES } from './queryables'
export { type PageQuery, RecordSearch, Search, type SearchQuery } from './search'
export type { Place } from './sieve'
