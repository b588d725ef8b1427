import { RpcError } from '@subsquid/rpc-client'
import { MONOTONIC, type Clock } from '../clock'
import { hexNumber, type Answered, type Route, type Rpc, type RpcCall } from '../rpc'
import { ContradictionError, type Doubt } from './doubt'
import { FirstTimes } from './first-times'
import {
  bloomLogTest,
  hashesToItself,
  haveSameLogs,
  headerByHash,
  headerOf,
  headerCall,
  logQuery,
  ofBlock,
  selectionTests,
  uniqueLogs,
  type FullHeader,
  type LogSelection,
  type RpcLog,
} from './logs'
import { hasKnownType, lacksLogs, logsOf, receiptsRoot, type RpcReceipt } from './receipts'

/** A header that has the requested number or hash. */
export interface CheckedHeader {
  header: FullHeader
  /** True if the header hashes to its `hash`. If the chain has that hash, every field is correct. */
  isValid: boolean
}

/** Evidence for the logs of a block: its proof, two endpoints that agree, or a single one. */
export type Evidence = 'proven' | 'agreed' | 'single'

export interface CheckedLogs {
  logs: RpcLog[]
  evidence: Evidence
  /** True if an endpoint lies: the receipts have a known form (Form) but do not hash to the root. */
  contradicted: boolean
  /** Number of JSON-RPC calls made for these logs. */
  calls: number
  /** Version of the LogSelection that the logs pass, and number of versions by which they widened it. */
  version: number
  learned: number
}

/** Milliseconds without a matching hash after which the form of headers or receipts is unknown (Form). */
const FORM_PATIENCE_MS = 300_000
/** Milliseconds to wait for receipts of an existing block, or for a second endpoint's response. */
const PATIENCE_MS = 15_000
/** Minimum number of requests for a header while responses are false or contain other blocks. */
const ATTEMPTS = 3
/** Maximum number of blocks with false receipts that are kept. */
const MOST_FALSIFIED = 1_000

/**
 * Reads headers and logs of single blocks with their evidence (docs/spec/trust.md 6). Never returns data that
 * it knows to be false.
 */
export class BlockReader {
  private readonly route: Route
  private isTurned = false
  private readonly tests: ReturnType<typeof selectionTests>
  private readonly headerForm: Form
  private readonly receiptsForm: Form
  /** Times since which receipts, or a second endpoint's logs (`<hash> twice`), are missing, by hash. */
  private readonly awaited = new FirstTimes()
  /**
   * Hashes of blocks with false receipts. Until receipts prove the logs, they stay contradicted: of several
   * nodes behind one URL, the next one may return no receipts.
   */
  private readonly falsified = new Set<string>()

  constructor(
    private readonly rpc: Rpc,
    readonly selection: LogSelection,
    private readonly doubt?: Doubt,
    private readonly clock: Clock = MONOTONIC,
  ) {
    this.route = rpc.route()
    this.tests = selectionTests(selection)
    this.headerForm = new Form(clock)
    this.receiptsForm = new Form(clock)
  }

  /**
   * Makes the next endpoint the first, once until the next request for headers: with two endpoints, a second
   * turn would undo the first.
   */
  turn(): void {
    if (!this.isTurned) this.route.turn()
    this.isTurned = true
  }

  get endpoints(): number {
    return this.rpc.size
  }

  /**
   * Returns the hash of this block at each endpoint that responds; null if it has no such block. Leaves out
   * headers that do not hash to their hash, unless their form is unknown.
   */
  async hashesAt(height: number): Promise<(string | null)[]> {
    const hashes: (string | null)[] = []
    const call = headerCall(height)
    for await (const opinion of this.route.each<unknown>([call])) {
      if (!('answer' in opinion)) continue
      const [header] = opinion.answer
      const checked = header ? await this.checked(call, header, false) : null
      if (checked === null) hashes.push(null)
      else if (typeof checked === 'object') hashes.push(checked.header.hash)
    }
    return hashes
  }

