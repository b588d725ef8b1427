import http from 'node:http'
import { json } from 'node:stream/consumers'
import { Contract, Interface, concat, getAddress } from 'ethers'
import { Geodesic } from 'geographiclib-geodesic'
import type { Question, QuorumAnswer } from '@geospatial-attestation/client'
import { beforeAll, expect } from 'vitest'
import { attest, locationRequest, revoke, testAccount } from '../dev/chain'
import type { Operator } from '../dev/operators'
import { QUORUM_ABI } from '../src/eas'
import {
  quorumBehind,
  startOperators,
  THRESHOLD,
  type OperatorSignal,
  type OperatorsWorld,
} from './operators'
import { claimsOf, lied, LIES, RPC_FAULTS, type Exchange, type Known, type LieName } from './quorum-faults'
import { hunt } from './seed'
import { box, polygon } from './shapes'
import { inOneBlock } from './world'

/**
 * Sends questions to five operators with separate databases, keys and RPC proxies. Some of them are killed or
 * frozen during a question, dishonest, or honest behind an RPC endpoint that lies or lags. Results are
 * compared with GeographicLib and the test's own list of places.
 *
 * CI (EFFORT=1) asks 52 questions with two faulty operators, in which each fault occurs, and 8 with more of
 * them. docs/operations/quorum.md has the result of a longer run.
 */
let world: OperatorsWorld
let contract: Contract
beforeAll(async () => {
  world = await startOperators()
  contract = new Contract(world.quorum, QUORUM_ABI, world.chain.provider)
})

type FaultName = 'is killed' | 'is frozen' | `lie: ${LieName}` | `rpc: ${string}`
const SIGNALS: Partial<Record<FaultName, OperatorSignal>> = { 'is killed': 'SIGKILL', 'is frozen': 'SIGSTOP' }
const SILENT = Object.keys(SIGNALS) as FaultName[]
const LYING = Object.keys(LIES).map((name): FaultName => `lie: ${name as LieName}`)
const MISLED = Object.keys(RPC_FAULTS).map((name): FaultName => `rpc: ${name}`)

interface Place {
  uid: string
  lng: number
  lat: number
}
interface Asked {
  question: Question
  isValid: boolean
  known: Known
  /** true result, in centimetres for lengths; within one unit for numbers */
  truth: bigint | boolean
}
const NUMERIC = '0xc2b013ecb68d59b28f5d301203ec630335d97c37b400b16b359db6972572e02a'
const BOOLEAN = '0x4958625091a773dcfb37a1c33099a378f32a975a7fb61f33d53c4be7589898f5'
const FAULTS = [...LYING, ...SILENT, ...MISLED]
/** Number of rounds in which each fault occurs, even if two operators tell each lie. */
const ROUNDS = LYING.length + Math.ceil((SILENT.length + MISLED.length) / 2)
/** Each round takes the time of a recovery, so that many questions are faster in large rounds. */
const questionsPerRound = (cases: number) => Math.min(40, Math.max(4, Math.ceil(cases / ROUNDS)))
const AT_ONCE = 8
const DEADLINE_SECONDS = 3_600

/** Faults in one round, and the messages between the coordinator and the operators. */
class Round {
  readonly faults = new Map<Operator, FaultName>()
  /** Signatures by digest: the signed content, and the signatures by operator index. */
  readonly signed = new Map<string, { answer: QuorumAnswer['answer']; by: Map<number, string> }>()
  readonly liedDigests = new Set<string>()
  private readonly exchanges: Promise<Exchange>[] = []
  /** Operators that have received the signal of their fault. */
  private readonly struck = new Set<Operator>()

  constructor(private readonly knownOf: Map<string, Known>) {}

  begin(faults: ReadonlyMap<Operator, FaultName>, random: () => number): void {
    for (const [operator, fault] of faults) {
      this.faults.set(operator, fault)
      if (fault.startsWith('rpc: ')) operator.rpc.misbehave(...RPC_FAULTS[fault.slice(5)]!(random))
    }
  }

  /** Ends all faults. The next round starts when the operators have caught up. */
  async end(): Promise<void> {
    const killed = [...this.faults].filter(([, fault]) => fault === 'is killed')
    for (const operator of this.faults.keys()) operator.rpc.misbehave()
    await Promise.all(killed.map(([operator]) => restarted(operator)))
  }

