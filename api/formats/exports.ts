import { Readable } from 'node:stream'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isAnswered } from '../http/guard'
import { RecordsError, UnavailableError } from '../http/problems'
import { Semaphore } from '../http/semaphore'
import { workOf, type Work } from '../http/work'
import type { ColumnarFile, ColumnarFiles } from './columnar/file'
import type { ColumnarFormat, TextFormat } from './formats'
import { Readers, type Reader } from './readers'
import type { RecordResult } from '../store'
import type { ColumnarKind } from '../http/accept'

const EXPORTS_OF_CLIENT = 2
/**
 * Exports that read from the database at the same time; lists use the other connections. As many more may
 * read their first two pages, so that a short export does not wait for long ones. The queue has no limit,
 * because an export that lost its slot may still wait for its read.
 */
const READS = { all: 2, each: 1 }
const RETRY_AFTER_SECONDS = 5
/** Milliseconds between two checks whether an export must make room for a queued file. */
const LOOK_MS = 250
/** Rows formatted in one go: about 3 ms of the event loop. */
const SLICE = 200
/**
 * Milliseconds between two bytes of the file's beginning that are sent while a file in spatial order is
 * filled, because nothing else can be sent yet. Proxies treat a silence of half a minute as a hang. A failure
 * before the first byte is reported as an ordinary error.
 */
const SIGN_OF_LIFE_MS = 10_000

/** Export in progress. */
interface Export {
  readonly work: Work
  readonly reader: Reader
  /** Releases its slots. Further calls have no effect. */
  readonly leave: () => void
}

/**
 * Streams responses of any length as fast as the client reads. A failure before the first record is reported
 * like any other error. A later failure resets the connection, so that no client, through any proxy, mistakes
 * the truncated file for a complete one.
 */
export class Exports {
  private readonly readers: Readers
  private readonly clients = new Semaphore({ all: Infinity, each: EXPORTS_OF_CLIENT })
  private readonly beginnings = new Semaphore(READS)
  private readonly reads = new Semaphore(READS)

  /**
   * @param elapsed monotonic milliseconds
   * @param signOfLifeMs shorter in tests
   */
  constructor(
    private readonly columnarFiles: ColumnarFiles,
    elapsed: () => number,
    private readonly signOfLifeMs = SIGN_OF_LIFE_MS,
  ) {
    this.readers = new Readers(elapsed)
  }

  /** Resets all exports in progress, because they may last longer than a shutdown allows. */
  stop(): void {
    this.readers.end()
  }

  /** Sends an export. Only rows that are records can be sent in a columnar format. */
  async send<Row = RecordResult>(
    request: FastifyRequest,
    reply: FastifyReply,
    pages: AsyncGenerator<Row[]>,
    format: TextFormat<Row> | ColumnarFormat,
  ): Promise<FastifyReply> {
    // Otherwise Fastify would run the whole export and drop its body.
    if (request.method === 'HEAD')
      return reply.type(format.type).header('content-disposition', format.file).send(Readable.from([]))
    const breakOff = () => void request.raw.socket.resetAndDestroy()
    const kind = 'columnar' in format ? 'columnar' : 'text'
    const own = this.enter(reply, workOf(request), kind, breakOff)
    try {
      const first = await this.read(pages, own, this.beginnings)
      // The client has disconnected, or got the response that the export took too long.
      if (isAnswered(reply) || reply.raw.destroyed) {
        await pages.return(undefined)
        own.leave()
        return reply
      }
      const stream =
        'columnar' in format
          ? await this.beginColumnar(
              first as IteratorResult<unknown> as IteratorResult<RecordResult[]>,
              pages as AsyncGenerator<unknown> as AsyncGenerator<RecordResult[]>,
              format,
              own,
              reply,
            )
          : this.stream(this.write(first, pages, format, own), own, () => pages.return(undefined))
      if (!stream) return reply
      return reply.type(format.type).header('content-disposition', format.file).send(stream)
    } catch (error) {
      own.leave()
      throw error
    }
  }

  /**
   * Begins a file in spatial order, which is filled before it is sent. Resolves when it is full or a byte
   * must be sent to keep the connection open; undefined if the client no longer waits for it.
   */
  private async beginColumnar(
    first: IteratorResult<RecordResult[]>,
    pages: AsyncGenerator<RecordResult[]>,
    format: ColumnarFormat,
    own: Export,
    reply: FastifyReply,
  ): Promise<Readable | undefined> {
    // A list that ends with its first two pages needs little memory, and therefore no slot.
    const second = first.done ? first : await this.read(pages, own, this.beginnings)
    const file = second.done
      ? this.columnarFiles.small(format.columnar, own.work)
      : await this.begin(format.columnar, own)
    let ended = false
    const isWanted = () => !ended && !reply.raw.destroyed
    const filled = this.fill(file, [first, second], pages, own, isWanted)
    // Prevents an unhandled rejection; every `await` of it still receives the error.
    filled.catch(() => {})
    const end = async () => {
      ended = true
      // A page that is being read or sorted is finished before its file is closed.
      await filled.catch(() => {})
      await file.close()
    }
    try {
      await Promise.race([filled, setTimeout(this.signOfLifeMs, undefined, { ref: false })])
    } catch (error) {
      await end()
      throw error
    }
    if (isAnswered(reply) || !isWanted()) {
      own.leave()
      void end()
      return undefined
    }
    return this.stream(this.writeColumnar(file, filled, own), own, end)
  }