  /**
   * Returns the headers for these calls of eth_getBlockByNumber and eth_getBlockByHash, in order; null if no
   * endpoint returns a correct one. A header that does not hash to its hash is accepted if the form of
   * headers is unknown, or with `anyForm`.
   */
  async headers(calls: readonly RpcCall[], { anyForm = false } = {}): Promise<(CheckedHeader | null)[]> {
    const found = new Map<RpcCall, CheckedHeader>()
    let lacking: readonly RpcCall[] = calls
    let falsehood: string | undefined
    this.isTurned = false
    const { size } = this.rpc
    for (const [attempt, route] of this.route.turning(Math.max(ATTEMPTS, size))) {
      if (lacking.length === 0) break
      const { answer, distrust } = await route.batch<unknown>(lacking)
      falsehood = undefined
      for (const [i, call] of lacking.entries()) {
        const checked = answer[i] ? await this.checked(call, answer[i], anyForm) : undefined
        if (typeof checked === 'string') falsehood = checked
        else if (checked) found.set(call, checked)
      }
      if (falsehood) distrust(falsehood)
      // Another endpoint may have the headers that this one lacks.
      else if (attempt + 1 >= size) break
      lacking = lacking.filter((call) => !found.has(call))
    }
    if (lacking.length && falsehood) this.doubt?.contradicted(falsehood)
    return calls.map((call) => found.get(call) ?? null)
  }

  /** Returns the header, or the reason why it is false. */
  private async checked(
    { method, params }: RpcCall,
    answer: unknown,
    anyForm: boolean,
  ): Promise<CheckedHeader | string> {
    const asked = params[0] as string
    const header = headerOf(answer)
    if (!header) return 'a response is not a block header'
    const number = Number(header.number)
    if (
      method === 'eth_getBlockByHash' ? header.hash !== asked : asked !== 'latest' && number !== Number(asked)
    )
      return `requested block ${asked}, the RPC endpoint returned block ${number} (${header.hash})`
    const isValid = await hashesToItself(header)
    if (isValid) this.headerForm.succeeded()
    else if (!anyForm && this.headerForm.isKnown())
      return `the header of block ${number} does not hash to its hash`
    return { header, isValid }
  }

  /**
   * Returns the logs of a block that pass the selection, including logs that pass only because another log of
   * the block widened it (LogSelection). The sources, in order:
   *
   * - none, if the block's bloom filter excludes such logs;
   * - the receipts, if they hash to the header's root;
   * - the logs on which two endpoints agree, or that the only responding endpoint returns.
   *
   * Returns null if no source is available at present. With `receiptByReceipt`, reads single receipts if no
   * endpoint returns those of a whole block.
   */
  async logs(checked: CheckedHeader, { receiptByReceipt = false } = {}): Promise<CheckedLogs | null> {
    for (let learned = 0, calls = 0; ;) {
      const { version } = this.selection
      const found = await this.logsNow(checked, receiptByReceipt)
      if (!found) return null
      learned += await this.selection.learn(found.logs)
      calls += found.calls
      if (this.selection.version === version) return { ...found, calls, version, learned }
    }
  }

