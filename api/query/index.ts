/**
 * Queries of records: parameters are read into a search, which the store and workers answer.
 *
 * parameters.ts has what may be asked, by the readers of readers.ts; filter.ts says what a filter in CQL2
 * (room cql2) means, of the properties in queryables.ts. search.ts plans: sieve.ts measures candidates
 * exactly, nearest.ts finds the nearest.
 */

export { cursorText, MAX_CURSOR_LENGTH, readCursor } from './cursor'
export { instantOf } from './iso-8601'
export { addressWith, linkHeader, type PageAddresses, pageAddresses } from './links'
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
  listTag,
  MAX_LIMIT,
  MAX_OFFSET,
  NO_QUERY,
  positionIn,
  RECORD_PATH,
  RECORD_QUERY,
  type RecordChoice,
  recordFormat,
} from './parameters'
export { type GivenQuery, invalid, knownTexts, parameter, pathOf, queryOf, readParameters } from './query'
export { QUERYABLES } from './queryables'
export {
  bboxOf,
  boxFrom,
  choiceReader,
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
  readText,
  readTimeSort,
  severalReader,
  TIME_SORTS,
  wholeReader,
} from './readers'
export { type RecordPage, RecordSearch, type SearchQuery } from './search'
export type { Place } from './sieve'
