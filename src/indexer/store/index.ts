/**
 * All statements that the indexer and its commands send to Postgres.
 *
 * - position.ts: the head, the last indexed and final blocks, the hot blocks that a reorg replaces, and the
 *   database as evm-processor sees it.
 * - batch.ts: the rows of a batch in log, records and answers, COPY, and isolation of what Postgres refuses.
 * - replay.ts: projects records and answers again from the event log, and repairs the log.
 * - log.ts: rows of the event log.
 * - status.ts: progress of replay and audit.
 * - schemas.ts: location schemas that were found.
 * - attesters.ts: attesters whose answers are indexed.
 * - snapshot.ts: content of a snapshot.
 * - connection.ts: connections, transactions and locks, and the process that may write.
 */
export * from './attesters'
export * from './batch'
export * from './connection'
export * from './log'
export * from './position'
export * from './replay'
export * from './schemas'
export * from './snapshot'
export * from './status'
