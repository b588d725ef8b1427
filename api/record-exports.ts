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
/** Rows that are written in one go: some 3 ms. */
const SLICE = 200

/**
 * Answers of any length, written as the client takes them. What fails before the first record is an error as any other; what fails later
 * resets the connection, so that no cut file passes for a whole one, whatever proxies lie between.
 */
export class RecordExports {
  /** What breaks each one off. */
  private readonly open = new Set<() => void>()
  private readonly openByClient = new Map<string, number>()
  private reading = 0
  private readonly waiting: (() => void)[] = []

  constructor(private readonly records: Records) {}

  /** Breaks off all that are under way: they would outlast any stop. */
  stop(): void {
    for (const breakOff of this.open) breakOff()
  }

  async send(request: FastifyRequest, reply: FastifyReply, search: RecordSearch, format: RecordFormat): Promise<FastifyReply> {
    // Reading it all to throw it away is what Fastify would do.
    if (request.method === 'HEAD') return reply.type(format.type).header('content-disposition', format.file).send(Readable.from([]))
    const breakOff = () => void request.raw.socket.resetAndDestroy()
    const leave = this.enter(reply, clientOf(request), breakOff)
    const pages = this.records.pages(search)
    try {
      const first = await this.read(pages)
      // The client left, or was told that this took too long.
      if (reply.sent || reply.raw.headersSent || reply.raw.destroyed) {
        await pages.return(undefined)
        leave()
        return reply
      }
      const stream = Readable.from(this.write(first, pages, format, breakOff))
      stream.once('close', leave)
      return reply.type(format.type).header('content-disposition', format.file).send(stream)
    } catch (error) {
      leave()
      throw error
    }
  }

  private async *write(first: IteratorResult<RecordRow[]>, pages: AsyncGenerator<RecordRow[]>, format: RecordFormat, onError: () => void): AsyncGenerator<string> {
    try {
      yield format.head
      let written = false
      for (let page = first; !page.done; page = await this.read(pages))
        for (let at = 0; at < page.value.length; at += SLICE) {
          yield (written ? format.separator : '') + format.write(page.value.slice(at, at + SLICE))
          written = true
          // Others' turn: a client that takes it as fast as it comes would let nobody in between.
          await setImmediate()
        }
      yield format.tail
    } catch (error) {
      onError()
      throw error
    } finally {
      await pages.return(undefined)
    }
  }

  private async read(pages: AsyncGenerator<RecordRow[]>): Promise<IteratorResult<RecordRow[]>> {
    if (this.reading >= READS_AT_ONCE) await new Promise<void>((resolve) => this.waiting.push(resolve))
    else this.reading++
    try {
      return await pages.next()
    } finally {
      // The turn is handed on, or given back.
      const next = this.waiting.shift()
      if (next) next()
      else this.reading--
    }
  }

  /** Counts one in; what it returns counts it out again, once. */
  private enter(reply: FastifyReply, client: string, breakOff: () => void): () => void {
    const ofClient = this.openByClient.get(client) ?? 0
    if (ofClient >= EXPORTS_OF_CLIENT) {
      reply.header('retry-after', RETRY_AFTER_SECONDS)
      throw new RecordsProblem('Rate limit exceeded', `${EXPORTS_OF_CLIENT} exports of yours are under way already; wait for one to end, or ask for pages (limit up to 1000)`)
    }
    if (this.open.size >= EXPORTS_AT_ONCE) throw new UnavailableError('Too many exports are under way; pages (limit up to 1000) can be had.')
    this.open.add(breakOff)
    this.openByClient.set(client, ofClient + 1)
    return () => {
      if (!this.open.delete(breakOff)) return
      const others = this.openByClient.get(client)! - 1
      if (others > 0) this.openByClient.set(client, others)
      else this.openByClient.delete(client)
    }
  }
}
