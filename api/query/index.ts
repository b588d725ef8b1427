/**
 * Queries of records: parameters are read into a search, which the store and workers answer.
 *
 * parameters.ts has what may be asked, by the readers of readers.ts; filter.ts says what a filter in CQL2
 * (room cql2) means, of the properties in queryables.ts. search.ts plans: sieve.ts measures candidates
 * exactly, nearest.ts finds the nearest.
 */

export {
  BOM,
  checkBom,
  choiceOf,
  choiceTag,
  CQL2_FILTER,
  DEFAULT_LIMIT,
  FILTERS,
  INCLUDE,
  LIST_QUERY,
  listRequest,
  type ListRequest,
  MAX_LIMIT,
  NO_QUERY,
  RECORD_PATH,
  RECORD_QUERY,
  type RecordChoice,
  recordFormat,
} from './parameters'
export { QUERYABLES } from './queryables'
export {
  bboxOf,
  boxFrom,
  CRS84,
  CRS84H,
  MAX_RADIUS,
  numbersOf,
  readAddress,
  readAttributes,
  readChain,
  readCrs,
  readLocationType,
  readMemoWords,
  readSchemaUid,
  readTimeSort,
  TIME_SORTS,
} from './readers'
export { type RecordPage, RecordSearch, type SearchQuery } from './search'
export type { Place } from './sieve'
