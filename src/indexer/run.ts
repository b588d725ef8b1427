import assert from 'node:assert'
import { createLogger } from '@subsquid/logger'
import { Auditor } from './audit'
import { BlockReader, Doubt, HeadReader, contradiction, otherChain, type BlockRef } from '../chain'
import { BodyReader } from './bodies'
import { CHAINS, rpcLimits, type Chain } from '../chains'
import { MONOTONIC, type Clock } from '../clock'
import { CHANGES_KEPT_DAYS, type ConnectedChain, type Settings } from '../config'
import {
  CHANGES_FORGOTTEN_AT_ONCE,
  Database,
  finalBlock,
  forgetChanges,
  indexedTip,
  Lease,
  unprovenBlocks,
  lastEventBlock,
  noteHead,
  rewindFinal,
} from './store'
import { IndexerMetrics } from './metrics'
import { primaryUrl } from '../postgres'
import { repeat } from '../retry'
import { Rpc } from '../rpc'
import { runProcessor } from './processor'
import { followReading } from './reading'
import { Registry } from './registry'

const log = createLogger('indexer')
const FORGET_EVERY_MS = 3_600_000
const NOTE_EVERY_MS = 1_000
/** Milliseconds that the database's clock gains on the local one if this machine was suspended. */
const SUSPENDED_MS = 3_000
const CHECK_CONTRACT_EVERY_MS = 15_000

/** An indexer that runs in this process. */
export type Indexer = Pick<ChainIndexer, 'state' | 'ended' | 'stop'>

/** The settings that an indexer reads. */
export type IndexerSettings = Pick<
  Settings,
  'databaseUrl' | 'schemaPolicy' | 'auditCallsPerSecond' | 'indexerMetrics'
>

/**
 * Starts to index one chain. A caller whose process survives the rejection of `ended` must call `stop`.
 * @param clock measures ages and pauses
 */
export function startIndexer(
  connected: ConnectedChain,
  settings: IndexerSettings,
  clock: Clock = MONOTONIC,
): Indexer {
  return new ChainIndexer(connected, settings, clock)
}

/**
 * States of an indexer, and the states that each may lead to:
 *
 *   connecting ──> waiting ──> checking ──> loading ──> indexing      at work
 *   to Postgres    for the     endpoints    schemas     blocks
 *                  lease       and database
 *        └────────────┴───────────┴────────────┴───────────┤
 *                                  an error, a lost lease  ├──> failed
 *                                  stop()                  └──> stopping ──> stopped
 *
 * A failed indexer is stopped to close its connections; main.ts ends the process instead, with status 2 for a
 * SettingsError and 1 for any other error.
 */
const NEXT = {
  connecting: ['waiting', 'failed', 'stopping'],
  waiting: ['checking', 'failed', 'stopping'],
  checking: ['loading', 'failed', 'stopping'],
  loading: ['indexing', 'failed', 'stopping'],
  indexing: ['failed', 'stopping'],
  failed: ['stopping'],
  stopping: ['stopped'],
  stopped: [],
} as const satisfies Record<string, readonly string[]>
type State = keyof typeof NEXT

/** Parts of an indexer that has the lease. */
type Parts = ReturnType<ChainIndexer['partsOf']>

class ChainIndexer {
  state: State = 'connecting'
  /** Resolves when the indexer has been stopped. Rejects with the reason why it cannot continue. */
  readonly ended: Promise<void>
  private readonly chain: Chain
  private readonly rpc: Rpc
  private readonly stopping = new AbortController()
  private readonly signal = this.stopping.signal
  /** Tasks until the signal aborts, and functions that close the parts, in the order of opening. */
  private readonly running: Promise<unknown>[] = []
  private readonly closing: (() => unknown)[] = []
  private work!: Promise<void>
  private reject!: (error: Error) => void
  private stopped: Promise<void> | undefined
  private readonly databases: Database[] = []
  private hasLostLease = false

  constructor(
    private readonly connected: ConnectedChain,
    private readonly settings: IndexerSettings,
    private readonly clock: Clock,
  ) {
    const { chain, rpcUrls: urls } = connected
    this.chain = chain
    this.rpc = new Rpc({ chain, urls, ...rpcLimits(chain), log, signal: this.signal, clock })
    this.signal.addEventListener('abort', () => this.rpc.close())
    this.ended = new Promise((resolve, reject) => {
      this.reject = reject
      this.work = this.run().then(resolve, (error: Error) =>
        this.signal.aborted ? resolve() : this.fail(error),
      )
    })
  }

