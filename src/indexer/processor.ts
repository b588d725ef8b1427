import { EvmBatchProcessor } from '@subsquid/evm-processor'
import { createLogger, Logger, type LogRecord } from '@subsquid/logger'
import { Runner, type DataSource, type RunnerConfig } from '@subsquid/util-internal-processor-tools'
import * as eas from '../abi/EAS'
import type { Chain } from '../chains'
import { ChainSource, ContradictionError, type ChainBlock, type SourceOptions } from '../chain'
import { parseUid } from '../eas'
import { withoutUrls } from '../log'
import { EventKind } from '../model/generated/_eventKind'
import { FalseBodyError, MissingBodyError, type BodyReader } from './bodies'
import type { IndexerMetrics } from './metrics'
import { isWatched, type ChainEvent } from './project'
import { attestationFilter, registrationFilter } from './registrations'
import type { Registry } from './registry'
import { BatchWriter, ChainDatabase, type Database, type Lease } from './store'

const EVENT_KINDS = new Map<string, EventKind>([
  [eas.events.Attested.topic, EventKind.ATTESTED],
  [eas.events.Revoked.topic, EventKind.REVOKED],
])

/** A block whose logs are decoded. */
interface EventBlock extends Pick<ChainBlock, 'header'> {
  readonly events: readonly ChainEvent[]
  /** Returns the milliseconds since the last poll that found the block on the chain. Missing in history. */
  readonly agreementAgeMs?: (() => number) | undefined
}

/**
 * Decodes the events of one block, in order, without duplicates. Skips other logs. Throws a
 * ContradictionError for a malformed log.
 */
export function decodeEvents(chain: Chain, { header, logs }: ChainBlock): ChainEvent[] {
  const events = new Map<number, ChainEvent>()
  for (const entry of logs) {
    const kind = entry.address === chain.eas ? EVENT_KINDS.get(entry.topics[0]!) : undefined
    if (!kind) continue
    const refusal = (reason: string) =>
      new ContradictionError(`a log of block ${header.height} is not an event of EAS: ${reason}`)
    if (entry.topics.length !== 4) throw refusal(`it has ${entry.topics.length} topics instead of 4`)
    // Attested and Revoked have the same parameters, one word each: recipient, attester, UID, schema.
    const [, recipient, attester, schemaUid] = entry.topics as [string, string, string, string]
    if (!isWatched(chain.slug, schemaUid, addressIn(attester))) continue
    const uid = parseUid(entry.data)
    if (uid === undefined) throw refusal(`its data is ${entry.data.slice(0, 80)}`)
    events.set(entry.logIndex, {
      ...{ kind, uid, schemaUid },
      attester: addressIn(attester),
      recipient: addressIn(recipient),
      blockNumber: header.height,
      blockHash: header.hash,
      blockTimestamp: header.timestamp,
      transactionHash: entry.transactionHash,
      logIndex: entry.logIndex,
    })
  }
  return [...events.values()].sort((a, b) => a.logIndex - b.logIndex)
}

function addressIn(topic: string): string {
  return `0x${topic.slice(-40)}`
}

/** Maps the UIDs that these events attest to the Unix seconds of their blocks. */
export function announcedTimes(events: readonly ChainEvent[]): Map<string, bigint> {
  return new Map(
    events
      .filter(({ kind }) => kind === EventKind.ATTESTED)
      .map(({ uid, blockTimestamp }) => [uid, BigInt(blockTimestamp / 1000)]),
  )
}

/** Parts of an indexer that process its blocks. */
interface Processing extends Omit<
  SourceOptions<EventBlock>,
  'selection' | 'finality' | 'decode' | 'onHistory'
> {
  chain: Chain
  /** URL of an external gateway that serves history with the events of all schemas. */
  gatewayUrl: string | undefined
  registry: Registry
  bodies: BodyReader
  lease: Lease
  /** Connection on which only batches are written. */
  batches: Database
  metrics: IndexerMetrics
  /** Throws if the chain was replaced by another one since the last final block. */
  requireSameChain: () => Promise<void>
}

/**
 * Reads the chain and writes its blocks, again from the last final block if a body of history is missing or
 * false on all endpoints: each endpoint is then the first once. The head reader itself retries batches of the
 * head. Resolves when there is nothing left to read.
 */
