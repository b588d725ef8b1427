import type { Logger } from '@subsquid/logger'
import { RpcError } from '@subsquid/rpc-client'
import { ContradictionError, hexNumber, logQuery, ofBlock, uniqueLogs, type LogFilter, type RpcHeader, type RpcLog } from './history'
import { bloomTest, hashesToItself } from './proof'
import type { Rpc, RpcCall } from './rpc'

/** A bloom filter that holds nothing: evm-processor doubts an empty answer unless the header says so itself. */
const NO_LOGS_BLOOM = `0x${'0'.repeat(512)}`
/** Blocks whose logs are remembered between the question for their headers and the one for their logs. */
const BLOCKS_REMEMBERED = 1_000

/**
 * The head as evm-processor reads it, block by block, made consistent: a header is given only together with its logs, which
 * are asked for by the block's hash, so that neither a lagging node nor a reorg in between can pass for a block without
 * logs. Blocks whose bloom filter rules our logs out cost no question; logs of others' contracts never cross the wire.
 */
export class HeadReader {
  private readonly mayHold: (logsBloom: string | undefined) => boolean
  private readonly logs = new Map<number, RpcLog[]>()
  /** Whether the endpoint that is asked last otherwise is asked first. */
  private second = false

  constructor(
    private readonly rpc: Rpc,
    private readonly filters: readonly LogFilter[],
    private readonly log: Logger,
  ) {
    this.mayHold = bloomTest(filters)
  }

  /** Answers to JSON-RPC calls, in order: eth_blockNumber, eth_getBlockByNumber, eth_getBlockByHash, eth_getLogs by numbers. */
  async answer(calls: readonly RpcCall[]): Promise<unknown[]> {
    const headerCalls = calls.filter(({ method }) => method === 'eth_getBlockByNumber' || method === 'eth_getBlockByHash')
    const whole = new Map<RpcCall, RpcHeader | null>()
    let lacking = headerCalls
    for (let attempt = 0; attempt < 2 && lacking.length; attempt++) {
      const headers = await this.rpc.batchCall<RpcHeader | null>(lacking, { second: this.second })
      const found = await Promise.all(headers.map((header) => this.withLogs(header)))
      for (const [i, call] of lacking.entries()) whole.set(call, found[i]!)
      lacking = lacking.filter((call) => whole.get(call) === null)
      // What one endpoint lacks or contradicts itself about, another may know better.
      if (lacking.length) this.second = !this.second
    }
    return Promise.all(
      calls.map(async (call) => {
        if (whole.has(call)) return whole.get(call)
        if (call.method === 'eth_blockNumber') return this.rpc.call('eth_blockNumber')
        if (call.method === 'eth_getLogs') return this.logsOf(call.params[0] as { fromBlock: string; toBlock: string })
        throw new TypeError(`${call.method} is not answered here`)
      }),
    )
  }

  /** The header once its logs are here; null, as for a block that is not there yet, while they cannot be had. */
  private async withLogs(header: RpcHeader | null): Promise<RpcHeader | null> {
    if (!header) return null
    // A bloom filter rules logs out only if it is the one that the block's hash commits to.
    const logs = !this.mayHold(header.logsBloom) && hashesToItself(header) ? [] : await this.read(header)
    if (!logs) return null
    const number = Number(header.number)
    this.logs.delete(number)
    this.logs.set(number, logs)
    if (this.logs.size > BLOCKS_REMEMBERED) this.logs.delete(this.logs.keys().next().value!)
    return logs.length ? header : { ...header, logsBloom: NO_LOGS_BLOOM }
  }

  private async read(header: RpcHeader): Promise<RpcLog[] | null> {
    try {
      const found = await Promise.all(this.filters.map((filter) => this.rpc.call<RpcLog[]>('eth_getLogs', [{ blockHash: header.hash, ...logQuery(filter) }], { second: this.second })))
      return ofBlock(uniqueLogs(found.flat()), header)
    } catch (error) {
      // "unknown block": reorganised away meanwhile, or asked of a node that lags. It is asked for again.
      // Whatever else it says, such as that it knows no questions by hash, is the same to us, and for people to read.
      if (!(error instanceof RpcError || error instanceof ContradictionError)) throw error
      this.log.info({ block: Number(header.number), reason: error.message.slice(0, 300) }, 'the logs of a block could not be read, it will be asked for again')
      return null
    }
  }

  private logsOf({ fromBlock, toBlock }: { fromBlock: string; toBlock: string }): RpcLog[] {
    const found: RpcLog[] = []
    for (let number = Number(fromBlock); number <= Number(toBlock); number++) {
      const logs = this.logs.get(number)
      if (!logs) throw new Error(`logs of block ${hexNumber(number)} were asked for before its header`)
      found.push(...logs)
    }
    return found
  }
}
