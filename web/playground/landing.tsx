import {
  createGeo,
  type Answer,
  type Chain,
  type Checked,
  type Landed,
  type LandingStep,
  type Provider,
  type QuorumAnswer,
  type Signer,
} from '@geospatial-attestation/client'
import { useRef, useState } from 'preact/hooks'
import { usePages } from '../chains'
import { CopyButton } from '../copy-button'
import { reasonOf, say } from '../messages'
import { BASE, geo } from '../service'
import { Steps, WithSigner } from '../wallet'
import { isOfQuorum } from './quorum'

/** Lands an answer on its chain through a wallet, and reads it back from the chain. */
export function Landing({ answer, chain }: { answer: Answer | QuorumAnswer; chain: Chain }) {
  const [steps, setSteps] = useState<readonly string[]>([])
  const [landed, setLanded] = useState<Landed>()
  const [checked, setChecked] = useState<Checked>()
  const [unread, setUnread] = useState('')
  const pages = usePages(chain.slug)
  const page = landed && pages?.attestation(landed.uid)
  /** Answer with its last signature. Landing an earlier one after a failure could pay and land twice. */
  const last = useRef(answer as Answer)
  const land = async (signer: Signer, confirm: string) => {
    setSteps([confirm])
    const onStep = (step: LandingStep) => {
      if ('answer' in step) last.current = step.answer as Answer
      setSteps((before) => [
        ...before,
        step.step === 'sent' ? say.wallet.sent(step.transactionHash) : say.landing.signedAgain(step.reason),
      ])
    }
    const done = await geo.land(last.current, signer, { onStep })
    setLanded(done)
    setSteps((before) => [
      ...before,
      done.already ? say.landing.already : say.landing.confirmed(done.blockNumber),
    ])
    // Reads the answer through the wallet's RPC endpoint, so that the check does not trust the service. The
    // attester of a quorum's answer is its contract.
    void (isOfQuorum(answer) ? createGeo({ url: BASE, attester: answer.quorum }) : geo)
      .check(done.uid, { chain: chain.id, provider: signer as Provider })
      .then(setChecked, (error: Error) => setUnread(say.landing.unread(reasonOf(error))))
  }
  return (
    <div class="landing">
      <h2>{say.landing.title(chain.slug)}</h2>
      {!landed && !isOfQuorum(answer) && chain.ready === false && <p class="problem">{chain.reason}</p>}
      {!landed && <WithSigner chain={chain} verb={say.landing.action} act={land} page="playground" />}
      <Steps steps={steps} />
      {landed && (
        <p>
          {say.wallet.attestedAs} <code data-uid>{landed.uid}</code>{' '}
          <CopyButton text={landed.uid} what={say.copy.uid} />{' '}
          {page && (
            <a href={page} rel="noreferrer noopener" target="_blank">
              {say.landing.explorer}
            </a>
          )}
        </p>
      )}
      {checked && (
        <p class={checked.valid ? 'good' : 'problem'} role="status" data-checked={checked.valid}>
          {say.landing.checked(checked)}
        </p>
      )}
      {unread && (
        <p class="problem" role="alert">
          {unread}
        </p>
      )}
    </div>
  )
}
