import path from 'node:path'
import { Semaphore, busyWith } from '../../http/semaphore'
import type { Work } from '../../http/work'
import type { RecordResult } from '../../store'
import { Workers, workerErrors, type WorkerLimits } from '../../http/workers'
import type { Beginning } from './flatgeobuf'
import type { GeoParquetVersion, RowGroupNote } from './geoparquet'
import { FLATGEOBUF_MAGIC, PARQUET_MAGIC } from './magic'
import { DiskBudget, Spool } from './spool'
import type * as worker from './worker'
import type { Run } from './worker'
import type { ColumnarKind } from '../../http/accept'

/**
 * Files of records in spatial order: along a Hilbert curve over the world, records without a geometry last.
 * All records are read first, page by page. Each page is sorted (a run) and spooled. Then the runs are
 * merged.
 */

/**
 * Maximum number of files in progress, in total and per client: each holds about 50 bytes per record in
 * memory. Further files wait until a slot is free; exports.ts ends those that are read too slowly.
 */
const FILES = { all: 4, each: 1, waiting: 16, waitingEach: 1, waitMs: 15_000 }
const LIMITS: WorkerLimits = {
  slots: { all: 2, each: 1, waiting: 64, waitingEach: 16, waitMs: 60_000 },
  // Next to a busy event loop, a task may take ten times its processor time.
  taskMs: 120_000,
  // Two threads that sort pages without a pause would take most of two processors from the event loop, which
  // serves all clients. While the event loop has work, the threads get a tenth of its weight.
  niceness: 10,
  ...workerErrors(
    'Too many exports in spatial order are queued.',
    'Sorting these records took too long. Choose csv, ndjson or geojson, or set a limit.',
  ),
}
/** Files of one page have workers of their own, so that their short tasks do not wait behind long files. */
const LIMITS_OF_SMALL: WorkerLimits = { ...LIMITS, niceness: 0, slots: { ...LIMITS.slots, all: 1 } }
/** A row group ends at whichever limit is reached first. Readers hold a whole row group in memory. */
const GROUP_RECORDS = 10_000
const GROUP_BYTES = 16_000_000
const CHUNK_BYTES = 262_144
/** Bytes read ahead for all runs together while they are merged, and the minimum and maximum for one run. */
const MERGE_BYTES = 16_777_216
const [LEAST_READ, MOST_READ] = [8_192, 262_144]

export class ColumnarFiles {
  private readonly workers: Workers
  private readonly workersOfSmall: Workers
  private readonly slots = new Semaphore(
    FILES,
    busyWith(
      'Your previous export in spatial order is still running. Retry after it has finished, or ' +
        'choose a format that is not sorted.',
      `${FILES.all} exports in spatial order are running. Formats that are not sorted are available.`,
    ),
  )
  private readonly budget: DiskBudget

  /**
   * @param diskBytes maximum bytes of temporary files, of all exports together
   * @param workerFile default: worker.js in the same folder
   */
  constructor(diskBytes: number, workerFile = path.join(__dirname, 'worker.js')) {
    this.workers = new Workers(workerFile, LIMITS)
    this.workersOfSmall = new Workers(workerFile, LIMITS_OF_SMALL)
    this.budget = new DiskBudget(diskBytes)
  }

  async close(): Promise<void> {
    await Promise.all([this.workers.close(), this.workersOfSmall.close()])
  }

  get isWaitedFor(): boolean {
    return this.slots.load.waiting > 0
  }

  /**
   * Opens a file to fill, once a slot is free. The caller must close it.
   * @throws UnavailableError if too many files wait
   * @throws RecordsError if the client has a file in progress already
   */
  async begin(name: ColumnarKind, work: Work): Promise<ColumnarFile> {
    return this.open(name, work, this.workers, await this.slots.acquire(work.client, work))
  }

  /** Opens a file for one page, which needs no slot. */
  small(name: ColumnarKind, work: Work): ColumnarFile {
    return this.open(name, work, this.workersOfSmall, () => {})
  }

  private open(name: ColumnarKind, work: Work, workers: Workers, release: () => void): ColumnarFile {
    const Kind =
      name === 'flatgeobuf' ? FlatGeobufFile : name === 'geoparquet2' ? GeoParquet2File : GeoParquetFile
    return new Kind(new Spool(this.budget), workers, work, release)
  }
}

type Tasks = typeof worker

/** File in progress: filled page by page, then read once. */
export abstract class ColumnarFile {
  /** First bytes of the file, which do not depend on its records. */
  abstract readonly magic: Uint8Array
  /** Byte that may follow `magic` any number of times; undefined if the format has none. */
  abstract readonly padding: number | undefined
  /** Name of the task that turns rows into a run. */
  protected abstract readonly taskOfPage: 'features' | 'lines'
  protected runs: (Omit<Run, 'bytes'> & { start: number })[] = []

  constructor(
    protected readonly spool: Spool,
    private readonly workers: Workers,
    private readonly work: Work,
    private readonly release: () => void,
  ) {}

  /** Adds a page of rows. Throws an UnavailableError if no space is left. */
  async add(rows: readonly RecordResult[]): Promise<void> {
    if (rows.length === 0) return
    const page = rows.map(({ text, geometry }) => ({ text, geometry }))
    const { bytes, ...run } = await this.task(this.taskOfPage, page)
    const start = this.spool.length
    await this.spool.append(bytes)
    this.runs.push({ ...run, start })
  }

