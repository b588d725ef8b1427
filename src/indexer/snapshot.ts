import { createHash, type Hash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import type { Logger } from '@subsquid/logger'
import type { Chain } from '../chains'
import { schemaUid } from '../eas'
import { addAnswerAttesters } from '../answer'
import { addLocationSchemas } from '../location'
import { EventKind } from '../model'
import { eventId, type EventRow } from './project'
import { watchedOf } from './registry'
import {
  BatchWriter,
  atOneMoment,
  beginRestore,
  bodyOf,
  contentOf,
  countEvents,
  endRestore,
  eventOf,
  eventTexts,
  foundSchemas,
  insertAttesters,
  insertEventTexts,
  insertSchemas,
  isBodiless,
  migrationsOf,
  rowOf,
  snapshotPosition,
  takenAttesters,
  type AnswerAttester,
  type Copy,
  type Database,
  type FoundSchema,
  type Query,
  type SnapshotPosition,
  type Watched,
} from './store'

/**
 * A snapshot: the final part of the event log, with the schemas that were found, the attesters of answers
 * and the position of each chain, all of one moment. Records and answers follow from the log, so a restore
 * makes them anew. It is a folder: a file of events and one of schemas for each chain, JSON by lines,
 * gzipped; and manifest.json, written last.
 */

const FORMAT = 'geospatial-attestation-snapshot'
const VERSION = 2
const MANIFEST = 'manifest.json'
/** Events that are written at once, and their characters. */
const WRITTEN_EVENTS = 500
const WRITTEN_CHARACTERS = 8_000_000

interface FileNote {
  name: string
  lines: number
  bytes: number
  sha256: string
}
interface ChainNote extends SnapshotPosition {
  chain: string
  chainId: number
  /** Contract, lower-case. */
  eas: string
  attesters: AnswerAttester[]
  events: FileNote
  found: FileNote
}
export interface Manifest {
  format: typeof FORMAT
  version: typeof VERSION
  /** ISO 8601 */
  taken: string
  migrations: string[]
  chains: ChainNote[]
}

/** A snapshot cannot be written or restored; its message says why, and what would be right. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError'
}

/** Says what is being done. */
export type Progress = (line: string) => void

/**
 * Writes a snapshot of these chains into a new folder. Throws a SnapshotError where nothing is final yet, or
 * the folder exists.
 */
export async function takeSnapshot(
  database: Database,
  chains: readonly Chain[],
  folder: string,
  progress: Progress,
): Promise<Manifest> {
  const part = `${folder}.part`
  if (await exists(folder)) throw new SnapshotError(`'${folder}' exists already: name a folder that does not`)
  await rm(part, { recursive: true, force: true })
  await mkdir(part, { recursive: true })
  try {
    const manifest = await atOneMoment(database, async (query) => {
      const notes: ChainNote[] = []
      for (const chain of chains) {
        const note = await writeChain(query, chain, part, progress)
        if (note) notes.push(note)
      }
      if (notes.length === 0)
        throw new SnapshotError('The database holds no final block of any chain yet: index first')
      const migrations = await migrationsOf(query)
      const taken = new Date().toISOString()
      return { format: FORMAT, version: VERSION, taken, migrations, chains: notes } satisfies Manifest
    })
    await writeFile(path.join(part, MANIFEST), sealed(manifest))
    await synced(path.join(part, MANIFEST))
    await rename(part, folder)
    return manifest
  } catch (error) {
    await rm(part, { recursive: true, force: true })
    throw error
  }
}

async function writeChain(
  query: Query,
  chain: Chain,
  folder: string,
  progress: Progress,
): Promise<ChainNote | undefined> {
  const position = await snapshotPosition(query, chain)
  if (!position) return undefined
  // Those that blocks registered which are not final yet are found again.
  const found = (await foundSchemas(query, chain)).filter(({ block }) => block <= position.finalHeight)
  async function* events() {
    let count = 0
    for await (const texts of eventTexts(query, chain, position!.finalHeight)) {
      yield texts
      progress(`${chain.slug}: ${(count += texts.length)} events written`)
    }
  }
  const write = (name: string, pages: AsyncIterable<string[]> | Iterable<string[]>) =>
    writeLines(folder, `${chain.slug}.${name}.ndjson.gz`, pages)
  return {
    ...{ chain: chain.slug, chainId: chain.id, eas: chain.eas.toLowerCase(), ...position },
    attesters: await takenAttesters(query, chain),
    events: await write('events', events()),
    found: await write('schemas', [found.map((schema) => JSON.stringify(schema))]),
  }
}

async function writeLines(
  folder: string,
  name: string,
  pages: AsyncIterable<string[]> | Iterable<string[]>,
): Promise<FileNote> {
  const [hash, file] = [createHash('sha256'), path.join(folder, name)]
  let [lines, bytes] = [0, 0]
  async function* texts() {
    for await (const page of pages) {
      lines += page.length
      yield page.map((text) => `${text}\n`).join('')
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

/** Has a file written through to the disk. */
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

/** A manifest as text, with its own checksum. */
function sealed(manifest: Manifest): string {
  return `${JSON.stringify({ ...manifest, sha256: checksum(manifest) }, null, 2)}\n`
}
function checksum(manifest: object): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex')
}

/**
 * Restores a snapshot into an empty, migrated database, in one transaction. Everything is checked before
 * anything is written. Nothing of it counts as audited. Throws a SnapshotError.
 */
export async function restoreSnapshot(
  database: Database,
  chains: readonly Chain[],
  folder: string,
  log: Logger,
  progress: Progress,
): Promise<{ manifest: Manifest; uids: number }> {
  const manifest = await readManifest(folder)
  const known = manifest.chains.map((note) => ({ note, chain: chainOf(note, chains) }))
  const migrations = await migrationsOf(database.query)
  if (migrations.join() !== manifest.migrations.join())
    throw new SnapshotError(
      `The snapshot was taken after migration ${manifest.migrations.at(-1)}, the database is at ${migrations.at(-1) ?? 'none'}: run npm run migrate with the version of the program that took the snapshot, restore, then upgrade`,
    )
  for (const { note } of known)
    for (const file of [note.events, note.found]) {
      progress(`checking ${file.name}`)
      await checkFile(folder, file)
    }
  await requireEmpty(database.query, chains)
  const uids = await database.transaction(async (query, copy) => {
    for (const { chain } of known) await beginRestore(query, chain)
    await requireEmpty(query, chains)
    let total = 0
    for (const { note, chain } of known)
      total += await restoreChain(query, copy, chain, folder, note, log, progress)
    return total
  })
  return { manifest, uids }
}

async function restoreChain(
  query: Query,
  copy: Copy,
  chain: Chain,
  folder: string,
  note: ChainNote,
  log: Logger,
  progress: Progress,
): Promise<number> {
  const found: FoundSchema[] = []
  for await (const line of linesOf(folder, note.found)) found.push(schemaOf(line, note))
  await insertSchemas(query, chain, found)
  await insertAttesters(query, chain, note.attesters)
  addLocationSchemas(
    found.filter(({ watched }) => watched),
    chain.slug,
  )
  addAnswerAttesters(chain.slug, note.attesters)
  const isWatched = watchedBy(watchedOf(chain))
  const writer = new BatchWriter({ query, copy }, chain, log)
  let [rows, kept, characters]: [EventRow[], string[], number] = [[], [], 0]
  let [count, uids] = [0, 0]
  const flush = async () => {
    if (kept.length) {
      // The writer may be amid a part, and roll it back to its savepoint: nothing else is written there.
      await writer.written()
      await insertEventTexts(query, kept)
    }
    const bodies = new Map(rows.filter(({ data }) => data).map((row) => [row.uid, bodyOf(row)]))
    await writer.write(rows.map(eventOf), bodies)
    progress(`${chain.slug}: ${count} of ${note.events.lines} events restored`)
    ;[rows, kept, characters] = [[], [], 0]
  }
  for await (const line of linesOf(folder, note.events)) {
    const row = eventIn(line, note)
    count++
    if (row.kind === EventKind.ATTESTED) uids++
    // Nothing follows from it: it only stays in the log.
    if (isBodiless(row) || !isWatched(row)) kept.push(line)
    else rows.push(row)
    characters += line.length
    if (characters > WRITTEN_CHARACTERS || rows.length + kept.length >= WRITTEN_EVENTS) await flush()
  }
  await flush()
  await writer.written()
  const stored = await countEvents(query, chain)
  if (stored !== count)
    throw new Error(`${chain.slug}: ${stored} events were stored of ${count}: nothing is restored`)
  await endRestore(query, chain, note)
  return uids
}

function watchedBy({ schemas, attesters }: Watched): (row: EventRow) => boolean {
  const [bySchema, byAttester] = [new Set(schemas), new Set(attesters)]
  return ({ schema_uid, attester }) => bySchema.has(schema_uid) || byAttester.has(attester)
}

async function requireEmpty(query: Query, chains: readonly Chain[]): Promise<void> {
  const content = await contentOf(query, chains)
  if (content !== undefined)
    throw new SnapshotError(
      `A snapshot is restored into an empty database only, and here ${content}: stop the indexers, make a new database, run npm run migrate, and set DATABASE_URL to it`,
    )
}

async function readManifest(folder: string): Promise<Manifest> {
  const file = path.join(folder, MANIFEST)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new SnapshotError(`'${file}' cannot be read (${error.code}): name the folder of a snapshot`)
  })
  let manifest:
    (Omit<Manifest, 'format' | 'version'> & { format: string; version: number; sha256: string }) | null
  try {
    manifest = JSON.parse(text) as typeof manifest
  } catch {
    throw new SnapshotError(`'${file}' is no JSON: it is cut or changed`)
  }
  if (manifest?.format !== FORMAT) throw new SnapshotError(`'${file}' is not the manifest of a snapshot`)
  if (manifest.version !== VERSION)
    throw new SnapshotError(
      `'${file}' has version ${manifest.version} of the format; this program reads ${VERSION}`,
    )
  const { sha256, ...content } = manifest
  if (sha256 !== checksum(content))
    throw new SnapshotError(`'${file}' has another checksum than it says: it was changed`)
  return content as Manifest
}

function chainOf({ chain: slug, chainId, eas }: ChainNote, chains: readonly Chain[]): Chain {
  const chain = chains.find((each) => each.slug === slug)
  if (!chain)
    throw new SnapshotError(
      `The snapshot has ${slug}, which is none of this service's chains: see CHAINS and CHAINS_FILE`,
    )
  if (chain.id !== chainId || chain.eas.toLowerCase() !== eas)
    throw new SnapshotError(
      `The snapshot's ${slug} has the id ${chainId} and EAS at ${eas}, this service's ${chain.id} and ${chain.eas}: it is of another network`,
    )
  return chain
}

async function checkFile(folder: string, { name, bytes, sha256 }: FileNote): Promise<void> {
  const [hash, file] = [createHash('sha256'), path.join(folder, path.basename(name))]
  let length = 0
  try {
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      hash.update(chunk)
      length += chunk.length
    }
  } catch (error) {
    throw new SnapshotError(`'${file}' cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  if (length !== bytes)
    throw new SnapshotError(`'${file}' has ${length} bytes, the manifest says ${bytes}: it is cut or changed`)
  if (hash.digest('hex') !== sha256)
    throw new SnapshotError(`'${file}' has another checksum than the manifest says: it was changed`)
}

/** Throws a SnapshotError where there are not as many as the manifest says. */
async function* linesOf(folder: string, { name, lines }: FileNote): AsyncGenerator<string> {
  const texts = createGunzip().setEncoding('utf8')
  const reading = pipeline(createReadStream(path.join(folder, path.basename(name))), texts, { end: true })
  // Its error is thrown where the texts are read.
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
  if (count !== lines) throw new SnapshotError(`'${name}' has ${count} lines, the manifest says ${lines}`)
}

/** What an event claims is the audit's to check; this one is of its chain, and final. */
function eventIn(line: string, { chain, finalHeight, events }: ChainNote): EventRow {
  const row = readAs(rowOf, line, events)
  if (
    row.chain !== chain ||
    row.block_number > finalHeight ||
    row.id !== eventId(chain, row.block_number, row.log_index)
  )
    throw new SnapshotError(
      `'${events.name}' has an event that is not of ${chain} up to block ${finalHeight}`,
    )
  return row
}

function schemaOf(line: string, { found }: ChainNote): FoundSchema {
  const schema = readAs((text) => JSON.parse(text) as FoundSchema, line, found)
  if (schemaUid(schema.fields, schema.resolver, schema.revocable) !== schema.uid)
    throw new SnapshotError(
      `'${found.name}' has a schema whose UID is not the hash of its content: it was changed`,
    )
  return schema
}

function readAs<T>(read: (text: string) => T, line: string, { name }: FileNote): T {
  try {
    const value = read(line)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // Said below.
  }
  throw new SnapshotError(`'${name}' has a line that is no event and no schema: it was changed`)
}

async function exists(file: string): Promise<boolean> {
  return open(file).then(
    async (handle) => {
      await handle.close()
      return true
    },
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  )
}
