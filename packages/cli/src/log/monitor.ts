// SPDX-License-Identifier: MIT
import { setTimeout as pause } from 'node:timers/promises'
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
import { replaceFile } from '../files'
import { readText } from '../inputs'
import type { Session } from '../session'
import { Alarms, unixSeconds } from './alarms'
import { contentKey } from './attested'
import { Chains } from './chains'
import { MAX_BYTES, download, downloadJson, maximumOf } from './download'
import { checkEntry, recomputed } from './entries'
import { recomputeLanded } from './landed'
import { Metrics, publish } from './metrics'
import { REMEMBERED_SECONDS, comparisonOf, prune, readState, sizeOf, type State } from './state'

export interface MonitorFlags {
  logPolicy?: string
  state?: string
  every?: number
  once?: boolean
  webhook?: string
  metrics?: string
  fromBlock?: number
  quorumContracts?: Record<number, string>
}

/** Seconds between two reads of the log. */
const EVERY_SECONDS = 10
/** Faults that must last, and the fields of the state with the time since which they do. */
const LASTING = { quorum: 'weakSince', rollback: 'behindSince' } as const
/** Number of entries that are checked at once: each reads a chain. */
const AT_ONCE = 8

/** The published policy, or that of the file with the service's log only. Throws a ConnectionError. */
async function policyOf(session: Session<MonitorFlags>): Promise<Policy> {
  const { options, geo, at, note, signal } = session
  const url = `${geo.url}/log/v0/`
  const described = async () => {
    const description = await downloadJson(url, signal, MAX_BYTES.text)
    return (description ?? {}) as { origin?: unknown; policy?: unknown }
  }
  let text: string
  if (options.logPolicy !== undefined) text = await readText(options.logPolicy, at)
  else {
    const { policy } = await described()
    if (typeof policy !== 'string') throw new UsageError(`The service at ${geo.url} has no transparency log.`)
    note('Policy that the service publishes. To pin it, pass it in a file with --log-policy:')
    for (const line of policy.trimEnd().split('\n')) note(line)
    text = policy
  }
  let policy: Policy
  try {
    policy = parsePolicy(text)
  } catch (error) {
    throw error instanceof TlogError ? new UsageError(error.message) : error
  }
  // The policy of a quorum has the logs of all its operators.
  if (policy.logs.length <= 1) return policy
  const { origin } = await described()
  if (typeof origin !== 'string') {
    const { ConnectionError } = await import('@geospatial-attestation/client')
    throw new ConnectionError(`${url} does not respond with a description of the log.`)
  }
  const logs = policy.logs.filter(({ key }) => key.name === origin)
  if (logs.length > 0) return { ...policy, logs }
  const names = policy.logs.map(({ key }) => key.name).join(', ')
  throw new UsageError(
    `The policy has no line for the log of ${geo.url}. It has: ${names}. Add the line of the log: GET /log/v0.`,
  )
}

class Monitor {
  readonly alarms: Alarms
  private readonly follower: LogFollower
  private readonly chains: Chains
  private readonly origin: string
  private failures: unknown[] = []

  constructor(
    private readonly session: Session<MonitorFlags>,
    private readonly policy: Policy,
    private readonly state: State,
    private readonly metrics: Metrics,
  ) {
    const [log] = policy.logs
    if (!log) throw new UsageError('The policy has no log. Add a line: log <vkey> <url>')
    this.origin = log.key.name
    this.alarms = new Alarms(session, this.origin, state, metrics)
    this.chains = new Chains(session, state, metrics)
    // A first run with --from-block also compares older attestations.
    if (session.options.fromBlock === undefined) state.pruned ??= unixSeconds() - REMEMBERED_SECONDS
    const base = (log.url ?? `${session.geo.url}/log/v0`).replace(/\/+$/, '')
    this.follower = new LogFollower((path) => {
      // A log always has a checkpoint, so its absence is an outage.
      const isAbsence = path === 'checkpoint' ? () => false : undefined
      return download(`${base}/${path}`, session.signal, maximumOf(path), isAbsence)
    }, policy)
  }

  private readonly connect = (chainId: number) => this.chains.connect(chainId)
  /** True once the follower is at the checkpoint of the state. */
  private isResumed = false
  /** True if the log was not read since its last fault: it did not respond, or the monitor was started. */
  private isUnread = true

  get size(): number {
    return this.follower.last?.checkpoint.size ?? 0
  }

