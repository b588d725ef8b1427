// SPDX-License-Identifier: MIT
import { randomUUID } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { open, readFile, rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { BatchAnswer } from '@geospatial-attestation/client'
import type { Files } from './context'
import { UsageError } from './exit'
import { createFile } from './files'
import type { landedJson } from './land'
import { jsonLine } from './output'

/**
 * The journal of a batch, which survives a crash: NDJSON, with each entry flushed to disk before the next
 * step. Signed answers are written before they are sent, so that a run that resumes knows which answers may
 * have landed.
 */

export type LandedJson = ReturnType<typeof landedJson>
/** Answers that were signed together, for the lines with these keys. */
export interface Signed {
  id: number
  keys: string[]
  answer: BatchAnswer
  /** in the order of the keys; set once the answers have landed */
  landed?: LandedJson[]
}
type Entry =
  | { journal: 'geo batch'; version: 1 }
  | Omit<Signed, 'landed'>
  | { id: number; landed: LandedJson[] }
  | { dropped: number }

export interface Journal {
  /** Answers that earlier runs signed and did not drop, in order. */
  readonly signed: Signed[]
  /** Adds answers, or replaces the answers of this id after re-signing. Resolves once they are on disk. */
  sign(keys: string[], answer: BatchAnswer, id?: number): Promise<Signed>
  land(id: number, landed: LandedJson[]): Promise<void>
  /** Forgets answers that have not landed and never will. */
  drop(id: number): Promise<void>
  close(): Promise<void>
}

/** Opens the journal of an output file. Throws a UsageError if it is in use, or not a journal. */
export async function openJournal(output: string, at: Files['at']): Promise<Journal> {
  const file = `${output}.journal`
  const lock = `${file}.lock`
  await takeLock(lock, file, at)
  const isOwn = async () => (await ownerOf(at(lock))) === CLAIM
  const release = async () => {
    if (await isOwn()) await rm(at(lock), { force: true })
  }
  const requireOwn = async () => {
    if (!(await isOwn()))
      throw new UsageError(`Another geo batch has taken over '${file}'. Run one of the two at a time.`)
  }
  try {
    const { signed, last, whole } = await read(file, at)
    if (whole === 0 && existsSync(at(output)))
      throw new UsageError(
        `'${output}' exists without its journal '${file}', so the run cannot resume. Name another ` +
          `file with -o, or remove '${output}'.`,
      )
    const handle = await open(at(file), 'a')
    // A process that was killed may have left an incomplete last line, which is removed.
    await handle.truncate(whole)
    const write = async (entry: Entry) => {
      await requireOwn()
      await handle.appendFile(`${jsonLine(entry)}\n`)
      await handle.datasync()
      // A run that takes over after this check reads the entry.
      await requireOwn()
    }
    if (whole === 0) await write({ journal: 'geo batch', version: 1 })
    let next = last + 1
    return {
      signed,
      sign: async (keys, { multiAttestByDelegation: _, ...rest }, id = next++) => {
        // The call is not stored, since it can be rebuilt from the results.
        const answer = rest as BatchAnswer
        await write({ id, keys, answer })
        return { id, keys, answer }
      },
      land: (id, landed) => write({ id, landed }),
      drop: (dropped) => write({ dropped }),
      close: async () => {
        await handle.close()
        await release()
      },
    }
  } catch (error) {
    await release()
    throw error
  }
}

/** Reads a journal: the signed answers, the last id, and the number of bytes of its complete lines. */
async function read(
  file: string,
  at: Files['at'],
): Promise<{ signed: Signed[]; last: number; whole: number }> {
  const signed = new Map<number, Signed>()
  let [last, whole, lines] = [0, 0, 0]
  let rest: Buffer = Buffer.alloc(0)
  if (existsSync(at(file)))
    for await (const chunk of createReadStream(at(file)) as AsyncIterable<Buffer>) {
      rest = Buffer.concat([rest, chunk])
      for (let end; (end = rest.indexOf('\n')) >= 0; rest = rest.subarray(end + 1)) {
        const entry = entryOf(rest.toString('utf8', 0, end), file, ++lines)
        whole += end + 1
        if ('dropped' in entry) signed.delete(entry.dropped)
        else if ('landed' in entry) signed.set(entry.id, { ...signed.get(entry.id)!, landed: entry.landed })
        else if ('answer' in entry) {
          signed.set(entry.id, entry)
          last = Math.max(last, entry.id)
        }
      }
    }
  return { signed: [...signed.values()], last, whole }
}

function entryOf(text: string, file: string, line: number): Entry {
  try {
    const entry = JSON.parse(text) as Entry
    if (line > 1 || ('journal' in entry && entry.journal === 'geo batch' && entry.version === 1)) return entry
  } catch {
    // The statement after this block throws the error.
  }
  throw new UsageError(
    `'${file}' is not a journal of this version of geo batch (line ${line}). Name another file ` +
      'with -o. The journal may list landed answers, so check it before you remove it.',
  )
}

/** Number of times, and interval in milliseconds, at which a lock without a process id is read again. */
const LOCK_LOOKS = 10
const LOCK_LOOK_MS = 100
/** Content of the locks of this process. In a container, an earlier process may have had the same id. */
const CLAIM = `${process.pid} ${randomUUID()}`

/** Creates a lock file with the claim. Of several runs, one takes over the lock of an ended process. */
async function takeLock(lock: string, file: string, at: Files['at']): Promise<void> {
  if (await create(at(lock))) return
  const owner = await ownerOf(at(lock))
  if (runs(owner)) throw inUse(owner, file, lock)
  // Without this second lock, a run could remove the new lock of another one that has taken over.
  const takeover = `${lock}.takeover`
  if (!(await create(at(takeover)))) throw inUse(await ownerOf(at(takeover)), file, takeover)
  try {
    const now = await ownerOf(at(lock))
    if (runs(now)) throw inUse(now, file, lock)
    // A missing lock may be created by another run, whose lock must stay.
    if (now !== undefined) await rm(at(lock), { force: true })
    if (!(await create(at(lock)))) throw inUse(await ownerOf(at(lock)), file, lock)
  } finally {
    await rm(at(takeover), { force: true })
  }
}

async function create(lock: string): Promise<boolean> {
  try {
    // An empty lock on a full disk would be that of an unknown process.
    await createFile(lock, CLAIM)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  }
}

/** Claim in a lock, empty if it has none yet after a while; undefined without a lock. */
async function ownerOf(lock: string): Promise<string | undefined> {
  for (let looks = 0; ; looks++) {
    const text = await readFile(lock, 'utf8').catch(() => undefined)
    if (text !== '' || looks === LOCK_LOOKS) return text
    await pause(LOCK_LOOK_MS)
  }
}

function inUse(owner: string | undefined, file: string, lock: string): UsageError {
  return new UsageError(
    `Another geo batch (process ${parseInt(owner ?? '') || 'unknown'}) is using '${file}'. Wait until it ends, or ` +
      `remove '${lock}' if there is no such process.`,
  )
}

/** True if the process of a claim runs here. One in another container stops at its next entry. */
function runs(owner: string | undefined): boolean {
  const pid = parseInt(owner ?? '')
  if (pid === parseInt(CLAIM)) return owner === CLAIM
  try {
    return pid > 0 && process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
