import type { Logger } from '@subsquid/logger'
import { allowedRange, hexNumber, type Answered, type Route, type Rpc } from '../rpc'
import { MONOTONIC, type Clock } from '../clock'
import { retry } from '../retry'
import { BrokenLinkError, ContradictionError, type Doubt } from './doubt'
import {
  bloomLogTest,
  byBlock,
  hashesToItself,
  headerCall,
  headerOf,
  logQuery,
  ofBlock,
  uniqueLogs,
  type BlockLogs,
  type LogSelection,
  type RpcHeader,
  type RpcLog,
} from './logs'

/** Logs of a range, before they are grouped by block, and the header of its last block. */
interface RangeLogs {
  logs: RpcLog[]
  header: RpcHeader
  /** Hash of the block before the first one. */
  parentHash: string
  to: number
  /** Version of the selection that the logs pass. */
  version: number
}

type Distrust = Answered<unknown>['distrust']

/** Logs of blocks up to `to`: each block that has logs, and always block `to`. */
interface LogsAnswer extends Omit<RangeLogs, 'logs' | 'header'> {
  blocks: BlockLogs[]
}

/**
 * Maximum number of logs per answer, which limits the memory of a batch. It is not lower, because Postgres is
 * idle while a batch is read, decoded and committed.
 */
const LOGS_PER_ANSWER = 5_000
/** Width of the first range and of the largest one, in blocks. */
const FIRST_RANGE = 100
const LARGEST_RANGE = 1_000_000
/** Maximum ratio of the next range's width to that of the last range. */
const LARGEST_GROWTH = 64
/** Number of answers after a rejection, which may concern many logs, until a wider range is tried. */
const ANSWERS_BEFORE_MORE = 32
/** Number of failures on every endpoint after which a range counts as too wide. */
const GET_LOGS_ROUNDS = 2
/** Number of ranges requested ahead while responses have few logs and round trips dominate. */
const READ_AHEAD = 4
/** Maximum number of attempts to read a range: a node that lags often responds correctly a moment later. */
const ATTEMPTS = 4
const FIRST_PAUSE_MS = 200
const UNKNOWN_HEIGHT = { height: -1, readAt: -Infinity }

/**
 * Reads final blocks by filtered eth_getLogs, in ranges as wide as the provider allows. One reader serves one
 * pass over the blocks, in order.
 */
export class HistoryReader {
  private readonly route: Route
  /** Ranges by endpoint, because their limits differ. */
  private readonly ranges = new Map<number, LogRange>()
  /** The last returned answer, which may be requested again, and pending answers, in block order. */
  private ahead: { from: number; to: number; answer: Promise<LogsAnswer> }[] = []
  /** Logs that were read but did not fit into the last answer. */
  private left: (Omit<RangeLogs, 'parentHash'> & { from: number }) | undefined
  private final = UNKNOWN_HEIGHT
  private readonly clock: Clock
  /** Headers that hash to their own hash. */
  private readonly proven = new WeakSet<RpcHeader>()
  /** Hashes of blocks of which a response had logs that their bloom filters exclude. */
  private readonly overfull = new Set<string>()
  /** Number of JSON-RPC calls made so far. */
  calls = 0

  constructor(
    rpc: Rpc,
    private readonly options: {
      selection: LogSelection
      /** Minimum distance of a returned block from the head, in blocks. */
      finality: number
      log: Logger
      /** Turns of the route before the first query, or `last`, the least preferred endpoint, to compare. */
      start?: number | 'last'
      doubt?: Doubt
      clock?: Clock
    },
  ) {
    this.clock = options.clock ?? MONOTONIC
    this.route = rpc.route(options.start)
  }

  /** Range of the endpoint that is queried now. */
  private get range(): LogRange {
    const { first } = this.route
    const range = this.ranges.get(first) ?? new LogRange()
    this.ranges.set(first, range)
    return range
  }

  /** Returns the last final block at present. */
  async height(): Promise<number> {
    this.calls += 2
    // Uses the lower of two heads: one may be of another network, and returned blocks count as final.
    const heads = await Promise.all(
      [this.route, this.route.opposite].map((route) => route.call<string>('eth_blockNumber')),
    )
    // A node reports block 0 while it syncs from an empty database.
    const known = heads.map(Number).filter((each) => each > 0)
    const head = known.length > 0 ? Math.min(...known) : 0
    this.final = { height: Math.max(0, head - this.options.finality), readAt: this.clock.now() }
    return this.final.height
  }

  /**
   * Reads logs from block `from`, as far as one answer reaches, at most to block `to`. Throws a
   * NotFinalYetError if `from` is not final, and other errors if the responses contradict each other, or
   * `parent`, repeatedly.
   */
  read(from: number, to = Infinity, parent?: string): Promise<LogsAnswer> {
    return retry(
      async () => {
        const answer = await this.readOnce(from, to)
        if (parent !== undefined && answer.parentHash !== parent)
          throw new BrokenLinkError(
            `block ${from} follows ${answer.parentHash}, but block ${from - 1} was ${parent}`,
          )
        this.overfull.clear()
        return answer
      },
      {
        attempts: ATTEMPTS,
        pauseMs: (attempt) => FIRST_PAUSE_MS * 2 ** (attempt - 1),
        clock: this.clock,
        onFailure: this.discard,
      },
    )
  }