  private async logsNow(
    { header, isValid }: CheckedHeader,
    receiptByReceipt: boolean,
  ): Promise<Omit<CheckedLogs, 'version' | 'learned'> | null> {
    if (isValid && !this.tests().mayHold(header.logsBloom))
      return { logs: [], evidence: 'proven', contradicted: false, calls: 0 }
    const receipts = await this.receipts(header, receiptByReceipt)
    const { proven, wrong } = receipts
    const reason = `the receipts of block ${Number(header.number)} do not hash to its receiptsRoot`
    const distrustWrong = () => wrong.forEach(({ distrust }) => distrust(reason))
    if (proven && isValid) {
      distrustWrong()
      this.awaited.forget(header.hash)
      this.falsified.delete(header.hash)
      const logs = this.ours(header, proven)
      return { logs, evidence: 'proven', contradicted: false, calls: receipts.calls }
    }
    if (!proven && !wrong.length && !receipts.refused && this.mayStillCome(header.hash)) return null

    if (wrong.length > 0) this.note(header.hash, this.areFalse(header, isValid, wrong))
    const contradicted = this.falsified.has(header.hash)
    if (contradicted) {
      distrustWrong()
      this.doubt?.contradicted(reason)
    }
    const filtered = await this.logsByFilter(header, isValid)
    const calls = receipts.calls + filtered.calls
    if (filtered.agreed) return { logs: filtered.agreed, evidence: 'agreed', contradicted, calls }
    if (filtered.answers.length > 1) {
      this.doubt?.contradicted(`RPC endpoints return different logs of block ${Number(header.number)}`)
      return null
    }
    // The other endpoint may only be paused after an error.
    if (this.rpc.size > 1 && this.mayStillCome(`${header.hash} twice`)) return null
    const list = proven ?? wrong[0]?.answer[0]
    const logs = filtered.answers[0]?.answer ?? (list && this.ours(header, list))
    return logs ? { logs, evidence: 'single', contradicted, calls } : null
  }

  /**
   * Reads the logs by eth_getLogs. Returns those on which two endpoints agree, or else all different
   * responses. The header in the same request shows that the node has the block: some nodes return no logs
   * for others. With a smaller rpcBatchSize, it may come from another node behind the URL.
   */
  private async logsByFilter(header: FullHeader, isValid: boolean) {
    const answers: Answered<RpcLog[]>[] = []
    const mayHave = bloomLogTest()
    let calls = 0
    const questions = this.selection.filters.map((filter) => ({
      method: 'eth_getLogs',
      params: [{ blockHash: header.hash, ...logQuery(filter) }],
    }))
    const all: RpcCall[] = [...questions, headerByHash(header.hash)]
    for await (const opinion of this.route.each<unknown>(all)) {
      calls += all.length
      if (!('answer' in opinion)) continue
      const lists = opinion.answer.slice(0, -1) as RpcLog[][]
      const hasBlock = headerOf(opinion.answer.at(-1))?.hash === header.hash
      const logs = hasBlock ? this.ofThisBlock(lists.flat(), header) : undefined
      if (!logs) continue
      if (isValid && !logs.every((log) => mayHave(header.logsBloom, log))) {
        opinion.distrust(`the bloom filter of block ${Number(header.number)} excludes a log`)
        continue
      }
      if (answers.some(({ answer }) => haveSameLogs(answer, logs))) {
        const reason = `other RPC endpoints return different logs of block ${Number(header.number)}`
        for (const { answer, distrust } of answers) if (!haveSameLogs(answer, logs)) distrust(reason)
        return { agreed: logs, answers, calls }
      }
      answers.push({ answer: logs, distrust: opinion.distrust })
    }
    return { agreed: undefined, answers, calls }
  }

  /**
   * Reads receipts of this block: `proven` ones hash to the header's root, `wrong` ones do not, and `refused`
   * is true if an endpoint returns none.
   */
  private async receipts(header: FullHeader, receiptByReceipt: boolean) {
    const wrong: Answered<RpcReceipt[][]>[] = []
    let refused = false
    let calls = 0
    for await (const opinion of this.route.each<RpcReceipt[] | null>([
      { method: 'eth_getBlockReceipts', params: [hexNumber(Number(header.number))] },
    ])) {
      calls++
      if ('refusal' in opinion) {
        refused = true
        continue
      }
      const [list] = opinion.answer
      if (!areOfBlock(list, header)) continue
      const proven = await this.provenOf(header, list)
      if (proven) return { proven, wrong, refused, calls }
      wrong.push({ answer: [list], distrust: opinion.distrust })
    }
    if (receiptByReceipt && wrong.length === 0) {
      const questions = header.transactions.map((hash) => ({
        method: 'eth_getTransactionReceipt',
        params: [hash],
      }))
      calls += questions.length
      const single = await this.route.batch<RpcReceipt | null>(questions).catch((error: Error) => {
        if (error instanceof RpcError) return undefined
        throw error
      })
      if (!single) refused = true
      else if (areOfBlock(single.answer, header)) {
        const proven = await this.provenOf(header, single.answer)
        if (proven) return { proven, wrong, refused, calls }
        wrong.push({ answer: [single.answer], distrust: single.distrust })
      }
    }
    return { proven: undefined, wrong, refused, calls }
  }

