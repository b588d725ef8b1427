// SPDX-License-Identifier: MIT
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { open, readdir, rename } from 'node:fs/promises'
import { uptime } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  TlogError,
  formatSignerKey,
  generateSignerKey,
  parseCheckpoint,
  parseSignerKey,
  signatureBy,
  type Checkpoint,
  type SignerKey,
  type VerifierKey,
} from '../../../src/tlog'

/** Error if the witness cannot use its folder, or was called with unsupported arguments. */
export class UsageError extends Error {
  override name = 'UsageError'
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code

/** Writes a file and its directory entry durably, so that both survive a power failure. */
async function writeDurably(file: string, text: string, flags: 'w' | 'wx', mode = 0o644): Promise<void> {
  const handle = await open(file, flags, mode)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } catch (error) {
    // On a full disk, an empty key, lock or temporary file would stay.
    rmSync(file, { force: true })
    throw error
  } finally {
    await handle.close()
  }
  await syncFolder(path.dirname(file))
}

async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open directories for fsync, and writes their entries itself.
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => {})
  await handle?.close()
}

/** Creates a folder durably, unless it exists. */
async function createFolder(folder: string, mode?: number): Promise<void> {
  mkdirSync(folder, { recursive: true, mode })
  await syncFolder(path.dirname(folder))
}

/** Folder of a witness: key, last checkpoints and evidence. Only one process can use it at a time. */
export class Folder {
  readonly #checkpoints: string
  readonly #evidence: string
  readonly #lock: string
  readonly #id = randomUUID()
  /** Content of the lock if this process has claimed the folder. */
  readonly #claim = `${process.pid} ${this.#id}\n`

  constructor(readonly folder: string) {
    this.#checkpoints = path.join(folder, 'checkpoints')
    this.#evidence = path.join(folder, 'evidence')
    this.#lock = path.join(folder, 'lock')
  }