  /** Stops all work, releases the lease and closes all connections. No batch is written in part. */
  stop(): Promise<void> {
    return (this.stopped ??= this.close())
  }

  private enter(state: State): void {
    const next: readonly State[] = NEXT[this.state]
    assert(next.includes(state), `an indexer that is ${this.state} cannot be ${state}`)
    this.state = state
    log.debug({ chain: this.chain.slug, state }, 'the state of the indexer changed')
  }

  /** `stop()` releases the lease before other work has ended, so a lost lease is then not a failure. */
  private readonly fail = (error: Error): void => {
    if (this.signal.aborted || this.state === 'failed') return
    this.enter('failed')
    this.reject(error)
  }

  private async close(): Promise<void> {
    this.enter('stopping')
    this.stopping.abort(new Error('the indexer is stopped'))
    this.disconnectLost()
    await Promise.allSettled([this.work, ...this.running])
    this.disconnectLost()
    const errors: unknown[] = []
    for (const close of this.closing.reverse())
      try {
        await close()
      } catch (error) {
        errors.push(error)
      }
    this.enter('stopped')
    if (errors.length > 0) throw errors[0]
  }

  /** Ends statements that wait for a database that does not respond, or for a successor. */
  private disconnectLost(): void {
    if (this.hasLostLease) for (const database of this.databases) database.disconnect()
  }

  private async run(): Promise<void> {
    const databaseUrl = await primaryUrl(this.settings.databaseUrl)
    this.signal.throwIfAborted()
    const database = this.open(databaseUrl, this.fail)
    this.enter('waiting')
    const lease = new Lease(database, this.chain, log)
    this.signal.addEventListener('abort', () => this.running.push(lease.release()))
    const onLost = (error: Error) => {
      this.hasLostLease = true
      this.fail(error)
    }
    await lease.take(onLost, this.signal)
    this.enter('checking')
    const parts = this.partsOf(database, lease)
    const final = await finalBlock(database.query, this.chain)
    parts.doubt.unprovenAtHead = await unprovenBlocks(database.query, this.chain)
    this.signal.throwIfAborted()
    // The check waits while no endpoint has the last final block. The API must then know of the doubt. A new
    // chain is followed later: its row in chain_status would make the registry read the history of its
    // schemas again.
    if (final) this.running.push(this.followHead(parts))
    const [stored] = await Promise.all([
      final && this.checkSameChain(final, parts),
      this.rpc.check(),
      parts.bodies.hasMulticall(),
    ])
    this.enter('loading')
    await parts.registry.load()
    const added = await parts.registry.note(final === undefined)
    if (added.length)
      log.info(
        { chain: this.chain.slug, added },
        'there are new schemas or attesters: the audit reads their history',
      )
    this.signal.throwIfAborted()
    this.enter('indexing')
    this.running.push(...this.duties(parts, final === undefined))
    await this.process(
      parts,
      stored,
      this.open(databaseUrl, () => {}, 1),
    )
  }

  private open(url: string, onReadOnly: (error: Error) => void, connections?: number): Database {
    const onLost = (error: Error) => log.warn({ reason: error.message }, 'a database connection was lost')
    const database = new Database(url, onLost, onReadOnly, connections)
    this.databases.push(database)
    this.closing.push(() => database.close())
    return database
  }

  partsOf(database: Database, lease: Lease) {
    const { chain, rpc, clock } = this
    const doubt = new Doubt(clock)
    const { schemaPolicy: policy } = this.settings
    const registry = new Registry({ chain, rpc, database, policy, log, lease })
    const newReader = () => new BlockReader(rpc, registry, doubt, clock)
    const storedAtOrBelow = (height: number) => lastEventBlock(database.query, chain, height)
    const head = new HeadReader({
      ...{ doubt, log, clock, finality: chain.finality, pollMs: this.connected.headPollMs },
      ...{ blocks: newReader(), storedAtOrBelow },
    })
    const bodies = new BodyReader(rpc, chain.eas)
    const compared = { blocks: newReader(), doubt, log, signal: this.signal, storedAtOrBelow }
    return { database, lease, bodies, registry, head, clock, ...compared }
  }

