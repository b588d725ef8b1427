import { randomUUID } from 'node:crypto'
import { open, unlink, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { UnavailableError } from '../../http/problems'

/** Bytes up to which a spool stays in memory. */
const IN_MEMORY = 4_194_304

/** Limits the bytes of temporary files in use at the same time. */
export class DiskBudget {
  private used = 0

  constructor(private readonly bytes: number) {}

  /** Reserves bytes. Throws an UnavailableError if the limit is exceeded. */
  take(bytes: number): void {
    if (this.used + bytes > this.bytes)
      throw new UnavailableError(
        `Exports in spatial order have filled their ${Math.round(this.bytes / 1_048_576)} MB of ` +
          'temporary files. Narrow this export, for example by chain or time, or choose another format.',
      )
    this.used += bytes
  }

  give(bytes: number): void {
    this.used -= bytes
  }
}

/**
 * Bytes that are written once and read at any offset: in memory or, beyond IN_MEMORY, in a temporary file.
 * The file is unlinked as soon as it is open, so that it disappears with this process, however the process
 * ends.
 */
export class Spool {
  private memory: Uint8Array | undefined = new Uint8Array(0)
  private file: FileHandle | undefined
  private onDisk = 0
  length = 0

  constructor(private readonly budget: DiskBudget) {}

  /** Appends bytes. Throws an UnavailableError if the disk is full or the budget is used up. */
  async append(bytes: Uint8Array): Promise<void> {
    if (this.memory && this.length + bytes.length <= IN_MEMORY) {
      this.memory = Buffer.concat([this.memory, bytes])
    } else {
      if (this.memory) await this.write(this.memory)
      this.memory = undefined
      await this.write(bytes)
    }
    this.length += bytes.length
  }

  private async write(bytes: Uint8Array): Promise<void> {
    this.budget.take(bytes.length)
    const at = this.onDisk
    this.onDisk += bytes.length
    try {
      this.file ??= await namelessFile()
      for (let from = 0; from < bytes.length;)
        from += (await this.file.write(bytes, from, bytes.length - from, at + from)).bytesWritten
    } catch (error) {
      throw new UnavailableError(
        `The temporary file for sorting this export could not be written in ${tmpdir()} ` +
          `(${(error as NodeJS.ErrnoException).code}). Formats that are not sorted need no file.`,
        { cause: error },
      )
    }
  }

  async read(into: Uint8Array, at: number): Promise<void> {
    if (this.memory) return into.set(this.memory.subarray(at, at + into.length))
    for (let from = 0; from < into.length;) {
      const { bytesRead } = await this.file!.read(into, from, into.length - from, at + from)
      if (bytesRead === 0) throw new Error('A temporary file is shorter than the data written to it')
      from += bytesRead
    }
  }

  async close(): Promise<void> {
    const { file } = this
    this.file = undefined
    this.memory = undefined
    this.budget.give(this.onDisk)
    this.onDisk = 0
    await file?.close()
  }
}

async function namelessFile(): Promise<FileHandle> {
  const name = path.join(tmpdir(), `geo-export-${randomUUID()}`)
  const file = await open(name, 'wx+', 0o600)
  await unlink(name)
  return file
}
