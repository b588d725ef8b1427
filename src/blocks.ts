import { RpcError } from '@subsquid/rpc-client'
import { logQuery, ofBlock, uniqueLogs, type LogFilter, type RpcLog } from './history'
import {
  bloomTest,
  hashesToItself,
  logTest,
  logsOf,
  receiptsRoot,
  type FullHeader,
  type RpcReceipt,
} from './proof'
import { ContradictionError, hexNumber, type Answered, type Rpc, type RpcCall } from './rpc'
import type { Doubt } from './doubt'

/** A header that answers its question. */
export interface CheckedHeader {
  header: FullHeader
  /** Whether it hashes to its own hash: then nothing in it is false, provided that the hash is the chain's. */
  stands: boolean
}

/**
 * How well the logs of a block are known: `proven` by its bloom filter or its receipts, `agreed` on by two endpoints, or
 * `told` by one alone.
 */
export type Standing = 'proven' | 'agreed' | 'told'

export interface CheckedLogs {
  logs: RpcLog[]
  standing: Standing
  /** Receipts there were, but of another root, in a form that hashed to the root until lately: somebody lies. */
  contradicted: boolean
  /** Calls that it took. */
  calls: number
}

/** A form in which nothing has hashed to what it should for so long is taken for one that is not known here. */
const FORM_PATIENCE_MS = 300_000
/** Receipts, or a second endpoint's word, that are not there, of a block that is: after so long they cannot be had. */
const PATIENCE_MS = 15_000
/** So often a header is asked for that was another one than asked for, or false. */
const ATTEMPTS = 3
const BLOCKS_AWAITED = 1_000

/** Reads headers and logs of single blocks and says how well they are known (TRUST.md 6). Nothing that is known to be false leaves here. */
export class BlockReader {
  readonly mayHold: (logsBloom: string | undefined) => boolean
  private readonly isOurs: (log: RpcLog) => boolean
  private readonly headerForm: Form
  private readonly receiptsForm: Form
  /** Since when the receipts of a block, or what two endpoints say of it, are asked for in vain. */
  private readonly awaited = new Map<string, number>()

  constructor(
    private readonly rpc: Rpc,
    private readonly filters: readonly LogFilter[],
    private readonly doubt?: Doubt,
    private readonly clock: () => number = Date.now,
  ) {
    this.mayHold = bloomTest(filters)
    this.isOurs = logTest(filters)
    this.headerForm = new Form(clock)
    this.receiptsForm = new Form(clock)
  }

  /**
   * The headers that eth_getBlockByNumber and eth_getBlockByHash answer, in order: each of the number and hash that was
   * asked for; null where no endpoint has it, or none gives it right. A header that does not hash to itself is taken
   * when those of the chain never do, or when `anyForm` leaves that to the caller.
   */
  async headers(
    calls: readonly RpcCall[],
    { second = false, anyForm = false } = {},
  ): Promise<(CheckedHeader | null)[]> {
    const found = new Map<RpcCall, CheckedHeader>()
    let lacking: readonly RpcCall[] = calls
    let falsehood: string | undefined
    for (let attempt = 0; lacking.length && attempt < ATTEMPTS; attempt++) {
      const { answer, distrust } = await this.rpc.batch<FullHeader | null>(lacking, {
        second: second !== (attempt % 2 === 1),
      })
      falsehood = undefined
      for (const [i, call] of lacking.entries()) {
        const checked = answer[i] ? this.checked(call, answer[i], anyForm) : undefined
        if (typeof checked === 'string') falsehood = checked
        else if (checked) found.set(call, checked)
      }
      if (falsehood) distrust(falsehood)
      // What one lacks, another may have.
      else if (this.rpc.size === 1 || attempt > 0) break
      lacking = lacking.filter((call) => !found.has(call))
    }
    if (lacking.length && falsehood) this.doubt?.contradicted(falsehood)
    return calls.map((call) => found.get(call) ?? null)
  }

  /** The header, or why it is none. */
  private checked({ method, params }: RpcCall, header: FullHeader, anyForm: boolean): CheckedHeader | string {
    const asked = params[0] as string
    const number = Number(header.number)
    if (
      typeof header.hash !== 'string' ||
      typeof header.parentHash !== 'string' ||
      !Number.isSafeInteger(number)
    )
      return 'an answer is no header'
    if (
      method === 'eth_getBlockByHash' ? header.hash !== asked : asked !== 'latest' && number !== Number(asked)
    )
      return `asked for block ${asked}, the node answered block ${number} (${header.hash})`
    const stands = hashesToItself(header)
    if (stands) this.headerForm.succeeded()
    else if (!anyForm && this.headerForm.expected())
      return `the header of block ${number} does not hash to its hash`
    return { header, stands }
  }

