/**
 * Every statement that the indexer and its commands send to Postgres. evm-processor writes to a ChainDatabase
 * (chain-database.ts). A BatchWriter (batch.ts) makes a batch rows of the log, records and answers. hot.ts
 * takes back the blocks of a reorg, and logs what became final. replay.ts
 * makes records and answers anew from the log and repairs the log; log.ts has the log's rows, status.ts how
 * far a chain's copy goes, schemas.ts which schemas were found, attesters.ts whose answers are read,
 * writer.ts which process may write, snapshot.ts what a snapshot has, connection.ts connections, COPY and locks.
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
