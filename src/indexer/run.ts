import { setTimeout as pause } from 'node:timers/promises'
import { createLogger } from '@subsquid/logger'
import { TypeormDatabase } from '@subsquid/typeorm-store'
import { Auditor } from './audit'
import { BlockReader, Doubt, headerCall, HeadReader, startSource } from '../chain'
import { BodyReader } from './bodies'
import { CHAINS, stateSchema, type Chain } from '../chains'
import {
  CHANGES_KEPT_DAYS,
  SettingsError,
  exportDatabaseUrl,
  type ConnectedChain,
  type Settings,
} from '../config'
import {
  CHANGES_FORGOTTEN_AT_ONCE,
  Database,
  finalState,
  forgetChanges,
  lastEventBlock,
  noteHead,
  rewindFinal,
  settleWithState,
  type ChainState,
} from './store'
import { Lease } from './lease'
import { serveProcessorMetrics } from './metrics'
import { primaryUrl } from '../postgres'
import { repeat } from '../retry'
import { Rpc } from '../rpc'
import { announcedTimes, decodeBlock, makeProcessor, processBatch, runProcessor } from './processor'
import { Registry } from './registry'

const log = createLogger('indexer')
const FORGET_EVERY_MS = 3_600_000
/** A node must contradict the database this often before it is believed. */
const CONTRADICTIONS = 4
const WAIT_FOR_BLOCK_MS = 2_000
const ASK_AGAIN_MS = 500

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
 * @param clock Unix milliseconds, by which the age of the head and of doubts is measured
 */
export function startIndexer(
  connected: ConnectedChain,
  settings: IndexerSettings,
  clock: () => number = Date.now,
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
    const database = new Database(
      databaseUrl,
      (error) => log.warn({ reason: error.message }, 'a database connection was lost'),
      fail,
    )
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
    const head = new HeadReader(newReader(), doubt, log, headPollMs, fail, clock, signal)
    const state = await finalState(database.query, chain)
    await Promise.all([
      rpc.check(),
      state && checkSameChain(state, newReader, database, chain, signal),
      bodies.hasMulticall(),
    ])
    await registry.load()
    const added = await registry.note(state === undefined)
    if (added.length)
      log.info({ chain: chain.slug, added }, 'schemas or attesters are new: the audit reads their history')

    const source = await startSource({
      rpc,
      head,
      doubt,
      selection: registry,
      finality: chain.finality,
      log,
      onHistory: (blocks) =>
        bodies.prefetch(announcedTimes(blocks.flatMap((block) => decodeBlock(chain, block)))),
    })
    closing.push(() => source.close())
    signal.addEventListener('abort', () => source.end())
    signal.throwIfAborted()
    const auditor = new Auditor({ chain, rpc, registry, bodies, database, log, head, doubt })
    running.push(
      followHead(database, head, doubt, chain, headPollMs, signal),
      forgetOldChanges(database, chain, signal),
      auditor.follow(settings.auditCallsPerSecond, signal),
    )

    // READ COMMITTED: processors of other chains write to the same tables, but never to the same rows, and
    // the lease keeps a second processor of this chain out. SERIALIZABLE would make them abort each other
    // (40001).
    const store = new TypeormDatabase({
      supportHotBlocks: true,
      stateSchema: stateSchema(chain),
      isolationLevel: 'READ COMMITTED',
    })
    // A store that could not connect has nothing to close.
    closing.push(() => store.disconnect().catch(() => {}))
    lease.fence(store)
    settleWithState(store, chain)
    const processor = makeProcessor(chain, gatewayUrl ?? source.gatewayUrl, source.rpcUrl, headPollMs)
    const { indexerMetrics: metrics } = settings
    const closeMetrics = await serveProcessorMetrics(
      processor,
      rpc,
      metrics && { ...metrics, port: metrics.port + CHAINS.indexOf(chain) },
    )
    closing.push(closeMetrics)
    // Read when the store connects, which is at once.
    exportDatabaseUrl(databaseUrl)
    await runProcessor(processor, store, (context) => processBatch(chain, registry, bodies, log, context))
  }
}

/**
 * Refuses a database that has indexed another chain than the endpoints': the last final block must be the
 * chain's. Runs before anything is written. Waits for a node that does not have this block yet. When only the
 * block is false, as after a node that lied about it, and the log before it is the chain's, the state is set
 * back to the last true block.
 */
async function checkSameChain(
  state: ChainState,
  newReader: () => BlockReader,
  database: Database,
  chain: Chain,
  signal: AbortSignal,
): Promise<void> {
  const blocks = newReader()
  // One node may lag, be on a fork of its own, or lie: the endpoints are asked several times, by turns.
  for (let contradicted = 0; ; blocks.turn()) {
    const hash = await hashOf(blocks, state.finalHeight)
    if (hash === state.finalHash) return
    if (hash === undefined) {
      log.warn(
        { chain: chain.slug, height: state.finalHeight },
        'the node does not give the last final block; waiting for it',
      )
      await pause(WAIT_FOR_BLOCK_MS, undefined, { signal })
    } else if (++contradicted < CONTRADICTIONS) await pause(ASK_AGAIN_MS, undefined, { signal })
    else if (await tryRewind(state, hash, newReader(), database, chain)) return
    else
      throw new SettingsError(
        `The database holds block ${state.finalHeight} of ${chain.slug} as ${state.finalHash}, the RPC endpoint as ${hash}. ` +
          `Either the endpoint or the database is of another network: correct RPC_URL_* or DATABASE_URL. Or a reorg went deeper than ` +
          `${chain.finality} blocks: then index ${chain.slug} anew into an empty database.`,
      )
  }
}

/** Sets the state back to the last block with events, if that one is the chain's; returns whether it did. */
async function tryRewind(
  state: ChainState,
  hash: string,
  blocks: BlockReader,
  database: Database,
  chain: Chain,
): Promise<boolean> {
  const last = await lastEventBlock(database.query, chain, state.finalHeight)
  const isTrue =
    !last || (last.number < state.finalHeight && (await hashOf(blocks, last.number)) === last.hash)
  if (!isTrue || !(await rewindFinal(database, chain, last))) return false
  log.error(
    {
      chain: chain.slug,
      height: state.finalHeight,
      stored: state.finalHash,
      node: hash,
      goesOnFrom: last?.number ?? chain.firstBlock,
    },
    'the last final block was false, but the log before it is right: indexing goes on from there',
  )
  return true
}

async function hashOf(blocks: BlockReader, number: number): Promise<string | undefined> {
  const [found] = await blocks.headers([headerCall(number)], { anyForm: true })
  return found?.header.hash
}

/**
 * Notes the chain's head and the doubts about its copy in the database, where the API reads how far behind
 * the copy is and whether it is reliable. Never throws.
 */
function followHead(
  database: Database,
  head: HeadReader,
  doubt: Doubt,
  chain: Chain,
  pollMs: number,
  signal: AbortSignal,
): Promise<void> {
  const pauseMs = Math.max(pollMs, 1_000)
  return repeat(
    signal,
    async () => {
      // At the head evm-processor asks as often, so that this makes no further calls.
      const latest = await head.latest(1.5 * pollMs)
      await noteHead(database.query, chain, {
        ...latest,
        doubt: doubt.reason(),
        contradictions: doubt.takeContradictions(),
      })
      return pauseMs
    },
    (error) => {
      log.warn({ chain: chain.slug, reason: error.message }, 'the head could not be noted')
      return pauseMs
    },
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
