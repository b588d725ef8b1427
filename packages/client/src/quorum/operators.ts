// SPDX-License-Identifier: MIT
import { isAddress } from 'viem'
import { cut } from '../../../../src/cut'
import type { GeoOptions } from '../context'
import { ApiError, GeoError, isOfRequest, messageOf, ServiceVersionError } from '../errors'
import { baseOf, jsonOf, sender, type Send } from '../http'
import { same } from '../says'
import type { Dissent, QuorumSignature } from '../types'
import { pause } from '../waiting'

/** Operators of a quorum: their options, requests and epochs, and the reasons for which they do not sign. */

export interface QuorumOptions {
  /** URLs of the operators' services */
  operators: readonly string[]
  /**
   * number of equal signatures that an answer needs, and of operators that must name the same contract and
   * epoch. A higher threshold of the epoch applies
   */
  k: number
  /**
   * address of the GeoQuorum contract; default: that of createGeo({ attester }), or the one that k operators
   * name
   */
  contract?: string
  /** chain of the questions: its id or slug; default: the client's chain */
  chain?: number | string
  /** seconds until the answer must land; default 600 */
  deadlineSeconds?: number
  /** milliseconds after which operators that have not signed count as unreachable; default 30,000 */
  timeout?: number
}

/** Interval in milliseconds after which an operator that may respond later is asked again. */
export const AGAIN_MS = 1_000

/** Error if fewer than k operators of a quorum signed the same answer. */
export class QuorumError extends GeoError {
  override name = 'QuorumError'

  constructor(
    message: string,
    /**
     * one entry for each operator without a valid signature, with its reason. If operators signed different
     * payloads, also one for each of these signatures
     */
    readonly dissent: readonly Dissent[],
  ) {
    super(message)
  }

  override get retryable(): boolean {
    return this.dissent.some(({ reason }) => PASSING_REFUSALS.includes(reason))
  }
}
const PASSING_REFUSALS: readonly Dissent['reason'][] = [
  ...(['not-indexed-yet', 'busy', 'unreachable', 'other-payload'] as const),
]

export interface Epoch {
  epoch: number
  validFrom: number
  validUntil: number
  threshold: number
  operators: readonly string[]
}
/** Operator set that k operators name, and its contract. */
export interface NamedEpoch {
  quorum: string
  epoch: Epoch
}
export interface Listed {
  chainId: number
  quorum: string
  epochs: Epoch[]
}

export class Operator {
  /** two operators with the same URL count as one */
  readonly url: string
  private readonly send: Send

  constructor(url: string, options: GeoOptions) {
    this.url = baseOf(url, 'operators')
    this.send = sender({ url: this.url, retries: 0, fetch: limitedFetch(options) })
  }

  /** Returns the quorums of this operator. Asks again while it cannot read the contract on this chain. */
  async list(chainId: number, signal: AbortSignal): Promise<Listed[]> {
    for (;;) {
      const listed = await this.json<Listed[]>(new Request(`${this.url}/quorum/v0`), signal)
      const found = listed.find((each) => each?.chainId === chainId)
      if (signal.aborted || found?.epochs.length !== 0) return listed
      await pause(AGAIN_MS, signal).catch(() => {})
    }
  }

  async sign(body: string, signal: AbortSignal): Promise<QuorumSignature> {
    const headers = { 'content-type': 'application/json' }
    return this.json(new Request(`${this.url}/quorum/v0/sign`, { method: 'POST', headers, body }), signal)
  }

  private async json<T>(request: Request, signal: AbortSignal): Promise<T> {
    // The signal ends with the time limit of the question, which may be longer than that of a request.
    return jsonOf<T>(await this.send(request, { signal, timed: false }), this.url)
  }
}

/** Maximum number of bytes of a response: epochs of 255 operators have fewer than 200 kB. */
const MAX_RESPONSE_BYTES = 1_000_000

/** Returns the `fetch` of these options with a limit on the size of responses. */
export function limitedFetch({ fetch = globalThis.fetch }: GeoOptions): typeof fetch {
  return async (...request) => shortened(await fetch(...request))
}

/**
 * Returns a response whose body fails after MAX_RESPONSE_BYTES: an operator must not exhaust the memory of
 * the coordinator while other operators compute. A body that is not a web stream, as a custom `fetch` may
 * return, is not limited.
 */
function shortened(response: Response): Response {
  let size = 0
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(part, controller) {
      size += part.length
      if (size > MAX_RESPONSE_BYTES) controller.error(new Error(`more than ${MAX_RESPONSE_BYTES} bytes`))
      else controller.enqueue(part)
    },
  })
  return response.body?.pipeThrough ? new Response(response.body.pipeThrough(limit), response) : response
}

/** Returns the quorum that the client's service names for a chain; undefined if it names none. */
export async function quorumOfService(
  { url, send }: { url: string; send: Send },
  chainId: number,
  signal?: AbortSignal,
): Promise<Listed | undefined> {
  // A service without a quorum does not have the route.
  const accepted = ({ status }: Response) => status === 404
  const sending = { accepted, ...(signal && { signal }) }
  const response = await send(new Request(`${url}/quorum/v0`), sending)
  if (!response.ok) return undefined
  const listed = await jsonOf<Listed[]>(response, url)
  if (!Array.isArray(listed)) throw new ServiceVersionError(`The service at ${url} lists no quorums.`)
  return listed.find((each) => each?.chainId === chainId && isAccount(each.quorum))
}

