// SPDX-License-Identifier: MIT
import { GeoError, messageOf } from './errors'

/** One interface to read a chain through ethers, viem, an EIP-1193 provider or the URL of an endpoint. */

export type Hex = `0x${string}`
export interface Call {
  to: string
  data: Hex
}
/** The fields of a transaction receipt that the client uses. */
export interface Receipt {
  succeeded: boolean
  transactionHash: Hex
  blockNumber: number
  logs: readonly { address: string; topics: readonly string[]; data: string }[]
}
/** A request for logs, and a log of its result. The range includes both blocks. */
export interface LogFilter {
  address: string
  topics: readonly string[]
  fromBlock: number
  toBlock: number
}
export interface Log {
  data: Hex
  transactionHash: Hex
  blockNumber: number
}

/** Reads a chain. */
export interface ChainReader {
  chainId(): Promise<number>
  /** Simulates a call at the latest block (`eth_call`). Throws a RevertedError if the contract reverts. */
  call(call: Call, from?: string): Promise<Hex>
  /** Estimates the gas of a transaction of this account. Throws a RevertedError if the contract reverts. */
  estimateGas(call: Call, from: string): Promise<bigint>
  /** Returns undefined while the transaction is not in a block. */
  receipt(transactionHash: Hex): Promise<Receipt | undefined>
  /**
   * Returns undefined if the RPC endpoint does not know the transaction: it was dropped, replaced, or has not
   * arrived yet.
   */
  transaction(transactionHash: Hex): Promise<{ from: string; nonce: number } | undefined>
  /** Counts the transactions of an account that are in blocks, which is the nonce of its next one. */
  nonce(address: string): Promise<number>
  /** Reads a block: its number, and its time in Unix seconds. */
  block(which: number | 'latest'): Promise<{ number: number; timestamp: number }>
  logs(filter: LogFilter): Promise<readonly Log[]>
}
/** A contract reverted a call; `data` is the ABI-encoded error. */
export class RevertedError extends GeoError {
  override name = 'RevertedError'

  constructor(
    message: string,
    readonly data: Hex | undefined,
  ) {
    super(message)
  }
}

/** An ethers 6 Provider. */
export interface EthersProvider {
  getNetwork(): Promise<{ chainId: bigint }>
  call(transaction: object): Promise<string>
  estimateGas(transaction: object): Promise<bigint>
  getTransactionReceipt(hash: string): Promise<unknown>
  getTransaction(hash: string): Promise<{ from: string; nonce: number } | null>
  getTransactionCount(address: string): Promise<number>
  getBlock(which: number | string): Promise<{ number: number; timestamp: number } | null>
  getLogs(filter: object): Promise<readonly object[]>
}
/** Reads through an ethers provider. */
export function ethersReader(provider: EthersProvider): ChainReader {
  return {
    chainId: async () => Number((await provider.getNetwork()).chainId),
    call: (call, from) => reverting(async () => (await provider.call({ ...call, from })) as Hex),
    estimateGas: (call, from) => reverting(() => provider.estimateGas({ ...call, from })),
    receipt: async (transactionHash) => {
      const found = await provider.getTransactionReceipt(transactionHash)
      return found ? receiptOf(transactionHash, found as Parameters<typeof receiptOf>[1]) : undefined
    },
    transaction: async (transactionHash) => (await provider.getTransaction(transactionHash)) ?? undefined,
    nonce: (address) => provider.getTransactionCount(address),
    block: async (which) => found(which, await provider.getBlock(which)),
    logs: async (filter) => (await provider.getLogs(filter)) as Log[],
  }
}

export type Request = (request: { method: string; params?: unknown[] }) => Promise<unknown>

