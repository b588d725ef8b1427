import type { Answer, Chain, Checked, Landed, Provider, Signer } from '@geospatial-attestation/client'
import { useState } from 'preact/hooks'
import { usePages } from '../chains'
import { CopyButton } from '../copy-button'
import { geo } from '../service'
import { WithSigner } from '../wallet'

/** Lands an answer on its chain through a wallet, and reads it back from the chain. */
export function Landing({ answer, chain }: { answer: Answer; chain: Chain }) {
  const [steps, setSteps] = useState<readonly string[]>([])
  const [landed, setLanded] = useState<Landed>()
  const [checked, setChecked] = useState<Checked>()
  const [unread, setUnread] = useState('')
  const pages = usePages(chain.slug)
  const page = landed && pages?.attestation(landed.uid)
  const land = async (signer: Signer) => {
    setSteps(['Confirm in your wallet ...'])
    const done = await geo.land(answer, signer, {
      onStep: (step) =>
        setSteps((before) => [
          ...before,
          step.step === 'sent'
            ? `Sent as ${step.transactionHash}. Waiting for its block ...`
            : `Signed again because ${step.reason}.`,
        ]),
    })
    setLanded(done)
    setSteps((before) => [
      ...before,
      done.already ? 'Already on the chain; nothing was sent.' : `Confirmed in block ${done.blockNumber}.`,
    ])
    // The wallet's node reads the attestation, so that the check does not trust the service.
    await geo
      .check(done.uid, { chain: chain.id, provider: signer as Provider })
      .then(setChecked, (error: Error) =>
        setUnread(`It landed, but could not be read from the chain: ${error.message}`),
      )
  }
  return (
    <div class="landing">
      <h2>Publish on {chain.slug}</h2>
      {!landed && chain.ready === false && <p class="problem">{chain.reason}</p>}
      {!landed && <WithSigner chain={chain} verb="Publish" act={land} />}
      <ol class="steps" aria-live="polite">
        {steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      {landed && (
        <p>
          Attested as <code data-uid>{landed.uid}</code> <CopyButton text={landed.uid} what="UID" />{' '}
          {page && (
            <a href={page} rel="noreferrer noopener" target="_blank">
              Show it in EAS's explorer
            </a>
          )}
        </p>
      )}
      {checked && (
        <p class={checked.valid ? 'good' : 'problem'} role="status" data-checked={checked.valid}>
          {checked.valid ? 'Checked on the chain, and valid: ' : `Not valid: ${checked.problems.join(' ')} `}
          {checked.sentence}
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
