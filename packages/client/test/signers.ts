// SPDX-License-Identifier: MIT
import type { Eip1193Provider, Signer } from '@geospatial-attestation/client'
import { JsonRpcProvider, Wallet } from 'ethers'
import { createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { testAccount, type LocalChain } from '../../../dev/chain'
import { atEnd } from '../../../test/ends'

/** A test account of a local chain as a signer of each library. Each library has its own account. */
export interface TestSigner {
  account: number
  signer: Signer
}
export type SignerKind = 'ethers' | 'viem' | 'EIP-1193'
export const SIGNER_KINDS: readonly SignerKind[] = ['ethers', 'viem', 'EIP-1193']

export function signerOf(kind: SignerKind, chain: LocalChain): TestSigner {
  const account = 1 + SIGNER_KINDS.indexOf(kind)
  const { address, privateKey } = testAccount(account)
  const signers: Record<SignerKind, () => Signer> = {
    ethers: () => new Wallet(privateKey, ethersProvider(chain)),
    viem: () =>
      createWalletClient({
        account: privateKeyToAccount(privateKey as `0x${string}`),
        transport: http(chain.url),
      }),
    // An EIP-1193 wallet: the RPC endpoint, whose accounts are unlocked.
    'EIP-1193': () => injected(chain, address),
  }
  return { account, signer: signers[kind]() }
}

/** Creates an ethers provider, which is closed after the file's tests. */
export function ethersProvider(chain: LocalChain): JsonRpcProvider {
  const provider = new JsonRpcProvider(chain.url)
  atEnd(() => provider.destroy())
  return provider
}

/** Creates an EIP-1193 wallet of this account at the RPC endpoint. `answer` may handle a request first. */
export function injected(
  chain: LocalChain,
  address: string,
  answer?: (method: string) => Promise<unknown>,
): Eip1193Provider {
  return {
    request: async ({ method, params = [] }: { method: string; params?: unknown[] }) => {
      const own = await answer?.(method)
      if (own !== undefined) return own
      return method === 'eth_requestAccounts'
        ? [address]
        : (chain.provider.send(method, params) as Promise<unknown>)
    },
  }
}
