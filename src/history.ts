import type { Logger } from '@subsquid/logger'
import type { Doubt } from './doubt'
import { bloomTest, hashesToItself } from './proof'
import { ContradictionError, hexNumber, type Rpc } from './rpc'

/** Which logs are asked for: each list may be absent, for "any". */
export interface LogFilter {
  address?: string[]
  topic0?: string[]
  topic1?: string[]
  topic2?: string[]
  topic3?: string[]
}

/** A log and a header as JSON-RPC gives them, as far as they are read here. */
export interface RpcLog {
  address: string
  topics: string[]
  data: string
  blockNumber: string
  blockHash: string
  transactionHash: string
  transactionIndex: string
  logIndex: string
  /** True where a reorg took it back. */
  removed?: boolean
}
export interface RpcHeader {
  number: string
  hash: string
  parentHash: string
  timestamp: string
  logsBloom?: string
}

/** A block with those of its logs that were asked for, in order, each once. */
export interface BlockLogs {
  header: RpcHeader
  logs: RpcLog[]
}

/** Logs of some blocks from `from` to `to`: of every block that has any, and of block `to` in any case. */
export interface LogsAnswer {
  blocks: BlockLogs[]
  to: number
}

/** Blocks asked for at first; then as many as a quarter of an answer's logs is expected in, less when a provider refuses. */
const FIRST_RANGE = 100
const LARGEST_GROWTH = 64
const LARGEST_RANGE = 1_000_000
/** A range that keeps failing is too wide: patience, which has no end elsewhere, ends here. */
const GET_LOGS_ROUNDS = 2
/** A refusal met in a crowded stretch need not hold for ever: after so many good answers more is tried again. */
const ANSWERS_BEFORE_MORE = 32
/** An answer of more logs than this is cut at a block's end, so that a batch stays small in memory. */
const LOGS_PER_ANSWER = 2_000
/** Ranges asked for before they are wanted, while answers have few logs: what takes time then is the way to the provider. */
const READ_AHEAD = 4
/** A node that lags or forks answers better a moment later. */
const ATTEMPTS = 4

/**
 * Reads history by filtered eth_getLogs, in ranges as wide as the provider allows: what was not asked for never crosses
 * the wire. Serves final blocks only. One reader serves one pass over the blocks, in order.
 */
export class HistoryReader {
  private range = FIRST_RANGE
  /** What the provider says it allows, once it has said so. */
  private limit = LARGEST_RANGE
  /** What it has answered lately; never above its limit. */
  private ceiling = LARGEST_RANGE
  private answersSinceRefusal = 0
  /** Answers under way, in order of blocks, and the last one given: it may be asked for again. */
  private ahead: { from: number; to: number; answer: Promise<LogsAnswer> }[] = []
  private sparse = false
  /** Whether the endpoint that is asked last otherwise is asked first. */
  private second: boolean
  /** Read, but more than one answer takes. */
  private left: { from: number; to: number; header: RpcHeader; logs: RpcLog[] } | undefined
  private final = { height: -1, readAt: 0 }
  private readonly mayHold: (logsBloom: string | undefined) => boolean
  /** Calls that it has made. */
  calls = 0

  constructor(
    private readonly rpc: Rpc,
    private readonly options: {
      filters: readonly LogFilter[]
      /** Blocks below the head that are served: nothing younger ever is. */
      finality: number
      log: Logger
      /** Read from the least preferred endpoint, for a second opinion. */
      second?: boolean
      doubt?: Doubt
    },
  ) {
    this.mayHold = bloomTest(options.filters)
    this.second = options.second ?? false
  }

  /** The last block that is served, as of now. */
  async height(): Promise<number> {
    this.calls += 2
    // The lower of two, of two endpoints where there are: one answer may be of another network, and what is served is final.
    const heads = await Promise.all(
      [false, true].map((other) =>
        this.rpc.call<string>('eth_blockNumber', [], { second: other !== this.second }),
      ),
    )
    const head = Math.min(...heads.map(Number))
    this.final = { height: Math.max(0, head - this.options.finality), readAt: Date.now() }
    return this.final.height
  }

