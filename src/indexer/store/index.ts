/**
 * Every statement that the indexer and its commands send to Postgres. evm-processor writes to a ChainDatabase
 * (chain-database.ts). A BatchWriter (batch.ts) makes a batch rows of the log, records and answers. hot.ts
 * takes back the blocks of a reorg, and logs what became final. replay.ts
 * makes records and answers anew from the log and repairs the log; log.ts has the log's rows, status.ts how
 * far a chain's copy goes, schemas.ts which schemas were found, attesters.ts whose answers are read,
 * writer.ts which process may write, snapshot.ts what a snapshot has, connection.ts connections, COPY and locks.
 */
export { insertAttesters, takeAttesters, takenAttesters, type AnswerAttester } from './attesters'
export { BatchWriter } from './batch'
export { ChainDatabase } from './chain-database'
export { Database, lockChain, type Copy, type Query } from './connection'
export { LAST_HEIGHT, finalState, rewindFinal, settleHotBlocks, type ChainState } from './hot'
export {
  bodilessEvents,
  bodyOf,
  countUids,
  eventOf,
  isBodiless,
  lastEventBlock,
  rowOf,
  storeBody,
  storedEvents,
  withheldAttestations,
  type StoredEvent,
  type Watched,
} from './log'
export { NotFinalError, repairLog, replayAgain, replayPage, type Replayed } from './replay'
export {
  atOneMoment,
  contentOf,
  countEvents,
  endRestore,
  eventTexts,
  insertEventTexts,
  migrationsOf,
  snapshotPosition,
  type SnapshotPosition,
} from './snapshot'
export {
  foundSchemas,
  insertSchemas,
  noteWatched,
  schemaUses,
  storeSchemas,
  type FoundSchema,
} from './schemas'
export {
  CHANGES_FORGOTTEN_AT_ONCE,
  followsHead,
  forgetChanges,
  indexedTip,
  noteAudited,
  noteHead,
  noteReading,
  noteSchemas,
  noteUnproven,
  readingOf,
  spendAuditCalls,
  unaudited,
} from './status'
export { holdWriter, releaseWriter, renewWriter, takeWriter } from './writer'
