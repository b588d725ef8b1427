import { GeoError, type Chain, type Signer } from '@geospatial-attestation/client'
import { useEffect, useState } from 'preact/hooks'
import { codeOf, goToChain, stateOf, type WalletState } from './chain'
import { wallets, type InjectedWallet } from './injected'
import { localNodes, testAccount } from './nodes'
import './wallet.css'

/**
 * Buttons for an action with a signer on a chain: one for each wallet of the browser and, on a local
 * deployment, one for a test account. `act` gets the signer when the wallet is connected and on the chain.
 * Its errors, and refusals of the wallet, are shown.
 */
export function WithSigner({
  chain,
  verb,
  prepare = () => {},
  act,
}: {
  chain: Pick<Chain, 'id' | 'slug'>
  /** label of the action, such as `Publish` */
  verb: string
  /** throws a problem before a wallet receives any request */
  prepare?: () => unknown
  act: (signer: Signer) => Promise<unknown>
}) {
  const [node, setNode] = useState<string>()
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState('')
  useEffect(() => {
    let left = false
    setProblem('')
    void localNodes().then((nodes) => left || setNode(nodes[chain.id]))
    return () => void (left = true)
  }, [chain.id])
  const run = async (signerOnChain: () => Promise<Signer>) => {
    setBusy(true)
    setProblem('')
    try {
      await prepare()
      await act(await signerOnChain())
    } catch (error) {
      setProblem(walletWords(error))
    } finally {
      setBusy(false)
    }
  }
  return (
    <div class="with-signer">
      {node !== undefined && (
        <button
          type="button"
          class="primary"
          disabled={busy}
          onClick={() => void run(async () => testAccount(node))}
        >
          {verb} with a test account
        </button>
      )}
      {wallets.value.map((wallet) => (
        <WalletButton
          key={wallet.id}
          {...{ wallet, verb, busy, chain }}
          onClick={() =>
            void run(async () => {
              await goToChain(wallet.provider, chain, node)
              return wallet.provider
            })
          }
        />
      ))}
      {wallets.value.length === 0 && (
        <p class="soft">
          This browser has no wallet.{' '}
          {node === undefined
            ? 'Install a wallet extension (EIP-6963 or EIP-1193), then reload this page.'
            : 'Use a test account of the local chain instead.'}
        </p>
      )}
      {busy && <p role="status">Waiting for the wallet and the chain ...</p>}
      {problem && (
        <p role="alert" class="problem">
          {problem}
        </p>
      )}
    </div>
  )
}

/** Button of one wallet. It shows its account and chain when it is connected. */
function WalletButton({
  wallet: { name, provider },
  chain,
  verb,
  busy,
  onClick,
}: {
  wallet: InjectedWallet
  chain: Pick<Chain, 'id' | 'slug'>
  verb: string
  busy: boolean
  onClick: () => void
}) {
  const [state, setState] = useState<WalletState>()
  useEffect(() => {
    let left = false
    const look = () =>
      void stateOf(provider).then(
        (found) => left || setState(found),
        () => {},
      )
    look()
    const events = provider as unknown as Partial<
      Record<'on' | 'removeListener', (...args: unknown[]) => void>
    >
    for (const event of ['accountsChanged', 'chainChanged']) events.on?.(event, look)
    return () => {
      left = true
      for (const event of ['accountsChanged', 'chainChanged']) events.removeListener?.(event, look)
    }
  }, [provider, busy])
  return (
    <div class="wallet">
      <button type="button" class="primary" disabled={busy} onClick={onClick}>
        {verb} with <bdi>{name}</bdi>
      </button>
      {state?.account !== undefined && (
        <p class="soft">
          Account <code>{state.account}</code>
          {state.chainId === chain.id
            ? `, on ${chain.slug}.`
            : `, on chain ${state.chainId}: the wallet will ask to switch to ${chain.slug} (chain ${chain.id}).`}
        </p>
      )}
    </div>
  )
}

/** Message of a wallet's error. */
function walletWords(error: unknown): string {
  const said = ((error as { shortMessage?: string })?.shortMessage ?? (error as Error)?.message ?? '').split(
    '\n',
  )[0]
  switch (codeOf(error) ?? ((error as { code?: unknown })?.code === 'ACTION_REJECTED' ? 4001 : undefined)) {
    case 4001:
      return 'You rejected the request in your wallet. Nothing was sent.'
    case 4100:
      return 'Your wallet does not allow this page to use the account. Connect it in the wallet and try again.'
    case 4900:
    case 4901:
      return 'Your wallet has no connection to the chain. Check its network and try again.'
    case -32002:
      return 'Your wallet already shows a request of this page. Answer it there.'
  }
  if (error instanceof GeoError) return error.message
  return `Your wallet reported an error: ${said || String(error)}.`.replace(/\.\.$/, '.')
}