  /** Logs from block `from` on, as far as one answer reaches, at most to `to`. Throws when `from` is not final yet, or the node contradicts itself for long. */
  async read(from: number, to = Infinity): Promise<LogsAnswer> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.readOnce(from, to)
      } catch (error) {
        this.ahead = []
        if (error instanceof ContradictionError) this.options.doubt?.contradicted(error.message)
        // What one endpoint contradicts itself about, another may know better.
        this.second = !this.second
        if (attempt === ATTEMPTS) throw error
        await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** attempt))
      }
    }
  }

  private async readOnce(from: number, to: number): Promise<LogsAnswer> {
    if (this.final.height < Math.min(to, from + this.range) && Date.now() - this.final.readAt > 1_000)
      await this.height()
    const last = Math.min(to, this.final.height)
    if (from > last) throw new Error(`block ${from} is not final yet, the last final one is ${last}`)

    while (this.ahead.length && this.ahead[0]!.from !== from) this.ahead.shift()
    for (;;) {
      const next = this.ahead.length ? this.ahead[this.ahead.length - 1]!.to + 1 : from
      if (next > last || (this.ahead.length && (this.ahead.length > READ_AHEAD || !this.sparse))) break
      const end = Math.min(last, next + this.range - 1)
      const answer = this.widest(next, end)
      answer.catch(() => {}) // it is awaited below, or when it is asked for
      this.ahead.push({ from: next, to: end, answer })
    }
    const answer = await this.ahead[0]!.answer
    // It was cut or refused: what was asked for behind it does not continue it.
    if (answer.to !== this.ahead[0]!.to)
      this.ahead = [{ from, to: answer.to, answer: Promise.resolve(answer) }]
    return answer
  }

  /** A block without its logs. Throws when the node lacks it. */
  async blockWithoutLogs(number: number): Promise<BlockLogs> {
    try {
      return { header: (await this.headers([number]))[0]!, logs: [] }
    } catch (error) {
      this.second = !this.second
      throw error
    }
  }

  private async headers(numbers: number[]): Promise<RpcHeader[]> {
    this.calls += numbers.length
    const { answer, distrust } = await this.rpc.batch<RpcHeader | null>(numbers.map(headerCall), {
      second: this.second,
    })
    return Promise.all(answer.map((header, i) => this.existing(header, numbers[i]!, distrust)))
  }

  /** The header, if it is the one that was asked for; one that does not hash to itself if it is the same when it is asked for again. */
  private async existing(
    header: RpcHeader | null | undefined,
    number: number,
    distrust: (reason: string) => void,
  ): Promise<RpcHeader> {
    if (!header) throw new Error(`the node has no block ${number}, though its head is beyond`)
    let falsehood =
      Number(header.number) === number
        ? undefined
        : `asked for block ${number}, the node answered block ${Number(header.number)}`
    if (!falsehood && !hashesToItself(header)) {
      this.calls++
      const { method, params } = headerCall(number)
      const again = await this.rpc.call<RpcHeader | null>(method, params, { second: !this.second })
      if (again?.hash !== header.hash)
        falsehood = `block ${number} has the hash ${header.hash} and ${again?.hash}`
    }
    if (falsehood === undefined) return header
    distrust(falsehood)
    throw new ContradictionError(falsehood)
  }

  /** Logs of a range starting at `from`, as far as one call reaches and one answer takes. */
  private async widest(from: number, end: number): Promise<LogsAnswer> {
    const left = this.left?.from === from ? this.left : undefined
    this.left = undefined
    const { logs, header, to } = left ?? (await this.asAllowed(from, end))
    const cutTo = cutAt(logs, to)
    if (cutTo < to) {
      // As many blocks as hold one answer, the next time; what was read beyond it is kept for the next answer.
      this.range = Math.max(1, Math.floor(((to - from + 1) * LOGS_PER_ANSWER) / logs.length))
      this.left = { from: cutTo + 1, to, header, logs: logs.filter((log) => Number(log.blockNumber) > cutTo) }
    }
    return {
      to: cutTo,
      blocks: await this.blocks(
        logs.filter((log) => Number(log.blockNumber) <= cutTo),
        cutTo,
        header,
      ),
    }
  }

  private async asAllowed(
    from: number,
    end: number,
  ): Promise<{ logs: RpcLog[]; header: RpcHeader; to: number }> {
    for (let to = end; ;) {
      try {
        const { logs, header } = await this.logs(from, to)
        if (++this.answersSinceRefusal > ANSWERS_BEFORE_MORE) this.ceiling = this.limit
        this.sparse = logs.length < LOGS_PER_ANSWER / 4
        const growth = Math.min(LARGEST_GROWTH, LOGS_PER_ANSWER / 4 / Math.max(1, logs.length))
        this.range = Math.min(Math.max(this.range, Math.floor(growth * (to - from + 1))), this.ceiling)
        return { logs, header, to }
      } catch (error) {
        // Providers refuse in many ways: JSON-RPC errors, HTTP 400 or 413, time-outs. Less is tried for all of them.
        if (to === from || error instanceof ContradictionError) throw error
        const asked = to - from + 1
        const reason = (error as Error).message
        const allowed = allowedRange(reason)
        // A limit that is said but was not exceeded was misread: half of what was asked, then.
        const kept = allowed === undefined || allowed >= asked
        if (!kept) this.limit = allowed
        this.range = this.ceiling = kept ? Math.max(1, Math.floor(asked / 2)) : allowed
        this.answersSinceRefusal = 0
        this.options.log.info(
          { from, to, range: this.range, reason: reason.slice(0, 300) },
          'provider refused the range, asking for less',
        )
        to = Math.min(end, from + this.range - 1)
      }
    }
  }

  /**
   * The logs, and the header of the last block: asked for in one request (where batches are allowed), so that a node that
   * answers no logs because it has not got that far is found out by having no header either.
   */
  private async logs(from: number, to: number): Promise<{ logs: RpcLog[]; header: RpcHeader }> {
    const calls = this.options.filters.map((filter) => ({
      method: 'eth_getLogs',
      params: [{ fromBlock: hexNumber(from), toBlock: hexNumber(to), ...logQuery(filter) }],
    }))
    this.calls += calls.length + 1
    const { answer: answers, distrust } = await this.rpc.batch<unknown>([...calls, headerCall(to)], {
      second: this.second,
      refusable: true,
      rounds: GET_LOGS_ROUNDS,
    })
    const header = await this.existing(answers.pop() as RpcHeader | null, to, distrust)
    const logs = uniqueLogs((answers as RpcLog[][]).flat())
    const stray = logs.find(({ blockNumber }) => Number(blockNumber) < from || Number(blockNumber) > to)
    if (stray)
      throw new ContradictionError(
        `asked for logs of blocks ${from} to ${to}, the node answered one of block ${Number(stray.blockNumber)}`,
      )
    return { logs, header }
  }

  private async blocks(logs: RpcLog[], to: number, last: RpcHeader): Promise<BlockLogs[]> {
    const byBlock = new Map<number, RpcLog[]>()
    for (const log of logs) {
      const number = Number(log.blockNumber)
      const own = byBlock.get(number)
      if (own) own.push(log)
      else byBlock.set(number, [log])
    }
    byBlock.set(to, byBlock.get(to) ?? [])
    const numbers = [...byBlock.keys()].sort((a, b) => a - b)
    const lacking = numbers.filter((number) => number !== Number(last.number))
    const headers = new Map((await this.headers(lacking)).map((header, i) => [lacking[i]!, header])).set(
      Number(last.number),
      last,
    )
    return numbers.map((number) => {
      const header = headers.get(number)!
      const own = ofBlock(byBlock.get(number)!, header)
      if (own.length && hashesToItself(header) && !this.mayHold(header.logsBloom))
        throw new ContradictionError(
          `the node gives logs of block ${number}, whose bloom filter rules them out`,
        )
      return { header, logs: own }
    })
  }
}

