/**
 * The transparency log of signatures (/log/v0; docs/reference/log.md).
 *
 * Before a signature leaves the process, the attester (api/compute) commits its entry with writer.ts.
 * sequencer.ts assigns positions to entries, builds tiles and signs checkpoints, in the one process that
 * holds the lease; witnesses.ts asks witnesses for cosignatures. routes.ts serves checkpoints, tiles and
 * proofs from the database (store.ts). settings.ts reads the key and the policy. log.ts connects these parts.
 * The formats are in src/tlog.
 */
export { readKeyOfLog, readPolicyFile } from './settings'
export { SignatureLog } from './log'
export { logRoutes } from './routes'
export { LOG_COMPONENTS, LogClaim } from './schemas'
