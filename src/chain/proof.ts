import { RLP, type Input } from '@ethereumjs/rlp'
import { keccak256 as keccakOfHex } from 'ethers/crypto'
import { getBytes, hexlify, toBeArray } from 'ethers/utils'
import { keccak256, payloadBytes } from '../eas'
import { hexNumber } from '../rpc'
import { placesOf, type LogFilter, type LogSelection, type RpcHeader, type RpcLog } from './logs'

/** Proofs about the logs of a block by its header: by the bloom filter and by the receipts. */

/** A JSON-RPC header with all hashed fields. Some exist only since the fork that added them. */
export interface FullHeader extends RpcHeader {
  receiptsRoot: string
  transactions: string[]
  [field: string]: unknown
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

/** Hashed fields of a JSON-RPC receipt. */
export interface RpcReceipt {
  type?: string
  status?: string
  root?: string
  cumulativeGasUsed: string
  logsBloom: string
  logs: RpcLog[]
  blockHash: string
  transactionHash: string
  /** Fields of OP Stack deposits since Canyon. */
  depositNonce?: string
  depositReceiptVersion?: string
  /** Field of Celo's fee-currency transactions (CIP-64). */
  baseFee?: string
}

const OP_DEPOSIT = 0x7e
const CELO_FEE_CURRENCY = 0x7b
/** Types of transactions on Ethereum and layer 2 chains whose receipts `receiptsRoot` encodes correctly. */
const KNOWN_TYPES: ReadonlySet<number> = new Set([
  ...[0, 1, 2, 3, 4, OP_DEPOSIT, CELO_FEE_CURRENCY],
  // Arbitrum: deposit, unsigned, contract, retry, submit retryable, internal, legacy.
  ...[0x64, 0x65, 0x66, 0x68, 0x69, 0x6a, 0x78],
])

/** True if `receiptsRoot` supports the type of the receipt (EIP-2718). */
export function hasKnownType({ type }: RpcReceipt): boolean {
  return KNOWN_TYPES.has(Number(type ?? 0))
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
    const places = [address.toLowerCase(), ...topics]
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

/** True if receipts lack a log of a block with this logsBloom. False does not prove that they have all. */
export function lacksLogs(logsBloom: string | undefined, receipts: readonly RpcReceipt[]): boolean {
  if (logsBloom?.length !== 514) return false
  let left = BigInt(logsBloom)
  const values = receipts.flatMap(({ logs }) => logs.flatMap(({ address, topics }) => [address, ...topics]))
  for (const bit of new Set(values.flatMap(bloomBits))) left &= ~(1n << BigInt(bit))
  return left !== 0n
}

/** Returns the three bits that a value sets, counted from the least significant bit of the bloom filter. */
function bloomBits(value: string): number[] {
  const hash = getBytes(keccakOfHex(value))
  return [0, 2, 4].map((i) => ((hash[i]! << 8) | hash[i + 1]!) & 2047)
}

/**
 * Computes the root of the trie of a block's receipts (Yellow Paper, 4.3.1; EIP-2718), of Ethereum, the OP
 * Stack, Celo as a layer 2 and Arbitrum. If it is the header's, these are all receipts of the block.
 */
export async function receiptsRoot(receipts: readonly RpcReceipt[]): Promise<string> {
  // The module is loaded with the first receipts, because few batches need receipts.
  const { createMPT } = await import('@ethereumjs/mpt')
  const trie = await createMPT({})
  for (const [i, receipt] of receipts.entries())
    await trie.put(RLP.encode(quantity(i)), encodedReceipt(receipt))
  return hexlify(trie.root())
}

/**
 * Extracts the logs of a block from its receipts. The root covers neither the numbers of a log nor the case
 * of hex, so numbers are derived from positions, and hex becomes lower-case.
 */
export function logsOf(header: FullHeader, receipts: readonly RpcReceipt[]): RpcLog[] {
  let logIndex = 0
  return receipts.flatMap((receipt, i) =>
    receipt.logs.map((log) => ({
      ...{
        address: log.address.toLowerCase(),
        topics: log.topics.map((topic) => topic.toLowerCase()),
        data: log.data.toLowerCase(),
        blockNumber: header.number,
        blockHash: header.hash,
      },
      ...{
        transactionHash: header.transactions[i] ?? receipt.transactionHash,
        transactionIndex: hexNumber(i),
        logIndex: hexNumber(logIndex++),
      },
    })),
  )
}

function encodedReceipt(receipt: RpcReceipt): Uint8Array {
  const type = Number(receipt.type ?? 0)
  const fields: Input[] = [
    receipt.status === undefined ? bytes(receipt.root ?? '0x') : quantity(Number(receipt.status)),
    quantity(receipt.cumulativeGasUsed),
    bytes(receipt.logsBloom),
    receipt.logs.map((log) => [bytes(log.address), log.topics.map(bytes), bytes(log.data)]),
  ]
  if (type === OP_DEPOSIT && receipt.depositReceiptVersion !== undefined)
    fields.push(quantity(receipt.depositNonce ?? 0), quantity(receipt.depositReceiptVersion))
  if (type === CELO_FEE_CURRENCY && receipt.baseFee !== undefined) fields.push(quantity(receipt.baseFee))
  const encoded = RLP.encode(fields)
  return type === 0 ? encoded : Uint8Array.from([type, ...encoded])
}

const isQuantity = (value: unknown): value is string =>
  typeof value === 'string' && /^0x[0-9a-fA-F]+$/.test(value)

/** Decodes bytes in hex. Throws for text that RLP would also accept but the filters read differently. */
function bytes(value: unknown): Uint8Array {
  try {
    return payloadBytes(value as string)
  } catch {
    throw new TypeError(`expected bytes in hex, got ${String(value).slice(0, 80)}`)
  }
}

/** Encodes a number for RLP: big-endian, without leading zeros, empty for 0. */
function quantity(value: string | number): Uint8Array {
  return toBeArray(BigInt(value))
}
