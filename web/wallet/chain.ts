import { SignerError, type Chain, type Eip1193Provider } from '@geospatial-attestation/client'

/** Code of a wallet for a chain that it does not know (EIP-3085). */
const UNKNOWN_CHAIN = 4902

/** Chain of a wallet, and its first account; without an account it is not connected yet. */
export interface WalletState {
  chainId: number
  account: string | undefined
}

export async function stateOf(provider: Eip1193Provider): Promise<WalletState> {
  const [chainId, accounts] = (await Promise.all([
    provider.request({ method: 'eth_chainId' }),
    provider.request({ method: 'eth_accounts' }),
  ])) as [string, string[]]
  return { chainId: Number(chainId), account: accounts[0] }
}

/**
 * Connects a wallet, and requests a switch if it is on another chain. Adds the chain if the wallet does not
 * know it and a node of it is known. Throws the wallet's error, or a SignerError with a clear message.
 */
export async function goToChain(
  provider: Eip1193Provider,
  { id, slug }: Pick<Chain, 'id' | 'slug'>,
  node: string | undefined,
): Promise<void> {
  await provider.request({ method: 'eth_requestAccounts' })
  const onChain = async () => (await stateOf(provider)).chainId === id
  if (await onChain()) return
  const chainId = `0x${id.toString(16)}`
  try {
    await provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] })
  } catch (error) {
    if (codeOf(error) !== UNKNOWN_CHAIN) throw error
    if (node === undefined)
      throw new SignerError(
        `Your wallet does not know ${slug} (chain ${id}). Add this network in the wallet and try again. Nothing was sent.`,
      )
    const nativeCurrency = { name: 'Ether', symbol: 'ETH', decimals: 18 }
    await provider.request({
      method: 'wallet_addEthereumChain',
      params: [{ chainId, chainName: slug, rpcUrls: [node], nativeCurrency }],
    })
  }
  if (!(await onChain()))
    throw new SignerError(
      `Your wallet is still on another chain. Select ${slug} (chain ${id}) in it and try again. Nothing was sent.`,
    )
}

/** Code of a wallet's error, wherever the wallet put it. */
export function codeOf(error: unknown): number | undefined {
  const { code, data, cause } = (error ?? {}) as {
    code?: unknown
    data?: { originalError?: unknown }
    cause?: unknown
  }
  if (typeof code === 'number') return code
  return data?.originalError !== undefined || cause !== undefined
    ? codeOf(data?.originalError ?? cause)
    : undefined
}
