// SPDX-License-Identifier: MIT
import { UNITS } from '../../../src/operations/table'
import { decodeClaims, getAttestation, getSchema, type OnchainAttestation } from './eas'
import { GeoError, invalidInput, refuseUnknown } from './errors'
import type { Context } from './context'
import type { Claim, Recomputed, RecomputeInput, RecomputeOptions } from './kernel'
import { noAttestation, readerOfChain } from './send'
import type { Provider } from './signer'
import { untilAborted } from './waiting'

export interface RecomputeAnswerOptions extends Omit<RecomputeOptions, 'attestation' | 'schema'> {
  /** chain of the answer and its inputs: its id or slug; default: the answer's chain, or the client's */
  chain?: number | string
  /** RPC endpoint from which attestations are read; default: that of createGeo({ providers }) */
  provider?: Provider
  signal?: AbortSignal
}

/**
 * Implements `Geo.recompute`. It loads the kernel, and reads attestations, including the answer's own, and
 * schemas from the chain. The RPC endpoint cannot forge them, since their content must hash to their UID.
 */
export async function recomputeAnswer(
  context: Context,
  answer: string | (Claim & { chainId?: number }),
  inputs: readonly (RecomputeInput | undefined)[] = [],
  given: RecomputeAnswerOptions = {},
): Promise<Recomputed & { attester?: string }> {
  refuseUnknown('recompute', given, { chain: true, provider: true, signal: true, locationSchemas: true })
  const { chain: which, provider, signal, ...options } = given
  const uid = typeof answer === 'string' ? answer : undefined
  const named = which ?? (typeof answer === 'string' ? undefined : answer?.chainId)
  const located = once(async () => {
    const chain = await context.chain(named)
    return { chain, node: provider ?? context.options.providers?.[chain.id] }
  })
  const connected = once(async () => {
    const { chain, node } = await located()
    const call = "recompute(answer, inputs, { provider: 'https://...' })"
    const hint = ' Pass inputs that were GeoJSON: they are not on the chain.'
    return { chain, reader: await readerOfChain(node, chain, call, hint) }
  })
  const attestation = async (uid: string) => {
    const { chain, reader } = await connected()
    return untilAborted(getAttestation(reader, chain.eas, uid), signal)
  }
  const schema = async (uid: string) => {
    // An offchain attestation needs an RPC endpoint only for its schema.
    if ((await located()).node === undefined) return undefined
    const { chain, reader } = await connected()
    return untilAborted(getSchema(reader, chain.schemaRegistry, uid), signal)
  }
  const { isContentOf, recompute } = await import('./kernel')
  const found = uid === undefined ? undefined : await attestedAnswer(uid, attestation, isContentOf)
  const claim = found?.claim ?? (answer as Claim)
  if (typeof claim?.inputRefs?.map !== 'function')
    throw invalidInput(
      'answer: expected an answer of the service, or the content of its attestation: operation, ' +
        'result, inputRefs.',
    )
  signal?.throwIfAborted()
  // An omitted input may be an attestation, which its reference names.
  const all = claim.inputRefs.map((ref, i) => inputs[i] ?? ref)
  const used = [...all, ...inputs.slice(all.length)] as RecomputeInput[]
  const recomputed = await recompute(claim, used, { ...options, attestation, schema })
  return found ? { ...recomputed, attester: found.attester } : recomputed
}

/** Reads the claims of an attested answer from the bytes to which its UID commits, and its attester. */
async function attestedAnswer(
  uid: string,
  attestation: (uid: string) => Promise<OnchainAttestation | undefined>,
  isContentOf: (content: OnchainAttestation, uid: string) => boolean,
): Promise<{ claim: Claim; attester: string }> {
  if (!/^0x[0-9a-fA-F]{64}$/.test(uid))
    throw invalidInput(`'${uid}' is not a UID: expected 0x and 64 hex digits.`)
  const found = await attestation(uid)
  if (!found) throw noAttestation(uid, 'this chain')
  if (!isContentOf(found, uid))
    throw new GeoError(
      `The RPC endpoint returned the content of another attestation for ${uid}. Use another RPC endpoint.`,
    )
  const claims = decodeClaims(found.data)
  if (!claims) throw invalidInput(`${uid} is not an answer: its data is not the payload of one.`)
  const { whole, units, ...claim } = claims
  // Uses the signed integer, since a JavaScript number cannot represent every result above 900,000 km2.
  const exact = whole === undefined ? {} : { result: whole, units: UNITS[units!].payload }
  return { claim: { ...claim, ...exact }, attester: found.attester }
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined
  return () => (done ??= work())
}
