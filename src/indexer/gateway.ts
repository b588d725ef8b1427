import { Logger, type LogRecord } from '@subsquid/logger'
import type { EvmBatchProcessor } from '@subsquid/evm-processor'
import type { Batch, DataSource, RunnerConfig } from '@subsquid/util-internal-processor-tools'
import {
  inLowerCase,
  otherGateway,
  type BlockRef,
  type ChainBlock,
  type Contradiction,
  type LogSelection,
} from '../chain'
import type { SettingsError } from '../config'
import { withoutUrls } from '../log'

/** Private parts of evm-processor 1.27.3: the client of a gateway, and its queries. */
interface ProcessorParts {
  getLogger: () => Logger
  getBatchRequests(): RunnerConfig<unknown, unknown>['requests']
  getArchiveDataSource(): DataSource<ChainBlock, unknown>
}

/** Returns the queries of a processor, and the client of its gateway, whose log contains no key. */
export function partsOf(processor: EvmBatchProcessor, log: Logger) {
  const own = processor as unknown as ProcessorParts
  own.getLogger = () => gatewayLog(log)
  return { requests: own.getBatchRequests(), gateway: () => own.getArchiveDataSource() }
}

/** Log for the client of a gateway, whose fields contain the URL, and with it the key. */
export function gatewayLog(log: Logger): Logger {
  return new Logger(({ level, msg, reason }: LogRecord & { reason?: unknown }) => {
    log.write(level, typeof reason === 'string' ? { reason: withoutUrls(reason) } : {}, msg)
  }, 'sqd:processor')
}

/** The part of ChainSource that endpoints confirm a gateway's blocks with. */
interface Confirming<Block> {
  readonly options: {
    readonly signal: AbortSignal
    readonly selection: LogSelection
    readonly decode: (block: ChainBlock) => Block
  }
  confirm(block: BlockRef, refusal: (other: Contradiction) => SettingsError): Promise<void>
  getBlockHash(height: number): Promise<string>
}

/**
 * Returns a source of the blocks of an external gateway, each batch once an endpoint has its last block. It
 * ends when the signal aborts, even if the gateway never responds.
 */
export function confirmedGateway<Block, Request>(
  source: Confirming<Block>,
  gateway: DataSource<ChainBlock, Request>,
): DataSource<Block, Request> {
  const { signal, selection, decode } = source.options
  const orEnd = <T>(answer: Promise<T>) =>
    new Promise<T>((resolve, reject) => {
      const end = () => reject(signal.reason as Error)
      if (signal.aborted) end()
      signal.addEventListener('abort', end)
      const fail = ({ message }: Error) =>
        reject(new Error(`The gateway in GATEWAY_URL_* failed: ${withoutUrls(message)}.`))
      void answer.then(resolve, fail).finally(() => signal.removeEventListener('abort', end))
    })
  const confirmed = async ({ blocks: read, isHead }: Batch<ChainBlock>): Promise<Batch<Block>> => {
    const blocks = read.map(({ header, logs }) => ({ header, logs: logs.map(inLowerCase) }))
    const last = blocks[blocks.length - 1]
    if (last) await source.confirm(last.header, otherGateway)
    await selection.learn(
      blocks.flatMap(({ header, logs }) => logs.map((log) => ({ ...log, blockNumber: header.height }))),
    )
    return { blocks: blocks.map((block) => decode(block)), isHead }
  }
  return {
    getFinalizedHeight: () => orEnd(gateway.getFinalizedHeight()),
    // The endpoints have confirmed the last block, which the gateway may not have yet.
    getBlockHash: (height) => source.getBlockHash(height),
    async *getFinalizedBlocks(...range) {
      const batches = gateway.getFinalizedBlocks(...range)[Symbol.asyncIterator]()
      try {
        for (;;) {
          const next = await orEnd(batches.next())
          if (next.done) return
          yield await confirmed(next.value)
        }
      } finally {
        // Does not await the end of the gateway's source, which may wait for its server.
        void batches.return?.().catch(() => {})
      }
    },
  }
}
