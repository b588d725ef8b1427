import { createMPT } from '@ethereumjs/mpt'
import { encodeRlp, getBytes, hexlify, keccak256, toBeArray, type RlpStructuredDataish } from 'ethers'
import type { LogFilter, RpcHeader, RpcLog } from './history'
import { hexNumber } from './rpc'

/** What a header proves about the logs of its block: which it cannot hold (bloom filter), and exactly which it holds (receipts). */

/** A header as JSON-RPC gives it, with all that is hashed: later fields only from the fork on that brought them. */
export interface FullHeader extends RpcHeader {
  receiptsRoot: string
  transactions: string[]
  [field: string]: unknown
}

/** The fields of a header in the order in which they are hashed (Yellow Paper, 4.3; EIP-1559, 4895, 4844, 4788, 7685); `quantity` ones without leading zeros. */
const HEADER_FIELDS: readonly (readonly [name: string, kind: 'bytes' | 'quantity', optional?: 'optional'])[] =
  [
    ...(
      [
        'parentHash',
        'sha3Uncles',
        'miner',
        'stateRoot',
        'transactionsRoot',
        'receiptsRoot',
        'logsBloom',
      ] as const
    ).map((name) => [name, 'bytes'] as const),
    ...(['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp'] as const).map(
      (name) => [name, 'quantity'] as const,
    ),
    ...(['extraData', 'mixHash', 'nonce'] as const).map((name) => [name, 'bytes'] as const),
    ['baseFeePerGas', 'quantity', 'optional'],
    ['withdrawalsRoot', 'bytes', 'optional'],
    ['blobGasUsed', 'quantity', 'optional'],
    ['excessBlobGas', 'quantity', 'optional'],
    ['parentBeaconBlockRoot', 'bytes', 'optional'],
    ['requestsHash', 'bytes', 'optional'],
  ]

/**
 * Whether a header hashes to its own hash, as those of Ethereum, the OP Stack and Arbitrum do: then nothing in it was changed
 * or left out. False where it was, and for headers of a form that is not known here (Celo before its second layer).
 */
export function hashesToItself(header: RpcHeader): boolean {
  const fields: Uint8Array[] = []
  for (const [name, kind, optional] of HEADER_FIELDS) {
    const value = (header as unknown as Record<string, unknown>)[name]
    if (typeof value !== 'string' || !/^0x[0-9a-f]*$/i.test(value)) {
      if (optional && (value === undefined || value === null)) continue
      return false
    }
    fields.push(kind === 'quantity' ? quantity(value) : Buffer.from(value.slice(2), 'hex'))
  }
  return keccak256(encodeRlp(fields)) === header.hash
}

/** A receipt as JSON-RPC gives it, as far as it is hashed. */
export interface RpcReceipt {
  type?: string
  status?: string
  root?: string
  cumulativeGasUsed: string
  logsBloom: string
  logs: RpcLog[]
  blockHash: string
  transactionHash: string
  /** OP Stack deposits, from Canyon on. */
  depositNonce?: string
  depositReceiptVersion?: string
  /** Celo's fee-currency transactions (CIP-64). */
  baseFee?: string
}

const OP_DEPOSIT = 0x7e
const CELO_FEE_CURRENCY = 0x7b

/**
 * Whether a block with this logsBloom may hold a log that one of the filters lets through (Yellow Paper, 4.3.1: three bits
 * of each address and topic in 2,048). False is certain, true is not. Without a bloom filter every block may.
 */
export function bloomTest(filters: readonly LogFilter[]): (logsBloom: string | undefined) => boolean {
  // Of each place in a log, the values that pass, each as its bits.
  const wanted = filters.map(({ address, topic0, topic1, topic2, topic3 }) =>
    [address, topic0, topic1, topic2, topic3].flatMap((values) =>
      values?.length ? [values.map(bloomBits)] : [],
    ),
  )
  return (logsBloom) => {
    if (logsBloom?.length !== 514) return true
    const has = (bit: number) => (parseInt(logsBloom[2 + 511 - (bit >> 2)]!, 16) >> (bit & 3)) & 1
    return wanted.some((places) => places.every((values) => values.some((bits) => bits.every(has))))
  }
}

/** Whether one of the filters lets a log through. */
export function logTest(filters: readonly LogFilter[]): (log: RpcLog) => boolean {
  const wanted = filters.map(({ address, topic0, topic1, topic2, topic3 }) =>
    [address, topic0, topic1, topic2, topic3].map((values) => (values?.length ? new Set(values) : undefined)),
  )
  return ({ address, topics }) => {
    const places = [address.toLowerCase(), ...topics]
    return wanted.some((each) => each.every((values, place) => !values || values.has(places[place]!)))
  }
}

/** The three bits of a value, counted from the least significant one of the filter. */
function bloomBits(value: string): number[] {
  const hash = getBytes(keccak256(value))
  return [0, 2, 4].map((i) => ((hash[i]! << 8) | hash[i + 1]!) & 2047)
}

/**
 * The root of the trie of a block's receipts (Yellow Paper, 4.3.1; EIP-2718), which its header must repeat as
 * receiptsRoot: then these are all receipts of the block, unchanged. Knows what Ethereum, the OP Stack, Celo's second
 * layer and Arbitrum hash; another root does not say that the receipts are false.
 */
export async function receiptsRoot(receipts: readonly RpcReceipt[]): Promise<string> {
  const trie = await createMPT({})
  for (const [i, receipt] of receipts.entries())
    await trie.put(getBytes(encodeRlp(quantity(i))), encodedReceipt(receipt))
  return hexlify(trie.root())
}

/**
 * The logs of a block, of its receipts in order. The root covers what a log says but neither its number nor its transaction:
 * these follow from its place, whatever the node says of them.
 */
export function logsOf(header: FullHeader, receipts: readonly RpcReceipt[]): RpcLog[] {
  let logIndex = 0
  return receipts.flatMap((receipt, i) =>
    receipt.logs.map((log) => ({
      ...{
        address: log.address,
        topics: log.topics,
        data: log.data,
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
  const fields: RlpStructuredDataish[] = [
    receipt.status === undefined ? (receipt.root ?? '0x') : quantity(Number(receipt.status)),
    quantity(receipt.cumulativeGasUsed),
    receipt.logsBloom,
    receipt.logs.map((log) => [log.address, log.topics, log.data]),
  ]
  if (type === OP_DEPOSIT && receipt.depositReceiptVersion !== undefined)
    fields.push(quantity(receipt.depositNonce ?? 0), quantity(receipt.depositReceiptVersion))
  if (type === CELO_FEE_CURRENCY && receipt.baseFee !== undefined) fields.push(quantity(receipt.baseFee))
  const encoded = getBytes(encodeRlp(fields))
  return type === 0 ? encoded : Uint8Array.from([type, ...encoded])
}

/** As RLP holds numbers: big-endian, without leading zeros, nothing for 0. */
function quantity(value: string | number): Uint8Array {
  return toBeArray(BigInt(value))
}
