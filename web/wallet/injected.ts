import { signal } from '@preact/signals'
import type { Eip1193Provider } from '@geospatial-attestation/client'
import { say } from '../messages'

/** A wallet of the browser. */
export interface InjectedWallet {
  /** unique in this page */
  id: string
  name: string
  provider: Eip1193Provider
}

/** Announcement of an EIP-6963 wallet. */
interface Announced {
  info: { uuid: string; name: string }
  provider: Eip1193Provider
}

/** Wallets of this browser: those that announce themselves (EIP-6963), otherwise window.ethereum. */
export const wallets = signal<readonly InjectedWallet[]>([])

const LEGACY = 'window.ethereum'

addEventListener('eip6963:announceProvider', (event) => {
  const { info, provider } = (event as CustomEvent<Announced>).detail
  const all = new Map(wallets.value.map((wallet) => [wallet.id, wallet]))
  all.delete(LEGACY)
  // A wallet that announces itself again keeps its position.
  all.set(info.uuid, { id: info.uuid, name: String(info.name).slice(0, 40), provider })
  wallets.value = [...all.values()]
})
dispatchEvent(new Event('eip6963:requestProvider'))

const legacy = (globalThis as { ethereum?: Eip1193Provider }).ethereum
if (legacy && wallets.value.length === 0)
  wallets.value = [{ id: LEGACY, name: say.wallet.injected, provider: legacy }]
