/**
 * All statements that the indexer and its commands send to Postgres.
 *
 * - batch.ts: the database as evm-processor sees it, and the rows of log, records and answers in it.
 * - position.ts: the head, the last indexed and final blocks, and the hot blocks that a reorg replaces.
 * - replay.ts: projects records and answers again from the event log, and repairs the log.
 * - log.ts: rows of the event log.
 * - status.ts: progress of replay and audit.
 * - schemas.ts: location schemas that were found.
 * - attesters.ts: attesters whose answers are indexed.
 * - lease.ts: the process that may write.
 * - snapshot.ts: content of a snapshot.
 * - connection.ts: connections, locks, COPY, and isolation of what Postgres refuses.
 */
export * from './attesters'
export * from './batch'
export * from './connection'
export * from './lease'
export * from './log'
export * from './position'
export * from './replay'
export * from './schemas'
export * from './snapshot'
export * from './status'