  /** Discards all responses because of this error. The next request queries another endpoint. */
  readonly discard = (error: Error): void => {
    this.ahead = []
    this.left = undefined
    // The head may have come from another chain, or from a node that has lost blocks.
    this.final = UNKNOWN_HEIGHT
    if (error instanceof ContradictionError) this.options.doubt?.contradicted(error.message)
    this.route.turn()
  }

  private async readOnce(from: number, to: number): Promise<LogsAnswer> {
    if (
      this.final.height < Math.min(to, from + this.range.blocks) &&
      this.clock.now() - this.final.readAt > 1_000
    )
      await this.height()
    const last = Math.min(to, this.final.height)
    if (from > last)
      throw new NotFinalYetError(`block ${from} is not final yet; the newest final block is ${last}`)

    this.requestAhead(from, last)
    const answer = await this.ahead[0]!.answer
    // An earlier range has widened the selection in the meantime, so this answer may lack logs.
    if (answer.version !== this.options.selection.version) {
      this.ahead = []
      return this.readOnce(from, to)
    }
    // An answer that was cut or narrowed ends early, so the ranges requested after it do not continue it.
    if (answer.to !== this.ahead[0]!.to)
      this.ahead = [{ from, to: answer.to, answer: Promise.resolve(answer) }]
    return answer
  }

  /** Requests the range at `from`, unless it is pending, and the next ranges too while logs are sparse. */
  private requestAhead(from: number, last: number): void {
    while (this.ahead.length && this.ahead[0]!.from !== from) this.ahead.shift()
    for (;;) {
      const next = this.ahead.length ? this.ahead[this.ahead.length - 1]!.to + 1 : from
      if (next > last || (this.ahead.length && (this.ahead.length > READ_AHEAD || !this.range.isSparse)))
        return
      const end = Math.min(last, next + this.range.blocks - 1)
      const answer = this.answer(next, end)
      answer.catch(() => {}) // the await throws the error
      this.ahead.push({ from: next, to: end, answer })
    }
  }

  /** Returns a block without its logs. Throws if the node does not have the block. */
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
    const { answer, distrust } = await this.route.batch<unknown>(numbers.map(headerCall))
    return Promise.all(answer.map((header, i) => this.checked(header, numbers[i]!, distrust)))
  }

  /**
   * Returns the header if it is the requested one. One that does not hash to its own hash is read again, from
   * another endpoint if there is one. It must then have the same hash. If it hashes to it, it is returned
   * instead of the first one, of which a field was changed or left out. Otherwise the form is unknown.
   */
  private async checked(response: unknown, number: number, distrust: Distrust): Promise<RpcHeader> {
    const header = requestedHeader(response, number, distrust)
    if (await this.isProven(header)) return header
    this.calls++
    const { method, params } = headerCall(number)
    const again = headerOf(await this.route.opposite.call(method, params))
    if (again?.hash !== header.hash)
      throw refusal(`block ${number} has the hash ${header.hash} and ${again?.hash}`, distrust)
    if (!(await this.isProven(again))) return header
    if (Number(again.number) !== number)
      throw refusal(`block ${number} has the hash of block ${Number(again.number)}`, distrust)
    distrust(`the header of block ${number} does not hash to its hash`)
    return again
  }

  private async isProven(header: RpcHeader): Promise<boolean> {
    const isProven = await hashesToItself(header)
    if (isProven) this.proven.add(header)
    return isProven
  }

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

  /** Reads logs from block `from`, of as many blocks as the provider allows. */
  private async readAllowed(from: number, end: number): Promise<RangeLogs> {
    for (let to = end; ;) {
      const asked = to - from + 1
      try {
        const read = await this.logs(from, to)
        this.range.answered(asked, read.logs.length)
        return { ...read, to }
      } catch (error) {
        // Providers reject ranges in many ways, all of which narrow it: JSON-RPC errors, HTTP 400 or 413,
        // timeouts.
        if (to === from || error instanceof ContradictionError) throw error
        const { range } = this
        range.refused(asked, allowedRange(error as Error))
        this.options.log.info(
          { from, to, range: range.blocks, reason: (error as Error).message.slice(0, 300) },
          'the RPC endpoint rejected the block range; requesting a smaller one',
        )
        to = Math.min(end, from + range.blocks - 1)
      }
    }
  }

  /**
   * Reads the logs, and the headers of the first and the last block in the same request if batches are
   * allowed: a node that has not reached the block returns no logs, but lacks this header too. Repeats for a
   * wider selection.
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
      { splittable: true, rounds: GET_LOGS_ROUNDS },
    )
    const header = await this.checked(answers.pop(), to, distrust)
    const { parentHash } = requestedHeader(answers.pop(), from, distrust)
    const logs = uniqueLogs((answers as RpcLog[][]).flat())
    const stray = logs.find(({ blockNumber }) => Number(blockNumber) < from || Number(blockNumber) > to)
    if (stray)
      throw new ContradictionError(
        `requested logs of blocks ${from} to ${to}, the RPC endpoint returned one of block ` +
          `${Number(stray.blockNumber)}`,
      )
    return { logs, header, parentHash }
  }

  /** Groups the logs by block, with the header of each block. Block `to` is included even without logs. */
  private async blocks(logs: RpcLog[], to: number, last: RpcHeader): Promise<BlockLogs[]> {
    const logsOf = byBlock(logs)
    logsOf.set(to, logsOf.get(to) ?? [])
    const numbers = [...logsOf.keys()].sort((a, b) => a - b)
    const lacking = await this.headers(numbers.filter((number) => number !== Number(last.number)))
    const headers = new Map([...lacking, last].map((header) => [Number(header.number), header]))
    const mayHave = bloomLogTest()
    const excluding: number[] = []
    const blocks = numbers.map((number) => {
      const header = headers.get(number)!
      const own = ofBlock(logsOf.get(number)!, header)
      const logs = this.proven.has(header) ? own.filter((log) => mayHave(header.logsBloom, log)) : own
      if (logs.length < own.length && !this.overfull.has(header.hash)) excluding.push(number)
      return { header, logs }
    })
    // The next response, from another endpoint if there is one, is used without such logs: they may be those
    // of a state sync on Polygon, which the receipts root does not cover either.
    for (const number of excluding) this.overfull.add(headers.get(number)!.hash)
    if (excluding.length > 0)
      throw new ContradictionError(
        `the RPC endpoint returned logs of block ${excluding[0]} that its bloom filter excludes`,
      )
    return blocks
  }
}

