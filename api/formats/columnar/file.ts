import path from 'node:path'
import { Semaphore, busyWith } from '../../http/semaphore'
import type { Work } from '../../http/work'
import type { RecordResult } from '../../store'
import { Workers, workerErrors, type WorkerLimits } from '../../http/workers'
import type { Beginning } from './flatgeobuf'
import type { RowGroupNote } from './geoparquet'
import { FLATGEOBUF_MAGIC, PARQUET_MAGIC } from './magic'
import { DiskBudget, Spool } from './spool'
import type * as worker from './worker'
import type { Run } from './worker'
import type { ColumnarName } from '../../http/accept'

/**
 * Files of records in space order: along a Hilbert curve over the world, records without a geometry last. All
 * records are read first, page by page; each page is sorted (a run) and spooled. Then the runs are merged.
 */

/**
 * Files that are made at once, of all clients and of one: each holds some 50 bytes a record in memory. Others
 * wait until one that is read too slowly is ended (exports.ts).
 */
const FILES = { all: 4, each: 1, waiting: 16, waitingEach: 1, waitMs: 15_000 }
const LIMITS: WorkerLimits = {
  slots: { all: 2, each: 1, waiting: 64, waitingEach: 16, waitMs: 60_000 },
  taskMs: 60_000,
  ...workerErrors('Too many exports in space order wait already.', 'Sorting these records took too long.'),
}
/** Files of one page: their few short tasks do not wait behind those of long files. */
const LIMITS_OF_SMALL: WorkerLimits = { ...LIMITS, slots: { ...LIMITS.slots, all: 1 } }
/** A row group ends with whichever is reached first: the larger it is, the more a reader has to hold. */
const GROUP_RECORDS = 10_000
const GROUP_BYTES = 16_000_000
/** What is sent at once. */
const CHUNK_BYTES = 262_144
/** Of all runs together, while they are merged; and the least and the most of one. */
const MERGE_BYTES = 16_777_216
const [LEAST_READ, MOST_READ] = [8_192, 262_144]

/** Makes columnar files. */
export class ColumnarFiles {
  private readonly workers: Workers
  private readonly workersOfSmall: Workers
  private readonly slots = new Semaphore(
    FILES,
    busyWith(
      'An export of yours in space order is under way already; wait for it, or take a format that is not sorted',
      `${FILES.all} exports in space order are under way; formats that are not sorted are available.`,
    ),
  )
  private readonly budget: DiskBudget

  /**
   * @param diskBytes of temporary files, of all exports together
   * @param workerFile default: the one beside this file
   */
  constructor(diskBytes: number, workerFile = path.join(__dirname, 'worker.js')) {
    this.workers = new Workers(workerFile, LIMITS)
    this.workersOfSmall = new Workers(workerFile, LIMITS_OF_SMALL)
    this.budget = new DiskBudget(diskBytes)
  }

  async close(): Promise<void> {
    await Promise.all([this.workers.close(), this.workersOfSmall.close()])
  }

  /** Whether a client waits for a file to begin. */
  get isWaitedFor(): boolean {
    return this.slots.load.waiting > 0
  }

  /**
   * A file to fill, when it is the client's turn. Close it in the end. Throws an UnavailableError where too
   * many are made, and a RecordsError where the client makes one already.
   */
  async begin(name: ColumnarName, work: Work): Promise<ColumnarFile> {
    return this.open(name, work, this.workers, await this.slots.acquire(work.client, work.signal))
  }

  /** A file of one page, which needs no slot. */
  small(name: ColumnarName, work: Work): ColumnarFile {
    return this.open(name, work, this.workersOfSmall, () => {})
  }

  private open(name: ColumnarName, work: Work, workers: Workers, release: () => void): ColumnarFile {
    const Kind = name === 'geoparquet' ? GeoParquetFile : FlatGeobufFile
    return new Kind(
      new Spool(this.budget),
      ({ name, input, transfer }) => workers.run(name, input, work, transfer),
      release,
    )
  }
}

type Tasks = typeof worker
interface Task {
  name: keyof Tasks
  input: unknown
  transfer?: readonly ArrayBuffer[]
}

/** A file while it is made: filled page by page, then read once. */
export abstract class ColumnarFile {
  /** What the file begins with, whatever its records are. */
  abstract readonly magic: Uint8Array
  /** A byte that may stand after `magic` any number of times; undefined: there is none. */
  abstract readonly padding: number | undefined
  /** Turns rows into a run. */
  protected abstract readonly taskOfPage: 'features' | 'lines'
  protected runs: (Omit<Run, 'bytes'> & { start: number })[] = []

  constructor(
    protected readonly spool: Spool,
    private readonly runTask: (task: Task) => Promise<unknown>,
    private readonly release: () => void,
  ) {}

  /** Throws an UnavailableError where there is no room. */
  async add(rows: readonly RecordResult[]): Promise<void> {
    if (rows.length === 0) return
    const page = rows.map(({ text, geometry }) => ({ text, geometry }))
    const { bytes, ...run } = await this.task(this.taskOfPage, page)
    const start = this.spool.length
    await this.spool.append(bytes)
    this.runs.push({ ...run, start })
  }

  /**
   * What follows `magic`.
   * @param sent bytes that precede it
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
    return this.runTask({ name, input, ...(transfer && { transfer }) }) as Promise<ReturnType<Tasks[Name]>>
  }

  protected order(): Promise<Uint32Array> {
    return this.task(
      'merged',
      this.runs.map(({ keys }) => keys),
    )
  }

  /** The items of all runs in order, in batches of so many bytes and items at most, or of one larger item. */
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

/** Reads the items of a run one after the other. */
class RunReader {
  private buffer = new Uint8Array(0)
  private at = 0
  private item = 0
  private end: number

  /** @param next where the items begin in the spool */
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

  /** Whether the next item is in memory. */
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
      // Most of what the file holds in memory: moved, not copied.
      this.runs.map(({ bounds }) => bounds.buffer as ArrayBuffer),
    )
    yield header
    for (let at = 0; at < index.length; at += CHUNK_BYTES) yield index.subarray(at, at + CHUNK_BYTES)
    for await (const { bytes } of this.batches(order, CHUNK_BYTES)) yield bytes
  }
}

class GeoParquetFile extends ColumnarFile {
  override readonly magic = PARQUET_MAGIC
  // Offsets in the footer say where row groups are: what is between them has no meaning.
  override readonly padding = 0
  protected override readonly taskOfPage = 'lines'

  override async *rest(sent: number): AsyncGenerator<Uint8Array> {
    let base = sent
    const notes: RowGroupNote[] = []
    for await (const { bytes: lines, ends } of this.batches(await this.order(), GROUP_BYTES, GROUP_RECORDS)) {
      const { bytes, note } = await this.task('group', { bytes: lines, ends, base }, [
        lines.buffer as ArrayBuffer,
      ])
      notes.push(note)
      for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES)
      base += bytes.length
    }
    yield await this.task('footer', { notes, base })
  }
}