/** Reads through JSON-RPC requests. */
export function requestReader(request: Request): ChainReader {
  const ask = <T>(method: string, ...params: unknown[]) => request({ method, params }) as Promise<T>
  return {
    chainId: async () => Number(await ask('eth_chainId')),
    call: (call, from) => reverting(() => ask('eth_call', { ...call, ...(from && { from }) }, 'latest')),
    estimateGas: (call, from) =>
      reverting(async () => BigInt(await ask<string>('eth_estimateGas', { ...call, from }))),
    receipt: async (transactionHash) => {
      type Found = { status: string; blockNumber: string | null; logs: Receipt['logs'] }
      const found = await ask<Found | null>('eth_getTransactionReceipt', transactionHash)
      // Some nodes return receipts of pending transactions.
      return found?.blockNumber ? receiptOf(transactionHash, found) : undefined
    },
    transaction: async (hash) => {
      const found = await ask<{ from: string; nonce: string } | null>('eth_getTransactionByHash', hash)
      return found ? { from: found.from, nonce: Number(found.nonce) } : undefined
    },
    nonce: async (address) => Number(await ask('eth_getTransactionCount', address, 'latest')),
    block: async (which) => {
      const block = await ask<{ number: string; timestamp: string } | null>(
        'eth_getBlockByNumber',
        ...[hexOf(which), false],
      )
      const { number, timestamp } = found(which, block)
      return { number: Number(number), timestamp: Number(timestamp) }
    },
    logs: async ({ fromBlock, toBlock, ...filter }) => {
      const range = { fromBlock: hexOf(fromBlock), toBlock: hexOf(toBlock) }
      const logs = await ask<(Omit<Log, 'blockNumber'> & { blockNumber: string })[]>('eth_getLogs', {
        ...filter,
        ...range,
      })
      return logs.map((log) => ({ ...log, blockNumber: Number(log.blockNumber) }))
    },
  }
}

/** Converts a receipt of ethers or JSON-RPC, whose numbers may be in hex. */
function receiptOf(
  transactionHash: Hex,
  { status, blockNumber, logs }: { status: unknown; blockNumber: unknown; logs: Receipt['logs'] },
): Receipt {
  return { succeeded: Number(status) === 1, transactionHash, blockNumber: Number(blockNumber), logs }
}

const hexOf = (block: number | 'latest') => (block === 'latest' ? block : `0x${block.toString(16)}`)

function found<Block>(which: number | 'latest', block: Block | null): Block {
  if (block === null) throw new Error(`the RPC endpoint does not have the block ${which}`)
  return block
}

/** Text of a revert or a halt: geth reports a halt without data. */
const REVERTED = /\brevert|invalid (?:opcode|jump)/i

/** Distinguishes a contract's revert from an RPC endpoint that does not respond. */
async function reverting<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    const parts = partsOf(error)
    const data = parts.map(({ data }) => revertData(data)).find((found) => found !== undefined)
    const texts = parts.map(textOf).filter((text) => text !== undefined)
    const reason = texts.find((text) => REVERTED.test(text))
    if (data !== undefined || reason !== undefined || parts.some(({ code }) => code === 3))
      throw new RevertedError(reason ?? messageOf(error), data)
    const isOfEthers = parts.length > 0 && textOf(parts[0]!) === undefined && texts.length > 0
    throw isOfEthers ? new Error(texts[0], { cause: error }) : error
  }
}

type Part = Partial<Record<'code' | 'message' | 'details' | 'data' | 'cause' | 'info' | 'error', unknown>>

/** Returns an error and the errors in it, wherever ethers, viem or an RPC endpoint placed them. */
function partsOf(error: unknown, depth = 0): Part[] {
  if (typeof error !== 'object' || error === null || depth > 6) return []
  const { data, cause, info, error: inner } = error as Part
  return [error, ...[data, cause, info, inner].flatMap((next) => partsOf(next, depth + 1))]
}

/** Returns the text of an error without that of the errors in it; undefined if it has none. */
function textOf({ code, message, details, info }: Part): string | undefined {
  // ethers describes each failed call as one without revert data, whatever the endpoint returned.
  if (code === 'CALL_EXCEPTION' && (info as Part | undefined)?.error) return undefined
  if (typeof details === 'string') return details
  return typeof message === 'string' ? message.split('\n')[0]!.replace(/\.$/, '') : undefined
}

/** Returns the revert data of an error, which Nethermind writes after a word. */
function revertData(data: unknown): Hex | undefined {
  const found = typeof data === 'string' ? /^(?:Reverted )?(0x(?:[0-9a-f]{2})*)$/i.exec(data) : null
  return found?.[1] as Hex | undefined
}

/** Creates a JSON-RPC client over HTTP. */
export function nodeAt(given: string): Request {
  const url = new URL(given)
  // fetch rejects a URL with credentials, and would print them in its error.
  const credentials =
    url.username && `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  url.username = url.password = ''
  const headers = {
    'content-type': 'application/json',
    ...(credentials && { authorization: `Basic ${btoa(credentials)}` }),
  }
  let id = 0
  return async ({ method, params = [] }) => {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }),
      signal: AbortSignal.timeout(30_000),
    })
    const answer = (await response.json()) as {
      result?: unknown
      error?: { code?: unknown; message: string; data?: unknown }
    }
    if (answer.error) {
      const { code, message, data } = answer.error
      throw Object.assign(new Error(message), { code, data })
    }
    return answer.result
  }
}
