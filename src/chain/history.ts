import type { Logger } from '@subsquid/logger'
import { allowedRange, hexNumber, type Route, type Rpc } from '../rpc'
import { MONOTONIC, type Clock } from '../clock'
import { retry } from '../retry'
import { ContradictionError, type Doubt } from './doubt'
import {
  byBlock,
  headerCall,
  logQuery,
  ofBlock,
  uniqueLogs,
  type BlockLogs,
  type LogSelection,
  type RpcHeader,
  type RpcLog,
} from './logs'
import { SelectionTest, hashesToItself } from './proof'
import { LOGS_PER_ANSWER, LogRange } from './range'

/** Logs of blocks up to `to`: each block that has any, and block `to` in any case. */
export interface LogsAnswer {
  blocks: BlockLogs[]
  /** The hash of the block before the first one. */
  parentHash: string
  to: number
  /** The version of the selection that the logs pass. */
  version: number
}

/** The logs of a range, before they are sorted into blocks, and the header of its last block. */
interface RangeLogs {
  logs: RpcLog[]
  header: RpcHeader
  parentHash: string
  to: number
  version: number
}

/** A range that fails on every endpoint this often is taken for too wide; single calls are never given up. */
const GET_LOGS_ROUNDS = 2
/** Ranges requested ahead while answers have few logs: round trips to the provider dominate then. */
const READ_AHEAD = 4
/** A node that lags or is between forks often answers well a moment later. */
const ATTEMPTS = 4
const FIRST_PAUSE_MS = 200

/**
 * Reads history by filtered eth_getLogs, in ranges as wide as the provider allows, so that only matching logs
 * cross the wire. Serves final blocks only. One reader serves one pass over the blocks, in order.
 */
export class HistoryReader {
  private readonly route: Route
  private readonly range = new LogRange()
  /** Answers under way, in order of blocks, and the last one given, which may be asked for again. */
  private ahead: { from: number; to: number; answer: Promise<LogsAnswer> }[] = []
  /** Logs that were read but did not fit the last answer. */
  private left: (Omit<RangeLogs, 'parentHash'> & { from: number }) | undefined
  private final = { height: -1, readAt: -Infinity }
  private readonly clock: Clock
  private readonly test: SelectionTest
  /** Headers that hash to their own hash. */
  private readonly proven = new WeakSet<RpcHeader>()
  /** JSON-RPC calls made so far. */
  calls = 0

  constructor(
    rpc: Rpc,
    private readonly options: {
      selection: LogSelection
      /** Only blocks at least this far below the head are served. */
      finality: number
      log: Logger
      /** Which endpoint is asked first: the least preferred one gives a second opinion. */
      start?: 'preferred' | 'last'
      doubt?: Doubt
      clock?: Clock
    },
  ) {
    this.clock = options.clock ?? MONOTONIC
    this.test = new SelectionTest(options.selection)
    this.route = rpc.route(options.start)
  }

  /** The last block that is served, as of now. */
  async height(): Promise<number> {
    this.calls += 2
    // The lower head of two endpoints, where there are two: one answer may be of another network, and what is
    // served is final.
    const heads = await Promise.all(
      [this.route, this.route.opposite].map((route) => route.call<string>('eth_blockNumber')),
    )
    // A node that syncs from nothing names block 0.
    const known = heads.map(Number).filter((each) => each > 0)
    const head = known.length > 0 ? Math.min(...known) : 0
    this.final = { height: Math.max(0, head - this.options.finality), readAt: this.clock.now() }
    return this.final.height
  }

  /**
   * Logs from block `from` on, as far as one answer reaches, at most to block `to`. Throws if `from` is not
   * final yet, if the node contradicts itself several times, or if the block before `from` has another hash
   * than `parent`.
   */
  read(from: number, to = Infinity, parent?: string): Promise<LogsAnswer> {
    return retry(
      async () => {
        const answer = await this.readOnce(from, to)
        if (parent !== undefined && answer.parentHash !== parent)
          throw new BrokenLinkError(
            `block ${from} follows ${answer.parentHash}, but block ${from - 1} was ${parent}`,
          )
        return answer
      },
      {
        attempts: ATTEMPTS,
        pauseMs: (attempt) => FIRST_PAUSE_MS * 2 ** (attempt - 1),
        clock: this.clock,
        onFailure: (error) => {
          this.ahead = []
          this.left = undefined
          if (error instanceof ContradictionError) this.options.doubt?.contradicted(error.message)
          this.route.turn()
        },
      },
    )
  }