/** Returns the header of this block. Throws a ContradictionError for any other response. */
function requestedHeader(response: unknown, number: number, distrust: Distrust): RpcHeader {
  if (!response) throw new Error(`the RPC endpoint has no block ${number}, although its head is later`)
  const header = headerOf(response)
  if (header && Number(header.number) === number) return header
  const returned = header ? `block ${Number(header.number)}` : 'a malformed header'
  throw refusal(`requested block ${number}, the RPC endpoint returned ${returned}`, distrust)
}

/** Distrusts the endpoint that returned a falsehood, and returns the error. */
function refusal(falsehood: string, distrust: Distrust): ContradictionError {
  distrust(falsehood)
  return new ContradictionError(falsehood)
}

/** The requested block is not final according to the endpoints. */
export class NotFinalYetError extends Error {}

/**
 * Number of blocks per eth_getLogs. The range grows until an answer is expected to have a quarter of
 * LOGS_PER_ANSWER, and shrinks when the provider rejects it.
 */
class LogRange {
  /** Number of blocks in the next request. */
  blocks = FIRST_RANGE
  /** True if the last answer had few logs. */
  isSparse = false
  /** Maximum number of blocks that the provider stated in an error; LARGEST_RANGE until then. */
  private limit = LARGEST_RANGE
  /** Widest range that the provider has recently answered; never above `limit`. */
  private ceiling = LARGEST_RANGE
  private answersSinceRefusal = 0

  answered(blocks: number, logs: number): void {
    if (++this.answersSinceRefusal > ANSWERS_BEFORE_MORE) this.ceiling = this.limit
    this.isSparse = logs < LOGS_PER_ANSWER / 4
    const growth = Math.min(LARGEST_GROWTH, LOGS_PER_ANSWER / 4 / Math.max(1, logs))
    this.blocks = Math.min(Math.max(this.blocks, Math.floor(growth * blocks)), this.ceiling)
  }

  /** Narrows the range after an answer that was too long and was cut. */
  overfilled(blocks: number, logs: number): void {
    this.blocks = Math.max(1, Math.floor((blocks * LOGS_PER_ANSWER) / logs))
  }

  /** @param allowed maximum number of blocks that the provider states in its error, if it does */
  refused(blocks: number, allowed: number | undefined): void {
    // If the range does not exceed the stated limit, the limit was misread. The range is then halved.
    const isStated = allowed !== undefined && allowed < blocks
    if (isStated) this.limit = allowed
    this.blocks = this.ceiling = isStated ? allowed : Math.max(1, Math.floor(blocks / 2))
    this.answersSinceRefusal = 0
  }
}

/** Returns the last block that fits into an answer. A single block may be longer. */
function cutAt(logs: readonly RpcLog[], to: number): number {
  if (logs.length <= LOGS_PER_ANSWER) return to
  const block = Number(logs[LOGS_PER_ANSWER]!.blockNumber)
  return Number(logs[0]!.blockNumber) === block ? block : block - 1
}
