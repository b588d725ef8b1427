// SPDX-License-Identifier: MIT
import {
  TlogError,
  equalBytes,
  formatNote,
  formatSignature,
  parseWitnessRequest,
  signNote,
  signatureBy,
  verifyConsistency,
  EMPTY_ROOT,
  type Checkpoint,
  type NoteSignature,
  type SignerKey,
  type VerifierKey,
} from '../../../src/tlog'
import type { Folder } from './folder'

export interface Reply {
  status: number
  type?: string
  body: string
}

const refusal = (status: number, body: string): Reply => ({ status, body: `${body}\n` })

/** Cosigner of known logs. It cosigns consistent checkpoints only (c2sp.org/tlog-witness). */
export class Witness {
  /** Promise of the last change of each origin: the check of a checkpoint and its change are atomic. */
  readonly #turns = new Map<string, Promise<unknown>>()
  readonly #logs = new Map<string, VerifierKey[]>()
  readonly replies = new Map<number, number>()

  /**
   * @param last last cosigned checkpoint of each origin
   * @param logs keys of the logs; a key's name is the origin of its log, which may have several keys
   * @param clock returns Unix seconds
   * @param onError receives errors of writing evidence
   */
  constructor(
    readonly key: SignerKey,
    logs: readonly VerifierKey[],
    private readonly folder: Pick<Folder, 'write' | 'keepEvidence'>,
    private readonly last: Map<string, Checkpoint>,
    private readonly clock: () => number,
    private readonly onError: (error: unknown) => void = () => {},
  ) {
    for (const log of logs) this.#logs.set(log.name, [...(this.#logs.get(log.name) ?? []), log])
  }

  /** Returns the last cosigned checkpoint of an origin, with the cosignature. */
  checkpoint(origin: string): Checkpoint | undefined {
    return this.last.get(origin)
  }

  /** Returns the size of the last cosigned checkpoint, by origin. */
  sizes(): [origin: string, size: number][] {
    return [...this.#logs.keys()].map((origin) => [origin, this.last.get(origin)?.size ?? 0])
  }

  /** Handles the body of a request to add-checkpoint. */
  async addCheckpoint(body: string): Promise<Reply> {
    const reply = await this.#addCheckpoint(body)
    this.replies.set(reply.status, (this.replies.get(reply.status) ?? 0) + 1)
    return reply
  }

  async #addCheckpoint(body: string): Promise<Reply> {
    let request: ReturnType<typeof parseWitnessRequest>
    try {
      request = parseWitnessRequest(body)
    } catch (error) {
      if (error instanceof TlogError) return refusal(400, error.message)
      throw error
    }
    const { checkpoint, oldSize } = request
    const { text } = checkpoint.note
    const keys = this.#logs.get(checkpoint.origin)
    if (!keys) return refusal(404, 'This witness does not know the log with this origin.')
    // Anyone can add signature lines to a checkpoint. Only those of the log are stored and published.
    let signatures: NoteSignature[]
    try {
      const found = await Promise.all(keys.map((key) => signatureBy(checkpoint.note, key)))
      signatures = found.filter((each) => each !== undefined)
    } catch (error) {
      if (error instanceof TlogError) return refusal(403, error.message)
      throw error
    }
    if (signatures.length === 0) return refusal(403, 'No signature is by a key of the log.')
    if (oldSize > checkpoint.size) return refusal(400, 'The old size is above that of the checkpoint.')
    const signed = { ...checkpoint, note: { text, signatures } }
    return this.#inTurn(checkpoint.origin, () => this.#compare({ ...request, checkpoint: signed }))
  }

  /** Compares a signed checkpoint with the last one, and cosigns it. */
  async #compare({ checkpoint, oldSize, hashes }: ReturnType<typeof parseWitnessRequest>): Promise<Reply> {
    const { origin } = checkpoint
    const last = this.last.get(origin) ?? { size: 0, root: EMPTY_ROOT }
    if (oldSize !== last.size) return { status: 409, type: 'text/x.tlog.size', body: `${last.size}\n` }
    if (checkpoint.size === last.size && !equalBytes(checkpoint.root, last.root)) {
      await this.#contradict(checkpoint, 'fork')
      return refusal(409, 'The root differs from that of the last checkpoint, which has the same size.')
    }
    if (!verifyConsistency(last, checkpoint, hashes)) {
      await this.#contradict(checkpoint, 'proof')
      return refusal(422, 'The consistency proof does not verify.')
    }
    const cosignature = await signNote(checkpoint.note.text, this.key, this.clock())
    const line = formatSignature(cosignature)
    // The file is written before the response: after a crash, the witness must know what it cosigned.
    const note = { ...checkpoint.note, signatures: [...checkpoint.note.signatures, cosignature] }
    await this.folder.write(origin, formatNote(note))
    this.last.set(origin, { ...checkpoint, note })
    return { status: 200, body: line }
  }

  /** Stores a rejected checkpoint that the log signed, and the last one. An error is only reported. */
  async #contradict(checkpoint: Checkpoint, kind: 'fork' | 'proof'): Promise<void> {
    const last = this.last.get(checkpoint.origin)
    const notes = [...(last ? [last] : []), checkpoint].map(({ note }) => formatNote(note))
    await this.folder.keepEvidence(checkpoint.origin, kind, notes.join('\n')).catch(this.onError)
  }

  /** Runs a change after the earlier ones of the same origin. */
  #inTurn<T>(origin: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#turns.get(origin) ?? Promise.resolve()).then(work, work)
    this.#turns.set(origin, turn)
    return turn
  }
}