  /**
   * Returns the receipts that hash to the header's root. Some chains append others that it does not cover,
   * such as that of a state sync on Polygon, whose nodes may list its transaction in the header.
   */
  private async provenOf(header: FullHeader, list: RpcReceipt[]): Promise<RpcReceipt[] | undefined> {
    if (await this.hashToRoot(header, list)) return list
    const own = list.slice(0, Math.min(header.transactions.length, list.length - 1))
    return list.length > 0 && (await this.hashToRoot(header, own)) ? own : undefined
  }

  private async hashToRoot(header: FullHeader, receipts: RpcReceipt[]): Promise<boolean> {
    // Receipts that lack a hashed field have no computable root, so they do not prove this block either.
    const root = await receiptsRoot(receipts).catch(() => undefined)
    if (root !== String(header.receiptsRoot).toLowerCase()) return false
    this.receiptsForm.succeeded()
    return true
  }

  /**
   * True if receipts that do not hash to their root are false, because their form is known:
   *
   * - Others have hashed to their root within FORM_PATIENCE_MS.
   * - The header is valid, and receipts.ts supports their types, or they lack a log that its bloom filter
   *   announces.
   */
  private areFalse(
    { logsBloom }: FullHeader,
    isValid: boolean,
    wrong: readonly Answered<RpcReceipt[][]>[],
  ): boolean {
    if (this.receiptsForm.isKnown()) return true
    if (!isValid) return false
    return wrong.every(({ answer: [list] }) => list!.every(hasKnownType) || lacksLogs(logsBloom, list!))
  }

  /** Records whether the receipts of this block are false. */
  private note(hash: string, areFalse: boolean): void {
    this.falsified.delete(hash)
    if (areFalse) this.falsified.add(hash)
    if (this.falsified.size > MOST_FALSIFIED) this.falsified.delete(this.falsified.values().next().value!)
  }

  private ours(header: FullHeader, receipts: readonly RpcReceipt[]): RpcLog[] {
    return logsOf(header, receipts).filter(this.tests().isOurs)
  }

  private ofThisBlock(logs: RpcLog[], header: FullHeader): RpcLog[] | undefined {
    try {
      return ofBlock(uniqueLogs(logs), header).filter(this.tests().isOurs)
    } catch (error) {
      if (error instanceof ContradictionError) return undefined
      throw error
    }
  }

  /** True if missing data may still arrive: a node may announce a block before it has all of its data. */
  private mayStillCome(what: string): boolean {
    return this.awaited.failed(what, this.clock.now()) < PATIENCE_MS
  }
}

/**
 * Form of a chain's headers or receipts (fields and encoding), which is known if some of them have hashed to
 * the expected value within FORM_PATIENCE_MS.
 */
class Form {
  private since: number

  constructor(private readonly clock: Clock) {
    this.since = clock.now()
  }

  succeeded(): void {
    this.since = this.clock.now()
  }

  isKnown(): boolean {
    return this.clock.now() - this.since < FORM_PATIENCE_MS
  }
}

function areOfBlock(
  receipts: (RpcReceipt | null)[] | null | undefined,
  header: FullHeader,
): receipts is RpcReceipt[] {
  return (
    Array.isArray(receipts) &&
    receipts.every((receipt) => String(receipt?.blockHash).toLowerCase() === header.hash)
  )
}
