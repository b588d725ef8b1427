/**
 * Reads a chain: logs and headers from JSON-RPC endpoints, none of which is trusted alone.
 *
 * - history.ts: reads ranges of final blocks, as wide as the provider allows.
 * - head.ts: follows the newest blocks, which head-blocks.ts reads and followed.ts stores.
 * - blocks.ts: reads single blocks and reports the evidence for them, by the proofs of receipts.ts.
 * - replaced.ts: distinguishes a replaced chain from an endpoint that lags or lies.
 * - logs.ts: logs and headers, and the checks that each of them passes.
 * - doubt.ts: collects the reasons why the database may not agree with the chain now.
 */

export { BlockReader } from './blocks'
export { BrokenLinkError, ContradictionError, Doubt } from './doubt'
export { type BlockRef } from './followed'
export { type HeadReport, HeadReader } from './head'
export { HistoryReader, NotFinalYetError } from './history'
export {
  type ChainBlock,
  chainBlock,
  headerCall,
  inLowerCase,
  type BlockLogs,
  type LearnedLog,
  type LogFilter,
  type LogSelection,
  type RpcHeader,
  type RpcLog,
} from './logs'
export {
  type ComparisonOptions,
  type Contradiction,
  contradiction,
  otherChain,
  otherGateway,
} from './replaced'
