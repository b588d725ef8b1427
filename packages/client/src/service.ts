// SPDX-License-Identifier: MIT
import { cut } from '../../../src/cut'
import { answersOf, BATCH_SIZE, isLong, signedFirst } from './batch'
import { plain, withPoints } from './body'
import type { AskOptions, Context, GeoOptions, Service } from './context'
import { AlteredAnswerError, invalidInput, refuseUnknown, ServiceVersionError } from './errors'
import { baseOf, jsonAt, notTheService, sender, type Send } from './http'
import { otherThanAsked, type Asked } from './questions'
import { recordsOf } from './records'
import { same } from './says'
import type { Answer, BatchAnswer, Information, OperationName, Question, Zones } from './types'
import { untilAborted } from './waiting'

/** Sends the client's requests: to the compute endpoints, to GraphQL, and about the service itself. */

/** Lifetime of the cached description. It is short because chains disappear with their RPC endpoints. */
const REMEMBERED_MS = 60_000
const SIGNAL_ONLY = { signal: true } as const

/** A service at one URL, and the functions that send requests to it. */
export interface Connection extends Context {
  url: string
  send: Send
}

export function connect(given: GeoOptions): Connection {
  if (given.attester !== undefined && !/^0x[0-9a-fA-F]{40}$/.test(given.attester))
    throw invalidInput(`attester: expected an address, 0x and 40 hex digits, got '${String(given.attester)}'`)
  const url = baseOf(given.url, 'url')
  const options = { ...given, url }
  const send = sender(options)
  const json = jsonAt(url, send)
  const info = remembered(url, json)
  const chain = chainsOf(options, info)
  const post = posterOf(url, json)
  const request = requesterOf(options, chain, post)
  /** Reads an endpoint whose 503 response is a valid result. */
  const state = async <T>(path: string, given: { signal?: AbortSignal } = {}): Promise<T> => {
    refuseUnknown(path, given, SIGNAL_ONLY)
    const accepted = ({ status }: Response) => status === 503
    return json<T>(`/${path}`, { ...given, accepted })
  }
  return {
    ...{ url, options, send, info, chain, request, records: recordsOf(url, send) },
    resign: async (answer, given = {}) => {
      refuseUnknown('resign', given, { submission: true, signal: true })
      const { submission, signal } = given
      const sign = async <A extends Answer | BatchAnswer>(part: A) => {
        const body = { ...asBatch(part), ...(submission && { submission }) }
        const signed = await post<A>('resign', body, signal, answer.chainId)
        requireContent(part, signed)
        return signed
      }
      if (!isLong(answer)) return sign(answer)
      const { answersInParts, requestAll } = await import('./parts')
      return requestAll(answersInParts(answer), sign) as unknown as typeof answer
    },
    verify: async (answer, given = {}) => {
      refuseUnknown('verify', given, SIGNAL_ONLY)
      if (typeof answer !== 'object' || answer === null)
        throw invalidInput(
          'verify expects an answer as returned by the service. Check an attestation by its UID with check(uid).',
        )
      return post('verify', answer, given.signal)
    },
    batch: async (questions, options) => {
      const ask = (part: readonly Question[]) =>
        request<BatchAnswer>('batch', { operations: part.map(withPoints) }, options)
      if (questions.length <= BATCH_SIZE) return signedFirst(await ask(questions))
      const { partsOf, requestAll } = await import('./parts')
      return signedFirst(await requestAll(partsOf(questions), ask))
    },
    zones: async (geometry, zones, options) =>
      signedFirst(await request<Zones>('zones', { geometry, zones }, options)),
    reference: async (geometry, given = {}) => {
      refuseUnknown('reference', given, SIGNAL_ONLY)
      return (await post<{ inputRef: string }>('reference', withPoints({ geometry }), given.signal)).inputRef
    },
    graphql: async <T>(
      query: string,
      variables?: Record<string, unknown>,
      given: { signal?: AbortSignal } = {},
    ) => {
      refuseUnknown('graphql', given, SIGNAL_ONLY)
      const body = { query, ...(variables && { variables }) }
      const found = await json<{ data: T; errors?: { message: string }[] }>('/graphql', { body, ...given })
      if (found.errors?.[0]) throw invalidInput(found.errors[0].message)
      return found.data
    },
    health: (options) => state('health', options),
    ready: (options) => state('ready', options),
  }
}