  get #key(): string {
    return path.join(this.folder, 'key')
  }

  /** Creates the folder with a new key. Throws a UsageError if the folder already has one. */
  async create(name: string): Promise<SignerKey> {
    const key = await generateSignerKey(name, 'cosignature').catch((error: unknown) => {
      throw error instanceof TlogError
        ? new UsageError(
            `'${name}' is not the name of a key. Use a URL without a scheme: witness.example.org/w1.`,
          )
        : error
    })
    await createFolder(this.folder, 0o700)
    try {
      await writeDurably(this.#key, `${formatSignerKey(key)}\n`, 'wx', 0o600)
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
      throw new UsageError(
        `${this.#key} exists. A witness keeps its key: choose another folder for another witness.`,
      )
    }
    return key
  }

  async key(): Promise<SignerKey> {
    let text: string
    try {
      text = readFileSync(this.#key, 'utf8')
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error
      throw new UsageError(
        `${this.#key} not found. Create it: geo-witness init <name> --folder ${this.folder}`,
      )
    }
    return parseSignerKey(text.trim())
  }

  /** Claims the folder for this process. Returns a function that releases it. */
  async lock(): Promise<() => void> {
    for (let attempt = 0; ; attempt++)
      try {
        await writeDurably(this.#lock, this.#claim, 'wx')
        return () => {
          if (this.#isClaimed()) rmSync(this.#lock, { force: true })
        }
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error
        const owner = await this.#owner()
        // The id in the lock may be that of this process: in a container, an earlier process may have had the
        // same process id, but so may one that runs in another container. That one stops cosigning (`write`).
        if (attempt > 0 || (owner !== process.pid && isRunning(owner) && !this.#isOfEarlierBoot()))
          throw new UsageError(
            `${this.folder} is in use by process ${owner}. If no witness runs, remove ${this.#lock}.`,
          )
        rmSync(this.#lock, { force: true })
      }
  }

  /** Process id in the lock, 0 if it has none. Waits for a process that has only just created the lock. */
  async #owner(): Promise<number> {
    for (let attempt = 0; ; attempt++) {
      const text = existsSync(this.#lock) ? readFileSync(this.#lock, 'utf8') : '\n'
      if (text.endsWith('\n') || attempt === LOCK_LOOKS) return parseInt(text) || 0
      await pause(LOCK_LOOK_MS)
    }
  }

  /** True if the machine has started since the lock was written: the id may belong to any process now. */
  #isOfEarlierBoot(): boolean {
    const written = statSync(this.#lock, { throwIfNoEntry: false })?.mtimeMs ?? 0
    return written < Date.now() - 1_000 * uptime()
  }

  #isClaimed(): boolean {
    return existsSync(this.#lock) && readFileSync(this.#lock, 'utf8') === this.#claim
  }

  /**
   * Returns the last cosigned checkpoint of each origin, for a process that has claimed the folder. Throws a
   * UsageError if a file is damaged: its checkpoint must have the cosignature of this witness.
   */
  async checkpoints(key: VerifierKey): Promise<Map<string, Checkpoint>> {
    await createFolder(this.#checkpoints)
    // Temporary files of processes that ended while they wrote a checkpoint, or that have lost the folder and
    // still run. Those cannot rename a removed file, so no checkpoint changes after it was read here.
    for (const name of await readdir(this.#checkpoints))
      if (name.endsWith('.new')) rmSync(path.join(this.#checkpoints, name), { force: true })
    const found = new Map<string, Checkpoint>()
    for (const name of await readdir(this.#checkpoints)) {
      if (name.endsWith('.new')) continue
      const file = path.join(this.#checkpoints, name)
      try {
        const checkpoint = parseCheckpoint(readFileSync(file, 'utf8'))
        if (nameOf(checkpoint.origin) !== name) throw new TlogError('origin', 'that of the file name')
        if (!(await signatureBy(checkpoint.note, key)))
          throw new TlogError('checkpoint', `a cosignature by ${key.name}`)
        found.set(checkpoint.origin, checkpoint)
      } catch (error) {
        if (!(error instanceof TlogError)) throw error
        // Without the last checkpoint that it cosigned, the witness could cosign a fork.
        throw new UsageError(
          `${file} is damaged: ${error.message} Restore it from a backup that is not older.`,
        )
      }
    }
    return found
  }

  /**
   * Replaces the last checkpoint of an origin, durably and atomically. Throws a UsageError, and leaves the
   * checkpoint, if another process has claimed the folder.
   */
  async write(origin: string, note: string): Promise<void> {
    const file = path.join(this.#checkpoints, nameOf(origin))
    const temporary = `${file}.${this.#id}.new`
    await writeDurably(temporary, note, 'w')
    // A process that claims the folder after this check removes the temporary file before it reads the
    // checkpoints (`checkpoints`): it reads the new checkpoint, or the file cannot be renamed.
    if (!this.#isClaimed())
      throw new UsageError(`Another process has claimed ${this.folder}. Stop one of the two.`)
    await rename(temporary, file)
    await syncFolder(this.#checkpoints)
  }

  /**
   * Stores a checkpoint that contradicts the last one. The newest MAX_EVIDENCE of each log and kind stay:
   * - `fork`: both have the same size, so that they prove the fork
   * - `proof`: the proof did not verify. Anyone can send the checkpoint of an honest log with another proof.
   */
  async keepEvidence(origin: string, kind: 'fork' | 'proof', text: string): Promise<void> {
    await createFolder(this.#evidence)
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 16)
    const prefix = `${nameOf(origin)}-${kind}-`
    const file = path.join(this.#evidence, `${prefix}${digest}`)
    // A part of a text must not count as evidence.
    const temporary = path.join(this.#evidence, `new-${digest}`)
    await writeDurably(temporary, text, 'w')
    await rename(temporary, file)
    await syncFolder(this.#evidence)
    const stored = (await readdir(this.#evidence))
      .filter((name) => name.startsWith(prefix))
      .map((name) => path.join(this.#evidence, name))
      .map((file) => ({ file, time: statSync(file).mtimeMs }))
      .sort((a, b) => b.time - a.time)
    for (const { file } of stored.slice(MAX_EVIDENCE)) rmSync(file)
  }
}

/** Maximum number of stored contradictions per log and kind. One is enough to prove a fork. */
const MAX_EVIDENCE = 100
/** Number of times, and interval in milliseconds, at which a lock without a process id is read again. */
const LOCK_LOOKS = 10
const LOCK_LOOK_MS = 100

/** File name for an origin, which can contain any character. */
const nameOf = (origin: string) => createHash('sha256').update(origin).digest('hex')

function isRunning(pid: number): boolean {
  try {
    return Number.isInteger(pid) && pid > 0 && process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}
