// SPDX-License-Identifier: MIT
import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { open, readlink, realpath, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** Characters of a file's name in that of its part: a name has at most 255 bytes. */
const PART_CHARACTERS = 60

/**
 * Replaces a file as a whole, so that readers never see an incomplete one, and keeps a link to it. A run that
 * is killed leaves its part, FILE.<8 hex digits>.part.
 */
export async function replaceFile(name: string, content: string | AsyncIterable<Uint8Array>): Promise<void> {
  // The target of a link may not exist yet.
  const target = async () => path.resolve(path.dirname(name), await readlink(name))
  const file = await realpath(name)
    .catch(target)
    .catch(() => name)
  // Another run may be writing the same file.
  const part = `${path.basename(file).slice(0, PART_CHARACTERS)}.${randomUUID().slice(0, 8)}.part`
  const written = path.join(path.dirname(file), part)
  try {
    const source = typeof content === 'string' ? [content] : content
    await pipeline(Readable.from(source), createWriteStream(written, { flags: 'wx', flush: true }))
    await rename(written, file)
  } catch (error) {
    await rm(written, { force: true })
    // The error names the file as the user did.
    if ((error as NodeJS.ErrnoException).path === written) Object.assign(error as object, { path: name })
    throw error
  }
}

/**
 * Creates a file durably: it and its directory entry survive a power failure. Throws EEXIST if it exists. A
 * full disk leaves no part of it.
 */
export async function createFile(name: string, text: string, mode?: number): Promise<void> {
  try {
    await writeFile(name, text, { flag: 'wx', flush: true, mode })
  } catch (error) {
    // If the file could not be opened, it is another run's, and stays.
    if ((error as NodeJS.ErrnoException).syscall !== 'open') await rm(name, { force: true })
    throw error
  }
  // Windows cannot open directories for fsync, and writes their entries itself.
  const folder = await open(path.dirname(name), 'r').catch(() => undefined)
  await folder?.sync().catch(() => {})
  await folder?.close()
}