/** True if a value is an address. An operator may send any JSON. */
const isAccount = (value: unknown) => typeof value === 'string' && isAddress(value, { strict: false })

/**
 * Age in seconds from which a new epoch is preferred to an earlier one that is still valid: the contract
 * compares with the time of a block, which is behind the clock.
 */
const SETTLED_SECONDS = 60

/** Maximum number of quorums of an operator in an error. */
const MAX_NAMED = 3

/**
 * Returns the contract and the newest valid epoch that k operators name. During the first SETTLED_SECONDS of
 * an epoch, the earlier one is preferred while it is valid. Throws a QuorumError.
 */
export function currentEpoch(
  operators: readonly Operator[],
  { contract, k }: QuorumOptions,
  chainId: number,
  signal: AbortSignal,
): Promise<NamedEpoch> {
  const dissent: Dissent[] = []
  const votes = new Map<string, { urls: Set<string>; quorum: string; epoch: Epoch }>()
  return new Promise((resolve, reject) => {
    let left = operators.length
    const vote = (url: string, listed: Listed[]) => {
      const now = Date.now() / 1000
      const onChain = listed.filter((each) => each?.chainId === chainId && isAccount(each.quorum))
      const found = onChain.find(({ quorum }) => !contract || same(quorum, contract))
      const valid = found?.epochs.filter((each) => each?.validFrom <= now && now < each.validUntil) ?? []
      const epoch = valid.findLast(({ validFrom }) => validFrom <= now - SETTLED_SECONDS) ?? valid.at(-1)
      const hasAccounts = Array.isArray(epoch?.operators) && epoch.operators.every(isAccount)
      const hasNumbers = Number.isInteger(epoch?.epoch) && Number.isInteger(epoch?.threshold)
      if (!found || !epoch || !hasNumbers || !hasAccounts) {
        const first = onChain.slice(0, MAX_NAMED).map(({ quorum }) => quorum)
        const more = onChain.length - first.length
        const others = [...first, ...(more > 0 ? [`${more} more`] : [])].join(', ')
        const detail =
          !found && others
            ? `names the quorum ${others} on chain ${chainId}, not ${contract}`
            : `no valid epoch of ${contract ? `the quorum ${contract}` : 'a quorum'} on chain ${chainId}`
        return void dissent.push({ url, reason: 'wrong-epoch', detail })
      }
      // Operators with other versions may write the same epoch in another form.
      const { epoch: number, validFrom, validUntil, threshold, operators } = epoch
      const accounts = operators.map((account) => account.toLowerCase())
      const fields = [found.quorum.toLowerCase(), number, validFrom, validUntil, threshold, accounts]
      const key = JSON.stringify(fields)
      const { urls, ...named } = votes.get(key) ?? { urls: new Set(), quorum: found.quorum, epoch }
      votes.set(key, { urls: urls.add(url), ...named })
      if (urls.size >= k) resolve(named)
    }
    const end = () => {
      if (--left > 0) return
      const groups = [...votes.values()]
      const named = groups.flatMap(({ urls, quorum, epoch }) =>
        [...urls].map((url): Dissent => {
          return { url, reason: 'wrong-epoch', detail: `names epoch ${epoch.epoch} of ${quorum}` }
        }),
      )
      const all = [...dissent, ...(groups.length > 1 ? named : [])]
      const most = Math.max(0, ...groups.map(({ urls }) => urls.size))
      const down = all.filter(({ reason }) => reason === 'unreachable').length
      const total = `of ${operators.length} operators`
      reject(
        new QuorumError(
          `${down > 0 ? `${down} ${total} could not be read. ` : ''}${most} ${total} named the same epoch ` +
            `on chain ${chainId}, and ${k} are needed. ${summaryOf(all)}`,
          all,
        ),
      )
    }
    for (const operator of operators)
      operator
        .list(chainId, signal)
        .then((listed) => vote(operator.url, listed))
        .catch((error: unknown) => void dissent.push(dissentOf(operator.url, error)))
        .finally(end)
  })
}

export function dissentOf(url: string, error: unknown): Dissent {
  if (!(error instanceof ApiError)) return { url, reason: 'unreachable', detail: messageOf(error) }
  return { url, reason: error.refusal ?? reasonOf(error), detail: error.detail }
}

/** Returns the reason of a response that states none, such as that of a reverse proxy. */
function reasonOf(error: ApiError): Dissent['reason'] {
  if (error.retryable) return 'busy'
  const isOfGateway = error.status > 501
  if (isOfRequest(error)) return 'invalid-input'
  return isOfGateway ? 'unreachable' : 'failed'
}

/** Maximum length of an operator's reason in a message. The dissent has all of it. */
const MAX_DETAIL = 500

export function summaryOf(dissent: readonly Dissent[]): string {
  return dissent
    .map(({ url, reason, detail }) => `${url}: ${reason} (${cut(detail, MAX_DETAIL).replace(/\.$/, '')}).`)
    .join(' ')
}
