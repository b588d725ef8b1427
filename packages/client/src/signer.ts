// SPDX-License-Identifier: MIT
import { DOMAIN_FIELDS } from '../../../src/eas/layouts'
import { messageOf, SignerError } from './errors'
import {
  ethersReader,
  nodeAt,
  requestReader,
  type Call,
  type ChainReader,
  type EthersProvider,
  type Hex,
} from './reader'
import { pause } from './waiting'

/**
 * A common interface to the signers and providers of ethers, viem and EIP-1193. They are recognised by their
 * shape, so this package loads neither library for them.
 */

/** A wallet that signs. If it has an RPC endpoint, it also reads and sends. */
export interface Wallet {
  address(): Promise<string>
  /** Signs a message by EIP-191 (`personal_sign`). */
  signMessage(text: string): Promise<Hex>
  /**
   * Signs typed data by EIP-712; `types` without EIP712Domain, integers as bigint or number. A wallet with
   * several accounts signs with that of `from`.
   */
  signTypedData(typed: TypedData, from: string): Promise<Hex>
  /** Returns the wallet's reader. Throws a SignerError if the wallet has no RPC endpoint. */
  reader(): ChainReader
  /**
   * Sends a transaction without value on this chain, and returns its hash. A wallet with several accounts
   * sends it from `from`.
   */
  send(call: Call, chainId: number, from: string): Promise<Hex>
}
export interface TypedData {
  domain: { name: string; version: string; chainId: number; verifyingContract: string }
  types: Record<string, { name: string; type: string }[]>
  primaryType: string
  message: Record<string, unknown>
}

/** An ethers 6 Signer, such as a Wallet with a provider, or the signer of a BrowserProvider. */
export interface EthersSigner {
  provider: unknown
  getAddress(): Promise<string>
  signMessage(message: string): Promise<string>
  signTypedData(domain: object, types: object, value: object): Promise<string>
  sendTransaction(transaction: object): Promise<{ hash: string }>
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
    send: async (call, chainId) => {
      for (let tries = 1; ; tries++)
        try {
          const wait = (sentAt.get(signer) ?? -Infinity) + NONCE_MS - performance.now()
          if (wait > 0) await pause(wait)
          const { hash } = await signer.sendTransaction({ ...call, chainId })
          sentAt.set(signer, performance.now())
          return hash as Hex
        } catch (error) {
          const { code, transaction, info } = error as {
            code?: string
            transaction?: Hex | { hash?: Hex | null }
            info?: { sendTransactionHash?: Hex } | null
          }
          // The signer of a BrowserProvider reads the transaction that it has sent, and this failed.
          if (info?.sendTransactionHash) return info.sendTransactionHash
          if (code !== 'NONCE_EXPIRED') throw error
          sentAt.set(signer, performance.now())
          // An endpoint with several nodes may refuse a transaction because one of them has it in a block.
          // A signer with a key names the raw transaction instead of its fields.
          const hash =
            typeof transaction === 'string'
              ? (await import('viem')).keccak256(transaction)
              : transaction?.hash
          if (hash && (await ethersReader(signer.provider as EthersProvider).transaction(hash))) return hash
          if (tries === 5) throw error
        }
    },
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
    // A client without a chain would send to any chain to which the wallet was switched since the check.
    send: async (call, chainId) => {
      const chain = client.chain ?? { id: chainId, name: `chain ${chainId}` }
      return client.sendTransaction({ account: account(), chain, chainId, ...call })
    },
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
  const ask = async (method: string, ...params: unknown[]) =>
    (await provider.request({ method, params })) as Hex
  const address = async () => {
    let accounts: string[] | null
    try {
      accounts = (await provider.request({ method: 'eth_requestAccounts' })) as string[] | null
    } catch (cause) {
      throw new SignerError(`The wallet did not connect an account: ${messageOf(cause)}.`, { cause })
    }
    const first = accounts?.[0]
    if (first === undefined)
      throw new SignerError('The wallet returned no account. Connect one and try again.')
    return first
  }
  return {
    address,
    signMessage: async (text) =>
      ask('personal_sign', `0x${hexOf(new TextEncoder().encode(text))}`, await address()),
    signTypedData: async (typed, from) => {
      const json = JSON.stringify(
        { ...typed, types: { EIP712Domain: DOMAIN_FIELDS, ...typed.types } },
        (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value),
      )
      return ask('eth_signTypedData_v4', from, json)
    },
    reader: () => requestReader((request) => provider.request(request)),
    send: (call, chainId, from) =>
      ask('eth_sendTransaction', { from, chainId: `0x${chainId.toString(16)}`, ...call }),
  }
}

/** Hex digits of bytes, without 0x. */
export function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
