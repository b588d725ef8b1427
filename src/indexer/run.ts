import { setTimeout as pause } from 'node:timers/promises'
import { createLogger } from '@subsquid/logger'
import { TypeormDatabase } from '@subsquid/typeorm-store'
import { Auditor } from './audit'
import { BlockReader, Doubt, headerCall, HeadReader, startSource } from '../chain'
import { BodyReader } from './bodies'
import { CHAINS, chainBySlug, settingSuffix, stateSchema, type Chain } from '../chains'
import {
  CHANGES_KEPT_DAYS,
  SettingsError,
  chosenChain,
  exportDatabaseUrl,
  processSettings,
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
import { addLocationSchemas } from '../location'
import { unifySubsquidLog } from '../log'
import { serveProcessorMetrics } from './metrics'
import { primaryUrl, unmigrated } from '../postgres'
import { onStop } from '../process'
import { repeat } from '../retry'
import { Rpc } from '../rpc'
import { announcedTimes, decodeBlock, makeProcessor, processBatch } from './processor'
import { Registry } from './registry'

const log = createLogger('indexer')
const FORGET_EVERY_MS = 3_600_000
/** A node must contradict the database this often before it is believed. */
const CONTRADICTIONS = 4
const WAIT_FOR_BLOCK_MS = 2_000
const ASK_AGAIN_MS = 500

/**
 * Indexes one chain, or several that go on and end together; without a slug the only one that is set. Exits
 * with a code other than 0 when it cannot go on; its supervisor restarts it.
 */
export function runIndexer(slugs: readonly string[]): void {
  // A batch is one transaction, so the process may be killed at any moment. A stop gives up the leases and
  // exits.
  onStop((reason) => {
    log.info({ reason }, 'stopping')
    void Promise.all(leases.map((lease) => lease.release())).then(() => process.exit(0))
  })
  try {
    unifySubsquidLog('info')
    const settings = processSettings('database', 'chains')
    unifySubsquidLog(settings.logLevel)
    addLocationSchemas(settings.locationSchemas)
    for (const slug of slugs.length ? slugs : [undefined]) index(settings, slug).catch(fail)
  } catch (error) {
    fail(error as Error)
  }
}

async function index(settings: Settings, slug: string | undefined): Promise<void> {
  const known = slug === undefined ? undefined : chainBySlug(slug)
  if (known && !settings.chains.some(({ chain }) => chain === known)) {
    // squid.yaml runs one processor per chain and takes an exit for a failure; settings pick the chains.
    log.warn(
      `${known.slug} has no RPC_URL_${settingSuffix(known)}, or CHAINS leaves it out: nothing to index. Waiting to be stopped`,
    )
    setInterval(() => {}, 2 ** 30)
    return
  }
  const { chain, rpcUrls, gatewayUrl, headPollMs } = chosenChain(settings.chains, slug)
  const rpc = new Rpc({ chain, urls: rpcUrls, ...settings.rpc, log })
  const databaseUrl = await primaryUrl(settings.databaseUrl)
  const database = new Database(
    databaseUrl,
    (error) => log.warn({ reason: error.message }, 'a database connection was lost'),
    fail,
  )
  const lease = new Lease(database, chain, log)
  leases.push(lease)
  await lease.take(fail)
  const bodies = new BodyReader(rpc, chain.eas)
  const doubt = new Doubt()
  const registry = new Registry({ chain, rpc, database, policy: settings.schemaPolicy, log, isIndexer: true })
  const head = new HeadReader(new BlockReader(rpc, registry, doubt), doubt, log, headPollMs, fail)
  const state = await finalState(database.query, chain)
  await Promise.all([
    rpc.check(),
    state && checkSameChain(state, () => new BlockReader(rpc, registry, doubt), database, chain),
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
  void followHead(database, head, doubt, chain, headPollMs)
  void forgetOldChanges(database, chain)
  void new Auditor({ chain, rpc, registry, bodies, database, log, head, doubt }).follow(
    settings.auditCallsPerSecond,
  )

  exportDatabaseUrl(databaseUrl)
  // READ COMMITTED: processors of other chains write to the same tables, but never to the same rows, and the
  // lease keeps a second processor of this chain out. SERIALIZABLE would make them abort each other (40001).
  const store = new TypeormDatabase({
    supportHotBlocks: true,
    stateSchema: stateSchema(chain),
    isolationLevel: 'READ COMMITTED',
  })
  lease.fence(store)
  settleWithState(store, chain)
  const processor = makeProcessor(chain, gatewayUrl ?? source.gatewayUrl, source.rpcUrl, headPollMs)
  const { indexerMetrics: metrics } = settings
  await serveProcessorMetrics(
    processor,
    rpc,
    metrics && { ...metrics, port: metrics.port + CHAINS.indexOf(chain) },
  )
  processor.run(store, (context) => processBatch(chain, registry, bodies, log, context))
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
      await pause(WAIT_FOR_BLOCK_MS)
    } else if (++contradicted < CONTRADICTIONS) await pause(ASK_AGAIN_MS)
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
): Promise<never> {
  const pauseMs = Math.max(pollMs, 1_000)
  return repeat(
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
function forgetOldChanges(database: Database, chain: Chain): Promise<never> {
  return repeat(
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

const leases: Lease[] = []

function fail(error: Error): void {
  const wrongSettings = error instanceof SettingsError
  const plain = wrongSettings ? error.message : unmigrated(error)
  if (plain !== undefined) log.fatal(plain)
  else log.fatal(error)
  process.exit(wrongSettings ? 2 : 1)
}
