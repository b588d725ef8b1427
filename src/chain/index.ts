/**
 * Reading a chain: logs and headers from JSON-RPC endpoints of which none is trusted alone.
 *
 * source.ts is what evm-processor reads from: history.ts asks for ranges of final blocks (as wide as range.ts
 * allows), head.ts follows the newest blocks (recent.ts holds them). blocks.ts reads single blocks and says
 * what vouches for them, by the proofs of proof.ts. logs.ts has the forms of logs and headers. doubt.ts
 * gathers the reasons why the copy is not reliable now.
 */

export { BlockReader } from './blocks'
export { ContradictionError, Doubt } from './doubt'
export { HeadReader } from './head'
export { HistoryReader } from './history'
export {
  type BlockLogs,
  headerCall,
  type LogFilter,
  type LogSelection,
  type RpcHeader,
  type RpcLog,
} from './logs'
export { startSource } from './source'
