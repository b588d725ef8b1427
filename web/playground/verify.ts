import {
  checkSigned,
  expectedAttester,
  InvalidInputError,
  type Answer,
  type QuorumAnswer,
  type Input,
  type RecomputeInput,
} from '@geospatial-attestation/client'
import { reasonOf, say } from '../messages'
import { geo, geoOnce } from '../service'
import type { AttestedEvent } from '../sheet/full'
import { CONTENT, contentOf } from '../sheet/record'
import type { Check } from '../sheet/verify'

/** Checks that the attester signed the answer. The page itself recovers the signer from the signature. */
export async function checkSignature(answer: Answer): Promise<Check> {
  const chain = await geo.chain(answer.chainId)
  const contract = answer.delegatedAttestation.submission === 'proxy' ? chain.proxy : chain
  if (!contract?.domain) return { state: 'unknown', sentence: say.answer.noContract(chain.slug) }
  try {
    const attester = expectedAttester(chain, answer.attestation.attester)
    await checkSigned(answer, contract.domain, attester)
    return { state: 'good', sentence: say.answer.signed(attester, chain.slug) }
  } catch (error) {
    return { state: 'bad', sentence: reasonOf(error) }
  }
}

/**
 * Checks that the kernel computes the same answer in this page. The page reads attestations from the
 * service's event log and checks that they hash to their UID, so that the service cannot falsify them.
 */
export async function checkResult(answer: Answer | QuorumAnswer, inputs: readonly Input[]): Promise<Check> {
  const contents = await Promise.all(inputs.map(inputOf))
  try {
    const recomputed = await geo.recompute(answer, contents)
    return {
      state: recomputed.verdict === 'equal' ? 'good' : 'bad',
      sentence: say.answer.recomputed(recomputed),
    }
  } catch (error) {
    // The kernel was loaded, and refuses the answer itself.
    if (error instanceof InvalidInputError) return { state: 'bad', sentence: reasonOf(error) }
    throw error
  }
}

const QUERY = `query ($uid: String!) {
  attestationEvents(first: 1, filter: { uid: { equalTo: $uid }, kind: { equalTo: "ATTESTED" } }) {
    nodes { ${CONTENT} }
  }
}`

async function inputOf(input: Input): Promise<RecomputeInput> {
  if (typeof input !== 'string') return input
  const { attestationEvents } = await geoOnce.graphql<{ attestationEvents: { nodes: AttestedEvent[] } }>(
    QUERY,
    {
      uid: input,
    },
  )
  const [event] = attestationEvents.nodes
  if (!event) throw new Error(say.answer.notIndexed)
  return contentOf(event)
}
