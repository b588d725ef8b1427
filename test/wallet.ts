import type { Page } from 'playwright-core'
import { LOCAL_CHAIN, mined, testAccount, type LocalChain } from '../dev/chain'

/** An injected wallet (EIP-1193) whose account is a test account. It accepts all requests by default. */
export class StandIn {
  readonly account = testAccount(3).address
  chainId: number
  /** error codes of refused methods, by method */
  refuses: Readonly<Record<string, number>>
  /** true if it reports that it changed its chain without changing it */
  stays: boolean
  /** URLs of nodes that pages added */
  readonly added: string[] = []
  /** methods that pages requested */
  readonly asked: string[] = []

  constructor(
    private readonly chain: LocalChain,
    { chainId = LOCAL_CHAIN.id, refuses = {}, stays = false }: Partial<StandIn> = {},
  ) {
    this.chainId = chainId
    this.refuses = refuses
    this.stays = stays
  }

  /** Holds transactions, like a dialog that the user leaves open. Returns a function that sends them. */
  holdTransactions(): () => void {
    let release = () => {}
    this.held = new Promise<void>((resolve) => (release = resolve))
    return release
  }
  private held: Promise<void> | undefined

  async request({ method, params = [] }: { method: string; params?: any[] }): Promise<unknown> {
    this.asked.push(method)
    const code = this.refuses[method]
    if (code !== undefined) throw Object.assign(new Error('no'), { code })
    const wallet = testAccount(3).connect(this.chain.provider)
    switch (method) {
      case 'eth_requestAccounts':
      case 'eth_accounts':
        return [wallet.address]
      case 'eth_chainId':
        return `0x${this.chainId.toString(16)}`
      case 'wallet_switchEthereumChain':
      case 'wallet_addEthereumChain':
        if (!this.stays) this.chainId = Number(params[0].chainId)
        if (params[0].rpcUrls) this.added.push(...params[0].rpcUrls)
        return null
      case 'eth_sendTransaction': {
        await this.held
        const { to, data } = params[0] as { to: string; data: string }
        const { hash } = await wallet.sendTransaction({ to, data })
        await mined(this.chain, hash)
        return hash
      }
      default:
        return this.chain.provider.send(method, params)
    }
  }

  /** Announces the wallet to pages that are opened later (EIP-6963). */
  async install(page: Page): Promise<void> {
    await page.exposeFunction('askWallet', (request: { method: string }) =>
      this.request(request).then(
        (result) => ({ result }),
        ({ message, code, data }: Error & { code?: number; data?: unknown }) => ({
          error: { message, code, data },
        }),
      ),
    )
    await page.addInitScript(`{
      const provider = { request: async (request) => {
        const { result, error } = await askWallet(request)
        if (error) throw Object.assign(new Error(error.message), error)
        return result
      } }
      const info = { uuid: 'b1f5c0de-0000-4000-8000-000000000001', name: 'Stand-in', icon: '', rdns: 'test' }
      const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }))
      addEventListener('eip6963:requestProvider', announce)
    }`)
  }
}
