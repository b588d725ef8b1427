import createClient from 'openapi-fetch'
import { answersOf, type Answers } from './answers'
import type { Attested, AttestedOffchain, AttestOptions } from './attest'
import { AlteredAnswerError, invalidInput, messageOf, refuseUnknown, ServiceVersionError } from './errors'
import { notTheService, requireJson, sender, type HttpOptions } from './http'
import { BATCH_SIZE, isLong } from './batch'
import type { Checked, CheckOptions } from './check'
import type { Landed, LandOptions } from './land'
import type { OffchainSource } from './offchain'
import type { paths } from './openapi'
import type { Place } from './place'
import { positionAsPoint } from './position'
import { recordsOf, type Records } from './records'
import { same } from './says'
import type { Claim, Recomputed, RecomputeInput } from './kernel'
import type { RecomputeAnswerOptions } from './recompute'
import type { Revoked, RevokeOptions } from './revoke'
import type { Provider, Signer } from './signer'
import { untilAborted } from './waiting'
import type {
  Answer,
  BatchAnswer,
  Chain,
  Health,
  Information,
  Input,
  OffchainAttestation,
  Question,
  Readiness,
  Submission,
  Verification,
} from './types'

export interface GeoOptions extends HttpOptions {
  /** the chain of questions that name none: its id, or its slug */
  chain?: number | string
  /** the nodes that chains are read from, by chain id: URLs, or providers of ethers, viem or EIP-1193 */
  providers?: Readonly<Record<number, Provider>>
  /**
   * the address that must have signed answers. Without it the one that the service names is believed, so a
   * service that lies about its own key is not noticed: give it where answers are worth money.
   */
  attester?: string
  /**
   * the contracts of chains, by chain id. Without them the addresses that the service names are believed, by
   * `check` too: give them, with `attester`, where answers are worth money.
   */
  contracts?: Readonly<Record<number, { eas: string; proxy?: string }>>
}

/** How a question is asked. */
export interface AskOptions {
  /** the chain that the answer shall land on, and on which all UIDs are: its id, or its slug */
  chain?: number | string
  /** UID of the schema to attest under; default: that of the service */
  schema?: string
  /** receives the attestation; default: the zero address */
  recipient?: string
  /** how the answer lands; default: that of the service */
  submission?: Submission
  signal?: AbortSignal
}

/** The service at one address. */
export interface Geo {
  readonly url: string

  /** Metres between the nearest places of two geometries, to the centimetre; 0 where they touch. */
  distance(from: Input, to: Input, options?: AskOptions): Promise<Answer<'distance'>>
  /** Whether the geometry lies in the container. */
  contains(container: Input, geometry: Input, options?: AskOptions): Promise<Answer<'contains'>>
  /** Whether the geometry is at most `radius` metres from the target. */
  within(geometry: Input, target: Input, radius: number, options?: AskOptions): Promise<Answer<'within'>>
  /** Whether two geometries share any place. */
  intersects(geometry1: Input, geometry2: Input, options?: AskOptions): Promise<Answer<'intersects'>>
  /** Square metres of a Polygon or MultiPolygon. */
  area(geometry: Input, options?: AskOptions): Promise<Answer<'area'>>
  /** Metres along a LineString or MultiLineString. */
  length(geometry: Input, options?: AskOptions): Promise<Answer<'length'>>
  /** Questions whose answers land together: 20 in each request, and in each transaction. */
  batch(questions: readonly Question[], options?: AskOptions): Promise<BatchAnswer>
  /** The same answer, signed anew: at a fresh nonce, until a later deadline, or for the other submission. */
  resign<A extends Answer | BatchAnswer>(
    answer: A,
    options?: Pick<AskOptions, 'submission' | 'signal'>,
  ): Promise<A>
  /** What the service says of an earlier answer: whether it is its own, can be submitted, has landed. */
  verify(answer: Answer, options?: { signal?: AbortSignal }): Promise<Verification>
  /** What `inputRefs` holds for a raw geometry. */
  reference(geometry: Input, options?: { signal?: AbortSignal }): Promise<string>

