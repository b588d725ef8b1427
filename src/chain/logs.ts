import { hexNumber, type RpcCall } from '../rpc'
import { ContradictionError } from './doubt'

/** Logs and headers as JSON-RPC gives them, as far as they are read here; and the calls that ask for them. */

/** Which logs are asked for. A missing list means "any". */
export interface LogFilter {
  address?: string[]
  topic0?: string[]
  topic1?: string[]
  topic2?: string[]
  topic3?: string[]
}

/** The logs that are wanted. What a log announces may widen them. */
export interface LogSelection {
  readonly filters: readonly LogFilter[]
  /** Counts up whenever the filters change: logs of an earlier version may lack some. */
  readonly version: number
  /**
   * Widens the filters by what these logs announce, and answers by how many versions: 0 where they say
   * nothing new. Logs that pass the new filters come after the announcing log on their chain.
   */
  learn(logs: readonly LearnedLog[]): Promise<number>
}

/** The part of a log that may widen a selection. */
export type LearnedLog = Pick<RpcLog, 'address' | 'topics' | 'data'> & { blockNumber: string | number }

/** Filters that stay as they are. */
export function fixedSelection(filters: readonly LogFilter[]): LogSelection {
  return { filters, version: 0, learn: () => Promise.resolve(0) }
}

export interface RpcLog {
  address: string
  topics: string[]
  data: string
  blockNumber: string
  blockHash: string
  transactionHash: string
  transactionIndex: string
  logIndex: string
  /** True after a reorg has removed it. */
  removed?: boolean
}
export interface RpcHeader {
  number: string
  hash: string
  parentHash: string
  timestamp: string
  logsBloom?: string
}

/** A block with those of its logs that pass the filters, in order, without duplicates. */
export interface BlockLogs {
  header: RpcHeader
  logs: RpcLog[]
}

/** A block as evm-processor passes it to its handler; timestamp in Unix milliseconds. */
export interface ChainBlock {
  header: { height: number; hash: string; parentHash: string; timestamp: number }
  logs: { address: string; topics: string[]; data: string; logIndex: number; transactionHash: string }[]
}

/** A block of JSON-RPC in the form of evm-processor. Addresses are lower-case. */
export function chainBlock({ header, logs }: BlockLogs): ChainBlock {
  return {
    header: {
      height: Number(header.number),
      hash: header.hash,
      parentHash: header.parentHash,
      timestamp: Number(header.timestamp) * 1000,
    },
    logs: logs.map(({ address, topics, data, logIndex, transactionHash }) => ({
      ...{ address: address.toLowerCase(), topics, data, logIndex: Number(logIndex), transactionHash },
    })),
  }
}

/** The call for the latest block of an endpoint, without transactions. */
export const LATEST: RpcCall = { method: 'eth_getBlockByNumber', params: ['latest', false] }

/** The call of eth_getBlockByNumber, without transactions. */
export function headerCall(number: number): RpcCall & { params: [string, boolean] } {
  return { method: 'eth_getBlockByNumber', params: [hexNumber(number), false] }
}

/** The call of eth_getBlockByHash, without transactions. */
export function headerByHash(hash: string): RpcCall {
  return { method: 'eth_getBlockByHash', params: [hash, false] }
}

/** A filter as eth_getLogs takes it. */
export function logQuery({ address, topic0, topic1, topic2, topic3 }: LogFilter): {
  address?: string[]
  topics: (string[] | null)[]
} {
  const topics = [topic0, topic1, topic2, topic3].map((list) => (list?.length ? list : null))
  while (topics.length && topics[topics.length - 1] === null) topics.pop()
  return { ...(address?.length && { address }), topics }
}

/**
 * The logs in chain order without duplicates, as some providers repeat logs. Throws a ContradictionError when
 * two different logs have one number, as from a node that numbers logs by transaction.
 */
export function uniqueLogs(logs: RpcLog[]): RpcLog[] {
  const seen = new Map<string, RpcLog>()
  for (const log of logs) {
    const place = `${Number(log.blockNumber)}:${Number(log.logIndex)}`
    const other = seen.get(place)
    if (other && (other.transactionHash !== log.transactionHash || other.data !== log.data))
      throw new ContradictionError(
        `the node gives two logs of block ${Number(log.blockNumber)} the number ${Number(log.logIndex)}`,
      )
    seen.set(place, log)
  }
  return [...seen.values()].sort(
    (a, b) => Number(a.blockNumber) - Number(b.blockNumber) || Number(a.logIndex) - Number(b.logIndex),
  )
}

/** The logs, if all of them belong to this block. Throws a ContradictionError otherwise. */
export function ofBlock(logs: RpcLog[], header: RpcHeader): RpcLog[] {
  if (logs.some((log) => log.blockHash !== header.hash || log.removed))
    throw new ContradictionError(`logs and header of block ${Number(header.number)} are of different forks`)
  return logs
}

/** The logs by block number; the order within a block is kept. */
export function byBlock(logs: readonly RpcLog[]): Map<number, RpcLog[]> {
  const blocks = new Map<number, RpcLog[]>()
  for (const log of logs) {
    const number = Number(log.blockNumber)
    const own = blocks.get(number)
    if (own) own.push(log)
    else blocks.set(number, [log])
  }
  return blocks
}
