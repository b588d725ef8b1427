import { RLP } from '@ethereumjs/rlp'
import { keccak256 as keccakOfHex } from 'ethers/crypto'
import { getBytes, toBeArray } from 'ethers/utils'
import { LAST_HEIGHT } from '../chains'
import { keccak256, parseAddress, parseUid, payloadBytes } from '../eas'
import { hexNumber, type RpcCall } from '../rpc'
import { ContradictionError } from './doubt'

/**
 * JSON-RPC logs and headers: the fields that the indexer reads, the calls that request them, and what shows
 * that a response is false: its form, its fork, the hash of the header and the bloom filter.
 */

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

/** A log. Its hex is lower-case once `uniqueLogs` has checked it. */
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

/** A JSON-RPC header with all hashed fields. Some exist only since the fork that added them. */
export interface FullHeader extends RpcHeader {
  receiptsRoot: string
  transactions: string[]
  [field: string]: unknown
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

/** Converts a block from JSON-RPC's to evm-processor's form. */
export function chainBlock({ header, logs }: BlockLogs): ChainBlock {
  return {
    header: {
      height: Number(header.number),
      hash: header.hash,
      parentHash: header.parentHash,
      timestamp: Number(header.timestamp) * 1000,
    },
    logs: logs.map(({ address, topics, data, logIndex, transactionHash }) => ({
      ...{ address, topics, data, logIndex: Number(logIndex), transactionHash },
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
function placesOf({ address, topic0, topic2, topic3 }: LogFilter): (string[] | undefined)[] {
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
 * Returns the logs in chain order, with hex in lower case, and without duplicates, which some providers
 * return. Throws a ContradictionError for a value that is not a log, and for different logs of a block with
 * one index.
 */
export function uniqueLogs(logs: RpcLog[]): RpcLog[] {
  const seen = new Map<string, RpcLog>()
  for (const given of logs) {
    if (!isLog(given)) throw new ContradictionError('the response to eth_getLogs is not a list of logs')
    const log = inLowerCase(given)
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
  const { address, topics, data, blockNumber, blockHash, logIndex, transactionHash } = (log ??
    {}) as Partial<RpcLog>
  return (
    Array.isArray(topics) &&
    typeof data === 'string' &&
    parseAddress(address) !== undefined &&
    [blockHash, transactionHash, ...topics].every(isHash) &&
    [blockNumber, logIndex].every((each) => isUpTo(LAST_HEIGHT, each))
  )
}

/** Last second of the year 9999. The database parses no later time. */
const LAST_TIME = 253_402_300_799

/** Returns a header, with its hashes in lower case; undefined for a value that is not a header. */
export function headerOf(value: unknown): FullHeader | undefined {
  const header = (value ?? {}) as FullHeader
  const [hash, parentHash] = [parseUid(header.hash), parseUid(header.parentHash)]
  if (hash === undefined || parentHash === undefined) return undefined
  if (!isUpTo(LAST_HEIGHT, header.number) || !isUpTo(LAST_TIME, header.timestamp)) return undefined
  // No hash covers the list, which is only needed for receipts of unusual forms.
  const transactions = Array.isArray(header.transactions) ? header.transactions : []
  return { ...header, hash, parentHash, transactions }
}

const isHash = (value: unknown) => parseUid(value) !== undefined
const isUpTo = (most: number, value: unknown) => isQuantity(value) && Number(value) <= most

/** Hashes, filters and events are compared by their text, and JSON-RPC permits both cases. */
export function inLowerCase<Log extends ChainBlock['logs'][number] | RpcLog>(log: Log): Log {
  return {
    ...log,
    ...('blockHash' in log && { blockHash: log.blockHash.toLowerCase() }),
    address: log.address.toLowerCase(),
    topics: log.topics.map((topic) => topic.toLowerCase()),
    data: log.data.toLowerCase(),
    transactionHash: log.transactionHash.toLowerCase(),
  }
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
      logs.map((log) => [Number(log.logIndex), log.transactionHash, log.address, log.topics, log.data]),
    )
  return content(some) === content(others)
}

/**
 * Fields of a header in the order of hashing (Yellow Paper, 4.3; EIP-1559, 4895, 4844, 4788, 7685, 7928,
 * 7843). A `quantity` is hashed without leading zeros. Headers before the fork that added it lack a field
 * with `?`.
 */
const HEADER_FIELDS = (
  [
    ['bytes', 'parentHash sha3Uncles miner stateRoot transactionsRoot receiptsRoot logsBloom'],
    ['quantity', 'difficulty number gasLimit gasUsed timestamp'],
    ['bytes', 'extraData mixHash nonce'],
    ['quantity?', 'baseFeePerGas'],
    ['bytes?', 'withdrawalsRoot'],
    ['quantity?', 'blobGasUsed excessBlobGas'],
    ['bytes?', 'parentBeaconBlockRoot requestsHash blockAccessListHash'],
    ['quantity?', 'slotNumber'],
  ] as const
).flatMap(([kind, names]) => names.split(' ').map((name) => ({ name, kind })))

/**
 * True if a header hashes to its own hash: no field was changed or left out. False also for unsupported
 * forms, as of Celo before it became a layer 2.
 */
export async function hashesToItself(header: RpcHeader): Promise<boolean> {
  const fields: Uint8Array[] = []
  try {
    for (const { name, kind } of HEADER_FIELDS) {
      const value = (header as unknown as Record<string, unknown>)[name]
      if (kind.endsWith('?') && (value === undefined || value === null)) continue
      if (kind.startsWith('bytes')) fields.push(bytes(value))
      else if (isQuantity(value)) fields.push(quantity(value))
      else return false
    }
  } catch {
    return false // throws if a field is not hex
  }
  return `0x${await keccak256(RLP.encode(fields))}` === header.hash
}

/**
 * Returns a test that is false if a block with this logsBloom cannot have a log that passes one of the
 * filters (Yellow Paper, 4.3.1: each address and topic sets three of 2,048 bits).
 */
export function bloomTest(filters: readonly LogFilter[]): (logsBloom: string | undefined) => boolean {
  // Bits of each value that passes, by field of the log.
  const wanted = filters.map((filter) =>
    placesOf(filter).flatMap((values) => (values?.length ? [values.map(bloomBits)] : [])),
  )
  return (logsBloom) => {
    const has = bitTest(logsBloom)
    return !has || wanted.some((places) => places.every((values) => values.some((bits) => bits.every(has))))
  }
}

/** Returns a test that is false if a block with this logsBloom cannot have the log. */
export function bloomLogTest(): (logsBloom: string | undefined, log: RpcLog) => boolean {
  // Most logs repeat the values of others, and hashing takes longer than the test.
  const known = new Map<string, number[]>()
  const bitsOf = (value: string) => {
    const bits = known.get(value) ?? bloomBits(value)
    known.set(value, bits)
    return bits
  }
  return (logsBloom, { address, topics }) => {
    const has = bitTest(logsBloom)
    return !has || [address, ...topics].every((value) => bitsOf(value).every(has))
  }
}

/** Returns a test of the bits of this logsBloom; undefined if it is not a bloom filter. */
function bitTest(logsBloom: string | undefined): ((bit: number) => boolean) | undefined {
  if (logsBloom?.length !== 514) return undefined
  return (bit) => ((parseInt(logsBloom[2 + 511 - (bit >> 2)]!, 16) >> (bit & 3)) & 1) === 1
}

/** Returns a test that is true if a log passes one of the filters. */
function logTest(filters: readonly LogFilter[]): (log: RpcLog) => boolean {
  const wanted = filters.map((filter) =>
    placesOf(filter).map((values) => (values?.length ? new Set(values) : undefined)),
  )
  return ({ address, topics }) => {
    const places = [address, ...topics]
    return wanted.some((each) => each.every((values, place) => !values || values.has(places[place]!)))
  }
}

/** Returns `bloomTest()` and `logTest()` of a selection, which are rebuilt only when it has changed. */
export function selectionTests(selection: LogSelection) {
  const make = ({ filters, version }: LogSelection) => {
    return { version, mayHold: bloomTest(filters), isOurs: logTest(filters) }
  }
  let made = make(selection)
  return () => (made.version === selection.version ? made : (made = make(selection)))
}

/** Returns the three bits that a value sets, counted from the least significant bit of the bloom filter. */
export function bloomBits(value: string): number[] {
  const hash = getBytes(keccakOfHex(value))
  return [0, 2, 4].map((i) => ((hash[i]! << 8) | hash[i + 1]!) & 2047)
}

const isQuantity = (value: unknown): value is string =>
  typeof value === 'string' && /^0x[0-9a-fA-F]+$/.test(value)

/** Decodes bytes in hex. Throws for text that RLP would also accept but the filters read differently. */
export function bytes(value: unknown): Uint8Array {
  try {
    return payloadBytes(value as string)
  } catch {
    throw new TypeError(`expected bytes in hex, got ${String(value).slice(0, 80)}`)
  }
}

/** Encodes a number for RLP: big-endian, without leading zeros, empty for 0. */
export function quantity(value: string | number): Uint8Array {
  return toBeArray(BigInt(value))
}
