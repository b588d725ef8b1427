import {
  consistencyProof,
  formatNote,
  formatWitnessRequest,
  isQuorum,
  parseCheckpoint,
  parseSignatures,
  signatureBy,
  withTiles,
  type NoteSignature,
  type Policy,
  type PolicyKey,
} from '../../src/tlog'
import type { SafeSender } from '../outgoing'
import type { LogStore } from './store'

const ANSWER_MS = 2_000
/** Maximum number of bytes of a response: a few signature lines. */
const MAX_ANSWER_BYTES = 16_384

/** Response of a witness. `ahead` and `failure` are reasons; `ahead` if it knows another tree. */
type Response = { cosignature: NoteSignature } | { ahead: string } | { failure: string }

export interface Round {
  /** Checkpoint with all cosignatures received so far. */
  checkpoint: string
  /** True if every quorum includes a witness that responded, so that no reader trusts an unknown tree. */
  isConfirmed: boolean
  /** Reason why this log differs from the one that a witness knows. */
  ahead: string | undefined
  /** Witnesses that did not cosign, with the reason. */
  failures: readonly { witness: string; reason: string }[]
}

/** Witnesses of the policy (c2sp.org/tlog-witness), which cosign checkpoints of this log. */
export class Witnesses {
  /** Number of cosignatures received and of failed requests since the start, by witness. */
  readonly counts = new Map<string, { cosigned: number; failed: number }>()

  constructor(
    private readonly policy: Policy,
    private readonly sender: SafeSender,
    private readonly store: LogStore,
  ) {
    for (const name of policy.witnesses.keys()) this.counts.set(name, { cosigned: 0, failed: 0 })
  }

  /** Asks all witnesses in parallel to cosign a checkpoint of the tree in the database. */
  async cosign(checkpoint: string): Promise<Round> {
    const known = await this.store.cosigned()
    const responses = await Promise.all(
      [...this.policy.witnesses].map(async ([name, witness]) => {
        const response = await this.ask(name, witness, checkpoint, known.get(name) ?? 0)
        const counts = this.counts.get(name)!
        counts['cosignature' in response ? 'cosigned' : 'failed']++
        return [name, response] as const
      }),
    )
    const { note } = parseCheckpoint(checkpoint)
    const cosignatures = responses.flatMap(([, each]) => ('cosignature' in each ? each.cosignature : []))
    const failures = responses.flatMap(([witness, each]) =>
      'failure' in each ? [{ witness, reason: each.failure }] : [],
    )
    const silent = failures.map(({ witness }) => witness)
    const [ahead] = responses.flatMap(([name, each]) => ('ahead' in each ? `${name} ${each.ahead}` : []))
    return {
      checkpoint: formatNote({ text: note.text, signatures: [...note.signatures, ...cosignatures] }),
      isConfirmed: silent.length === 0 || !isQuorum(this.policy, silent),
      ...{ ahead, failures },
    }
  }

  private async ask(
    name: string,
    { key, url }: PolicyKey,
    checkpoint: string,
    lastSize: number,
  ): Promise<Response> {
    const { size, note } = parseCheckpoint(checkpoint)
    try {
      for (let oldSize = Math.min(lastSize, size), attempt = 1; ; attempt++) {
        const { status, body } = await this.post(url!, checkpoint, size, oldSize)
        if (status === 200) {
          const signatures = parseSignatures(body)
          const cosignature = await signatureBy({ text: note.text, signatures }, key)
          if (!cosignature) return { failure: 'its response has no cosignature by its key' }
          await this.store.noteCosigned(name, size)
          return { cosignature }
        }
        const other = status === 409 && /^(0|[1-9]\d{0,15})\n?$/.test(body) ? Number(body) : undefined
        if (other !== undefined && other > size)
          return { ahead: `has cosigned ${other} entries, but the database has ${size}` }
        // This log's proofs are consistent with its own trees, so a witness that rejects one knows another
        // tree.
        if (status === 422 || (status === 409 && (other === undefined || other === oldSize)))
          return { ahead: `has cosigned another tree of at most ${size} entries` }
        if (other === undefined || attempt === 3) return { failure: `it returned status ${status}` }
        oldSize = other
      }
    } catch (error) {
      return { failure: (error as Error).message }
    }
  }

  private async post(url: string, checkpoint: string, size: number, oldSize: number) {
    const hashes = await withTiles(
      (tiles) => this.store.tiles(tiles),
      size,
      (read) => consistencyProof(read, oldSize, size),
    )
    const body = formatWitnessRequest({ oldSize, hashes }, parseCheckpoint(checkpoint).note)
    const { target, login } = requestOf(url)
    const headers = { 'content-type': 'text/plain; charset=utf-8', ...login }
    return this.sender.exchange(target, headers, body, AbortSignal.timeout(ANSWER_MS), MAX_ANSWER_BYTES)
  }
}

/** URL of add-checkpoint at a witness, and the header with the login of the witness's URL. */
function requestOf(url: string): { target: string; login: Record<string, string> } {
  const target = new URL(url)
  const login = decodeURIComponent(`${target.username}:${target.password}`)
  target.pathname = target.pathname.replace(/\/*$/, '/add-checkpoint')
  target.username = target.password = ''
  const authorization = `Basic ${Buffer.from(login).toString('base64')}`
  return { target: target.href, login: login === ':' ? {} : { authorization } }
}