  private async readOnce(from: number, to: number): Promise<LogsAnswer> {
    if (
      this.final.height < Math.min(to, from + this.range.blocks) &&
      this.clock.now() - this.final.readAt > 1_000
    )
      await this.height()
    const last = Math.min(to, this.final.height)
    if (from > last) throw new Error(`block ${from} is not final yet, the last final one is ${last}`)

    this.requestAhead(from, last)
    const answer = await this.ahead[0]!.answer
    // An earlier range has widened the selection since: this one may lack logs.
    if (answer.version !== this.options.selection.version) {
      this.ahead = []
      return this.readOnce(from, to)
    }
    // An answer that was cut or refused ends early: the ranges requested behind it do not continue it.
    if (answer.to !== this.ahead[0]!.to)
      this.ahead = [{ from, to: answer.to, answer: Promise.resolve(answer) }]
    return answer
  }

  /** Requests the range at `from`, unless it is under way, and while logs are sparse the next ones too. */
  private requestAhead(from: number, last: number): void {
    while (this.ahead.length && this.ahead[0]!.from !== from) this.ahead.shift()
    for (;;) {
      const next = this.ahead.length ? this.ahead[this.ahead.length - 1]!.to + 1 : from
      if (next > last || (this.ahead.length && (this.ahead.length > READ_AHEAD || !this.range.isSparse)))
        return
      const end = Math.min(last, next + this.range.blocks - 1)
      const answer = this.answer(next, end)
      answer.catch(() => {}) // thrown where it is awaited
      this.ahead.push({ from: next, to: end, answer })
    }
  }

  /** A block without its logs. Throws when the node lacks it. */
  async blockWithoutLogs(number: number): Promise<BlockLogs> {
    try {
      return { header: (await this.headers([number]))[0]!, logs: [] }
    } catch (error) {
      this.route.turn()
      throw error
    }
  }

  private async headers(numbers: number[]): Promise<RpcHeader[]> {
    this.calls += numbers.length
    const { answer, distrust } = await this.route.batch<RpcHeader | null>(numbers.map(headerCall))
    return Promise.all(answer.map((header, i) => this.checked(header, numbers[i]!, distrust)))
  }

  /**
   * The header, if it is the requested one. One that does not hash to its own hash must have the same hash
   * when it is read again, from another endpoint where there is one. Throws otherwise.
   */
  private async checked(
    header: RpcHeader | null | undefined,
    number: number,
    distrust: (reason: string) => void,
  ): Promise<RpcHeader> {
    if (!header) throw new Error(`the node has no block ${number}, though its head is beyond`)
    let falsehood =
      Number(header.number) === number
        ? undefined
        : `asked for block ${number}, the node answered block ${Number(header.number)}`
    if (!falsehood && (await hashesToItself(header))) this.proven.add(header)
    else if (!falsehood) {
      this.calls++
      const { method, params } = headerCall(number)
      const again = await this.route.opposite.call<RpcHeader | null>(method, params)
      if (again?.hash !== header.hash)
        falsehood = `block ${number} has the hash ${header.hash} and ${again?.hash}`
    }
    if (falsehood === undefined) return header
    distrust(falsehood)
    throw new ContradictionError(falsehood)
  }

  /** Logs from block `from` on: as far as one call reaches and one answer holds. */
  private async answer(from: number, end: number): Promise<LogsAnswer> {
    const { version } = this.options.selection
    const left = this.left?.from === from && this.left.version === version ? this.left : undefined
    this.left = undefined
    const read = left ?? (await this.readAllowed(from, end))
    const { logs, header } = read
    const to = cutAt(logs, read.to)
    if (to < read.to) {
      this.range.overfilled(read.to - from + 1, logs.length)
      this.left = {
        header,
        to: read.to,
        version,
        from: to + 1,
        logs: logs.filter((log) => Number(log.blockNumber) > to),
      }
    }
    const kept = logs.filter((log) => Number(log.blockNumber) <= to)
    const parentHash = 'parentHash' in read ? read.parentHash : (await this.headers([from]))[0]!.parentHash
    return { to, parentHash, blocks: await this.blocks(kept, to, header), version: read.version }
  }

