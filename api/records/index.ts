/**
 * GET /api/v0: the attested locations.
 *
 * A request enters in routes.ts. parameters.ts says what it may ask and reads it, search.ts plans it,
 * store.ts sends the statements of sql.ts; completion.ts makes what Postgres writes the records that are
 * shown; formats.ts, csv.ts, pages.ts or exports.ts write the answer, links.ts the addresses of its pages;
 * attested-pages.ts has what pages of answers (room answers) share; columnar/file.ts makes GeoParquet and
 * FlatGeobuf. freshness.ts answers 304, or what it answered before, while no record has changed; readiness.ts
 * tells how far each chain's copy goes. store-servers.ts chooses the server that a statement goes to.
 * filter.ts says what a filter in CQL2 (room cql2) means, of the properties in queryables.ts, and
 * sql-filter.ts asks it of the database. The fields of a record are the table RECORD_FIELDS of src/location.
 */

export {
  attestedListPage,
  attestedRow,
  cell,
  conditionsInWords,
  either,
  listAbove,
  orderOf,
  REVOKED,
  revokedNote,
  shortened,
  shortHex,
} from './attested-pages'
export { ColumnarFiles } from './columnar/file'
export { cursorText, MAX_CURSOR_LENGTH, readCursor } from './cursor'
export { Exports } from './exports'
export { chooseFormat, csvFile, featureText, featureTexts, ndjsonFile, recordText, withMark } from './formats'
export { Freshness, isKnown } from './freshness'
export { instantOf } from './iso-8601'
export { addressWith, type PageAddresses, pageAddresses } from './links'
export { drawMap } from './map'
export {
  type Bbox,
  isOneOf,
  lowered,
  NEWEST_FIRST,
  type OneOrMore,
  type RecordFilter,
  type RecordPosition,
  type Statement,
  type TimeSort,
} from './model'
export {
  formats,
  LOCATION_RECORD,
  PROVENANCE_PROPERTIES,
  RECORDS_COMPONENTS,
  RECORDS_ERRORS,
} from './openapi'
export { type Feature, featureBody, headline, titleOf } from './pages'
export {
  BOM,
  checkBom,
  choiceOf,
  choiceTag,
  CQL2_FILTER,
  DEFAULT_LIMIT,
  FILTERS,
  INCLUDE,
  listTag,
  MAX_LIMIT,
  positionIn,
  RECORD_PATH,
  type RecordChoice,
} from './parameters'
export { PROVENANCE_FIELDS, provenanceText } from './provenance'
export { type GivenQuery, invalid, knownTexts, parameter, pathOf, queryOf, readParameters } from './query'
export { QUERYABLES } from './queryables'
export {
  bboxOf,
  boxFrom,
  choiceReader,
  CRS84,
  CRS84H,
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
export { type AgeLimits, CHAIN_READINESS, doubtAbout, readinessOf } from './readiness'
export { recordsRoutes } from './routes'
export { RecordSearch, type SearchQuery } from './search'
export {
  type ChainChanges,
  type ChangedRecord,
  type ChangeIds,
  type ChangeKind,
  FINALITIES,
  type Finality,
} from './sql-changes'
export { boxesOf } from './sql-places'
export { conditions, isAny, PROVENANCE_TEXT, TYPE_INDEXED } from './sql'
export type { InputRow } from './store-inputs'
export { apiConnections, cancelStatement, type DatabaseError, isOutage } from './store-pool'
export { DatabaseServers } from './store-servers'
export { type IndexState, Store, translated } from './store'