  /**
   * Submits an answer, waits until it is in a block, and returns the attestation. An answer that was altered,
   * or that the contract would refuse, is not sent; one whose nonce was used up is signed anew.
   */
  land(answer: Answer, signer: Signer, options?: LandOptions): Promise<Landed>
  /**
   * Lands a batch: a transaction for each 20 answers, the attestations in the order of the questions. If one
   * of several fails, land the same batch again: answers that have landed are not sent twice.
   */
  land(answer: BatchAnswer, signer: Signer, options?: LandOptions): Promise<Landed[]>
  /** The gas that landing would use now. Throws a LandingError when the contract would refuse the answer. */
  estimate(answer: Answer | BatchAnswer, signer: Signer): Promise<bigint>
  /** Reads an answer from its chain, and says what it says and whether it is to be believed. */
  check(uid: string, options?: CheckOptions): Promise<Checked>
  /**
   * Computes an answer again in this process, by the service's own kernel, from its inputs in the order of
   * `inputRefs`: `equal`, `differs` by so much, or `wrong inputs`. An input that is left out, or undefined,
   * is an attestation of the chain. `answer` may be the UID of a landed one; `attester` is then who made it.
   */
  recompute(
    answer: string | (Claim & { chainId?: number }),
    inputs?: readonly (RecomputeInput | undefined)[],
    options?: RecomputeAnswerOptions,
  ): Promise<Recomputed & { attester?: string }>
  /** An offchain attestation as an input: eas-sdk's object or file, BigInt and all. */
  offchain(attestation: OffchainSource, signer?: string): Promise<{ attestation: OffchainAttestation }>

  /**
   * Attests a place by the Location Protocol: GeoJSON, or an object with memo, time and more. Its geometry is
   * checked first, here and by the service; then the signer sends the attestation, and is waited for until it
   * is in a block. Throws an InvalidInputError for a wrong place, and a LandingError when EAS refuses it.
   */
  attest(place: Place, signer: Signer, options?: AttestOptions & { offchain?: false }): Promise<Attested>
  /** Several, in as few transactions as their gas allows; in the same order. */
  attest(
    places: readonly Place[],
    signer: Signer,
    options?: AttestOptions & { offchain?: false },
  ): Promise<Attested[]>
  /** Offchain: the signer signs, and nothing is sent. */
  attest(place: Place, signer: Signer, options: AttestOptions & { offchain: true }): Promise<AttestedOffchain>
  attest(
    places: readonly Place[],
    signer: Signer,
    options: AttestOptions & { offchain: true },
  ): Promise<AttestedOffchain[]>
  /** Revokes an attestation of the signer, by its UID or as `attest` gave it. */
  revoke(attestation: string | Attested, signer: Signer, options?: RevokeOptions): Promise<Revoked>
  /** Revokes an offchain attestation of the signer, by itself or its UID, on its chain. */
  revokeOffchain(
    attestation: OffchainSource | { attestation: OffchainAttestation },
    signer: Signer,
    options?: RevokeOptions,
  ): Promise<Revoked>

  readonly records: Records
  /** The service's answers that landed: lists, and single ones. */
  readonly answers: Answers
  /** Raw GraphQL over records and events. Throws an InvalidInputError with the first of its errors. */
  graphql<T = Record<string, unknown>>(
    query: string,
    variables?: Record<string, unknown>,
    options?: { signal?: AbortSignal },
  ): Promise<T>
  /** Which deployment this is: its chains, attester, schemas. Remembered for a minute. */
  info(options?: { fresh?: boolean; signal?: AbortSignal }): Promise<Information>
  /** Whether the process and its database work; an answer also when they do not. */
  health(options?: { signal?: AbortSignal }): Promise<Health>
  /** How far the copy of each chain goes; an answer also when one lags. */
  ready(options?: { signal?: AbortSignal }): Promise<Readiness>
  /** A chain by its id or slug; by default the client's own. Throws an InvalidInputError that lists them. */
  chain(which?: number | string, options?: { signal?: AbortSignal }): Promise<Chain>
}

/** How long the description of the service is believed: its chains come and go with their nodes. */
const REMEMBERED_MS = 60_000

/** What the parts of the client have in common. */
export interface Context {
  options: GeoOptions
  /** Asks a compute endpoint about a chain. */
  ask: <A extends Answer | BatchAnswer>(
    operation: string,
    question: object,
    options?: AskOptions,
  ) => Promise<A>
  records: Records
  info: Geo['info']
  chain: Geo['chain']
  resign: Geo['resign']
  verify: Geo['verify']
  loadParts: typeof loadParts
}

/** One import: bundlers add code to each. */
const loadParts = () => import('./parts')

const SIGNAL_ONLY = { signal: true } as const

/**
 * A client of the service at this address.
 *
 *     const geo = createGeo({ url: 'https://geo.example.org', chain: 'base' })
 *     const answer = await geo.distance(uid, { type: 'Point', coordinates: [13.4, 52.5] })
 *     const { uid } = await geo.land(answer, wallet)
 */
