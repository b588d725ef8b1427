import { LAST_HEIGHT } from '../chains'
import { hexNumber, type RpcCall } from '../rpc'
import { ContradictionError } from './doubt'

/** Fields of JSON-RPC logs and headers that the indexer reads, and the calls that request them. */

/** Filter of requested logs. A missing list matches any value. */
export interface LogFilter {
  address?: string[]
  topic0?: string[]
  topic2?: string[]
  topic3?: string[]
}

export interface LogSelection {
  readonly filters: readonly LogFilter[]
  /** Increases whenever the filters change. Logs read with an earlier version may be incomplete. */
  readonly version: number
  /**
   * Widens the filters by the announcements in these logs. Returns the number of new versions. Logs that pass
   * the new filters follow the announcing log on their chain.
   */
  learn(logs: readonly LearnedLog[]): Promise<number>
}

/** The fields of a log that may widen a selection. */
export type LearnedLog = Pick<RpcLog, 'address' | 'topics' | 'data'> & { blockNumber: string | number }

export interface RpcLog {
  address: string
  topics: string[]
  data: string
  blockNumber: string
  blockHash: string
  transactionHash: string
  transactionIndex: string
  logIndex: string
  /** True after a reorg has removed the log. */
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

/** A block as evm-processor passes it to its handler; the timestamp is in Unix milliseconds. */
export interface ChainBlock {
  header: { height: number; hash: string; parentHash: string; timestamp: number }
  logs: { address: string; topics: string[]; data: string; logIndex: number; transactionHash: string }[]
}

/** Converts a block from JSON-RPC's to evm-processor's form. Addresses become lower-case. */
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

/** Call that returns the latest block of an endpoint, without transactions. */
export const LATEST: RpcCall = { method: 'eth_getBlockByNumber', params: ['latest', false] }

/** Returns the call of eth_getBlockByNumber, without transactions. */
export function headerCall(number: number): RpcCall & { params: [string, boolean] } {
  return { method: 'eth_getBlockByNumber', params: [hexNumber(number), false] }
}

/** Returns the call of eth_getBlockByHash, without transactions. */
export function headerByHash(hash: string): RpcCall {
  return { method: 'eth_getBlockByHash', params: [hash, false] }
}

/** Returns the values that pass a filter, by place: the address, then the topics. */
export function placesOf({ address, topic0, topic2, topic3 }: LogFilter): (string[] | undefined)[] {
  return [address, topic0, undefined, topic2, topic3]
}

/** Converts a filter to the form that eth_getLogs accepts. */
export function logQuery(filter: LogFilter): { address?: string[]; topics: (string[] | null)[] } {
  const [address, ...lists] = placesOf(filter)
  const topics = lists.map((list) => (list?.length ? list : null))
  while (topics.length && topics[topics.length - 1] === null) topics.pop()
  return { ...(address?.length && { address }), topics }
}

/**
 * Returns the logs in chain order without duplicates, which some providers return. Throws a
 * ContradictionError for a value that is not a log, and for different logs of a block with one index.
 */
export function uniqueLogs(logs: RpcLog[]): RpcLog[] {
  const seen = new Map<string, RpcLog>()
  for (const log of logs) {
    if (!isLog(log)) throw new ContradictionError('the response to eth_getLogs is not a list of logs')
    const place = `${Number(log.blockNumber)}:${Number(log.logIndex)}`
    const other = seen.get(place)
    if (other && !haveSameLogs([other], [log]))
      throw new ContradictionError(
        `two logs of block ${Number(log.blockNumber)} have the index ${Number(log.logIndex)}`,
      )
    seen.set(place, log)
  }
  return [...seen.values()].sort(
    (a, b) => Number(a.blockNumber) - Number(b.blockNumber) || Number(a.logIndex) - Number(b.logIndex),
  )
}

/**
 * Checks the form of the members that the indexer reads or stores: a log that the database refuses would end
 * the indexer, although another endpoint has the correct log.
 */
function isLog(log: unknown): boolean {
  const { address, topics, data, blockNumber, logIndex, transactionHash } = (log ?? {}) as Partial<RpcLog>
  return (
    Array.isArray(topics) &&
    [address, data, transactionHash, ...topics].every((each) => typeof each === 'string') &&
    /^0x[0-9a-f]{40}$/i.test(address!) &&
    [transactionHash!, ...topics].every((each) => /^0x[0-9a-f]{64}$/i.test(each)) &&
    [blockNumber, logIndex].every(
      (each) => /^0x[0-9a-f]+$/i.test(String(each)) && Number(each) <= LAST_HEIGHT,
    )
  )
}

/** Returns the logs if all of them belong to this block. Throws a ContradictionError otherwise. */
export function ofBlock(logs: RpcLog[], header: RpcHeader): RpcLog[] {
  if (logs.some((log) => log.blockHash !== header.hash || log.removed))
    throw new ContradictionError(`logs and header of block ${Number(header.number)} are from different forks`)
  return logs
}

/** Groups the logs by block number. Keeps their order within a block. */
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

/** True if two lists have the same logs of a block, in the same order. */
export function haveSameLogs(some: readonly RpcLog[], others: readonly RpcLog[]): boolean {
  const content = (logs: readonly RpcLog[]) =>
    JSON.stringify(
      logs.map((log) => [
        Number(log.logIndex),
        log.transactionHash,
        log.address.toLowerCase(),
        log.topics,
        log.data,
      ]),
    )
  return content(some) === content(others)
}
