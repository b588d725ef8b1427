import { getAttestation, type ChainReader } from '@geospatial-attestation/client'
import { isContentOf, locationTexts, type AttestationContent } from '@geospatial-attestation/client/kernel'
import { say } from '../messages'
import { geo, request } from '../service'
import { stateOf } from '../wallet/chain'
import { wallets } from '../wallet/injected'
import { localNodes, testAccount } from '../wallet/nodes'
import type { Full } from './full'
import { contentOf } from './record'
import { shows } from './shows'
import { secondsText } from '../explorer/words'

/** Checks that this page performs itself. */

export interface Check {
  /**
   * `unknown` if the check could not be performed; `claimed` if it relies on keys that the operators of a
   * quorum name themselves, which only the contract can confirm
   */
  state: 'good' | 'bad' | 'unknown' | 'claimed'
  sentence: string
}

/** Content of an attestation in the current state of the chain. */
interface Current extends AttestationContent {
  /** Unix seconds; 0 means never */
  revocationTime: bigint | number | string
}
/** Result of reading the chain. `attestation` is undefined if the chain has no such attestation. */
export interface Reading {
  by: string
  attestation: Current | undefined
}

/**
 * Checks that the content in the service's event log hashes to the UID, and that the page shows this
 * content. To show other content, the service would have to find a second preimage of the hash.
 */
export async function checkContent({ record, details }: Full): Promise<Check> {
  const event = details?.events.nodes.find(({ kind }) => kind === 'ATTESTED')
  if (!details || !event?.data) return { state: 'unknown', sentence: say.checks.notIndexed }
  const content = contentOf(event)
  if (!isContentOf(content, record.uid)) return { state: 'bad', sentence: say.checks.notHashed }
  const texts = locationTexts(content)
  if (!texts) return { state: 'good', sentence: say.checks.contentOnly }
  return (await shows(record, details, texts, event))
    ? { state: 'good', sentence: say.checks.content }
    : { state: 'bad', sentence: say.checks.contentDiffers }
}

/**
 * Reads the attestation from its chain: through a browser wallet that is on the chain, otherwise from a node
 * on this machine, otherwise through the service's RPC endpoint. A wallet or node that fails is skipped.
 */
export async function readChain({ chain, uid }: { chain: string; uid: string }): Promise<Reading> {
  const { readers } = say.checks
  const known = await geo.chain(chain).catch(() => undefined)
  if (known) {
    const read = (provider: Requests, by: string): Promise<Reading | undefined> =>
      getAttestation(readerOf(provider), known.eas, uid).then(
        (attestation) => ({ by, attestation }),
        () => undefined,
      )
    for (const { name, provider } of wallets.value) {
      const state = await stateOf(provider).catch(() => undefined)
      const reading = state?.chainId === known.id && (await read(provider, readers.wallet(name)))
      if (reading) return reading
    }
    const node = (await localNodes())[known.id]
    const reading = node !== undefined && (await read(testAccount(node), readers.local))
    if (reading) return reading
  }
  const response = await request(`r/${chain}/${uid}/attestation`)
  const body = (await response.json()) as { attestation?: Current | null; detail?: string; message?: string }
  if (!response.ok) throw new Error(body.detail ?? body.message ?? String(response.status))
  return { by: readers.service, attestation: body.attestation ?? undefined }
}

interface Requests {
  request(request: { method: string; params: unknown[] }): Promise<unknown>
}
/** The part of a ChainReader that reads an attestation. */
const readerOf = (provider: Requests) =>
  ({
    call: (call: object) => provider.request({ method: 'eth_call', params: [call, 'latest'] }),
  }) as unknown as ChainReader

/** Checks that the chain has the attestation with the content that this page shows. */
export function checkChain(uid: string, { by, attestation }: Reading): Check {
  if (!attestation) return { state: 'bad', sentence: say.checks.notOnChain(by) }
  return isContentOf(attestation, uid)
    ? { state: 'good', sentence: say.checks.onChain(by) }
    : { state: 'bad', sentence: say.checks.chainDiffers(by) }
}

/** Checks that the attestation is not revoked on the chain, and not expired by the clock of this device. */
export function checkStanding({ attestation }: Reading, now: number): Check {
  if (!attestation) return { state: 'unknown', sentence: say.checks.unknownStanding }
  const [revoked, expires] = [Number(attestation.revocationTime), Number(attestation.expirationTime)]
  if (revoked > 0) return { state: 'bad', sentence: say.checks.revoked(secondsText(revoked)) }
  if (expires > 0 && expires * 1000 <= now)
    return { state: 'bad', sentence: say.checks.expired(secondsText(expires)) }
  return {
    state: 'good',
    sentence: expires > 0 ? say.checks.until(secondsText(expires)) : say.checks.standing,
  }
}
