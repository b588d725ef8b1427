import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientOf } from './limits'
import { RecordsProblem, UnavailableError } from './problems'
import type { RecordFormat } from './record-formats'
import type { RecordSearch, Records } from './search'
import type { RecordRow } from './store-records'

/** Exports under way at once: each holds a page of records in memory, and none a connection or a transaction while its client reads. */
const EXPORTS_AT_ONCE = 16
const EXPORTS_OF_CLIENT = 2
/** Of them, those that read from the database at this moment: lists have the other connections. */
const READS_AT_ONCE = 2
const RETRY_AFTER_SECONDS = 5
/**
 * While others wait, an export has to be read at this pace, in characters a millisecond (6 MB a minute); who has been behind it for longer
 * than the grace, or reads for longer than an hour, makes room. Milliseconds.
 */
const LEAST_PACE = 100
const GRACE_MS = 60_000
const MAX_AGE_MS = 3_600_000
/** Rows that are written in one go: some 3 ms. */
const SLICE = 200

/** One that is under way. Times in milliseconds, of the clock. */
interface Export {
  readonly began: number
  /** From when on it is behind the least pace. */
  behindAt: number
  /** Resets its connection. */
  readonly breakOff: () => void
  /** Counts it out, once. */
  readonly leave: () => void
}

/**
 * Answers of any length, written as the client takes them. What fails before the first record is an error as any other; what fails later
 * resets the connection, so that no cut file passes for a whole one, whatever proxies lie between.
 */
export class RecordExports {
  private readonly open = new Set<Export>()
  private readonly openByClient = new Map<string, number>()
  private reading = 0
  private readonly waiting: (() => void)[] = []

  /** @param clock milliseconds */
  constructor(
    private readonly records: Records,
    private readonly clock: () => number,
  ) {}

  /** Breaks off all that are under way: they would outlast any stop. */
  stop(): void {
    for (const { breakOff } of this.open) breakOff()
  }

  async send(
    request: FastifyRequest,
    reply: FastifyReply,
    search: RecordSearch,
    format: RecordFormat,
  ): Promise<FastifyReply> {
    // Reading it all to throw it away is what Fastify would do.
    if (request.method === 'HEAD')
      return reply.type(format.type).header('content-disposition', format.file).send(Readable.from([]))
    const breakOff = () => void request.raw.socket.resetAndDestroy()
    const own = this.enter(reply, clientOf(request), breakOff)
    const pages = this.records.pages(search)
    try {
      const first = await this.read(pages, own)
      // The client left, or was told that this took too long.
      if (reply.sent || reply.raw.headersSent || reply.raw.destroyed) {
        await pages.return(undefined)
        own.leave()
        return reply
      }
      const stream = Readable.from(this.write(first, pages, format, own))
      stream.once('close', own.leave)
      return reply.type(format.type).header('content-disposition', format.file).send(stream)
    } catch (error) {
      own.leave()
      throw error
    }
  }

  private async *write(
    first: IteratorResult<RecordRow[]>,
    pages: AsyncGenerator<RecordRow[]>,
    format: RecordFormat,
    own: Export,
  ): AsyncGenerator<string> {
    try {
      yield format.head
      let written = false
      for (let page = first; !page.done; page = await this.read(pages, own))
        for (let at = 0; at < page.value.length; at += SLICE) {
          const text = (written ? format.separator : '') + format.write(page.value.slice(at, at + SLICE))
          yield text
          written = true
          // The client wants more: it has taken this, but for what lies in buffers.
          this.credit(own, text.length / LEAST_PACE)
          // Others' turn: a client that takes it as fast as it comes would let nobody in between.
          await setImmediate()
        }
      yield format.tail
    } catch (error) {
      own.breakOff()
      throw error
    } finally {
      await pages.return(undefined)
    }
  }

  private async read(pages: AsyncGenerator<RecordRow[]>, own: Export): Promise<IteratorResult<RecordRow[]>> {
    const asked = this.clock()
    if (this.reading >= READS_AT_ONCE) await new Promise<void>((resolve) => this.waiting.push(resolve))
    else this.reading++
    try {
      return await pages.next()
    } finally {
      // The client waited for us.
      this.credit(own, this.clock() - asked)
      // The turn is handed on, or given back.
      const next = this.waiting.shift()
      if (next) next()
      else this.reading--
    }
  }

  /** Time that an export has won; no more than the grace is saved up, nor owed. */
  private credit(own: Export, milliseconds: number): void {
    const now = this.clock()
    own.behindAt = Math.min(Math.max(own.behindAt, now - GRACE_MS) + milliseconds, now + GRACE_MS)
  }

  /** Counts one in. Where there is no room, the one that is furthest behind makes it. */
  private enter(reply: FastifyReply, client: string, breakOff: () => void): Export {
    const ofClient = this.openByClient.get(client) ?? 0
    if (ofClient >= EXPORTS_OF_CLIENT) {
      reply.header('retry-after', RETRY_AFTER_SECONDS)
      throw new RecordsProblem(
        'Rate limit exceeded',
        `${EXPORTS_OF_CLIENT} exports of yours are under way already; wait for one to end, or ask for pages (limit up to 1000)`,
      )
    }
    const now = this.clock()
    if (this.open.size >= EXPORTS_AT_ONCE) {
      const endOf = ({ began, behindAt }: Export) => Math.min(behindAt, began + MAX_AGE_MS)
      const [last] = [...this.open].sort((a, b) => endOf(a) - endOf(b))
      if (endOf(last!) >= now)
        throw new UnavailableError('Too many exports are under way; pages (limit up to 1000) can be had.')
      last!.leave()
      last!.breakOff()
    }
    const entered: Export = {
      ...{ began: now, behindAt: now + GRACE_MS, breakOff },
      leave: () => {
        if (!this.open.delete(entered)) return
        const others = this.openByClient.get(client)! - 1
        if (others > 0) this.openByClient.set(client, others)
        else this.openByClient.delete(client)
      },
    }
    this.open.add(entered)
    this.openByClient.set(client, ofClient + 1)
    return entered
  }
}
