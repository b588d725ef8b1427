import type { Chain, Eip1193Provider, Signer } from '@geospatial-attestation/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLoaded } from '../loading'
import { isLocked, lock, type Page } from '../location'
import { say } from '../messages'
import { followState, goToChain, type WalletState } from './chain'
import { wallets, type InjectedWallet } from './injected'
import { localNodes, testAccount } from './nodes'
import { walletWords } from './words'
import './wallet.css'

/**
 * Buttons for an action with a signer on a chain: one for each wallet of the browser and, on a local
 * deployment, one for a test account. `act` receives the signer once the wallet is connected and on the
 * chain. Errors of `act`, and refusals by the wallet, are shown. The buttons have no attribute disabled, with
 * which the pressed one would lose the focus to the page.
 */
export function WithSigner({
  chain,
  verb,
  isDisabled = false,
  prepare = () => {},
  act,
  page,
}: {
  chain: Pick<Chain, 'id' | 'slug'>
  /** label of the action, such as `Publish` */
  verb: string
  isDisabled?: boolean
  /** throws a problem of the form before a wallet receives any request */
  prepare?: () => unknown
  /** `confirm` says how the signer confirms a transaction */
  act: (signer: Signer, confirm: string) => Promise<unknown>
  /** page whose form is locked during the action */
  page?: Page
}) {
  const node = useLoaded(`nodes ${chain.id}`, localNodes).data?.[chain.id]
  const [isRunning, setRunning] = useState(false)
  // Another instance may have asked the wallet, before the user left the form.
  const busy = isRunning || (page !== undefined && isLocked(page))
  const [problem, setProblem] = useState('')
  useEffect(() => setProblem(''), [chain.id])
  const run = async (signer: Eip1193Provider, confirm: string, connect: () => Promise<void>) => {
    if (busy || isDisabled) return
    setRunning(true)
    if (page) lock(page, true)
    setProblem('')
    try {
      await prepare()
      await connect()
      await act(signer, confirm)
    } catch (error) {
      setProblem(walletWords(error))
    } finally {
      setRunning(false)
      if (page) lock(page, false)
    }
  }
  return (
    <div class="with-signer">
      {node !== undefined && (
        <button
          type="button"
          class="primary"
          aria-disabled={busy || isDisabled}
          onClick={() => void run(testAccount(node), say.wallet.confirmsItself, async () => {})}
        >
          {say.wallet.testAccount(verb)}
        </button>
      )}
      {wallets.value.map((wallet) => (
        <WalletButton
          key={wallet.id}
          {...{ wallet, verb, busy, chain }}
          isDisabled={busy || isDisabled}
          onClick={() =>
            void run(wallet.provider, say.wallet.confirm, () => goToChain(wallet.provider, chain, node))
          }
        />
      ))}
      {wallets.value.length === 0 && (
        <p class="soft">
          {say.wallet.none} {node === undefined ? say.wallet.install : say.wallet.useTestAccount}
        </p>
      )}
      {busy && <p role="status">{say.wallet.waiting}</p>}
      {problem && (
        <p role="alert" class="problem">
          {problem}
        </p>
      )}
    </div>
  )
}

/** Steps of an action so far. The newest one is scrolled into view. */
export function Steps({ steps }: { steps: readonly string[] }) {
  const list = useRef<HTMLOListElement>(null)
  useEffect(() => {
    if (steps.length > 0) list.current?.scrollIntoView({ block: 'nearest' })
  }, [steps])
  return (
    <ol ref={list} class="steps" aria-live="polite">
      {steps.map((each, i) => (
        <li key={i}>{each}</li>
      ))}
    </ol>
  )
}

/** Button of one wallet. It shows its account and chain when it is connected. */
function WalletButton({
  wallet: { name, provider },
  chain,
  verb,
  busy,
  isDisabled,
  onClick,
}: {
  wallet: InjectedWallet
  chain: Pick<Chain, 'id' | 'slug'>
  verb: string
  busy: boolean
  isDisabled: boolean
  onClick: () => void
}) {
  const [state, setState] = useState<WalletState>()
  useEffect(() => followState(provider, setState), [provider, busy])
  return (
    <div class="wallet">
      <button type="button" class="primary" aria-disabled={isDisabled} onClick={onClick}>
        {say.wallet.with(verb)} <bdi>{name}</bdi>
      </button>
      {state?.account !== undefined && (
        <p class="soft">
          {say.wallet.account} <code>{state.account}</code>
          {state.chainId === chain.id
            ? say.wallet.onChain(chain.slug)
            : say.wallet.willSwitch(state.chainId, chain.slug, chain.id)}
        </p>
      )}
    </div>
  )
}
