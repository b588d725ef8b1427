import { SignerError, type Chain, type Eip1193Provider } from '@geospatial-attestation/client'
import { say } from '../messages'
import { codeOf } from './codes'

/** Error code of a wallet for a chain that it does not know (EIP-3085). */
const UNKNOWN_CHAIN = 4902

/** Chain of a wallet, and its first account; `account` is undefined if the wallet is not connected yet. */
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

/** Calls `onState` with each state of a wallet, the newest last, until the returned function is called. */
export function followState(provider: Eip1193Provider, onState: (state: WalletState) => void): () => void {
  /** number of the last request: an earlier one may be answered later */
  let last = 0
  const look = () => {
    const request = ++last
    void stateOf(provider).then(
      (found) => request === last && onState(found),
      () => {},
    )
  }
  look()
  const events = provider as unknown as Partial<Record<'on' | 'removeListener', (...args: unknown[]) => void>>
  for (const event of ['accountsChanged', 'chainChanged']) events.on?.(event, look)
  return () => {
    last = NaN
    for (const event of ['accountsChanged', 'chainChanged']) events.removeListener?.(event, look)
  }
}

/**
 * Connects a wallet, and requests a switch if it is on another chain. If the wallet does not know the chain,
 * adds it with the RPC URL `node`, if there is one. Throws the wallet's error, or a SignerError with a
 * message for the user.
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
    if (node === undefined) throw new SignerError(say.wallet.unknownChain(slug, id))
    const nativeCurrency = { name: 'Ether', symbol: 'ETH', decimals: 18 }
    await provider.request({
      method: 'wallet_addEthereumChain',
      params: [{ chainId, chainName: slug, rpcUrls: [node], nativeCurrency }],
    })
  }
  if (!(await onChain())) throw new SignerError(say.wallet.otherChain(slug, id))
}
