import { createLogger } from '@subsquid/logger'
import { Auditor } from './audit'
import {
  BlockReader,
  ChainSource,
  Doubt,
  HeadReader,
  chainBlock,
  contradiction,
  otherChain,
  type BlockRef,
} from '../chain'
import { BodyReader } from './bodies'
import { CHAINS, type Chain } from '../chains'
import { MONOTONIC, type Clock } from '../clock'
import { CHANGES_KEPT_DAYS, type ConnectedChain, type Settings } from '../config'
import {
  CHANGES_FORGOTTEN_AT_ONCE,
  ChainDatabase,
  Database,
  finalState,
  forgetChanges,
  indexedTip,
  lastEventBlock,
  noteHead,
  rewindFinal,
  type ChainState,
} from './store'
import { Lease } from './lease'
import { serveProcessorMetrics } from './metrics'
import { primaryUrl } from '../postgres'
import { repeat } from '../retry'
import { Rpc } from '../rpc'
import { announcedTimes, decodeEvents, makeProcessor, processBatch, runProcessor } from './processor'
import { followReading } from './reading'
import { Registry } from './registry'

const log = createLogger('indexer')
const FORGET_EVERY_MS = 3_600_000
const NOTE_EVERY_MS = 1_000
/** If the database's clock advances by this much more, this machine was suspended. */
const SUSPENDED_MS = 3_000
const CHECK_CONTRACT_EVERY_MS = 15_000

/** An indexer that runs in this process. */
export interface Indexer {
  /** Resolves when the indexer has been stopped. Rejects with the reason why it cannot continue. */
  readonly ended: Promise<void>
  /**
   * Ends what is under way, releases the lease and closes all connections. Resolves when nothing is left of
   * the indexer. A batch is one transaction: it is written whole or not at all.
   */
  stop(): Promise<void>
}

/** The parts of the settings that an indexer reads. */
export type IndexerSettings = Pick<
  Settings,
  'databaseUrl' | 'rpc' | 'schemaPolicy' | 'auditCallsPerSecond' | 'indexerMetrics'
>

/**
 * Starts to index one chain. A caller that keeps its process when `ended` rejects calls `stop`.
 * @param clock by which ages and pauses are measured
 */
export function startIndexer(
  connected: ConnectedChain,
  settings: IndexerSettings,
  clock: Clock = MONOTONIC,
): Indexer {
  const stopping = new AbortController()
  const { signal } = stopping
  /** What runs until the signal aborts, and what closes the parts, in the order in which they were opened. */
  const running: Promise<unknown>[] = []
  const closing: (() => unknown)[] = []
  let reject: (error: Error) => void
  const failed = new Promise<never>((_, rejectIt) => (reject = rejectIt))
  failed.catch(() => {}) // part of `ended`
  const fail = (error: Error) => {
    // The lease is released before all else ends: that it is lost then is no failure.
    if (!signal.aborted) reject(error)
  }
  const work = index()
  const finished = work.catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
  let stopped: Promise<void> | undefined
  return {
    ended: Promise.race([finished, failed]),
    stop: () => (stopped ??= stop()),
  }

  async function stop(): Promise<void> {
    stopping.abort(new Error('the indexer is stopped'))
    await Promise.allSettled([work, ...running])
    const errors: unknown[] = []
    for (const close of closing.reverse())
      try {
        await close()
      } catch (error) {
        errors.push(error)
      }
    if (errors.length > 0) throw errors[0]
  }

  async function index(): Promise<void> {
    const { chain, rpcUrls, gatewayUrl, headPollMs } = connected
    const rpc = new Rpc({ chain, urls: rpcUrls, ...settings.rpc, log, signal })
    signal.addEventListener('abort', () => rpc.close())
    const databaseUrl = await primaryUrl(settings.databaseUrl)
    signal.throwIfAborted()
    const onLost = (error: Error) => log.warn({ reason: error.message }, 'a database connection was lost')
    const database = new Database(databaseUrl, onLost, fail)
    closing.push(() => database.close())
    const lease = new Lease(database, chain, log)
    signal.addEventListener('abort', () => running.push(lease.release()))
    await lease.take(fail, signal)
    const bodies = new BodyReader(rpc, chain.eas)
    const doubt = new Doubt(clock)
    const registry = new Registry({
      chain,
      rpc,
      database,
      policy: settings.schemaPolicy,
      log,
      isIndexer: true,
    })
    const newReader = () => new BlockReader(rpc, registry, doubt, clock)
    const storedAtOrBelow = (height: number) => lastEventBlock(database.query, chain, height)
    const head = new HeadReader({
      ...{ doubt, log, clock, finality: chain.finality, pollMs: headPollMs, blocks: newReader() },
      storedAtOrBelow,
    })
    const blocks = newReader()
    const state = await finalState(database.query, chain)
    const [stored] = await Promise.all([
      state && checkSameChain(state, blocks, database, chain, storedAtOrBelow, signal),
      rpc.check(),
      bodies.hasMulticall(),
    ])
    await registry.load()
    const added = await registry.note(state === undefined)
    if (added.length)
      log.info({ chain: chain.slug, added }, 'schemas or attesters are new: the audit reads their history')

    const source = new ChainSource({
      ...{ rpc, head, blocks, doubt, log, stored, storedAtOrBelow, signal, clock, selection: registry },
      finality: chain.finality,
      onHistory: (read) =>
        bodies.prefetch(announcedTimes(read.flatMap((block) => decodeEvents(chain, chainBlock(block))))),
    })
    signal.throwIfAborted()
    const auditor = new Auditor({ chain, rpc, registry, bodies, database, log, head, doubt })
    running.push(
      followHead(database, lease, head, chain, clock, signal),
      watchContract(rpc, doubt, signal),
      forgetOldChanges(database, chain, signal),
      auditor.follow(settings.auditCallsPerSecond, signal),
      followReading(database, chain, lease, log, state === undefined, signal),
    )

    const batches = new Database(databaseUrl, onLost, () => {}, 1)
    closing.push(() => batches.close())
    const store = new ChainDatabase((work) => lease.holding(work, batches), chain, log)
    const processor = makeProcessor(chain, gatewayUrl)
    const { indexerMetrics: metrics } = settings
    const closeMetrics = await serveProcessorMetrics(
      processor,
      rpc,
      metrics && { ...metrics, port: metrics.port + CHAINS.indexOf(chain) },
    )
    closing.push(closeMetrics)
    await runProcessor(processor, gatewayUrl !== undefined, source, store, (batch) =>
      processBatch(chain, registry, bodies, head, log, batch),
    )
  }
}