/** Returns the fields that a batch has. Zones, which are signed again as a batch, have more. */
function asBatch(answer: object): object {
  if (!('results' in answer)) return answer
  const { chainId, results, deadline, multiAttestByDelegation, transaction } = answer as BatchAnswer
  return { chainId, results, deadline, multiAttestByDelegation, transaction }
}

/** Signed members of an answer that stay when it is signed again. */
const KEPT = ['schema', 'recipient', 'refUID', 'data', 'revocable'] as const

/** Throws an AlteredAnswerError unless the answers that were signed again have their earlier content. */
function requireContent(earlier: Answer | BatchAnswer, signed: Answer | BatchAnswer): void {
  const before = answersOf(earlier)
  const after = ('results' in signed ? signed.results : [signed]) as Answer[] | null
  const isKept = ({ attestation }: Answer, i: number) =>
    KEPT.every((name) => {
      const kept: string | boolean | undefined = attestation?.[name]
      return kept === undefined || same(String(kept), String(after?.[i]?.attestation?.[name]))
    })
  if (after?.length !== before.length || !before.every(isKept))
    throw new AlteredAnswerError('The service signed another content than before. Do not use the new answer.')
}

type Json = ReturnType<typeof jsonAt>

function remembered(url: string, json: Json): Service['info'] {
  let last: { asked: Promise<Information>; until: number } | undefined
  return async (given = {}) => {
    refuseUnknown('info', given, { fresh: true, signal: true })
    const { fresh = false, signal } = given
    // Concurrent callers share one request, so a signal ends the waiting and not the request.
    if (last && !fresh && performance.now() < last.until) return untilAborted(last.asked, signal)
    // A request with an option `fresh` has one caller, whose signal also ends the request.
    const asked = json<Information>('/', fresh ? { signal } : {}).then((data) => {
      if (!Array.isArray(data?.chains) || data.defaultSchemas === undefined) throw notTheService(url)
      return data
    })
    const latest = { asked, until: performance.now() + REMEMBERED_MS }
    if (!fresh) last = latest
    asked.then(
      () => (last = latest),
      () => {
        if (last === latest) last = undefined
      },
    )
    return untilAborted(asked, signal)
  }
}

function chainsOf(all: GeoOptions, info: Service['info']): Service['chain'] {
  return async (which = all.chain, given = {}) => {
    refuseUnknown('chain', given, SIGNAL_ONLY)
    const { chains } = await info(given)
    // A program may pass any JSON.
    const shown = typeof which === 'object' ? JSON.stringify(which) : String(which)
    // As in the chain parameter of the Records API, letter case does not matter.
    const name = shown.toLowerCase()
    const found = chains.find(({ id, slug }) => slug === name || String(id) === name)
    if (!found) {
      const list = chains.map(({ id, slug }) => `${slug} (${id})`).join(', ')
      throw invalidInput(
        which === undefined
          ? `No chain was named. Set it in the question, or in createGeo({ chain }). The service has ${list}.`
          : `The service has no chain ${cut(shown, 80)}. It has ${list}.`,
      )
    }
    const { slug, eas, proxy } = found
    // Transactions go to the contract of the domain.
    for (const [address, domain] of [[eas, found.domain] as const, [proxy?.address, proxy?.domain] as const])
      if (domain && !(same(domain.verifyingContract, address!) && domain.chainId === found.id))
        throw new AlteredAnswerError(
          `The service names ${address} as a contract of ${slug} (${found.id}), but ` +
            `${domain.verifyingContract} of chain ${domain.chainId} in its domain. Nothing was sent.`,
        )
    const pinned = all.contracts?.[found.id]
    if (pinned && (!same(pinned.eas, eas) || (proxy && !same(pinned.proxy ?? '', proxy.address))))
      throw new AlteredAnswerError(
        `The service names other contracts of ${slug} than createGeo({ contracts }): ${eas}${proxy ? ` and the proxy ${proxy.address}` : ''}. Nothing was sent.`,
      )
    return found
  }
}

