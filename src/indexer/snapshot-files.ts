import { createHash, type Hash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { open, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { onOneLine } from '../strict-json'
import type { AnswerAttester, SnapshotPosition } from './store'

/** Files of a snapshot: gzipped lines of JSON, and a manifest with the checksums of all files. */

const FORMAT = 'geospatial-attestation-snapshot'
const VERSION = 2
const MANIFEST = 'manifest.json'
export interface FileNote {
  name: string
  lines: number
  bytes: number
  sha256: string
}
export interface ChainNote extends SnapshotPosition {
  chain: string
  chainId: number
  /** Address of the EAS contract, lower-case. */
  eas: string
  attesters: AnswerAttester[]
  events: FileNote
  found: FileNote
}
export interface Manifest {
  format: typeof FORMAT
  version: typeof VERSION
  /** Time of the snapshot, ISO 8601. */
  taken: string
  migrations: string[]
  chains: ChainNote[]
}

/** A snapshot cannot be written or restored. The message states the reason and the remedy. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError'
}

/** Writes pages of lines into a file and flushes it to disk. */
export async function writeLines(
  folder: string,
  name: string,
  pages: AsyncIterable<string[]> | Iterable<string[]>,
): Promise<FileNote> {
  const [hash, file] = [createHash('sha256'), path.join(folder, name)]
  let [lines, bytes] = [0, 0]
  async function* texts() {
    for await (const page of pages) {
      lines += page.length
      yield page.map((text) => `${onOneLine(text)}\n`).join('')
    }
  }
  await pipeline(
    Readable.from(texts()),
    createGzip(),
    hashing(hash, (more) => (bytes += more)),
    createWriteStream(file),
  )
  await synced(file)
  return { name, lines, bytes, sha256: hash.digest('hex') }
}

/** Flushes a file to disk. */
async function synced(file: string): Promise<void> {
  const handle = await open(file, 'r+')
  await handle.sync()
  await handle.close()
}

function hashing(hash: Hash, onBytes: (bytes: number) => void): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      onBytes(chunk.length)
      done(null, chunk)
    },
  })
}

/** Writes a snapshot's manifest into its folder and flushes it to disk. */
export async function writeManifest(
  folder: string,
  content: Omit<Manifest, 'format' | 'version'>,
): Promise<Manifest> {
  const manifest = { format: FORMAT, version: VERSION, ...content } satisfies Manifest
  const sealed = { ...manifest, sha256: checksum(manifest) }
  await writeFile(path.join(folder, MANIFEST), `${JSON.stringify(sealed, null, 2)}\n`)
  await synced(path.join(folder, MANIFEST))
  return manifest
}

function checksum(manifest: object): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex')
}

/** Reads the manifest of a folder. Throws a SnapshotError if it is missing or does not match its checksum. */
export async function readManifest(folder: string): Promise<Manifest> {
  const file = path.join(folder, MANIFEST)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new SnapshotError(`'${file}' could not be read (${error.code}). Name the folder of a snapshot.`)
  })
  let manifest:
    | (Omit<Manifest, 'format' | 'version'> & { format: string; version: number; sha256: string })
    | null
  try {
    manifest = JSON.parse(text) as typeof manifest
  } catch {
    throw new SnapshotError(`'${file}' is not valid JSON: it is truncated or was changed`)
  }
  if (manifest?.format !== FORMAT) throw new SnapshotError(`'${file}' is not the manifest of a snapshot`)
  if (manifest.version !== VERSION)
    throw new SnapshotError(
      `'${file}' has format version ${manifest.version}, but this program reads version ${VERSION}`,
    )
  const { sha256, ...content } = manifest
  if (sha256 !== checksum(content))
    throw new SnapshotError(`'${file}' does not match its checksum: it was changed`)
  return content as Manifest
}

/** Throws a SnapshotError unless a file has the size and the checksum that the manifest states. */
export async function checkFile(folder: string, { name, bytes, sha256 }: FileNote): Promise<void> {
  const [hash, file] = [createHash('sha256'), path.join(folder, path.basename(name))]
  let length = 0
  try {
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      hash.update(chunk)
      length += chunk.length
    }
  } catch (error) {
    throw new SnapshotError(`'${file}' could not be read (${(error as NodeJS.ErrnoException).code})`)
  }
  if (length !== bytes)
    throw new SnapshotError(
      `'${file}' has ${length} bytes, but ${bytes} in the manifest: it is truncated or was changed`,
    )
  if (hash.digest('hex') !== sha256)
    throw new SnapshotError(`'${file}' does not match the checksum in the manifest: it was changed`)
}

/** Yields the lines of a file. Throws a SnapshotError if their number differs from the manifest. */
export async function* linesOf(folder: string, { name, lines }: FileNote): AsyncGenerator<string> {
  const texts = createGunzip().setEncoding('utf8')
  const reading = pipeline(createReadStream(path.join(folder, path.basename(name))), texts, { end: true })
  // The loop over the texts throws the error.
  reading.catch(() => {})
  let [count, begun]: [number, string[]] = [0, []]
  for await (const text of texts as AsyncIterable<string>) {
    const [first, ...others] = text.split('\n')
    begun.push(first!)
    for (const next of others) {
      count++
      yield begun.join('')
      begun = [next]
    }
  }
  if (count !== lines) throw new SnapshotError(`'${name}' has ${count} lines, but ${lines} in the manifest`)
}
