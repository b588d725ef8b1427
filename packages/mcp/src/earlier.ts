// SPDX-License-Identifier: MIT
import {
  GeoError,
  messageOf,
  sentenceOf,
  SignerError,
  type Answer,
  type Chain,
  type LandingStep,
  type QuorumAnswer,
  type Signer,
} from '@geospatial-attestation/client'
import { z } from 'zod'
import { answerOf, answerParameter } from './answers'
import { addTool, READS, type Told, type Tools } from './tool'

const verified = z.object({
  ours: z.boolean().describe('True if the service signed exactly this'),
  submittable: z.boolean().describe('True if it can land now'),
  reasons: z.array(z.string()).describe('Reasons if not'),
  sentence: z.string().nullable().describe('Signed content'),
  landed: z
    .object({
      status: z.enum(['landed', 'not landed', 'unknown']),
      uid: z.string().nullable(),
      transactionHash: z.string().nullable(),
      blockNumber: z.number().nullable(),
      revoked: z.boolean().nullable(),
    })
    .nullable(),
  deadline: z.number(),
})
const landed = z.object({
  uid: z.string().describe('Attestation that contains the answer'),
  chain: z.string(),
  transactionHash: z.string(),
  blockNumber: z.number(),
  already: z.boolean().describe('True if no transaction of this call is known to have landed it'),
  sentence: z.string(),
})

/**
 * A signer with an RPC endpoint, or a function that returns a chain's signer, which must be the same one on
 * each call. The model sees the messages of its errors.
 */
export type Payer = Signer | ((chain: Chain) => Signer | Promise<Signer>)

/** Adds the tool verify_answer and, if there is a signer, land_answer. */
export function earlierTools(tools: Tools, land: Payer | undefined, pending?: Set<string>): void {
  const { geo, kept } = tools
  const input = z.object({ answer: answerParameter(kept) })
  addTool(
    tools,
    {
      name: 'verify_answer',
      title: 'Verify an answer',
      description: 'Verifies an earlier answer, decodes it, and reports if it has landed or can still land.',
      annotations: READS,
      input,
      output: verified,
    },
    async (values, signal) => {
      const answer = answerOf(values.answer, kept)
      if ('quorum' in answer) return verifyOfQuorum(tools, answer, signal)
      const { ours, submittable, reasons, says, deadline, ...found } = await geo.verify(answer, { signal })
      const sentence = says && sentenceOf(says)
      // That of an altered answer is the landing of the content that was signed.
      const landed = ours ? found.landed : null
      const where =
        landed?.status === 'landed'
          ? `It landed as attestation ${landed.uid} in block ` +
            `${landed.blockNumber}${landed.revoked ? ', and was revoked later' : ''}.`
          : submittable
            ? `It has not landed${landed?.status === 'unknown' ? ' as far as is known' : ''}, and can land.`
            : `It cannot land now: ${reasons.join('; ')}.`
      return {
        structured: { ours, submittable, reasons, sentence, landed, deadline },
        texts: [
          [ours ? 'Genuine.' : 'NOT signed by this service in this form.', sentence, where]
            .filter(Boolean)
            .join(' '),
        ],
      }
    },
  )
  if (land) landTool(tools, input, land, pending)
}

function landTool(
  tools: Tools,
  input: z.ZodObject<{ answer: z.ZodType }>,
  land: Payer,
  pending = new Set<string>(),
): void {
  const { geo, quorum, kept } = tools
  addTool(
    tools,
    {
      name: 'land_answer',
      title: 'Land an answer on its chain',
      description:
        'Writes an answer to its chain as an attestation, in a transaction that costs gas and cannot ' +
        'be undone, and waits until it is in a block. An answer that has landed before is not landed ' +
        'again: the tool returns its attestation.',
      // The tool only adds an attestation, but it spends gas, so a host should ask its user.
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
      input,
      output: landed,
    },
    async (values, signal) => {
      // A second call must find the landing of the last signature.
      const answer = kept!.latest(answerOf(values.answer, kept))
      // Nothing may fail once the answer has landed.
      const on = await geo.chain(answer.chainId, { signal })
      const signer = await signerOf(land, on)
      let last = answer as Answer
      const sent: string[] = []
      const onStep = (step: LandingStep) => {
        if ('answer' in step) {
          kept!.renew(last, step.answer as Answer)
          last = step.answer as Answer
        } else {
          sent.push(step.transactionHash)
          pending.add(step.transactionHash)
        }
      }
      const { uid, transactionHash, blockNumber, already, says } = await (
        'quorum' in answer
          ? (quorum ?? geo).land(answer, signer, { signal, onStep })
          : geo.land(answer, signer, { signal, onStep })
      ).finally(() => {
        // After a cancellation, the model gets no result.
        if (!signal.aborted) sent.forEach((each) => pending.delete(each))
      })
      const chain = on.slug
      const sentence = sentenceOf(says)
      return {
        structured: { uid, chain, transactionHash, blockNumber, already, sentence },
        texts: [
          `${already ? 'It has already landed as attestation' : 'Landed as attestation'} ${uid} on ${chain}, transaction ${transactionHash}, block ${blockNumber}. ${sentence}`,
        ],
      }
    },
  )
}

/**
 * Verifies the signatures of a quorum's answer. Their entries in the transparency logs are not read: anyone
 * can have written the URLs of an answer that a model passes.
 */
async function verifyOfQuorum(
  { geo, quorum }: Tools,
  answer: QuorumAnswer,
  signal: AbortSignal,
): Promise<Told<z.infer<typeof verified>>> {
  const options = { logs: false, signal }
  const { valid, unknown, problems, operators } = await (quorum
    ? quorum.verify(answer, options)
    : geo.verifyQuorum(answer, options))
  const { deadline } = answer.answer
  const late = deadline < Math.floor(Date.now() / 1000) ? ['Its deadline has passed.'] : []
  const sentence = operators.length > 0 ? sentenceOf(answer) : null
  const verdict = valid
    ? `Genuine: ${operators.length} operators of the quorum signed it.`
    : unknown
      ? 'NOT verified.'
      : 'NOT signed by the quorum in this form.'
  const reasons = [...problems, ...late]
  const submittable = reasons.length === 0
  return {
    structured: { ours: valid, submittable, reasons, sentence, landed: null, deadline },
    texts: [
      [verdict, sentence, ...reasons, submittable && 'It can land unless it already did.']
        .filter(Boolean)
        .join(' '),
    ],
  }
}

/** Returns the signer of a chain. Errors of the given function become SignerErrors, which the model sees. */
async function signerOf(land: Payer, chain: Chain): Promise<Signer> {
  if (typeof land !== 'function') return land
  try {
    return await land(chain)
  } catch (error) {
    throw error instanceof GeoError ? error : new SignerError(`${messageOf(error)}.`, { cause: error })
  }
}