export function createGeo(options: GeoOptions | string): Geo {
  const all: GeoOptions = typeof options === 'string' ? { url: options } : (options ?? { url: '' })
  if (all.attester !== undefined && !/^0x[0-9a-fA-F]{40}$/.test(all.attester))
    throw invalidInput(`attester: expected an address, 0x and 40 hex digits, got '${String(all.attester)}'`)
  const url = baseOf(all.url)
  const send = sender({ ...all, url })
  const api = createClient<paths, 'application/json'>({
    baseUrl: url,
    fetch: async (request) => requireJson(await send(request, { signal: request.signal }), url),
  })
  let remembered: { asked: Promise<Information>; until: number } | undefined

  const info: Geo['info'] = async (given = {}) => {
    refuseUnknown('info', given, { fresh: true, signal: true })
    const { fresh = false, signal } = given
    // Whoever asks at the same time waits for the same answer: a signal ends the waiting, not the request.
    if (remembered && !fresh && performance.now() < remembered.until)
      return untilAborted(remembered.asked, signal)
    // A fresh one has one caller, whose signal ends the request too.
    const init = { headers: { accept: 'application/json' }, ...(fresh && signal && { signal }) }
    const asked = api.GET('/', init).then(({ data }) => {
      if (!Array.isArray(data?.chains) || data.defaultSchemas === undefined) throw notTheService(url)
      return data
    })
    const latest = { asked, until: performance.now() + REMEMBERED_MS }
    if (!fresh) remembered = latest
    asked.then(
      () => (remembered = latest),
      () => {
        if (remembered === latest) remembered = undefined
      },
    )
    return untilAborted(asked, signal)
  }
  const chain: Geo['chain'] = async (which = all.chain, given = {}) => {
    refuseUnknown('chain', given, SIGNAL_ONLY)
    const { chains } = await info(given)
    const found = chains.find(({ id, slug }) => id === which || slug === which || String(id) === which)
    if (found) {
      const pinned = all.contracts?.[found.id]
      if (
        pinned &&
        (!same(pinned.eas, found.eas) || (found.proxy && !same(pinned.proxy ?? '', found.proxy.address)))
      )
        throw new AlteredAnswerError(
          `The service names other contracts of ${found.slug} than createGeo({ contracts }): ${found.eas}${found.proxy ? ` and the proxy ${found.proxy.address}` : ''}. Nothing was sent.`,
        )
      return found
    }
    const list = chains.map(({ id, slug }) => `${slug} (${id})`).join(', ')
    throw invalidInput(
      which === undefined
        ? `No chain was named: give one in the question, or createGeo({ chain }). The service has ${list}.`
        : `The service has no chain ${which}. It has ${list}.`,
    )
  }
  /** The chain's id; a number is taken as it is, and the service says whether it has it. */
  const idOf = async (which = all.chain) => (typeof which === 'number' ? which : (await chain(which)).id)

  const ask: Context['ask'] = async <A>(
    operation: string,
    question: object,
    { chain: which, signal, ...rest }: AskOptions = {},
  ) => {
    const chainId = await idOf(which)
    const signed = await post<Answer | BatchAnswer>(
      operation,
      { chainId, ...withPoints(question), ...rest },
      signal,
      chainId,
    )
    for (const { attestation } of 'results' in signed ? signed.results : [signed])
      if (all.attester !== undefined && !same(attestation.attester, all.attester))
        throw new AlteredAnswerError(
          `The answer is signed by ${attestation.attester}, not by ${all.attester}, the attester that was named: do not use it.`,
        )
    return signed as A
  }
  const post = async <A>(path: string, body: object, signal?: AbortSignal, chainId?: number): Promise<A> => {
    // The path is one of the document's; its body and answer are typed by the callers above.
    const { data } = await (api.POST as (path: string, init: object) => Promise<{ data: object }>)(
      `/compute/v0/${path}`,
      { body: plain(body), signal },
    )
    if (typeof data !== 'object' || data === null)
      throw new ServiceVersionError(`The service at ${url} gave no answer to ${path}.`)
    return (chainId === undefined ? data : { ...data, chainId }) as A
  }
  const resign: Geo['resign'] = async (answer, given = {}) => {
    refuseUnknown('resign', given, { submission: true, signal: true })
    const { submission, signal } = given
    const sign = <A extends object>(part: A) =>
      post<A>('resign', { ...part, ...(submission && { submission }) }, signal, answer.chainId)
    return isLong(answer)
      ? ((await loadParts()).requestAnswers(answer, sign) as unknown as typeof answer)
      : sign(answer)
  }
  const verify: Geo['verify'] = async (answer, given = {}) => {
    refuseUnknown('verify', given, SIGNAL_ONLY)
    if (typeof answer !== 'object' || answer === null)
      throw invalidInput(
        'verify takes an answer as the service gave it; an attestation is checked by its UID with check(uid).',
      )
    return post('verify', answer, given.signal)
  }
  /** An endpoint whose 503 is its answer. */
  const state = async <T>(path: string, given: { signal?: AbortSignal } = {}): Promise<T> => {
    refuseUnknown(path, given, SIGNAL_ONLY)
    const response = await send(new Request(`${url}/${path}`), { ...given, accepted: [503] })
    return (await requireJson(response, url).json()) as T
  }
  const records = recordsOf(url, send)
  const context: Context = { options: { ...all, url }, ask, records, info, chain, resign, verify, loadParts }

  return {
    url,
    distance: (from, to, options) => ask('distance', { from, to }, options),
    contains: (container, geometry, options) => ask('contains', { container, geometry }, options),
    within: (geometry, target, radius, options) => ask('within', { geometry, target, radius }, options),
    intersects: (geometry1, geometry2, options) => ask('intersects', { geometry1, geometry2 }, options),
    area: (geometry, options) => ask('area', { geometry }, options),
    length: (geometry, options) => ask('length', { geometry }, options),
    batch: async (questions, options) => {
      const request = (part: readonly Question[]) =>
        ask<BatchAnswer>('batch', { operations: part.map(withPoints) }, options)
      return questions.length > BATCH_SIZE
        ? (await loadParts()).requestParts(questions, request)
        : request(questions)
    },
    ...{ resign, verify },
    reference: async (geometry, given = {}) => {
      refuseUnknown('reference', given, SIGNAL_ONLY)
      return (await post<{ inputRef: string }>('reference', withPoints({ geometry }), given.signal)).inputRef
    },

    // Each is loaded when it is needed: most pages only ask.
    land: (async (answer: Answer | BatchAnswer, signer: Signer, options?: LandOptions) =>
      (await import('./land')).landAnswer(context, answer, signer, options)) as Geo['land'],
    estimate: async (answer, signer) => (await import('./land')).estimateGas(context, answer, signer),
    check: async (uid, options) => (await import('./check')).checkAnswer(context, uid, options),
    offchain: async (attestation, signer) => (await import('./offchain')).offchainInput(attestation, signer),
    recompute: async (answer, inputs, options) =>
      (await import('./recompute')).recomputeAnswer(context, answer, inputs, options),
    attest: (async (place: Place | readonly Place[], signer: Signer, options?: AttestOptions) =>
      (await import('./attest')).attestPlaces(context, place, signer, options)) as Geo['attest'],
    revoke: async (attestation, signer, options) =>
      (await import('./revoke')).revokeOnchain(context, attestation, signer, options),
    revokeOffchain: async (attestation, signer, options) =>
      (await import('./revoke')).revokeSigned(context, attestation, signer, options),

    records,
    answers: answersOf(url, send),
    graphql: async <T>(
      query: string,
      variables?: Record<string, unknown>,
      given: { signal?: AbortSignal } = {},
    ) => {
      refuseUnknown('graphql', given, SIGNAL_ONLY)
      const { signal } = given
      const { data } = await api.POST('/graphql', {
        body: { query, ...(variables && { variables }) },
        signal,
      })
      const { errors } = (data ?? {}) as { errors?: { message: string }[] }
      if (errors?.[0]) throw invalidInput(errors[0].message)
      return data!.data as T
    },
    info,
    health: (options) => state('health', options),
    ready: (options) => state('ready', options),
    chain,
  }
}

