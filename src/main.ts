import type { DataHandlerContext } from '@subsquid/evm-processor'
import { createLogger } from '@subsquid/logger'
import { TypeormDatabase, type Store } from '@subsquid/typeorm-store'
import { Auditor } from './audit'
import { BlockReader } from './blocks'
import { BodyReader } from './bodies'
import { CHAINS, chainBySlug, settingSuffix, stateSchema, type Chain } from './chains'
import { SettingsError, chosenChain, exportDatabaseUrl, processSettings } from './config'
import {
  BatchWriter,
  CHANGES_FORGOTTEN_AT_ONCE,
  Database,
  finalState,
  forgetChanges,
  isFinal,
  lastEventBlock,
  noteHead,
  noteSchemas,
  rewindFinal,
  type ChainState,
} from './database'
import { Doubt } from './doubt'
import { HeadReader } from './head'
import { headerCall } from './history'
import { Lease } from './lease'
import { locationSchemaUids } from './location'
import { serveProcessorMetrics } from './metrics'
import { onStop } from './process'
import {
  announcedTimes,
  decodeBlock,
  decodeEvents,
  eventFilter,
  makeProcessor,
  type Fields,
} from './processor'
import { Rpc } from './rpc'
import { startSource } from './source'

const log = createLogger('indexer')
/** While Postgres takes so many events, the next are projected. */
const EVENTS_PER_WRITE = 500
/** For so long whoever follows the records can go on where it was (docs/live.md). */
const CHANGES_KEPT_DAYS = 7
const FORGET_EVERY_MS = 3_600_000
/** So often a node must contradict the database before it is believed. */
const CONTRADICTIONS = 4

/** One chain's indexer: `node lib/main.js <chain slug>`. Exits non-zero when it cannot go on; whoever runs it starts it again. */
async function main(): Promise<void> {
  const settings = processSettings('database', 'chains')
  const slug = process.argv[2]
  const known = slug === undefined ? undefined : chainBySlug(slug)
  if (known && !settings.chains.some(({ chain }) => chain === known)) {
    // Whoever runs a processor of every chain (squid.yaml) picks by settings, and would take an end for a failure.
    log.warn(
      `${known.slug} has no RPC_URL_${settingSuffix(known)}, or CHAINS leaves it out: nothing to index. Waiting to be stopped`,
    )
    setInterval(() => {}, 2 ** 30)
    return
  }
  const { chain, rpcUrls, gatewayUrl, headPollMs } = chosenChain(settings.chains, slug)
  const rpc = new Rpc({ chain, urls: rpcUrls, ...settings.rpc, log })
  const database = new Database(settings.databaseUrl, (error) =>
    log.warn({ reason: error.message }, 'a database connection was lost'),
  )
  lease = new Lease(database, chain, log)
  await lease.take(fail)
  const bodies = new BodyReader(rpc, chain.eas)
  const doubt = new Doubt()
  const filters = [eventFilter(chain)]
  const blocks = new BlockReader(rpc, filters, doubt)
  const head = new HeadReader(blocks, doubt, log, headPollMs, fail)
  const state = await finalState(database.query, chain)
  await Promise.all([
    rpc.check(),
    state && checkSameChain(state, blocks, database, chain),
    bodies.hasMulticall(),
  ])
  const added = await noteSchemas(database.query, chain, locationSchemaUids(), state === undefined)
  if (added.length)
    log.info(
      { chain: chain.slug, schemas: added },
      'location schemas are new here: their history is read by the audit',
    )

  const source = await startSource({
    rpc,
    head,
    doubt,
    filters,
    finality: chain.finality,
    log,
    onHistory: (blocks) =>
      bodies.prefetch(announcedTimes(blocks.flatMap((block) => decodeBlock(chain, block)))),
  })
  void followHead(database, head, doubt, chain, headPollMs)
  void forgetOldChanges(database, chain)
  void new Auditor({ chain, rpc, bodies, database, log, head, doubt }).follow(settings.auditCallsPerSecond)

  exportDatabaseUrl(settings)
  // READ COMMITTED: processors of other chains write to the same tables, but never to the same rows, and the lease keeps a
  // second processor of this chain out. SERIALIZABLE would make them abort each other (40001).
  const store = new TypeormDatabase({
    supportHotBlocks: true,
    stateSchema: stateSchema(chain),
    isolationLevel: 'READ COMMITTED',
  })
  lease.fence(store)
  const processor = makeProcessor(chain, gatewayUrl ?? source.gatewayUrl, source.rpcUrl, headPollMs)
  const { indexerMetrics: metrics } = settings
  await serveProcessorMetrics(
    processor,
    metrics && { ...metrics, port: metrics.port + CHAINS.indexOf(chain) },
  )
  processor.run(store, (context) => processBatch(chain, bodies, context))
}