  /**
   * Our logs of a block: none where its bloom filter rules them out; those of its receipts where they hash to the header's
   * root; else what two endpoints agree on, or the only one says. Null when they cannot be had now. `receiptByReceipt`: where
   * no endpoint gives the receipts of a whole block.
   */
  async logs(
    { header, stands }: CheckedHeader,
    { second = false, receiptByReceipt = false } = {},
  ): Promise<CheckedLogs | null> {
    if (stands && !this.mayHold(header.logsBloom))
      return { logs: [], standing: 'proven', contradicted: false, calls: 0 }
    const receipts = await this.receipts(header, second, receiptByReceipt)
    const { wrong } = receipts
    let { calls } = receipts
    if (receipts.proven && stands) {
      this.awaited.delete(header.hash)
      return { logs: this.ours(header, receipts.proven), standing: 'proven', contradicted: false, calls }
    }
    if (!receipts.proven && !wrong.length && !receipts.refused && this.mayStillCome(header.hash)) return null

    const contradicted = wrong.length > 0 && this.receiptsForm.expected()
    if (contradicted) {
      const reason = `the receipts of block ${Number(header.number)} do not hash to its receiptsRoot`
      for (const { distrust } of wrong) distrust(reason)
      this.doubt?.contradicted(reason)
    }
    const told: Answered<RpcLog[]>[] = []
    const questions = this.filters.map((filter) => ({
      method: 'eth_getLogs',
      params: [{ blockHash: header.hash, ...logQuery(filter) }],
    }))
    for await (const opinion of this.rpc.each<RpcLog[]>(questions, { second })) {
      calls += questions.length
      const logs = 'answer' in opinion ? this.ofThisBlock(opinion.answer.flat(), header) : undefined
      if (!logs || !('answer' in opinion)) continue
      if (told.some(({ answer }) => isSame(answer, logs))) {
        const reason = `others give other logs of block ${Number(header.number)}`
        for (const { answer, distrust } of told) if (!isSame(answer, logs)) distrust(reason)
        return { logs, standing: 'agreed', contradicted, calls }
      }
      told.push({ answer: logs, distrust: opinion.distrust })
    }
    if (told.length > 1) {
      this.doubt?.contradicted(`endpoints give different logs of block ${Number(header.number)}`)
      return null
    }
    // The other one may only be resting.
    if (this.rpc.size > 1 && this.mayStillCome(`${header.hash} twice`)) return null
    const list = receipts.proven ?? wrong[0]?.answer[0]
    const logs = told[0]?.answer ?? (list && this.ours(header, list))
    return logs ? { logs, standing: 'told', contradicted, calls } : null
  }

  /** Receipts of which it can be said that they are this block's: `proven` hash to its root, `wrong` do not. */
  private async receipts(header: FullHeader, second: boolean, receiptByReceipt: boolean) {
    const wrong: Answered<RpcReceipt[][]>[] = []
    let refused = false
    let calls = 0
    for await (const opinion of this.rpc.each<RpcReceipt[] | null>(
      [{ method: 'eth_getBlockReceipts', params: [hexNumber(Number(header.number))] }],
      { second },
    )) {
      calls++
      if ('refusal' in opinion) {
        refused = true
        continue
      }
      const [list] = opinion.answer
      if (!areOfBlock(list, header)) continue
      if (await this.hashToRoot(header, list)) return { proven: list, wrong, refused, calls }
      wrong.push({ answer: [list], distrust: opinion.distrust })
    }
    if (receiptByReceipt && wrong.length === 0) {
      const questions = header.transactions.map((hash) => ({
        method: 'eth_getTransactionReceipt',
        params: [hash],
      }))
      calls += questions.length
      const single = await this.rpc.batch<RpcReceipt | null>(questions, { second }).catch((error: Error) => {
        if (error instanceof RpcError) return undefined
        throw error
      })
      if (!single) refused = true
      else if (areOfBlock(single.answer, header)) {
        if (await this.hashToRoot(header, single.answer))
          return { proven: single.answer, wrong, refused, calls }
        wrong.push({ answer: [single.answer], distrust: single.distrust })
      }
    }
    return { proven: undefined, wrong, refused, calls }
  }

  private async hashToRoot(header: FullHeader, receipts: RpcReceipt[]): Promise<boolean> {
    // A receipt without what is hashed is no receipt of this block either.
    const root = await receiptsRoot(receipts).catch(() => undefined)
    if (root !== header.receiptsRoot) return false
    this.receiptsForm.succeeded()
    return true
  }

  private ours(header: FullHeader, receipts: readonly RpcReceipt[]): RpcLog[] {
    return logsOf(header, receipts).filter(this.isOurs)
  }

  private ofThisBlock(logs: RpcLog[], header: FullHeader): RpcLog[] | undefined {
    try {
      return ofBlock(uniqueLogs(logs), header).filter(this.isOurs)
    } catch (error) {
      if (error instanceof ContradictionError) return undefined
      throw error
    }
  }

  /** A node that has a block may not have all of it yet. */
  private mayStillCome(what: string): boolean {
    const since = this.awaited.get(what) ?? this.clock()
    this.awaited.set(what, since)
    if (this.awaited.size > BLOCKS_AWAITED) this.awaited.delete(this.awaited.keys().next().value!)
    return this.clock() - since < PATIENCE_MS
  }
}

/** Whether the headers, or the receipts, of a chain have a form that is known here: they have hashed to what they should lately. */
class Form {
  private since: number

  constructor(private readonly clock: () => number) {
    this.since = clock()
  }

  succeeded(): void {
    this.since = this.clock()
  }

  expected(): boolean {
    return this.clock() - this.since < FORM_PATIENCE_MS
  }
}

/** eth_getBlockByHash, as RpcCall. */
export function headerByHash(hash: string): RpcCall {
  return { method: 'eth_getBlockByHash', params: [hash, false] }
}

function areOfBlock(
  receipts: (RpcReceipt | null)[] | null | undefined,
  header: FullHeader,
): receipts is RpcReceipt[] {
  return Array.isArray(receipts) && receipts.every((receipt) => receipt?.blockHash === header.hash)
}

function isSame(some: readonly RpcLog[], others: readonly RpcLog[]): boolean {
  const told = (logs: readonly RpcLog[]) =>
    JSON.stringify(
      logs.map((log) => [
        Number(log.logIndex),
        log.transactionHash,
        log.address.toLowerCase(),
        log.topics,
        log.data,
      ]),
    )
  return told(some) === told(others)
}