  /**
   * Reads the log, the witnesses and the chains, each even if another one fails or the log contradicts
   * itself, because they may reveal more. Returns the errors of parts that do not respond. Throws the first
   * other error.
   */
  async read(): Promise<readonly Error[]> {
    const { state, metrics } = this
    this.failures = []
    const readAt = unixSeconds()
    const isRead = await this.attempt(() =>
      this.watching(async () => {
        // If the log's tree has changed, the monitor stays at its last checkpoint: reading the log from the
        // start would accept the new tree.
        if (!this.isResumed && state.checkpoint !== undefined)
          await this.follower.resume(state.checkpoint, state.checked)
        this.isResumed = true
        await this.readLog()
      }),
    )
    await this.compareWitnesses()
    const compared = await this.attempt(() => this.chains.compared())
    let areRead = compared !== undefined
    for (const chain of compared ?? [])
      if (!(await this.attempt(() => this.chains.read(chain)))) areRead = false
    // Otherwise the contents are out of date.
    if (isRead) this.raiseUnlogged(readAt)
    // Alarms are sent whatever failed: the log's operator could otherwise delay them.
    await this.alarms.send()
    if (isRead) {
      await this.recomputeLanded()
      prune(state, unixSeconds(), areRead)
      await this.alarms.send()
    }
    if (isRead && this.failures.length === 0) metrics.set('last_success_seconds', unixSeconds())
    const parts = await Promise.all(this.failures.map(unreachablePart))
    for (const part of parts) if (part !== undefined) metrics.count('failures', part)
    const other = parts.indexOf(undefined)
    if (other >= 0) throw this.failures[other] as Error
    return this.failures as Error[]
  }

