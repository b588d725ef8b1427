// SPDX-License-Identifier: MIT
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { HttpTransport, PublicClient } from 'viem'
import {
  INCLUSION_SECONDS,
  LogFault,
  LogFollower,
  TlogError,
  formatNote,
  openSigned,
  parsePolicy,
  type Policy,
} from '../../../../src/tlog'
import { EXIT, UsageError } from '../exit'
import { parsed } from '../inputs'
import type { Session } from '../session'
import { Metrics, publish, replaceFile, sendAlarm, type Alarm } from './alarms'
import { attestedSince, contentKey } from './attested'
import { MAX_BYTES, download, maximumOf } from './download'
import { checkEntry, type Connected } from './entries'
import { REMEMBERED_SECONDS, prune, readState, type State } from './state'

/** Implements `geo log monitor`: follows the transparency log, and raises an alarm for each fault. */

export interface MonitorFlags {
  logPolicy?: string
  state?: string
  every?: number
  once?: boolean
  webhook?: string
  metrics?: string
  fromBlock?: number
}

/** Seconds between two reads of the log. */
const EVERY_SECONDS = 10
/** Number of entries that are checked at once: each reads a chain. */
const AT_ONCE = 8

/** Policy of the log: that of the file, or the key that the service names. */
async function policyOf(session: Session<MonitorFlags>): Promise<Policy> {
  const { options, geo, at, note, signal } = session
  let text: string
  if (options.logPolicy !== undefined) text = readFileSync(at(options.logPolicy), 'utf8')
  else {
    const description = await download(`${geo.url}/log/v0/`, signal, MAX_BYTES.text)
    const { key } = (parsed(new TextDecoder().decode(description)) ?? {}) as { key?: unknown }
    if (typeof key !== 'string') throw new UsageError(`The service at ${geo.url} has no transparency log.`)
    note(`Key of the log: ${key}. To pin it, pass --log-policy a file with: log ${key}`)
    text = `log ${key}\nquorum none\n`
  }
  try {
    return parsePolicy(text)
  } catch (error) {
    throw error instanceof TlogError ? new UsageError(error.message) : error
  }
}

class Monitor {
  readonly metrics = new Metrics()
  private readonly follower: LogFollower
  private readonly origin: string
  /** Number of alarms that this run has raised. */
  alarms = 0

  constructor(
    private readonly session: Session<MonitorFlags>,
    private readonly policy: Policy,
    private readonly state: State,
  ) {
    const [log] = policy.logs
    if (!log) throw new UsageError('The policy has no log. Add a line: log <vkey> <url>')
    this.origin = log.key.name
    const base = (log.url ?? `${session.geo.url}/log/v0`).replace(/\/+$/, '')
    this.follower = new LogFollower(
      (path) => download(`${base}/${path}`, session.signal, maximumOf(path)),
      policy,
    )
  }

  /** True once the follower is at the checkpoint of the state. */
  private isResumed = false

  /** Number of entries of the last verified checkpoint. */
  get size(): number {
    return this.follower.last?.checkpoint.size ?? 0
  }

  /**
   * Reads the log, the witnesses and the chains. Alarms are sent even if one of these does not respond: the
   * log's operator could otherwise delay them.
   */
  async read(): Promise<void> {
    try {
      await this.readAll()
    } finally {
      if (!this.session.signal.aborted) await this.send()
    }
  }

  private async readAll(): Promise<void> {
    const { state } = this
    let isRead = false
    const log = async () => {
      isRead = await this.watching(async () => {
        // If the log's tree has changed, the monitor stays at its last checkpoint: reading the log from the
        // start would accept the new tree.
        if (!this.isResumed && state.checkpoint !== undefined) await this.follower.resume(state.checkpoint)
        this.isResumed = true
        await this.readLog()
      })
    }
    // Witnesses and chains are read even if the log contradicts itself, or the endpoint of a chain does not
    // respond, because they may reveal more.
    const failures: unknown[] = []
    for (const step of [log, () => this.compareWitnesses(), () => this.readChains()])
      await step().catch((error: unknown) => {
        this.session.signal.throwIfAborted()
        failures.push(error)
      })
    if (failures.length > 0) throw failures[0]
    if (!this.isWaiting) this.raiseUnlogged()
    prune(state, this.now())
    if (isRead) this.metrics.set('last_success_seconds', this.now())
  }

  private now(): number {
    return Math.floor(Date.now() / 1000)
  }

  /**
   * Runs a step of the follower. Returns false if the step finds a fault of the log, for which it raises an
   * alarm. Too few cosignatures are a fault only after the time of `log.by`.
   */
  private async watching(work: () => Promise<void>): Promise<boolean> {
    try {
      await work()
      return true
    } catch (error) {
      if (!(error instanceof LogFault)) throw error
      // A log publishes checkpoints without a witness that is slow, and adds its cosignature later.
      if (error.kind === 'quorum') {
        this.state.weakSince ??= this.now()
        if (this.now() <= this.state.weakSince + INCLUSION_SECONDS) return false
      }
      this.raise(error.kind, error.message, error.evidence)
      return false
    }
  }