  /**
   * Returns the last final block in the database once the endpoints confirm it. If only that block is false,
   * because a node lied, and the earlier event log is that of the chain, the position is reset to the last
   * correct block. Throws a SettingsError if the database has indexed another chain.
   */
  private async checkSameChain(stored: BlockRef, parts: Parts): Promise<BlockRef | undefined> {
    const { chain } = this
    const { lease, blocks, storedAtOrBelow } = parts
    const { height, hash } = stored
    const other = await contradiction(stored, parts)
    if (other === undefined) return stored
    const last = await storedAtOrBelow(height)
    const isTrue = !last || (last.height < height && (await blocks.hashesAt(last.height)).includes(last.hash))
    // Without the lease, a process that lost it would reset the position that its successor has reached.
    if (!isTrue || !(await rewindFinal(lease, chain, last))) throw otherChain(chain.finality, other)
    log.error(
      {
        ...{ chain: chain.slug, height, stored: hash, node: other.hash },
        resumesAt: last?.height ?? chain.firstBlock,
      },
      'the last final block was incorrect, but the log before it is correct: indexing resumes there',
    )
    return last
  }

  /** Reads the chain and writes its blocks. Resolves only if there is nothing left to read. */
  private async process(parts: Parts, stored: BlockRef | undefined, batches: Database): Promise<void> {
    const { chain, rpc, signal } = this
    const { indexerMetrics: address } = this.settings
    const metrics = new IndexerMetrics(address && { ...address, port: address.port + CHAINS.indexOf(chain) })
    this.closing.push(() => metrics.close())
    this.running.push(metrics.open(rpc, log, signal).catch(this.fail))
    const { gatewayUrl } = this.connected
    // A chain that was replaced lacks the attestations that its predecessor announced.
    const requireSameChain = () => this.requireSameChain(parts)
    await runProcessor({ ...parts, chain, rpc, gatewayUrl, stored, batches, metrics, requireSameChain })
  }

  /** Throws a SettingsError if the endpoints have another block instead of the last final one. */
  private async requireSameChain(parts: Parts): Promise<void> {
    const final = await finalBlock(parts.database.query, this.chain)
    const other = final && (await contradiction(final, parts))
    if (other) throw otherChain(this.chain.finality, other)
  }

  /** Starts the tasks that run next to the batches until the signal aborts. */
  private duties(parts: Parts, isFresh: boolean): Promise<void>[] {
    const { chain, rpc, signal } = this
    const { database, lease } = parts
    return [
      ...(isFresh ? [this.followHead(parts)] : []),
      watchContract(rpc, parts.doubt, signal),
      forgetOldChanges(database, chain, signal),
      new Auditor({ chain, rpc, ...parts }).follow(this.settings.auditCallsPerSecond, signal),
      followReading(database, chain, lease, log, isFresh, signal),
    ]
  }

  /** Stores every second whether the database agrees with the chain, for the API. Never throws. */
  private followHead({ database, lease, head }: Parts): Promise<void> {
    const { chain, clock, signal } = this
    /** Milliseconds by which the database's clock was ahead of the local one after the last suspension. */
    let ahead = Infinity
    return repeat(
      signal,
      async () => {
        const report = await head.report(async () => {
          const { tip, now } = await indexedTip(database.query, chain)
          // A monotonic clock may stand still while the machine is suspended. The database's clock does not.
          // Suspensions add up, however short each is.
          const difference = now - clock.now()
          const wasSuspended = difference - ahead > SUSPENDED_MS
          if (wasSuspended) head.forgetLooks()
          if (wasSuspended || difference < ahead) ahead = difference
          return tip
        })
        await lease.transaction((query) => noteHead(query, chain, report))
        return NOTE_EVERY_MS
      },
      (error) => {
        log.warn({ chain: chain.slug, reason: error.message }, 'could not store the head')
        return NOTE_EVERY_MS
      },
      clock,
    )
  }
}

/** Reports a doubt while endpoints lack the EAS contract, as after a reset of a node. Never throws. */
function watchContract(rpc: Rpc, doubt: Doubt, signal: AbortSignal): Promise<void> {
  return repeat(
    signal,
    async () => {
      doubt.lacksContract = !(await rpc.hasContract())
      return CHECK_CONTRACT_EVERY_MS
    },
    () => CHECK_CONTRACT_EVERY_MS,
  )
}

/** Deletes old rows of the log of record changes. Never throws. */
function forgetOldChanges(database: Database, chain: Chain, signal: AbortSignal): Promise<void> {
  return repeat(
    signal,
    async () => {
      const count = await forgetChanges(database.query, chain, CHANGES_KEPT_DAYS)
      return count < CHANGES_FORGOTTEN_AT_ONCE ? FORGET_EVERY_MS : 0
    },
    (error) => {
      log.warn({ chain: chain.slug, reason: error.message }, 'could not delete old changes')
      return FORGET_EVERY_MS
    },
  )
}