export async function runProcessor(parts: Processing): Promise<void> {
  const { chain, rpc, registry, bodies, lease, batches, log } = parts
  const source = new ChainSource<EventBlock>({
    ...{ ...parts, selection: registry, finality: chain.finality },
    decode: (block, agreementAgeMs) => ({
      ...{ header: block.header, events: decodeEvents(chain, block), agreementAgeMs },
    }),
    onHistory: (blocks) => bodies.prefetch(announcedTimes(blocks.flatMap(({ events }) => events))),
  })
  const database = new ChainDatabase(
    (work) => lease.transaction(work, batches),
    chain,
    (target) => new BatchWriter(target, chain, log),
  )
  for (let left = rpc.size; ; left--)
    try {
      return await runOnce(parts, source, database)
    } catch (error) {
      if (!(error instanceof MissingBodyError || error instanceof FalseBodyError)) throw error
      await parts.requireSameChain()
      if (left <= 1) throw error
      // Bloom filters do not cover UIDs, so an endpoint may announce attestations that no other one has.
      source.distrustHistory(error)
      log.warn(
        { chain: chain.slug, reason: error.message },
        'could not read an announced attestation; rereading history from the next RPC endpoint',
      )
    }
}

/**
 * Runs evm-processor's runner with a source and a database of ours. EvmBatchProcessor.run of 1.27.3 ends the
 * process and has its own source for the head.
 */
function runOnce(
  parts: Processing,
  source: ChainSource<EventBlock>,
  database: ChainDatabase<BatchWriter>,
): Promise<void> {
  const { chain, gatewayUrl, metrics } = parts
  const processor = new EvmBatchProcessor()
    .setBlockRange({ from: chain.firstBlock })
    .setFields({ log: { transactionHash: true } })
    .addLog(attestationFilter(chain))
    .addLog(registrationFilter(chain))
  if (gatewayUrl !== undefined) processor.setGateway(gatewayUrl)
  const log = createLogger('sqd:processor')
  const own = processor as unknown as ProcessorParts
  own.getLogger = () => gatewayLog(log)
  return new Runner<unknown, BatchWriter>({
    database,
    requests: own.getBatchRequests(),
    ...(gatewayUrl !== undefined && { archive: source.confirmed(own.getArchiveDataSource()) }),
    hotDataSource: source,
    allBlocksAreFinal: false,
    prometheus: metrics,
    log,
    process: (writer, { blocks, isHead }) => processBatch(parts, writer, blocks as EventBlock[], isHead),
  }).run()
}

/** Private parts of evm-processor 1.27.3: the client of a gateway, and its queries. */
interface ProcessorParts {
  getLogger: () => Logger
  getBatchRequests(): RunnerConfig<unknown, BatchWriter>['requests']
  getArchiveDataSource(): DataSource<ChainBlock, unknown>
}

/** Log for the client of a gateway, whose fields contain the URL, and with it the key. */
export function gatewayLog(log: Logger): Logger {
  return new Logger(({ level, msg, reason }: LogRecord & { reason?: unknown }) => {
    log.write(level, typeof reason === 'string' ? { reason: withoutUrls(reason) } : {}, msg)
  }, 'sqd:processor')
}

/** Projects and writes the blocks of one transaction, which is written completely or not at all. */
async function processBatch(
  { chain, bodies, doubt, log }: Processing,
  writer: BatchWriter,
  blocks: readonly EventBlock[],
  isHead: boolean,
): Promise<void> {
  const started = performance.now()
  const events = blocks.flatMap((block) => block.events)
  const announced = announcedTimes(events)
  const found = await bodies.read(announced, writer.isFinal)
  const fetched = performance.now()
  await writer.write(events, found)
  const { header: last, agreementAgeMs } = blocks[blocks.length - 1]!
  const { height, hash, timestamp } = last
  await writer.finish({
    ...{ height, hash, timestamp },
    agreementAgeMs: agreementAgeMs?.() ?? Infinity,
    unproven: doubt.unprovenAtHead.filter((each) => each <= height),
  })
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
      answers: writer.total.answers,
      problems: writer.total.problems,
      withheld: writer.total.withheld,
      bodiesMs: Math.round(fetched - started),
      projectMs: Math.round(writer.total.projectMs),
      writeMs: Math.round(performance.now() - fetched - writer.total.projectMs),
    },
    'batch written',
  )
}
