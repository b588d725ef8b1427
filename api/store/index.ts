/**
 * The store: records in the database, and how far each chain's data reaches.
 *
 * store.ts sends statements to the server that servers.ts chooses. model.ts has the types of queries and
 * results. SQL: sql.ts has filters, lists and counts, sql-groups.ts (run by groups.ts) statistics by group,
 * sql-near.ts the nearest records, sql-status.ts the state of chains, sql-changes.ts the stream. windows.ts
 * reads the newest records of a place window by window. readiness.ts reports how far each chain is indexed.
 * The fields of a record are the table RECORD_FIELDS of src/location.
 */

export type { InputRow } from './inputs'
export {
  type Bbox,
  type Bind,
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
export {
  apiConnections,
  cancelStatement,
  type DatabaseError,
  isOutage,
  isTimeout,
  openPool,
  RETRY,
  STATEMENT_TIMEOUT_MS,
} from './pool'
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
export type { ChainStatusRow, IndexState, Stats } from './sql-status'
export { groups, recordGroups } from './groups'
export {
  ANSWER_DIMENSIONS,
  type Dimension,
  type Group,
  type GroupBy,
  type GroupQuery,
  type Groups,
  MAX_GROUPS,
  type Measures,
  RECORD_DIMENSIONS,
  scanned,
  SUMS,
  type SumName,
} from './sql-groups'
export { boxesOf, charactersOf, conditions, isAny, pageOf, statement, TYPE_INDEXED, WHOLE_PAGE } from './sql'
export { DEEP_OFFSET, Store, translated } from './store'
export { zoneCandidates, type ZoneSet } from './zones'
