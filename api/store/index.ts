/**
 * The store: the records in the database, and how far their copy goes.
 *
 * store.ts sends the statements of sql.ts to the server that servers.ts chooses; model.ts has the types of
 * what is asked and answered. freshness.ts answers 304, or what it answered before, while no record has
 * changed; readiness.ts tells how far each chain's copy goes. sql-filter.ts asks a filter in CQL2 of the
 * database. The fields of a record are the table RECORD_FIELDS of src/location.
 */

export { Freshness, isKnown } from './freshness'
export type { InputRow } from './inputs'
export { apiConnections, cancelStatement, type DatabaseError, isOutage, STATEMENT_TIMEOUT_MS } from './pool'
export { PROVENANCE_FIELDS, provenanceText } from './provenance'
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
export { boxesOf } from './sql-places'
export { BareRecord, conditions, isAny, POLAR, PROVENANCE_TEXT, TYPE_INDEXED } from './sql'
export { type ChainStatusRow, type IndexState, Store, translated } from './store'
