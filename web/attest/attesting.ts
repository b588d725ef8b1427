import type { Chain, Signer } from '@geospatial-attestation/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { live } from '../map/live'
import type { RecordKey } from '../map/record-layers'
import { reasonOf, say } from '../messages'
import { find } from '../search/find'
import { geo } from '../service'
import { FormError, placeOf, problemOf, type useForm } from './form'
import { hasFailed, isUnsettled, useSent } from './sent'

/** Attests the place of the form, and reports each step until the service returns the record. */
export function useAttesting(
  { entered, setProblem }: Pick<ReturnType<typeof useForm>, 'entered' | 'setProblem'>,
  onIndexed: () => void,
) {
  const [steps, setSteps] = useState<readonly string[]>([])
  const [attested, setAttested] = useState<RecordKey & { isIndexed: boolean }>()
  const [sent, keepSent] = useSent()
  const { left, setAsking } = useLeaving()
  useEffect(() => () => waiting.current.abort(), [])

  /** Ends the wait for the record of the place that the page no longer shows. */
  const waiting = useRef(new AbortController())

  const forget = () => {
    waiting.current.abort()
    setAttested(undefined)
    setSteps([])
  }
  const step = (sentence: string) => setSteps((before) => [...before, sentence])
  const showRecord = ({ chain, uid }: RecordKey) => {
    setAttested({ chain, uid, isIndexed: true })
    // A live map receives the event from the stream.
    if (live.value !== 'live') onIndexed()
  }
  /** Runs a step. A problem that names a field is shown there. */
  const atField = async <T>(run: () => T | Promise<T>): Promise<T> => {
    try {
      return await run()
    } catch (error) {
      const found = problemOf(error)
      if (!found) throw error
      setSteps([])
      setProblem(found)
      throw new FormError(found)
    }
  }
  const attest = async (signer: Signer, chain: Chain, confirm: string) => {
    step(say.attest.steps.checking)
    const done = await atField(() =>
      geo.attest(placeOf(entered()), signer, {
        ...{ chain: chain.id, signal: left },
        onStep: (taken) => {
          setAsking(taken.step === 'checked')
          if (taken.step === 'checked') step(say.attest.steps.valid(confirm))
          if (taken.step !== 'sent') return
          step(say.wallet.sent(taken.transactionHash))
          keepSent({ transactionHash: taken.transactionHash, chain: chain.slug })
        },
      }),
    ).catch((error: unknown) => {
      setAsking(false)
      if (hasFailed(error)) keepSent(undefined)
      throw error
    })
    // A form that was left cannot show the UID. The next one finds it by the transaction.
    if (left.aborted) return
    keepSent(undefined)
    setAttested({ chain: chain.slug, uid: done.uid, isIndexed: false })
    step(say.attest.steps.confirmed(done.blockNumber))
    const { signal } = (waiting.current = new AbortController())
    void done.indexed({ signal }).then(
      (found) => {
        if (signal.aborted) return
        showRecord(found)
        step(say.attest.steps.indexed)
      },
      (error: Error) => signal.aborted || step(reasonOf(error)),
    )
  }
  /** Returns true if the service has the record of the sent transaction, which is then shown as attested. */
  const lookAgain = async (): Promise<boolean> => {
    const [hit] = await find(sent!.transactionHash, left)
    // The user may have forgotten this transaction meanwhile, and sent another one.
    if (!isUnsettled(sent!)) return true
    if (!hit?.record) return false
    keepSent(undefined)
    showRecord(hit.record)
    return true
  }
  return {
    ...{ steps, attested, forget, check: () => atField(() => placeOf(entered())), attest },
    ...{ sent, lookAgain, forgetSent: () => keepSent(undefined) },
  }
}

/**
 * Signal that is aborted when the page is left. While the wallet may be asked to send, this waits for its
 * response: the transaction must be kept, and the form locked.
 */
function useLeaving() {
  const leaving = useRef(new AbortController())
  const hasLeft = useRef(false)
  const isAsking = useRef(false)
  const update = () => {
    if (hasLeft.current && !isAsking.current) leaving.current.abort()
  }
  useEffect(
    () => () => {
      hasLeft.current = true
      update()
    },
    [],
  )
  const setAsking = (now: boolean) => {
    isAsking.current = now
    update()
  }
  return { left: leaving.current.signal, setAsking }
}