  /** Logs from block `from` on, of as many blocks as the provider allows. */
  private async readAllowed(from: number, end: number): Promise<RangeLogs> {
    for (let to = end; ;) {
      const asked = to - from + 1
      try {
        const read = await this.logs(from, to)
        this.range.answered(asked, read.logs.length)
        return { ...read, to }
      } catch (error) {
        // Providers refuse in many ways: JSON-RPC errors, HTTP 400 or 413, time-outs. The range is narrowed
        // for all of them.
        if (to === from || error instanceof ContradictionError) throw error
        this.range.refused(asked, allowedRange(error as Error))
        this.options.log.info(
          { from, to, range: this.range.blocks, reason: (error as Error).message.slice(0, 300) },
          'provider refused the range, asking for less',
        )
        to = Math.min(end, from + this.range.blocks - 1)
      }
    }
  }

  /**
   * The logs, and the headers of the first and the last block in the same request (if batches are allowed): a
   * node that has no logs because it has not got that far has no such header either. Read again if the logs
   * have widened the selection.
   */
  private async logs(from: number, to: number): Promise<Omit<RangeLogs, 'to'>> {
    const { selection } = this.options
    for (;;) {
      const { version } = selection
      const read = await this.logsNow(from, to)
      await selection.learn(read.logs)
      if (selection.version === version) return { ...read, version }
    }
  }

  private async logsNow(from: number, to: number): Promise<Omit<RangeLogs, 'to' | 'version'>> {
    const calls = this.options.selection.filters.map((filter) => ({
      method: 'eth_getLogs',
      params: [{ fromBlock: hexNumber(from), toBlock: hexNumber(to), ...logQuery(filter) }],
    }))
    this.calls += calls.length + 2
    const { answer: answers, distrust } = await this.route.batch<unknown>(
      [...calls, headerCall(from), headerCall(to)],
      {
        splittable: true,
        rounds: GET_LOGS_ROUNDS,
      },
    )
    const header = await this.checked(answers.pop() as RpcHeader | null, to, distrust)
    const first = answers.pop() as RpcHeader | null
    if (Number(first?.number) !== from)
      throw new Error(`the node has no block ${from}, though its head is beyond`)
    const logs = uniqueLogs((answers as RpcLog[][]).flat())
    const stray = logs.find(({ blockNumber }) => Number(blockNumber) < from || Number(blockNumber) > to)
    if (stray)
      throw new ContradictionError(
        `asked for logs of blocks ${from} to ${to}, the node answered one of block ${Number(stray.blockNumber)}`,
      )
    return { logs, header, parentHash: first!.parentHash }
  }

  /**
   * The logs by block, each block with its header; block `to` even without logs. `last` may be its header.
   */
  private async blocks(logs: RpcLog[], to: number, last: RpcHeader): Promise<BlockLogs[]> {
    const logsOf = byBlock(logs)
    logsOf.set(to, logsOf.get(to) ?? [])
    const numbers = [...logsOf.keys()].sort((a, b) => a - b)
    const lacking = numbers.filter((number) => number !== Number(last.number))
    const headers = new Map((await this.headers(lacking)).map((header, i) => [lacking[i]!, header])).set(
      Number(last.number),
      last,
    )
    return numbers.map((number) => {
      const header = headers.get(number)!
      const own = ofBlock(logsOf.get(number)!, header)
      if (own.length && this.proven.has(header) && !this.test.mayHold(header.logsBloom))
        throw new ContradictionError(
          `the node gives logs of block ${number}, whose bloom filter rules them out`,
        )
      return { header, logs: own }
    })
  }
}

/**
 * A range does not follow the block before it: the chain was replaced, or the endpoints are on different
 * forks.
 */
export class BrokenLinkError extends ContradictionError {}

/** The last block of an answer that is not too long. A block is never split, so one alone may be longer. */
function cutAt(logs: readonly RpcLog[], to: number): number {
  if (logs.length <= LOGS_PER_ANSWER) return to
  const block = Number(logs[LOGS_PER_ANSWER]!.blockNumber)
  return Number(logs[0]!.blockNumber) === block ? block : block - 1
}