/** The address without a slash at its end. Throws an InvalidInputError for what is no http address. */
function baseOf(url: string): string {
  const base = URL.canParse(url) ? new URL(url) : undefined
  if (!base || !/^https?:$/.test(base.protocol))
    throw invalidInput(
      `'${url}' is no address of a service: expected one such as https://geo.example.org or http://127.0.0.1:3000`,
    )
  return base.href.replace(/\/+$/, '')
}

/** A question whose inputs that are positions are points. */
function withPoints(question: object): object {
  const all: Record<string, unknown> = { ...question }
  for (const name in all) all[name] = positionAsPoint(all[name])
  return all
}

/**
 * A body as JSON: integers that libraries give as bigint as numbers or, where they are too large, as decimal
 * strings; and what `attest` gave as an input. Throws an InvalidInputError for what JSON cannot hold.
 */
function plain<T>(value: T): T {
  const shown = (_: string, each: unknown) =>
    typeof each === 'bigint'
      ? each <= BigInt(Number.MAX_SAFE_INTEGER)
        ? Number(each)
        : String(each)
      : asInput(each)
  let text
  try {
    text = JSON.stringify(value, shown)
  } catch (error) {
    throw invalidInput(`expected what JSON can hold, such as GeoJSON: ${messageOf(error)}`)
  }
  return JSON.parse(text) as T
}

function asInput(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { uid, chainId, attestation } = value as Partial<Attested | AttestedOffchain>
  if (uid === undefined || chainId === undefined || attestation === undefined) return value
  return 'sig' in attestation ? { attestation } : { uid }
}