  /** The coordinator's fetch: returns an operator's response, changed if the operator is dishonest. */
  readonly fetch: typeof fetch = async (input, init) => {
    const request = input as Request
    const operator = world.operators.find(({ url }) => request.url.startsWith(`${url}/`))!
    if (request.method !== 'POST') return await fetch(input, init)
    const aborted = abortOf(init?.signal ?? request.signal)
    // Operators also answer requests that the coordinator has abandoned.
    const exchange = this.exchange(request.clone(), operator)
    this.exchanges.push(exchange)
    const { status, response } = await Promise.race([exchange, aborted])
    return new Response(JSON.stringify(response), {
      status,
      headers: { 'content-type': status === 200 ? 'application/json' : 'application/problem+json' },
    })
  }

  /** Continues frozen operators. Resolves when each operator has answered every request, or has failed. */
  async answered(): Promise<void> {
    for (const [operator, fault] of this.faults) {
      if (SIGNALS[fault]) await expect.poll(() => this.struck.has(operator)).toBe(true)
      if (fault === 'is frozen') world.signal(operator, 'SIGCONT')
    }
    await Promise.allSettled(this.exchanges)
  }

  private async exchange(request: Request, operator: Operator): Promise<Exchange> {
    const body = await request.clone().text()
    const fault = this.faults.get(operator)
    const strike = () => {
      const signal = fault && SIGNALS[fault]
      if (!signal || this.struck.has(operator)) return
      this.struck.add(operator)
      world.signal(operator, signal)
    }
    const honest = await posted(request.url, body, strike)
    const exchange: Exchange = { request: JSON.parse(body), ...honest }
    const index = world.operators.indexOf(operator)
    const known = this.knownOf.get(exchange.request.recipient as string)!
    const { wallet } = operator.options
    const lie = fault?.startsWith('lie: ')
      ? await lied(fault.slice(5) as LieName, exchange, known, { wallet, index, quorum: world.quorum })
      : undefined
    const sent = { ...exchange, ...lie }
    if (sent.status === 200) this.note(sent.response, index, lie !== undefined)
    return sent
  }

  private note({ digest, answer, signature }: any, index: number, isLie: boolean): void {
    const group = this.signed.get(digest) ?? { answer, by: new Map<number, string>() }
    this.signed.set(digest, group)
    group.by.set(index, signature)
    if (isLie) this.liedDigests.add(digest)
  }
}

/** Rejects when the signal aborts. */
const abortOf = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))

/** Sends JSON, and calls a function when the operator has the request and has not yet responded. */
function posted(
  url: string,
  body: string,
  onSent: () => void,
): Promise<{ status: number; response: unknown }> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const request = http.request(url, { method: 'POST', headers, agent: false })
    request.once('error', reject)
    request.once('response', (response) => {
      json(response).then((content) => resolve({ status: response.statusCode!, response: content }), reject)
    })
    request.end(body, onSent)
  })
}

/** Restarts an operator whose indexer has ended, as a supervisor does. Resolves when it has caught up. */
async function recovered(operator: Operator): Promise<void> {
  for (;;)
    try {
      return await operator.caughtUp()
    } catch {
      await restarted(operator)
    }
}
async function restarted(operator: Operator): Promise<void> {
  await operator.stop()
  await operator.start()
}

/** Places of the test, and the questions about them. */
class Atlas {
  readonly valid: Place[] = []
  readonly revoked: Place[] = []

  constructor(private readonly random: () => number) {}

  readonly among = <T>(list: readonly T[]): T => list[Math.floor(this.random() * list.length)]!

  async attest(count: number): Promise<void> {
    const positions = Array.from({ length: count }, () => [
      Math.round((this.random() * 300 - 150) * 1e4) / 1e4,
      Math.round((this.random() * 120 - 60) * 1e4) / 1e4,
    ])
    for (const [lng, lat] of positions as [number, number][]) {
      const uid = await attest(world.chain, locationRequest({ type: 'Point', coordinates: [lng, lat] }))
      this.valid.push({ uid, lng, lat })
    }
  }

  async revoke(): Promise<void> {
    const [place] = this.valid.splice(Math.floor(this.random() * this.valid.length), 1)
    await revoke(world.chain, place!.uid)
    this.revoked.push(place!)
  }

