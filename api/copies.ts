import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { AggregatorRegistry, Registry } from 'prom-client'
import { MONOTONIC } from '../src/clock'
import type { Settings } from '../src/config'
import { openLog } from '../src/log'
import { onStop } from '../src/process'
import { RequestCounter } from './http/limits'
import { Nonces } from './http/nonces'
import { registerRedis, SharedRedis, type SharedCount, type SharedMarks } from './http/redis'

/** Request from an API process to the primary process, which stores what they share. */
interface Question {
  id: number
  ask: keyof SharedMarks | 'figures'
  key: string
  ms: number
  /** Amount by which a count or a reservation grows. */
  by: number
}
interface Answer {
  id: number
  answer: SharedCount | boolean | string | undefined
}
/** Messages of prom-client have no member `ask`. `metrics` is a list for each registry of an API process. */
type Message = Question | { ask?: undefined; metrics?: object[][] } | 'listening'

/** Milliseconds before an API process that ended is restarted, doubled until a process has run steadily. */
const RESTART_MS = 250
const LONGEST_RESTART_MS = 30_000
const STEADY_MS = 10_000
/** Maximum milliseconds that an API process takes to stop: longer than its limit for requests under way. */
const STOP_MS = 8_000
/**
 * Time limit for answers of the primary, in milliseconds. After it, the primary counts as unreachable. For
 * metrics it is 6 s, because the primary waits 5 s for those of a busy process.
 */
const ANSWER_MS = { count: 1_000, reserve: 1_000, claim: 1_000, figures: 6_000 }

/**
 * Runs the API in several processes that listen on one port (node:cluster). This process, the primary,
 * starts, restarts and stops them. Each runs on its own core. They share only rate limits and used nonces,
 * which the primary stores, in Redis if it is configured. If an API process cannot start, the primary exits
 * with its exit code.
 */
export async function runCopies(settings: Settings): Promise<void> {
  const logger = openLog(settings.logLevel)
  const redis = redisOf(settings, logger)
  cluster.setupPrimary({ exec: path.join(__dirname, 'copy.js') })
  answerCopies(redis)
  let isStopping = false
  const end = (code: number) => {
    isStopping = true
    process.exitCode = code
    void Promise.all(copiesNow().map(stop)).then(() => {
      // The copies need it until their last response.
      redis?.close()
      process.exit(code)
    })
  }
  onStop(() => end(0))
  /** Starts an API process, and starts it again when it ends, until the service stops. */
  const keepRunning = async (number: number, onListening: () => void) => {
    let hasListened = false
    for (let rest = RESTART_MS; !isStopping; rest = Math.min(2 * rest, LONGEST_RESTART_MS)) {
      const started = performance.now()
      const copy = cluster.fork()
      closeWhatIsNotTaken(copy)
      copy.on('message', (message: Message) => {
        if (message !== 'listening') return
        hasListened = true
        onListening()
      })
      const code = await endOf(copy)
      if (isStopping) return
      // Invalid settings stay invalid. A process that fails before it listens ends the service, so that the
      // operator sees the error.
      if (code === 2 || !hasListened) return end(code)
      if (performance.now() - started > STEADY_MS) rest = RESTART_MS
      logger.error({ copy: number, code, restartMs: rest }, 'an API process ended and is restarted')
      await pause(rest)
    }
  }
  const listening = (number: number) => new Promise<void>((listens) => void keepRunning(number, listens))
  // One process starts first, so that an error at the start is reported once.
  await listening(1)
  await Promise.all(Array.from({ length: settings.apiProcesses - 1 }, (_, i) => listening(i + 2)))
  logger.info(
    { copies: settings.apiProcesses, host: settings.host, port: settings.port },
    'all API processes listen',
  )
  process.send?.('listening')
}

/** Responds to the requests of the API processes from this process's rate limits, used nonces and metrics. */
function answerCopies(redis: SharedRedis | undefined): void {
  const counter = new RequestCounter(MONOTONIC.now, redis)
  const nonces = new Nonces(MONOTONIC.now, redis)
  const collector = new AggregatorRegistry()
  const figures = new SummedFigures()
  const own = new Registry()
  if (redis) registerRedis(own, redis)
  const allFigures = async () => {
    await unlessEnded(collector.clusterMetrics())
    return `${await figures.text()}\n${await own.metrics()}`
  }
  /** Units that each API process has reserved, by key. They are released when it ends. */
  const reserved = new Map<number, Map<string, number>>()
  const reserve = async (copy: number, key: string, units: number) => {
    const own = reserved.get(copy) ?? new Map<string, number>()
    const all = (own.get(key) ?? 0) + units
    if (all) own.set(key, all)
    else own.delete(key)
    reserved.set(copy, own)
    await counter.reserve(key, units)
    return undefined
  }
  cluster.setMaxListeners(0) // many scrapes at once
  cluster.on('exit', ({ id }) => {
    for (const [key, units] of reserved.get(id) ?? []) void counter.reserve(key, -units)
    reserved.delete(id)
    figures.end(id)
  })
  const answer = async (copy: number, { ask, key, ms, by }: Question): Promise<Answer['answer']> => {
    if (ask === 'count') return counter.countApart(key, ms, by)
    if (ask === 'reserve') return reserve(copy, key, by)
    // undefined means that Redis is unreachable. An API process refuses a nonce that it cannot check.
    return (ask === 'claim' ? nonces.claim(key, ms) : allFigures()).catch(() => undefined)
  }
  cluster.on('message', (copy, message: Message) => {
    if (message === 'listening') return
    if (message.ask === undefined) {
      if (message.metrics && !copy.isDead()) figures.note(copy.id, message.metrics)
      return
    }
    const { id } = message
    void answer(copy.id, message).then((found) => {
      if (copy.isConnected()) copy.send({ id, answer: found } satisfies Answer)
    })
  })
}

