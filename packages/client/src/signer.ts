// SPDX-License-Identifier: MIT
import { GeoError, SignerError, messageOf } from './errors'
import { pause } from './waiting'

/**
 * A common interface to the signers and providers of ethers, viem and EIP-1193. They are recognised by their
 * shape, so this package loads neither library for them.
 */

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
/** A wallet that signs. If it has an RPC endpoint, it also reads and sends. */
export interface Wallet {
  address(): Promise<string>
  /** Signs a message by EIP-191 (`personal_sign`). */
  signMessage(text: string): Promise<Hex>
  /** Signs typed data by EIP-712; `types` without EIP712Domain, integers as bigint or number. */
  signTypedData(typed: TypedData): Promise<Hex>
  /** Returns the wallet's reader. Throws a SignerError if the wallet has no RPC endpoint. */
  reader(): ChainReader
  /** Sends a transaction without value on this chain, and returns its hash. */
  send(call: Call, chainId: number): Promise<Hex>
}
export interface TypedData {
  domain: { name: string; version: string; chainId: number; verifyingContract: string }
  types: Record<string, { name: string; type: string }[]>
  primaryType: string
  message: Record<string, unknown>
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

/** An ethers 6 Signer, such as a Wallet with a provider, or the signer of a BrowserProvider. */
export interface EthersSigner {
  provider: unknown
  getAddress(): Promise<string>
  signMessage(message: string): Promise<string>
  signTypedData(domain: object, types: object, value: object): Promise<string>
  sendTransaction(transaction: object): Promise<{ hash: string }>
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
/** An EIP-1193 provider, such as `window.ethereum`. A viem PublicClient has the same method. */
export interface Eip1193Provider {
  // viem and wallets type their methods in many ways.
  // oxlint-disable-next-line typescript/no-explicit-any
  request(request: any): Promise<any>
}
/** A viem WalletClient with an account. */
export interface ViemWallet extends Eip1193Provider {
  account?: { address: string } | undefined
  transport: unknown
}
/** A viem account that signs locally, such as that of privateKeyToAccount. It can sign but cannot send. */
export interface ViemAccount {
  type: string
  address: string
  // oxlint-disable-next-line typescript/no-explicit-any
  signMessage?(request: any): Promise<string>
  // oxlint-disable-next-line typescript/no-explicit-any
  signTypedData?(request: any): Promise<string>
}
/** Any supported signer: of ethers, viem or EIP-1193. */
export type Signer = EthersSigner | ViemWallet | Eip1193Provider | ViemAccount
/**
 * Any supported source of chain data: a provider of ethers, viem or EIP-1193, a signer with a provider, or
 * the URL of an RPC endpoint.
 */
export type Provider = EthersProvider | EthersSigner | Eip1193Provider | string

const has = <K extends string>(
  value: unknown,
  ...names: K[]
): value is Record<K, (...of: never[]) => unknown> =>
  typeof value === 'object' &&
  value !== null &&
  names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function')

/** Wraps a signer as a Wallet. Throws a SignerError for a value that is not a supported signer. */
export function walletOf(signer: Signer): Wallet {
  if (has(signer, 'getAddress', 'signMessage', 'sendTransaction')) return ethersWallet(signer)
  if (has(signer, 'request') && 'transport' in signer) return viemWallet(signer as unknown as ViemClient)
  if (has(signer, 'request')) return eip1193Wallet(signer)
  if (has(signer, 'signMessage', 'signTypedData') && 'address' in signer) return viemAccount(signer)
  throw new SignerError(
    'Expected a signer: an ethers Signer, a viem WalletClient or account, or an EIP-1193 provider such as window.ethereum.',
  )
}

/** Wraps a provider or signer as a ChainReader. Throws a SignerError for a value that is not supported. */
export function readerOf(provider: Provider | Signer): ChainReader {
  if (typeof provider === 'string') {
    if (!/^https?:/.test(provider) || !URL.canParse(provider))
      throw new SignerError('Expected the URL of an RPC endpoint, such as https://node.example.org.')
    return requestReader(nodeAt(provider))
  }
  if (has(provider, 'getAddress', 'sendTransaction')) return ethersWallet(provider).reader()
  if (has(provider, 'getNetwork', 'call', 'getTransactionReceipt')) return ethersReader(provider)
  if (has(provider, 'request')) return requestReader((request) => provider.request(request))
  throw new SignerError(
    'Expected a provider: the URL of an RPC endpoint, an ethers Provider, a viem client, or an ' +
      'EIP-1193 provider.',
  )
}

/**
 * Minimum interval in milliseconds between two transactions of an ethers signer. ethers caches the account's
 * nonce for 250 ms: an earlier transaction would reuse the nonce and replace the pending one.
 */
const NONCE_MS = 300
/** Time of each signer's last transaction. */
const sentAt = new WeakMap<EthersSigner, number>()

function ethersWallet(signer: EthersSigner): Wallet {
  return {
    address: () => signer.getAddress(),
    signMessage: async (text) => (await signer.signMessage(text)) as Hex,
    signTypedData: async ({ domain, types, message }) =>
      (await signer.signTypedData(domain, types, message)) as Hex,
    reader: () => {
      if (has(signer.provider, 'getNetwork', 'call', 'getTransactionReceipt'))
        return ethersReader(signer.provider as EthersProvider)
      throw new SignerError(
        'The ethers signer has no provider, so it can neither read nor send. Connect it, as in ' +
          'wallet.connect(new JsonRpcProvider(url)).',
      )
    },
    send: async (call) => {
      for (let tries = 1; ; tries++)
        try {
          const wait = (sentAt.get(signer) ?? -Infinity) + NONCE_MS - performance.now()
          if (wait > 0) await pause(wait)
          const { hash } = await signer.sendTransaction(call)
          sentAt.set(signer, performance.now())
          return hash as Hex
        } catch (error) {
          if ((error as { code?: string }).code !== 'NONCE_EXPIRED' || tries === 5) throw error
          sentAt.set(signer, performance.now())
        }
    },
  }
}

function ethersReader(provider: EthersProvider): ChainReader {
  return {
    chainId: async () => Number((await provider.getNetwork()).chainId),
    call: (call, from) => reverting(async () => (await provider.call({ ...call, from })) as Hex),
    estimateGas: (call, from) => reverting(() => provider.estimateGas({ ...call, from })),
    receipt: async (transactionHash) => {
      const found = (await provider.getTransactionReceipt(transactionHash)) as {
        status: number
        blockNumber: number
        logs: Receipt['logs']
      } | null
      return found
        ? {
            ...{ succeeded: found.status === 1, transactionHash },
            ...{ blockNumber: found.blockNumber, logs: found.logs },
          }
        : undefined
    },
    transaction: async (transactionHash) => (await provider.getTransaction(transactionHash)) ?? undefined,
    nonce: (address) => provider.getTransactionCount(address),
    block: async (which) => found(which, await provider.getBlock(which)),
    logs: async (filter) => (await provider.getLogs(filter)) as Log[],
  }
}

interface ViemClient extends ViemWallet {
  chain?: { id: number }
  signMessage(request: object): Promise<Hex>
  signTypedData(request: object): Promise<Hex>
  sendTransaction(request: object): Promise<Hex>
}
function viemWallet(client: ViemClient): Wallet {
  const account = () => {
    if (client.account) return client.account
    throw new SignerError(
      'The viem WalletClient has no account. Set it, as in createWalletClient({ account, chain, transport }).',
    )
  }
  return {
    address: async () => account().address,
    signMessage: async (message) => client.signMessage({ account: account(), message }),
    signTypedData: async (typed) => client.signTypedData({ account: account(), ...typed }),
    reader: () => requestReader((request) => client.request(request)),
    // A client without a chain sends to the chain to which it is connected, which was checked.
    send: async (call) =>
      client.sendTransaction({ account: account(), chain: client.chain ?? null, ...call }),
  }
}

function viemAccount(account: ViemAccount): Wallet {
  const only = () => {
    throw new SignerError(
      'A viem account can sign, but neither read nor send. Use createWalletClient({ account, ' +
        'chain, transport: http(url) }).',
    )
  }
  return {
    address: async () => account.address,
    signMessage: async (message) => (await account.signMessage!({ message })) as Hex,
    signTypedData: async (typed) => (await account.signTypedData!(typed)) as Hex,
    ...{ reader: only, send: async () => only() },
  }
}

function eip1193Wallet(provider: Eip1193Provider): Wallet {
  const address = async () => {
    const [first] = (await provider.request({ method: 'eth_requestAccounts' })) as string[]
    if (first === undefined)
      throw new SignerError('The wallet returned no account. Connect one and try again.')
    return first
  }
  return {
    address,
    signMessage: async (text) =>
      (await provider.request({
        method: 'personal_sign',
        params: [hexOfText(text), await address()],
      })) as Hex,
    signTypedData: async (typed) => {
      const EIP712Domain = [
        { name: 'name', type: 'string' },
        { name: 'version', type: 'string' },
        { name: 'chainId', type: 'uint256' },
        { name: 'verifyingContract', type: 'address' },
      ]
      const json = JSON.stringify(
        { ...typed, types: { EIP712Domain, ...typed.types } },
        (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value),
      )
      return (await provider.request({
        method: 'eth_signTypedData_v4',
        params: [await address(), json],
      })) as Hex
    },
    reader: () => requestReader((request) => provider.request(request)),
    send: async (call, chainId) =>
      (await provider.request({
        method: 'eth_sendTransaction',
        params: [{ from: await address(), chainId: `0x${chainId.toString(16)}`, ...call }],
      })) as Hex,
  }
}

type Request = (request: { method: string; params?: unknown[] }) => Promise<unknown>

function requestReader(request: Request): ChainReader {
  return {
    chainId: async () => Number(await request({ method: 'eth_chainId' })),
    call: (call, from) =>
      reverting(
        async () =>
          (await request({
            method: 'eth_call',
            params: [{ ...call, ...(from && { from }) }, 'latest'],
          })) as Hex,
      ),
    estimateGas: (call, from) =>
      reverting(async () =>
        BigInt((await request({ method: 'eth_estimateGas', params: [{ ...call, from }] })) as string),
      ),
    receipt: async (transactionHash) => {
      const found = (await request({
        method: 'eth_getTransactionReceipt',
        params: [transactionHash],
      })) as { status: string; blockNumber: string; logs: Receipt['logs'] } | null
      return found
        ? {
            ...{ succeeded: Number(found.status) === 1, transactionHash },
            ...{ blockNumber: Number(found.blockNumber), logs: found.logs },
          }
        : undefined
    },
    transaction: async (transactionHash) => {
      const found = (await request({
        method: 'eth_getTransactionByHash',
        params: [transactionHash],
      })) as { from: string; nonce: string } | null
      return found ? { from: found.from, nonce: Number(found.nonce) } : undefined
    },
    nonce: async (address) =>
      Number(await request({ method: 'eth_getTransactionCount', params: [address, 'latest'] })),
    block: async (which) => {
      const block = await request({ method: 'eth_getBlockByNumber', params: [hexOf(which), false] })
      const { number, timestamp } = found(which, block as { number: string; timestamp: string } | null)
      return { number: Number(number), timestamp: Number(timestamp) }
    },
    logs: async ({ fromBlock, toBlock, ...filter }) => {
      const range = { fromBlock: hexOf(fromBlock), toBlock: hexOf(toBlock) }
      const logs = await request({ method: 'eth_getLogs', params: [{ ...filter, ...range }] })
      return (logs as (Omit<Log, 'blockNumber'> & { blockNumber: string })[]).map((log) => ({
        ...log,
        blockNumber: Number(log.blockNumber),
      }))
    },
  }
}

const hexOf = (block: number | 'latest') => (block === 'latest' ? block : `0x${block.toString(16)}`)

function found<Block>(which: number | 'latest', block: Block | null): Block {
  if (block === null) throw new Error(`the RPC endpoint does not have the block ${which}`)
  return block
}

/** Distinguishes a contract's revert from an RPC endpoint that does not respond. */
async function reverting<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    const data = revertData(error)
    if (data === undefined && !/revert/i.test(messageOf(error))) throw error
    throw new RevertedError(messageOf(error), data)
  }
}

/** Finds the revert data in an error, wherever ethers, viem or an RPC endpoint placed it. */
function revertData(error: unknown, depth = 0): Hex | undefined {
  if (typeof error !== 'object' || error === null || depth > 6) return undefined
  const { data, cause, info, error: inner } = error as Record<string, unknown>
  if (typeof data === 'string' && /^0x([0-9a-f]{2})*$/i.test(data)) return data as Hex
  for (const next of [data, cause, info, inner]) {
    const found = revertData(next, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

/** Creates a JSON-RPC client over HTTP. */
function nodeAt(given: string): Request {
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
      error?: { message: string; data?: unknown }
    }
    if (answer.error) throw Object.assign(new Error(answer.error.message), { data: answer.error.data })
    return answer.result
  }
}

function hexOfText(text: string): Hex {
  return `0x${[...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