/** The last block of an answer that is not too long; one block may be longer by itself, as it is never split. */
function cutAt(logs: readonly RpcLog[], to: number): number {
  if (logs.length <= LOGS_PER_ANSWER) return to
  const block = Number(logs[LOGS_PER_ANSWER]!.blockNumber)
  return Number(logs[0]!.blockNumber) === block ? block : block - 1
}

/** The logs, if all of them are of this very block; throws otherwise. */
export function ofBlock(logs: RpcLog[], header: RpcHeader): RpcLog[] {
  if (logs.some((log) => log.blockHash !== header.hash || log.removed))
    throw new ContradictionError(`logs and header of block ${Number(header.number)} are of different forks`)
  return logs
}

/** A filter as eth_getLogs takes it. */
export function logQuery({ address, topic0, topic1, topic2, topic3 }: LogFilter): {
  address?: string[]
  topics: (string[] | null)[]
} {
  const topics = [topic0, topic1, topic2, topic3].map((list) => (list?.length ? list : null))
  while (topics.length && topics[topics.length - 1] === null) topics.pop()
  return { ...(address?.length && { address }), topics }
}

/** In chain order, each once: some providers repeat logs. Throws where two have one number: then a node counts them by transaction. */
export function uniqueLogs(logs: RpcLog[]): RpcLog[] {
  const seen = new Map<string, RpcLog>()
  for (const log of logs) {
    const place = `${Number(log.blockNumber)}:${Number(log.logIndex)}`
    const other = seen.get(place)
    if (other && (other.transactionHash !== log.transactionHash || other.data !== log.data))
      throw new ContradictionError(
        `the node gives two logs of block ${Number(log.blockNumber)} the number ${Number(log.logIndex)}`,
      )
    seen.set(place, log)
  }
  return [...seen.values()].sort(
    (a, b) => Number(a.blockNumber) - Number(b.blockNumber) || Number(a.logIndex) - Number(b.logIndex),
  )
}

export function headerCall(number: number) {
  return { method: 'eth_getBlockByNumber', params: [hexNumber(number), false] }
}

/** The range that a provider says it allows: "limited to a 5 range", "up to a 10K block range", "max 2,000 blocks". */
function allowedRange(message: string): number | undefined {
  const found =
    /(?:limited to|up to|max(?:imum)?|at most|exceeds?)\D{0,40}?(\d[\d,_]*)\s*(k\b)?\s*(?:block|range)/i.exec(
      message,
    )
  if (!found) return undefined
  return Number(found[1]!.replace(/[,_]/g, '')) * (found[2] ? 1000 : 1) || undefined
}
