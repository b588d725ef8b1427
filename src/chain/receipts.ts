import { RLP, type Input } from '@ethereumjs/rlp'
import { hexlify } from 'ethers/utils'
import { hexNumber } from '../rpc'
import { bloomBits, bytes, quantity, type FullHeader, type RpcLog } from './logs'

/** Proofs of all logs of a block by its receipts, which hash to a root in its header. */

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

/** True if receipts lack a log of a block with this logsBloom. False does not prove that they have all. */
export function lacksLogs(logsBloom: string | undefined, receipts: readonly RpcReceipt[]): boolean {
  if (logsBloom?.length !== 514) return false
  let left = BigInt(logsBloom)
  const values = receipts.flatMap(({ logs }) => logs.flatMap(({ address, topics }) => [address, ...topics]))
  for (const bit of new Set(values.flatMap(bloomBits))) left &= ~(1n << BigInt(bit))
  return left !== 0n
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
        transactionHash: String(header.transactions[i] ?? receipt.transactionHash).toLowerCase(),
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