  /** Runs a step of a read. Collects its error, so that the read continues. */
  private async attempt<Result>(step: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await step()
    } catch (error) {
      this.session.signal.throwIfAborted()
      this.failures.push(error)
      return undefined
    }
  }

  /**
   * Runs a step of the follower. Returns false if the step finds a fault of the log, for which it raises an
   * alarm. Too few cosignatures and a smaller tree are faults only if they last for the time of `log.by`.
   */
  private async watching(work: () => Promise<void>): Promise<boolean> {
    try {
      await work()
      return true
    } catch (error) {
      if (!(error instanceof LogFault)) {
        this.isUnread = true
        throw error
      }
      // While the monitor stays at a checkpoint, the same fault may name a larger tree at each read.
      let episode = `after ${sizeOf(this.state)} entries`
      // A log publishes checkpoints without a witness that is slow, and adds its cosignature later. A cache
      // may serve an older checkpoint for a while.
      if (error.kind === 'quorum' || error.kind === 'rollback') {
        const now = unixSeconds()
        // The log may have been without the fault while it could not be read, or the monitor did not run.
        // With an alarm, the fault counts as the same one, so that runs by cron do not each raise an alarm.
        if (this.isUnread && now > (this.state.faultyAt ?? 0) + INCLUSION_SECONDS)
          this.endFaults((kind, since) => !this.alarms.isRaised(kind, `since ${since}`))
        this.isUnread = false
        this.state.faultyAt = now
        const since = (this.state[LASTING[error.kind]] ??= now)
        if (now <= since + INCLUSION_SECONDS) return false
        episode = `since ${since}`
      }
      this.alarms.raise(error.kind, error.message, episode, error.evidence)
      return false
    }
  }

  /** Ends lasting faults: all, or those for which `isOver` returns true. */
  private endFaults(isOver = (_kind: string, _since?: number) => true): void {
    const { state } = this
    for (const [kind, field] of Object.entries(LASTING)) if (isOver(kind, state[field])) delete state[field]
    delete state.faultyAt
  }

  private async readLog(): Promise<void> {
    const { state, metrics, follower } = this
    const before = { last: follower.last, checked: follower.checked }
    try {
      await follower.advance(async (entries, first) => {
        for (let at = 0; at < entries.length; at += AT_ONCE)
          await Promise.all(
            entries.slice(at, at + AT_ONCE).map((bytes, more) => this.readEntry(bytes, first + at + more)),
          )
      })
    } finally {
      // The tree may be verified although an entry could not be checked, because a chain does not respond.
      const { last } = follower
      if (last && last !== before.last) {
        state.checkpoint = formatNote(last.checkpoint.note)
        this.endFaults()
        metrics.set('size', last.checkpoint.size)
      }
      state.checked = follower.checked
    }
    // The time of an entry is not signed: it must not hide attestations after this moment.
    state.since = Math.min(state.since ?? Infinity, unixSeconds())
    const { checked } = follower
    if (checked > before.checked && !this.session.options.json)
      this.session.note(`${checked} entries, ${checked - before.checked} of them new.`)
  }

  private async readEntry(bytes: Uint8Array, index: number): Promise<void> {
    const { session, state } = this
    const checked = await checkEntry(bytes, session, this.connect)
    this.metrics.count('entries', checked.result)
    const { entry } = checked
    const episode = String(index)
    if (checked.result === 'unreadable')
      this.alarms.raise('entry', `Entry ${index}: ${checked.reason}.`, episode)
    if (checked.result === 'differs')
      this.alarms.raise('differs', `Entry ${index}: ${checked.reason}`, episode)
    if (!entry) return
    const key = await contentKey(entry.chainId, entry)
    const time = Math.min(entry.time, unixSeconds())
    if (time >= (state.pruned ?? 0)) {
      state.contents[key] = time
      if (checked.result === 'unresolved') state.unresolved[key] = { index, chainId: entry.chainId }
    }
    state.since = Math.min(state.since ?? Infinity, entry.time)
  }

  /** Compares the tree with the last checkpoints of witnesses, and with earlier ones that were larger. */
  private async compareWitnesses(): Promise<void> {
    const { ahead } = this.state
    for (const name of Object.keys(ahead)) if (!this.policy.witnesses.get(name)?.url) delete ahead[name]
    if (!this.follower.last) return
    for (const [name, { url }] of this.policy.witnesses) {
      if (url === undefined) continue
      const earlier = ahead[name]?.checkpoint
      const last = await this.cosignedBy(name, url)
      for (const text of new Set([earlier, last]))
        if (text !== undefined) await this.attempt(() => this.watching(() => this.compare(name, text)))
    }
  }

  /** Returns the last checkpoint of a witness; undefined if it returns no checkpoint of the log. */
  private async cosignedBy(name: string, url: string): Promise<string | undefined> {
    const path = `${url.replace(/\/+$/, '')}/${encodeURIComponent(this.origin)}/checkpoint`
    try {
      // A witness may not know the log. One that has cosigned its tree has a checkpoint of it.
      const hasCosigned = this.follower.last!.cosigned.has(name)
      const isAbsence = ({ status }: Response) => status === 404 && !hasCosigned
      const note = await download(path, this.session.signal, MAX_BYTES.text, isAbsence)
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
    let fault = await this.contradictionOf(text)
    if (fault?.kind === 'rollback') {
      const { since } = (ahead[name] ??= { checkpoint: text, since: unixSeconds() })
      // The log may have grown since it was read. The time passes even if it cannot be read again.
      await this.attempt(() => this.watching(() => this.readLog()))
      fault = await this.contradictionOf(text)
      if (fault?.kind === 'rollback') {
        if (unixSeconds() > since + INCLUSION_SECONDS)
          this.alarms.raise(fault.kind, fault.message, `${name} since ${since}`, fault.evidence)
        return
      }
    }
    if (fault || ahead[name]?.checkpoint === text) delete ahead[name]
    if (fault) this.alarms.raise(fault.kind, fault.message, name, fault.evidence)
  }

  /** Returns the rollback or fork that a witness's checkpoint proves; undefined if the tree contains it. */
  private async contradictionOf(text: string): Promise<LogFault | undefined> {
    try {
      await this.follower.compare(text)
      return undefined
    } catch (error) {
      if (error instanceof LogFault && (error.kind === 'rollback' || error.kind === 'fork')) return error
      throw error
    }
  }

  /** Faults that may pass, once the log includes a witness's or an earlier tree, or gets cosignatures. */
  get passing(): readonly string[] {
    const { ahead, weakSince, behindSince } = this.state
    return [
      ...Object.entries(ahead).map(([name, { since }]) => `${name} since ${since}`),
      ...(weakSince === undefined ? [] : [`quorum since ${weakSince}`]),
      ...(behindSince === undefined ? [] : [`rollback since ${behindSince}`]),
    ]
  }

  private recomputeLanded(): Promise<void> {
    return recomputeLanded(
      this.state,
      unixSeconds(),
      (uid, chainId) => this.attempt(() => recomputed(uid, chainId, this.session, this.connect)),
      (index, reason) => this.alarms.raise('differs', `Entry ${index}: ${reason}`, String(index)),
    )
  }

  /** Raises an alarm for each attestation that the log should include by `readAt`, when it was read. */
  private raiseUnlogged(readAt: number): void {
    const { state, metrics, session } = this
    const { since } = state
    if (!this.follower.last || since === undefined) return
    const unknown = new Map<string, number>()
    state.unmatched = state.unmatched.filter((each) => {
      const { chain, uid, key } = each
      const result = comparisonOf(each, state, since, readAt)
      if (result === 'waiting') return true
      if (result !== 'older') metrics.count('attestations', result)
      const unresolved = state.unresolved[key]
      if (result === 'logged' && unresolved) state.landed[uid] = { ...unresolved, key }
      if (result === 'unknown') unknown.set(chain, (unknown.get(chain) ?? 0) + 1)
      const message = `The attestation ${uid} on ${chain} has no entry in the log.`
      if (result === 'unlogged') this.alarms.raise(result, message, `${chain} ${uid}`)
      return false
    })
    for (const [chain, count] of unknown)
      session.note(
        `${chain}: attestations that are not compared: ${count}. Their entries may be older than the log, or than the entries that this monitor remembers. To compare those that are not older than the log, run a monitor with a new --state and with --from-block before their blocks.`,
      )
  }
}

