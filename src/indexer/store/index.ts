/**
 * Every statement that the indexer and its commands send to Postgres. evm-processor writes to a ChainDatabase
 * (chain-database.ts). A BatchWriter (batch.ts) makes a batch rows of the log, records and answers. hot.ts
 * undoes the blocks that a reorg replaced, and logs changes that became final. replay.ts projects records and
 * answers again from the log and repairs the log. log.ts has the log's rows, status.ts the progress of a
 * chain's copy, schemas.ts the schemas that were found, attesters.ts the attesters whose answers are read,
 * writer.ts the process that may write, snapshot.ts the content of a snapshot, connection.ts connections,
 * COPY and locks.
 */
export * from './attesters'
export * from './batch'
export * from './chain-database'
export * from './connection'
export * from './hot'
export * from './log'
export * from './replay'
export * from './schemas'
export * from './snapshot'
export * from './status'
export * from './writer'