/** Rejects once an API process ends, whose metrics would be awaited for 5 s, as long as a stop may take. */
export async function unlessEnded(collecting: Promise<unknown>): Promise<void> {
  const settled = new AbortController()
  const { signal } = settled
  const ended = once(cluster, 'exit', { signal }).then(() => Promise.reject(new Error('it ended')))
  await Promise.race([collecting, ended]).finally(() => settled.abort())
}

/**
 * Sums the metrics of the API processes. Counters of a process that ended stay as they were last reported,
 * because Prometheus reads a sum that decreases as a restart of all processes.
 */
export class SummedFigures {
  private readonly ofCopies = new Map<number, object[][]>()
  private ofEnded: Promise<object[]> = Promise.resolve([])

  /** Stores the current metrics of a process. */
  note(copy: number, metrics: object[][]): void {
    this.ofCopies.set(copy, metrics)
  }

  end(copy: number): void {
    const metrics = this.ofCopies.get(copy) ?? []
    this.ofCopies.delete(copy)
    const counted = metrics.map((all) => all.filter((each) => !('type' in each) || each.type !== 'gauge'))
    this.ofEnded = this.ofEnded.then((ended) => summed([ended, ...counted]).getMetricsAsJSON())
  }

  async text(): Promise<string> {
    return summed([...this.ofCopies.values()].flat().concat([await this.ofEnded])).metrics()
  }
}

function summed(metrics: object[][]): Registry {
  return AggregatorRegistry.aggregate(metrics)
}

/** Redis connection that the API processes of one or several machines share; undefined without REDIS_URL. */
export function redisOf({ redisUrl }: Settings, logger: Logger): SharedRedis | undefined {
  return redisUrl === undefined ? undefined : new SharedRedis(redisUrl, logger)
}

/** Client of the primary process, in an API process: shared rate limits, used nonces and metrics. */
export class PrimaryProcess implements SharedMarks {
  private readonly waiting = new Map<number, (answer: Answer['answer']) => void>()
  private asked = 0

  constructor() {
    process.on('message', ({ id, answer }: Answer) => this.waiting.get(id)?.(answer))
  }

  async count(key: string, windowMs: number, by?: number): Promise<SharedCount | undefined> {
    return (await this.ask('count', key, windowMs, by)) as SharedCount | undefined
  }

  async reserve(key: string, units: number): Promise<void> {
    await this.ask('reserve', key, 0, units)
  }

  async claim(key: string, ms: number): Promise<boolean | undefined> {
    return (await this.ask('claim', key, ms)) as boolean | undefined
  }

  /** Returns the summed metrics of all API processes, in Prometheus's text format. */
  async figures(): Promise<string | undefined> {
    return (await this.ask('figures', '', 0)) as string | undefined
  }

  close(): void {}

  private ask(ask: Question['ask'], key: string, ms: number, by = 1): Promise<Answer['answer']> {
    const id = this.asked++
    return new Promise<Answer['answer']>((resolve) => {
      // The response may have arrived while this process was busy. It is read before setImmediate runs.
      const timer = setTimeout(() => setImmediate(resolve, undefined), ANSWER_MS[ask])
      const settle = (answer: Answer['answer']) => {
        clearTimeout(timer)
        resolve(answer)
      }
      this.waiting.set(id, settle)
      process.send!(
        { id, ask, key, ms, by } satisfies Question,
        (error: Error | null) => error && settle(undefined),
      )
    }).finally(() => this.waiting.delete(id))
  }
}

function copiesNow(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((copy) => copy !== undefined)
}

/** Resolves to the exit code of the API process; 1 if it was killed. */
function endOf(copy: Worker): Promise<number> {
  return new Promise((resolve) => copy.once('exit', (code: number | null) => resolve(code ?? 1)))
}

/**
 * Closes the connection that was being passed to an API process when that process ended, so that its client
 * learns of it at once. Node would leave it open indefinitely. At most one connection is in transit. A
 * connection that the process has accepted is already closed here.
 */
function closeWhatIsNotTaken(copy: Worker): void {
  const { process } = copy
  const send = process.send.bind(process) as (...args: unknown[]) => boolean
  let given: { close(): void } | undefined
  process.send = (message: unknown, handle?: unknown, ...rest: unknown[]) => {
    if (handle) given = handle as { close(): void }
    return send(message, handle, ...rest)
  }
  copy.once('exit', () => given?.close())
}

async function stop(copy: Worker): Promise<void> {
  const ended = endOf(copy)
  copy.process.kill('SIGTERM')
  const insist = setTimeout(() => copy.process.kill('SIGKILL'), STOP_MS)
  await ended
  clearTimeout(insist)
}