  /**
   * @param end releases what the chunks are made from. A `finally` of their generator would not do it for a
   * stream that is destroyed before its first chunk is read.
   */
  private stream(
    chunks: AsyncGenerator<string | Uint8Array>,
    own: Export,
    end: () => Promise<unknown>,
  ): Readable {
    return Readable.from(chunks).once('close', () => {
      own.leave()
      void end()
    })
  }

  /** Begins a file when a slot is free. Exports that read too slowly make room. */
  private async begin(name: ColumnarKind, { reader, work }: Export): Promise<ColumnarFile> {
    const timer = setInterval(() => {
      if (this.columnarFiles.isWaitedFor) this.readers.makeRoom(true)
    }, LOOK_MS)
    try {
      const file = await reader.queued(() => this.columnarFiles.begin(name, work))
      reader.hasFile = true
      return file
    } finally {
      clearInterval(timer)
    }
  }

  private async fill(
    file: ColumnarFile,
    begun: IteratorResult<RecordResult[]>[],
    pages: AsyncGenerator<RecordResult[]>,
    own: Export,
    isWanted: () => boolean,
  ): Promise<void> {
    // A page is sorted while the next one is read.
    let sorting = Promise.resolve()
    const sorted = () => own.reader.served(() => sorting)
    try {
      const next = async () => begun.shift() ?? (await this.read(pages, own))
      for (let page = await next(); !page.done && isWanted(); page = await next()) {
        await sorted()
        sorting = file.add(page.value)
        // Prevents an unhandled rejection; the error is thrown where `sorting` is awaited.
        sorting.catch(() => {})
      }
      await sorted()
    } finally {
      await sorting.catch(() => {})
      await pages.return(undefined)
    }
  }

  private async *writeColumnar(
    file: ColumnarFile,
    filled: Promise<void>,
    own: Export,
  ): AsyncGenerator<Uint8Array> {
    try {
      let [sent, isFull] = [0, false]
      const full = filled.then(() => (isFull = true))
      // Another wait before the first byte would reset the connection at a failure, without any response.
      await Promise.race([full, setImmediate()])
      while (!isFull) {
        const sign = file.magic[sent] ?? file.padding
        if (sign !== undefined) {
          yield Uint8Array.of(sign)
          sent++
        }
        await Promise.race([full, setTimeout(this.signOfLifeMs, undefined, { ref: false })])
      }
      if (sent < file.magic.length) yield file.magic.subarray(sent)
      for await (const chunk of own.reader.servedEach(file.rest(Math.max(sent, file.magic.length)))) {
        yield chunk
        own.reader.hasRead(chunk.length)
        await setImmediate()
      }
    } catch (error) {
      own.reader.breakOff()
      throw error
    }
  }

  private async *write<Row>(
    first: IteratorResult<Row[]>,
    pages: AsyncGenerator<Row[]>,
    format: TextFormat<Row>,
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
          // The stream requests more data, so the client has read this text, except for the part that is in
          // buffers.
          own.reader.hasRead(text.length)
          // A client that reads as fast as the service writes must not block the event loop.
          await setImmediate()
        }
      yield format.tail
    } catch (error) {
      own.reader.breakOff()
      throw error
    }
  }

  private read<Row>(
    pages: AsyncGenerator<Row[]>,
    own: Export,
    reads = this.reads,
  ): Promise<IteratorResult<Row[]>> {
    return reads.run(own.work, () => own.reader.served(() => pages.next()))
  }

  /** Acquires a slot. If none is free, the most overdue export loses its slot. */
  private enter(reply: FastifyReply, work: Work, kind: 'text' | 'columnar', breakOff: () => void): Export {
    const release = this.clients.tryAcquire(work.client)
    if (!release) {
      reply.header('retry-after', RETRY_AFTER_SECONDS)
      throw new RecordsError(
        'rate-limited',
        `${EXPORTS_OF_CLIENT} of your exports are running. Retry after one of them has finished, or ` +
          'request pages (limit up to 1000).',
      )
    }
    const reader = this.readers.enter(kind, breakOff)
    if (!reader) {
      release()
      throw new UnavailableError('Too many exports are running. Pages (limit up to 1000) are available.')
    }
    const leave = () => {
      this.readers.leave(reader)
      release()
    }
    return { work, reader, leave }
  }
}