  private raise(kind: string, message: string, evidence: readonly string[] = []): void {
    const { session, state, origin } = this
    const key = `${kind}: ${message}`
    this.alarms++
    if (state.raised.includes(key)) return
    state.raised.push(key)
    this.metrics.count('alarms', kind)
    const alarm: Alarm = { kind, message, origin, time: this.now(), evidence }
    state.unsent.push(alarm)
    if (session.options.json) session.printJson(alarm)
    else session.print(`${session.paint.bad(kind.padEnd(10))} ${message}`)
  }

  private async readLog(): Promise<void> {
    const { state, metrics } = this
    const before = this.follower.last?.checkpoint.size ?? 0
    const { checkpoint } = await this.follower.advance(async (entries, first) => {
      for (let at = 0; at < entries.length; at += AT_ONCE)
        await Promise.all(
          entries.slice(at, at + AT_ONCE).map((bytes, more) => this.readEntry(bytes, first + at + more)),
        )
    })
    state.checkpoint = formatNote(checkpoint.note)
    delete state.weakSince
    // The time of an entry is not signed: it must not hide attestations after this moment.
    state.since = Math.min(state.since ?? Infinity, this.now())
    metrics.set('size', checkpoint.size)
    if (checkpoint.size > before && !this.session.options.json)
      this.session.note(`${checkpoint.size} entries, ${checkpoint.size - before} of them new.`)
  }

  private async readEntry(bytes: Uint8Array, index: number): Promise<void> {
    const { session, state } = this
    const checked = await checkEntry(bytes, session.geo, (chainId) => this.connect(chainId), session.signal)
    this.metrics.count('entries', checked.result)
    const { entry } = checked
    if (checked.result === 'unreadable') this.raise('entry', `Entry ${index}: ${checked.reason}.`)
    if (checked.result === 'differs') this.raise('differs', `Entry ${index}: ${checked.reason}`)
    if (!entry) return
    state.contents[await contentKey(entry.chainId, entry)] = entry.time
    state.since = Math.min(state.since ?? Infinity, entry.time)
  }

  /** Clients of chains by id; undefined for chains without an RPC endpoint. */
  private readonly connected = new Map<number, Promise<Connected | undefined>>()

  private connect(chainId: number): Promise<Connected | undefined> {
    const known = this.connected.get(chainId)
    if (known) return known
    const connecting = this.connectTo(chainId)
    this.connected.set(chainId, connecting)
    // If an endpoint does not respond, the next read tries it again.
    connecting.catch(() => this.connected.delete(chainId))
    return connecting
  }

  private async connectTo(chainId: number): Promise<Connected | undefined> {
    const { geo, node, note, signal } = this.session
    const chain = (await geo.info({ signal })).chains.find(({ id }) => id === chainId)
    if (!chain) return undefined
    try {
      return { chain, provider: await node(chain) }
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      note(`${chain.slug} is skipped: it has no RPC endpoint. ${error.message}`)
      return { chain }
    }
  }

  /**
   * Compares the tree with the checkpoints that witnesses cosigned last, and with earlier ones that were
   * larger than the tree.
   */
  private async compareWitnesses(): Promise<void> {
    const { ahead } = this.state
    for (const name of Object.keys(ahead)) if (!this.policy.witnesses.get(name)?.url) delete ahead[name]
    if (!this.follower.last) return
    for (const [name, { url }] of this.policy.witnesses) {
      if (url === undefined) continue
      const earlier = ahead[name]?.checkpoint
      if (earlier !== undefined) await this.watching(() => this.compare(name, earlier))
      const text = await this.cosignedBy(name, url)
      if (text !== undefined) await this.watching(() => this.compare(name, text))
    }
  }

  /** Returns the last checkpoint of a witness; undefined if it returns no checkpoint of the log. */
  private async cosignedBy(name: string, url: string): Promise<string | undefined> {
    const path = `${url.replace(/\/+$/, '')}/${encodeURIComponent(this.origin)}/checkpoint`
    try {
      const note = await download(path, this.session.signal, MAX_BYTES.text)
      const text = note && new TextDecoder().decode(note)
      if (text !== undefined) await openSigned(text, this.policy)
      return text
    } catch (error) {
      this.session.signal.throwIfAborted()
      this.metrics.count('failures', 'witness')
      // The log is not to blame for a response that it did not sign.
      const problem = error instanceof LogFault ? `its response is not a checkpoint of the log. ` : ''
      this.session.note(`Witness ${name}: ${problem}${(error as Error).message}`)
      return undefined
    }
  }

  /**
   * A witness may have cosigned a checkpoint that the log has not published yet: the log also waits for its
   * other witnesses. Its entries must be published within the time of `log.by`.
   */
  private async compare(name: string, text: string): Promise<void> {
    const { ahead } = this.state
    try {
      await this.compareOnce(text)
    } catch (error) {
      const kind = error instanceof LogFault ? error.kind : undefined
      if (kind === 'rollback') {
        ahead[name] ??= { checkpoint: text, since: this.now() }
        if (this.now() <= ahead[name].since + INCLUSION_SECONDS) return
      }
      if (kind === 'rollback' || kind === 'fork') delete ahead[name]
      throw error
    }
    if (ahead[name]?.checkpoint === text) delete ahead[name]
  }

