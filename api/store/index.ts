/**
 * The store: records in the database, and how far each chain's data reaches.
 *
 * store.ts sends statements to the server that servers.ts chooses. model.ts has the types of queries and
 * results. SQL: sql.ts has filters, lists and counts, sql-near.ts the nearest records, sql-status.ts the
 * state of chains, sql-changes.ts the stream. windows.ts reads the newest records of a place window by
 * window. readiness.ts reports how far each chain is indexed. The fields of a record are the table
 * RECORD_FIELDS of src/location.
 */

export type { InputRow } from './inputs'
export {
  type Bbox,
  type Condition,
  type DecidedPlace,
  isOneOf,
  lowered,
  type NearRecords,
  NEWEST_FIRST,
  type OneOrMore,
  type PlacedRecord,
  type RecordFilter,
  type RecordPage,
  type RecordQuery,
  type RecordResult,
  type Sort,
  SORT_FIELDS,
  type Statement,
  type TimeSort,
} from './model'
export { apiConnections, cancelStatement, type DatabaseError, isOutage, STATEMENT_TIMEOUT_MS } from './pool'
export { PROVENANCE_FIELDS, PROVENANCE_TEXT } from './provenance'
export { type AgeLimits, CHAIN_READINESS, type ChainReadiness, doubtAbout, readinessOf } from './readiness'
export { DatabaseServers } from './servers'
export {
  type ChainChanges,
  type ChangedRecord,
  type ChangeIds,
  type ChangeKind,
  FINALITIES,
  type Finality,
} from './sql-changes'
export { POLAR } from './sql-near'
export type { ChainStatusRow, IndexState } from './sql-status'
export { boxesOf, conditions, isAny, pageOf, TYPE_INDEXED } from './sql'
export { Store, translated } from './store'