/** Decode, read bodies, project, write: a batch whole or not at all, as it runs in one database transaction. */
async function processBatch(
  chain: Chain,
  bodies: BodyReader,
  { blocks, store, isHead }: DataHandlerContext<Store, Fields>,
): Promise<void> {
  const started = performance.now()
  const events = blocks.flatMap(({ header, logs }) => decodeEvents(chain, header, logs))
  const announced = announcedTimes(events)
  const found = await bodies.read(announced, isFinal(store))
  const fetched = performance.now()
  const writer = new BatchWriter(store, chain, log)
  for (let i = 0; i < events.length; i += EVENTS_PER_WRITE)
    await writer.write(events.slice(i, i + EVENTS_PER_WRITE), found)
  const last = blocks[blocks.length - 1]!.header
  await writer.finish(last)
  if (events.length === 0) return
  log.info(
    {
      chain: chain.slug,
      from: blocks[0]!.header.height,
      to: last.height,
      head: isHead,
      attested: announced.size,
      revoked: events.length - announced.size,
      records: writer.total.records,
      problems: writer.total.problems,
      withheld: writer.total.withheld,
      bodiesMs: Math.round(fetched - started),
      projectMs: Math.round(writer.total.projectMs),
      writeMs: Math.round(performance.now() - fetched - writer.total.projectMs),
    },
    'batch written',
  )
}

/**
 * Refuses a database that has indexed another chain than the endpoint's, before anything is written: the last block that
 * was final must be the chain's. Waits for a node that has not got so far. Where that block alone is false, as a node
 * that lied about it leaves it, and the log holds nothing that is not the chain's, it is set back to what is true.
 */
async function checkSameChain(
  state: ChainState,
  blocks: BlockReader,
  database: Database,
  chain: Chain,
): Promise<void> {
  for (let asked = 0, contradicted = 0; ; asked++) {
    // One node may lag, be on a fork of its own, or lie: asked several times, of several endpoints where there are.
    const hash = await hashOf(state.finalHeight, asked % 2 === 1)
    if (hash === state.finalHash) return
    if (hash !== undefined && ++contradicted === CONTRADICTIONS) {
      const last = await lastEventBlock(database.query, chain, state.finalHeight)
      const isTrue =
        !last || (last.number < state.finalHeight && (await hashOf(last.number, false)) === last.hash)
      if (isTrue && (await rewindFinal(database, chain, last))) {
        const about = {
          chain: chain.slug,
          height: state.finalHeight,
          stored: state.finalHash,
          node: hash,
          goesOnFrom: last?.number ?? chain.firstBlock,
        }
        log.error(
          about,
          "the last final block was not the chain's, though the log before it is: set back to what is",
        )
        return
      }
      throw new SettingsError(
        `The database holds block ${state.finalHeight} of ${chain.slug} as ${state.finalHash}, the RPC endpoint as ${hash}. ` +
          `Either the endpoint or the database is of another network: correct RPC_URL_* or DATABASE_URL. Or a reorg went deeper than ` +
          `${chain.finality} blocks: then index ${chain.slug} anew into an empty database.`,
      )
    }
    if (hash === undefined)
      log.warn(
        { chain: chain.slug, height: state.finalHeight },
        'the node does not give the last final block; waiting for it',
      )
    await new Promise((resolve) => setTimeout(resolve, hash === undefined ? 2_000 : 500))
  }

  async function hashOf(number: number, second: boolean): Promise<string | undefined> {
    const [found] = await blocks.headers([headerCall(number)], { second, anyForm: true })
    return found?.header.hash
  }
}

/** Notes the chain's head in the database, for those who ask how far behind its copy is and whether to rely on it. Never throws. */
async function followHead(
  database: Database,
  head: HeadReader,
  doubt: Doubt,
  chain: Chain,
  pollMs: number,
): Promise<never> {
  for (;;) {
    try {
      // At the head evm-processor looks as often: nothing more is asked for then.
      const latest = await head.latest(1.5 * pollMs)
      await noteHead(database.query, chain, {
        ...latest,
        doubt: doubt.reason(),
        contradictions: doubt.takeContradictions(),
      })
    } catch (error) {
      log.warn({ chain: chain.slug, reason: (error as Error).message }, 'the head could not be noted')
    }
    await new Promise((resolve) => setTimeout(resolve, Math.max(pollMs, 1_000)))
  }
}

/** Keeps the log of changes from growing for ever. Never throws. */
async function forgetOldChanges(database: Database, chain: Chain): Promise<never> {
  for (;;) {
    let count = 0
    try {
      count = await forgetChanges(database.query, chain, CHANGES_KEPT_DAYS)
    } catch (error) {
      log.warn({ chain: chain.slug, reason: (error as Error).message }, 'old changes could not be forgotten')
    }
    if (count < CHANGES_FORGOTTEN_AT_ONCE)
      await new Promise((resolve) => setTimeout(resolve, FORGET_EVERY_MS))
  }
}

let lease: Lease | undefined

// Killing it at any moment is safe: a batch is one transaction. So a stop is an exit, once the lease is given up.
onStop((reason) => {
  log.info({ reason }, 'stopping')
  void Promise.resolve(lease?.release()).then(() => process.exit(0))
})

function fail(error: Error): void {
  const wrongSettings = error instanceof SettingsError
  if (wrongSettings) log.fatal(error.message)
  else log.fatal(error)
  process.exit(wrongSettings ? 2 : 1)
}

main().catch(fail)