  private async compareOnce(text: string): Promise<void> {
    try {
      await this.follower.compare(text)
    } catch (error) {
      if (!(error instanceof LogFault && error.kind === 'rollback')) throw error
      await this.readLog()
      await this.follower.compare(text)
    }
  }

  /**
   * True while there is no alarm, but the log has to include a witness's tree, or to get cosignatures, before
   * the next alarm.
   */
  get isWaiting(): boolean {
    const { ahead, weakSince } = this.state
    return this.alarms === 0 && (weakSince !== undefined || Object.keys(ahead).length > 0)
  }

  /** Reads new attestations by the service's attester. */
  private async readChains(): Promise<void> {
    const { session, state } = this
    const only = session.options.chain
    for (const { id, slug } of (await session.geo.info({ signal: session.signal })).chains) {
      if (only !== undefined && only !== slug && only !== String(id)) continue
      const { chain, provider } = (await this.connect(id)) ?? {}
      if (!chain || !provider) continue
      const from = state.blocks[slug] ?? session.options.fromBlock
      const client = provider as PublicClient<HttpTransport>
      const { found, next, known } = await attestedSince(client, chain, from, state.known[slug])
      state.unmatched.push(...found)
      state.known[slug] = known
      state.blocks[slug] = next
    }
  }

  /** Raises an alarm for each attestation that the log should include by now. */
  private raiseUnlogged(): void {
    const { state, metrics, follower } = this
    const since = state.since
    if (!follower.last || since === undefined) return
    state.unmatched = state.unmatched.filter(({ chain, uid, time, signed, key }) => {
      // A signature from before the log can land until its deadline.
      if (Math.min(time, signed) < since && time < since + REMEMBERED_SECONDS) return false
      if (time < (state.pruned ?? 0)) return false
      if (state.contents[key] !== undefined) {
        metrics.count('attestations', 'logged')
        return false
      }
      // The entry was committed before the answer left, and is included within this time.
      if (this.now() <= time + INCLUSION_SECONDS) return true
      metrics.count('attestations', 'unlogged')
      this.raise('unlogged', `The attestation ${uid} on ${chain} has no entry in the log.`)
      return false
    })
  }

  /** Sends alarms to the webhook. Those that it does not accept are sent again after the next read. */
  private async send(): Promise<void> {
    const { session, state, metrics } = this
    const { webhook } = session.options
    if (webhook === undefined) state.unsent = []
    while (state.unsent.length > 0 && (await sendAlarm(webhook!, state.unsent[0]!, session.signal)))
      state.unsent.shift()
    if (state.unsent.length === 0) return
    metrics.count('failures', 'webhook')
    session.note(`The webhook did not accept ${state.unsent.length} alarms. They are sent again later.`)
  }
}

/**
 * Part that does not respond, or that limits the rate, so that a later read may succeed; undefined for any
 * other error.
 */
async function unreachablePart(error: unknown): Promise<'log' | 'chain' | undefined> {
  const { ApiError, ConnectionError } = await import('@geospatial-attestation/client')
  const { BaseError } = await import('viem')
  if (error instanceof BaseError) return 'chain'
  const isPassing = error instanceof ApiError ? error.retryable : error instanceof ConnectionError
  return isPassing ? 'log' : undefined
}

export async function monitor(session: Session<MonitorFlags>): Promise<number> {
  const { options, at, note, signal } = session
  const file = options.state === undefined ? undefined : at(options.state)
  const state = readState(file)
  const running = new Monitor(session, await policyOf(session), state)
  const published = await publish(running.metrics, options.metrics, at)
  try {
    for (;;) {
      let failure: unknown
      try {
        await running.read()
      } catch (error) {
        signal.throwIfAborted()
        failure = error
      }
      const part = failure === undefined ? undefined : await unreachablePart(failure)
      if (part !== undefined) running.metrics.count('failures', part)
      if (file !== undefined) await replaceFile(file, JSON.stringify(state))
      await published.update()
      if (failure !== undefined) {
        // An alarm determines the exit status even if a chain could not be read.
        if (part === undefined || (options.once && running.alarms === 0)) throw failure as Error
        note((failure as Error).message)
      }
      if (options.once && !running.isWaiting) {
        const { size, alarms } = running
        if (!options.json)
          session.print(`${size} entries verified, ${alarms || 'no'} alarm${alarms > 1 ? 's' : ''}.`)
        return alarms > 0 ? EXIT.no : EXIT.done
      }
      await pause((options.every ?? EVERY_SECONDS) * 1000, undefined, { signal })
    }
  } catch (error) {
    if (signal.aborted && running.alarms > 0) return EXIT.no
    throw error
  } finally {
    published.end()
  }
}