  /**
   * Yields the bytes that follow `magic`.
   * @param sent number of bytes that precede them
   */
  abstract rest(sent: number): AsyncGenerator<Uint8Array>

  async close(): Promise<void> {
    this.runs = []
    this.release()
    await this.spool.close()
  }

  protected task<Name extends keyof Tasks>(
    name: Name,
    input: Parameters<Tasks[Name]>[0],
    transfer?: readonly ArrayBuffer[],
  ): Promise<ReturnType<Tasks[Name]>> {
    return this.workers.run(name, input, this.work, transfer)
  }

  protected order(): Promise<Uint32Array> {
    return this.task(
      'merged',
      this.runs.map(({ keys }) => keys),
    )
  }

  /**
   * Yields the items of all runs in order, in batches of at most `maxBytes` bytes and `maxItems` items. A
   * larger item is a batch of its own.
   */
  protected async *batches(
    order: Uint32Array,
    maxBytes: number,
    maxItems = Infinity,
  ): AsyncGenerator<{ bytes: Uint8Array; ends: Uint32Array }> {
    const readBytes = Math.max(LEAST_READ, Math.min(MOST_READ, Math.floor(MERGE_BYTES / this.runs.length)))
    const readers = this.runs.map(({ start, sizes }) => new RunReader(this.spool, start, sizes, readBytes))
    let bytes = new Uint8Array(maxBytes)
    let ends: number[] = []
    let used = 0
    for (const run of order) {
      const reader = readers[run]!
      const size = reader.nextSize
      if (ends.length > 0 && (used + size > maxBytes || ends.length >= maxItems)) {
        yield { bytes: bytes.subarray(0, used), ends: Uint32Array.from(ends) }
        bytes = new Uint8Array(maxBytes)
        ends = []
        used = 0
      }
      if (size > bytes.length) bytes = new Uint8Array(size)
      if (!reader.isLoaded) await reader.load()
      reader.take(bytes, used)
      used += size
      ends.push(used)
    }
    if (ends.length > 0) yield { bytes: bytes.subarray(0, used), ends: Uint32Array.from(ends) }
  }
}

class RunReader {
  private buffer = new Uint8Array(0)
  private at = 0
  private item = 0
  private end: number

  /** @param next offset of the first item in the spool */
  constructor(
    private readonly spool: Spool,
    private next: number,
    private readonly sizes: Uint32Array,
    private readonly readBytes: number,
  ) {
    this.end = next + sizes.reduce((sum, size) => sum + size, 0)
  }

  get nextSize(): number {
    return this.sizes[this.item]!
  }

  /** True if the next item is in memory. */
  get isLoaded(): boolean {
    return this.at + this.nextSize <= this.buffer.length
  }

  async load(): Promise<void> {
    const left = this.buffer.subarray(this.at)
    const more = Math.min(Math.max(this.readBytes, this.nextSize) - left.length, this.end - this.next)
    const buffer = new Uint8Array(left.length + more)
    buffer.set(left)
    await this.spool.read(buffer.subarray(left.length), this.next)
    this.next += more
    this.buffer = buffer
    this.at = 0
  }

  take(into: Uint8Array, at: number): void {
    const size = this.nextSize
    into.set(this.buffer.subarray(this.at, this.at + size), at)
    this.at += size
    this.item++
  }
}

class FlatGeobufFile extends ColumnarFile {
  override readonly magic = FLATGEOBUF_MAGIC
  override readonly padding = undefined
  protected override readonly taskOfPage = 'features'

  override async *rest(): AsyncGenerator<Uint8Array> {
    const order = await this.order()
    const placed = this.runs.reduce((sum, run) => sum + run.placed, 0)
    const high = this.runs.reduce((sum, run) => sum + run.high, 0)
    const { header, index }: Beginning = await this.task(
      'beginning',
      {
        order,
        runs: this.runs.map(({ sizes, bounds }) => ({ sizes, bounds })),
        hasZ: placed > 0 && high === placed,
      },
      // Bounds take most of the file's memory, so they are transferred instead of copied.
      this.runs.map(({ bounds }) => bounds.buffer as ArrayBuffer),
    )
    yield header
    for (let at = 0; at < index.length; at += CHUNK_BYTES) yield index.subarray(at, at + CHUNK_BYTES)
    for await (const { bytes } of this.batches(order, CHUNK_BYTES)) yield bytes
  }
}

class GeoParquetFile extends ColumnarFile {
  override readonly magic = PARQUET_MAGIC
  // The footer has the offsets of the row groups, so bytes between them have no meaning.
  override readonly padding = 0
  protected override readonly taskOfPage = 'lines'
  protected readonly version: GeoParquetVersion = 1

  override async *rest(sent: number): AsyncGenerator<Uint8Array> {
    const { version } = this
    let base = sent
    const notes: RowGroupNote[] = []
    for await (const { bytes: lines, ends } of this.batches(await this.order(), GROUP_BYTES, GROUP_RECORDS)) {
      const { bytes, note } = await this.task('group', { bytes: lines, ends, base, version }, [
        lines.buffer as ArrayBuffer,
      ])
      notes.push(note)
      for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES)
      base += bytes.length
    }
    yield await this.task('footer', { notes, base, version })
  }
}

class GeoParquet2File extends GeoParquetFile {
  protected override readonly version = 2
}