  /** Creates a question. One in six is about a revoked place. */
  ask(): Asked {
    const isValid = this.random() < 5 / 6
    const from = isValid ? this.among(this.valid) : this.among(this.revoked)
    const to = this.among(this.valid)
    const metres = geodesic(from, to)
    const operation = this.among(['distance', 'within', 'contains', 'intersects'] as const)
    const inside = this.random() < 0.5
    const known = (
      result: bigint | boolean,
      inputRefs: string[],
      signedOperation: string,
      onSphere: bigint | boolean,
    ): Known => ({
      ...{ claims: { result, inputRefs, operation: signedOperation }, isValid, onSphere },
      schema: typeof result === 'bigint' ? NUMERIC : BOOLEAN,
      attacker: testAccount(6).address,
      otherPlace: this.among(this.valid.filter(({ uid }) => uid !== from.uid)).uid,
    })
    if (operation === 'distance') {
      const centimetres = BigInt(Math.round(metres * 100))
      const sphere = BigInt(Math.round(spherical(from, to) * 100))
      // Two occurrences of one place have the distance 0 on a sphere as well.
      const onSphere = sphere === centimetres ? centimetres + 2n : sphere
      return {
        ...{ question: { operation, from: from.uid, to: to.uid }, isValid, truth: centimetres },
        known: known(centimetres, [from.uid, to.uid], 'distance', onSphere),
      }
    }
    if (operation === 'within') {
      const radius = Math.round((inside ? metres + 1_000 : metres * 0.9) + 1)
      const truth = metres < radius
      return {
        ...{ question: { operation, geometry: from.uid, target: to.uid, radius }, isValid, truth },
        known: known(truth, [from.uid, to.uid], `within:${radius * 100}`, !truth),
      }
    }
    const polygon = squareAround(inside ? from : { lng: -from.lng / 2 + 80, lat: from.lat })
    const truth = inside || Math.abs(-from.lng / 2 + 80 - from.lng) < 0.5
    return {
      question:
        operation === 'contains'
          ? { operation, container: polygon, geometry: from.uid }
          : { operation, geometry1: from.uid, geometry2: polygon },
      ...{ isValid, truth },
      // All honest operators refuse the question. Liars do not know the polygon's reference, and invent one.
      known: known(truth, [from.uid, to.uid], operation, !truth),
    }
  }
}
const squareAround = ({ lng, lat }: Pick<Place, 'lng' | 'lat'>) =>
  polygon(box(lng - 0.5, lat - 0.5, lng + 0.5, lat + 0.5))
const geodesic = (a: Place, b: Place) => Geodesic.WGS84.Inverse(a.lat, a.lng, b.lat, b.lng).s12!
/** Distance in metres on a sphere, by another kernel. */
function spherical(a: Place, b: Place): number {
  const [φ1, φ2, Δλ] = [a.lat, b.lat, b.lng - a.lng].map((degrees) => (degrees * Math.PI) / 180) as [
    number,
    number,
    number,
  ]
  const cosine = Math.sin(φ1) * Math.sin(φ2) + Math.cos(φ1) * Math.cos(φ2) * Math.cos(Δλ)
  return 6_371_008.8 * Math.acos(Math.min(1, Math.max(-1, cosine)))
}

/** Throws unless the content is the true answer to the question. */
function expectTrue(
  { question, isValid, truth, known }: Asked,
  { answer }: Pick<QuorumAnswer, 'answer'>,
): void {
  const claims = claimsOf(answer)
  expect(isValid, `an answer about a revoked place: ${JSON.stringify(question)}`).toBe(true)
  expect(claims.operation).toBe(known.claims.operation)
  expect(answer.schema).toBe(known.schema)
  expect(claims.inputRefs).toContain(known.claims.inputRefs[0])
  if (typeof truth === 'boolean') expect([question, claims.result]).toEqual([question, truth])
  else {
    const difference = (claims.result as bigint) - truth
    expect([question, difference >= -1n && difference <= 1n]).toEqual([question, true])
  }
}