type Post = <A>(path: string, body: object, signal?: AbortSignal, chainId?: number) => Promise<A>
const posterOf =
  (url: string, json: Json): Post =>
  async <A>(path: string, body: object, signal?: AbortSignal, chainId?: number) => {
    const data = await json<object>(`/compute/v0/${path}`, { body: plain(body), signal })
    if (typeof data !== 'object' || data === null) throw noAnswer(url, path)
    return (chainId === undefined ? data : { ...data, chainId }) as A
  }

const noAnswer = (url: string, path: string) =>
  new ServiceVersionError(`The service at ${url} returned no answer for ${path}.`)

/** True for a member of a response that has the fields of an answer which are compared with the question. */
function isAnswer(value: Partial<Pick<Answer, 'inputRefs' | 'attestation'>> | null): boolean {
  const { attester, schema, recipient } = value?.attestation ?? {}
  const { inputRefs } = value ?? {}
  if (!Array.isArray(inputRefs)) return false
  return [attester, schema, recipient, ...inputRefs].every((each) => typeof each === 'string')
}

function requesterOf(all: GeoOptions, chain: Service['chain'], post: Post): Context['request'] {
  return async <A>(
    endpoint: string,
    question: object,
    { chain: which = all.chain, signal, ...rest }: AskOptions = {},
  ) => {
    // A chain id is sent unchecked: the service reports an unknown one.
    const chainId = typeof which === 'number' ? which : (await chain(which, { signal })).id
    const body = { chainId, ...withPoints(question), ...rest }
    const signed = await post<Answer | BatchAnswer>(endpoint, body, signal, chainId)
    const answers = 'results' in signed ? signed.results : [signed]
    if (!(Array.isArray(answers) && answers.every(isAnswer))) throw noAnswer(all.url, endpoint)
    const asked = askedOf(endpoint, body, answers)
    if (answers.length !== asked.length)
      throw new AlteredAnswerError(
        `Expected ${asked.length} answers from the service, got ${answers.length}. Do not use them.`,
      )
    for (const [i, answer] of answers.entries()) {
      const { attestation } = answer
      if (all.attester !== undefined && !same(attestation.attester, all.attester))
        throw new AlteredAnswerError(
          `The answer is signed by ${attestation.attester} instead of the expected attester ` +
            `${all.attester}. Do not use it.`,
        )
      const other = otherThanAsked(answer, attestation, asked[i]!)
      if (other)
        throw new AlteredAnswerError(
          `The service answered another question: its ${other} differs. Do not use the answer.`,
        )
    }
    return signed as A
  }
}

function askedOf(endpoint: string, body: object, answers: readonly Pick<Answer, 'inputRefs'>[]): Asked[] {
  const { operations, zones, schema, recipient, ...rest } = body as Asked & {
    operations?: Asked[]
    zones?: { uids?: readonly string[] }
  }
  if (operations)
    return operations.map((each) => ({
      ...each,
      ...{ schema: each.schema ?? schema, recipient: each.recipient ?? recipient },
    }))
  const common = { ...rest, schema, recipient }
  if (!zones) return [{ ...common, operation: endpoint as OperationName }]
  // The service chooses among the zones of the request.
  return answers.map(({ inputRefs: [zone = ''] }) => {
    const container = zones.uids ? (zones.uids.find((uid) => same(uid, zone)) ?? '') : zone
    return { ...common, operation: 'contains', container }
  })
}