/** Part that does not respond or limits the rate, so that a later read may succeed; otherwise undefined. */
async function unreachablePart(error: unknown): Promise<'log' | 'chain' | undefined> {
  const { ApiError, ConnectionError, ServiceVersionError, SignerError } =
    await import('@geospatial-attestation/client')
  const { BaseError } = await import('viem')
  const isOfChain = error instanceof BaseError || error instanceof SignerError
  if (isOfChain || (error as Error).cause instanceof BaseError) return 'chain'
  // A reverse proxy may respond with a page for a while.
  const isUnreachable = error instanceof ConnectionError || error instanceof ServiceVersionError
  const isPassing = error instanceof ApiError ? error.retryable : isUnreachable
  return isPassing ? 'log' : undefined
}

export async function monitor(session: Session<MonitorFlags>): Promise<number> {
  const { options, at, note, signal } = session
  const file = options.state === undefined ? undefined : at(options.state)
  const state = readState(file)
  let written = JSON.stringify(state)
  const metrics = new Metrics()
  const published = await publish(metrics, options.metrics, at)
  let running: Monitor | undefined
  let first: readonly string[] | undefined
  const save = async () => {
    const text = JSON.stringify(state)
    if (file !== undefined && text !== written) {
      // Runs by cron may overlap: the next run must not resume at an earlier position.
      const isBehind = sizeOf(readState(file)) > sizeOf(state)
      if (isBehind)
        note(`'${file}' has the state of a larger tree, which another run has saved, and is kept.`)
      else await replaceFile(file, text)
    }
    written = text
    await published.update()
  }
  try {
    for (;;) {
      let failures: readonly Error[]
      try {
        running ??= new Monitor(session, await policyOf(session), state, metrics)
        failures = await running.read()
      } catch (error) {
        const part = running || signal.aborted ? undefined : await unreachablePart(error)
        if (part === undefined) throw error
        metrics.count('failures', part)
        failures = [error as Error]
      } finally {
        if (!signal.aborted) await save()
      }
      for (const { message } of failures) note(message)
      if (options.once) {
        const alarms = running?.alarms.count ?? 0
        // An alarm determines the exit status even if a chain could not be read.
        if (!running || (failures.length > 0 && alarms === 0)) throw failures[0]!
        // Later faults, such as those of a log that always grows, are for the next run.
        first ??= running.passing
        if (alarms > 0 || !running.passing.some((fault) => first!.includes(fault))) {
          if (!options.json)
            session.print(
              `${running.size} entries verified, ${alarms || 'no'} alarm${alarms > 1 ? 's' : ''}.`,
            )
          return alarms > 0 ? EXIT.no : EXIT.done
        }
      }
      const seconds = Math.min(options.every ?? EVERY_SECONDS, options.once ? EVERY_SECONDS : Infinity)
      await pause(seconds * 1000, undefined, { signal })
    }
  } catch (error) {
    if (signal.aborted && running && running.alarms.count > 0) return EXIT.no
    // A pause of Node rejects with an error of its own.
    throw signal.aborted ? signal.reason : error
  } finally {
    published.end()
  }
}