/** Asks the questions of a round, lands the answers, and checks both. Returns the number of answers. */
async function askAll(round: Round, asked: readonly (Asked & { recipient: string })[], mustAnswer: boolean) {
  const answers: { asked: Asked; answer: QuorumAnswer }[] = []
  const { fetch } = round
  const [patient, hasty] = await Promise.all([
    quorumBehind(world, fetch, { deadlineSeconds: DEADLINE_SECONDS }),
    quorumBehind(world, fetch, { deadlineSeconds: DEADLINE_SECONDS, timeout: 1_500 }),
  ])
  const left = [...asked]
  const worker = async () => {
    for (let next = left.pop(); next; next = left.pop()) {
      const { question, isValid, recipient } = next
      const answer = await (isValid && mustAnswer ? patient : hasty)
        .ask(question, { recipient })
        .catch((error: Error) => {
          if (error.name !== 'QuorumError' || (isValid && mustAnswer)) throw error
          return undefined
        })
      if (!answer) continue
      expectTrue(next, answer)
      expect(answer.answer.recipient).toBe(recipient)
      expect(round.liedDigests.has(answer.digest)).toBe(false)
      answers.push({ asked: next, answer })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return answers
}

const LAND = new Interface(QUORUM_ABI)
/** Lands answers in one block, and returns the contents that EAS has stored. */
async function land(answers: readonly QuorumAnswer[]): Promise<void> {
  const { chain, quorum } = world
  const account = await chain.provider.getSigner(9)
  const receipts = await inOneBlock(
    chain,
    answers.map(({ answer, signers, signatures }) => async () => ({
      hash: await account.sendUncheckedTransaction({
        ...{ to: quorum, gasLimit: 1_500_000 },
        data: LAND.encodeFunctionData('land', [answer, signers, signatures]),
      }),
    })),
  )
  const eas = await chain.eas()
  for (const [i, { logs }] of receipts.entries()) {
    const { data: uid } = logs.find(({ address }) => address.toLowerCase() === chain.chain.eas)!
    const attestation = await eas.getFunction('getAttestation').staticCall(uid)
    const { data, recipient, schema } = answers[i]!.answer
    expect(attestation.toObject()).toMatchObject({ ...{ attester: quorum, data, schema, recipient } })
  }
}

/**
 * Tries to land every content of a round, like a dishonest coordinator that has received all signatures. For
 * each content it submits all signatures of that content, and fills them up to k with signatures of other
 * contents. Returns the number of contents that an operator forged, and the largest number of operators that
 * forged the same one.
 */
async function attack(round: Round, truths: ReadonlyMap<string, Asked>, tries: number) {
  const groups = [...round.signed.values()]
  let [lies, together, tried] = [0, 0, 0]
  for (const [digest, { answer, by }] of round.signed) {
    const asked = truths.get(answer.recipient)
    if (by.size >= THRESHOLD) {
      // With k signatures a content can land, so it must be the true answer.
      expectTrue(asked!, { answer })
      continue
    }
    if (!round.liedDigests.has(digest)) continue
    lies++
    together = Math.max(together, by.size)
    if (tried++ >= tries) continue
    const others = new Map(groups.flatMap((group) => [...group.by]))
    const all = [...new Map([...others, ...by])].sort(([a], [b]) => a - b)
    const bits = (list: readonly [number, string][]) => list.reduce((sum, [i]) => sum | (1 << i), 0)
    for (const list of [[...by].sort(([a], [b]) => a - b), all]) {
      const signatures = concat(list.map(([, signature]) => signature))
      await expect(
        contract.getFunction('land').staticCall(answer, bits(list), signatures),
      ).rejects.toMatchObject({
        revert: { name: expect.stringMatching(/^(TooFewSigners|WrongSignature)$/) as string },
      })
    }
  }
  return { lies, together }
}

/** Uses every fault once before it repeats one. The first fault is the first of the list. */
function deck<T>([first, ...others]: readonly T[], random: () => number): () => T {
  let left: T[] | undefined
  return () => {
    if (!left) {
      left = [...others]
      return first!
    }
    if (left.length === 0) left = [first!, ...others]
    return left.splice(Math.floor(random() * left.length), 1)[0]!
  }
}
/** Assigns each fault to another operator. Only operators with their own processes are killed or frozen. */
function assigned(faults: readonly FaultName[], random: () => number): Map<Operator, FaultName> {
  const left = new Set(world.operators)
  const silentFirst = faults.toSorted((a, b) => Number(b in SIGNALS) - Number(a in SIGNALS))
  return new Map(
    silentFirst.map((fault) => {
      const fit = [...left].filter((each) => !(fault in SIGNALS) || world.hasProcesses(each))
      const chosen = fit[Math.floor(random() * fit.length)]!
      left.delete(chosen)
      return [chosen, fault]
    }),
  )
}

/** Runs rounds of questions. `choose` returns the faults of a round. */
async function play(
  { cases, random }: { cases: number; random: () => number },
  choose: () => ReadonlyMap<Operator, FaultName>,
  mustAnswer: boolean,
) {
  const atlas = new Atlas(random)
  await atlas.attest(12)
  for (let i = 0; i < 3; i++) await atlas.revoke()
  await Promise.all(world.operators.map(recovered))
  const seen = {
    rounds: 0,
    questions: 0,
    answered: 0,
    lies: 0,
    together: 0,
    faults: new Map<FaultName, number>(),
  }
  while (seen.questions < cases) {
    const knownOf = new Map<string, Known>()
    const round = new Round(knownOf)
    const faults = choose()
    for (const fault of faults.values()) seen.faults.set(fault, (seen.faults.get(fault) ?? 0) + 1)
    round.begin(faults, random)
    await atlas.revoke()
    await Promise.all(world.operators.filter((each) => !faults.has(each)).map(recovered))
    // The operators' indexes do not have these records yet.
    await atlas.attest(3)
    const count = Math.min(questionsPerRound(cases), cases - seen.questions)
    const asked = Array.from({ length: count }, () => {
      // A unique recipient identifies the question in requests and contents.
      const one = { ...atlas.ask(), recipient: getAddress(`0x${randomHex(random)}`) }
      knownOf.set(one.recipient, one.known)
      return one
    })
    const truths = new Map(asked.map((each) => [each.recipient, each]))
    const answers = await askAll(round, asked, mustAnswer)
    if (answers.length > 0) await land(answers.map(({ answer }) => answer))
    await round.answered()
    const { lies, together } = await attack(round, truths, 3)
    await round.end()
    seen.rounds++
    seen.questions += count
    seen.answered += answers.length
    seen.lies += lies
    seen.together = Math.max(seen.together, together)
    if (mustAnswer)
      expect(answers.length, [...faults.values()].join()).toBe(asked.filter(({ isValid }) => isValid).length)
  }
  return seen
}
const randomHex = (random: () => number) =>
  Array.from({ length: 40 }, () => Math.floor(random() * 16).toString(16)).join('')

hunt(
  'with two faulty operators of five, every valid question is answered and nothing false lands',
  52,
  async (hunted) => {
    const { random, report } = hunted
    const next = deck(FAULTS, random)
    let isTogether = false
    const seen = await play(
      hunted,
      () => {
        const first = next()
        // Every second time, this is the strongest attack: both operators sign the same false bytes.
        if (LYING.includes(first)) isTogether = !isTogether
        const second = LYING.includes(first) && isTogether ? first : next()
        return assigned([first, second], random)
      },
      true,
    )
    report(
      `${seen.answered} answers landed, ${seen.lies} false contents signed, by up to ${seen.together} together`,
    )
    report([...seen.faults].map(([fault, rounds]) => `${fault}: ${rounds}`).join(', '))
    expect(seen.lies).toBeGreaterThan(0)
    if (seen.rounds >= ROUNDS) {
      expect(seen.together).toBe(2)
      expect([...seen.faults.keys()].sort()).toEqual([...FAULTS].sort())
    }
  },
)

hunt(
  'with three to five faulty operators, of which at most two sign false content, nothing false lands',
  8,
  async (hunted) => {
    const { random, report } = hunted
    const next = deck([...LYING, ...MISLED], random)
    const silent = deck(SILENT, random)
    const seen = await play(
      hunted,
      () => {
        const first = next()
        const second = first.startsWith('lie: ') ? first : next()
        const others = Array.from({ length: 1 + Math.floor(random() * 3) }, silent)
        return assigned([first, second, ...others], random)
      },
      false,
    )
    report(`${seen.answered} of ${seen.questions} answered, ${seen.lies} false contents signed`)
    expect(seen.lies).toBeGreaterThan(0)
  },
)
