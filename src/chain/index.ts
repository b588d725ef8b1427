/**
 * Reading a chain: logs and headers from JSON-RPC endpoints of which none is trusted alone.
 *
 * source.ts is what evm-processor's runner reads from: history.ts reads ranges of final blocks (as wide as
 * range.ts allows), head.ts follows the newest blocks (followed.ts holds them). blocks.ts reads single blocks
 * and states what vouches for them, by the proofs of proof.ts. replaced.ts tells a replaced chain from an
 * endpoint that lags or lies. logs.ts has the forms of logs and headers. doubt.ts gathers the reasons why the
 * database may not agree with the chain now.
 */

export { BlockReader } from './blocks'
export { ContradictionError, Doubt } from './doubt'
export { type BlockRef } from './followed'
export { type HeadReport, HeadReader } from './head'
export { HistoryReader } from './history'
export {
  type ChainBlock,
  chainBlock,
  headerCall,
  type LearnedLog,
  type LogFilter,
  type LogSelection,
  type RpcHeader,
  type RpcLog,
} from './logs'
export { contradiction, otherChain } from './replaced'
export { ChainSource } from './source'