/**
 * Returns the last final block in the database once the endpoints confirm it. Runs before anything is
 * written. If only that block is false, as after a node that lied about it, and the log before it is the
 * chain's, the state is set back to the last true block. Throws a SettingsError if the database has indexed
 * another chain.
 */
async function checkSameChain(
  state: ChainState,
  blocks: BlockReader,
  database: Database,
  chain: Chain,
  storedAtOrBelow: (height: number) => Promise<BlockRef | undefined>,
  signal: AbortSignal,
): Promise<BlockRef | undefined> {
  const stored = { height: state.finalHeight, hash: state.finalHash }
  const other = await contradiction(stored, { blocks, log, signal, storedAtOrBelow })
  if (other === undefined) return stored
  const last = await storedAtOrBelow(stored.height)
  const isTrue =
    !last || (last.height < stored.height && (await blocks.hashesAt(last.height)).includes(last.hash))
  if (!isTrue || !(await rewindFinal(database, chain, last))) throw otherChain(chain.finality, other)
  log.error(
    {
      chain: chain.slug,
      height: stored.height,
      stored: stored.hash,
      node: other.hash,
      resumesAt: last?.height ?? chain.firstBlock,
    },
    'the last final block was false, but the log before it is right: indexing resumes there',
  )
  return last
}

/** Notes every second in the database whether it agrees with the chain, for the API. Never throws. */
function followHead(
  database: Database,
  lease: Lease,
  head: HeadReader,
  chain: Chain,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  /** Milliseconds by which the database's clock was ahead of this one. */
  let ahead: number | undefined
  return repeat(
    signal,
    async () => {
      const report = await head.report(async () => {
        const { tip, now } = await indexedTip(database.query, chain)
        // A monotonic clock may stand still while the machine is suspended; that of the database does not.
        const before = ahead
        ahead = now - clock.now()
        if (before !== undefined && ahead - before > SUSPENDED_MS) head.forgetLooks()
        return tip
      })
      await lease.holding((query) => noteHead(query, chain, report))
      return NOTE_EVERY_MS
    },
    (error) => {
      log.warn({ chain: chain.slug, reason: error.message }, 'the head could not be noted')
      return NOTE_EVERY_MS
    },
  )
}

/**
 * Doubts the copy while the endpoints have no EAS contract, as after a reset of a local node. Never throws.
 */
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

/** Deletes old rows of the log of changes. Never throws. */
function forgetOldChanges(database: Database, chain: Chain, signal: AbortSignal): Promise<void> {
  return repeat(
    signal,
    async () => {
      const count = await forgetChanges(database.query, chain, CHANGES_KEPT_DAYS)
      return count < CHANGES_FORGOTTEN_AT_ONCE ? FORGET_EVERY_MS : 0
    },
    (error) => {
      log.warn({ chain: chain.slug, reason: error.message }, 'old changes could not be forgotten')
      return FORGET_EVERY_MS
    },
  )
}
