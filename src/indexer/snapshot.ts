import { lstat, mkdir, rename, rm } from 'node:fs/promises'
import type { Logger } from '@subsquid/logger'
import type { Chain } from '../chains'
import { hashesToUid, schemaUid } from '../eas'
import { addAnswerAttesters } from '../answer'
import { addLocationSchemas } from '../location'
import { EventKind } from '../model/generated/_eventKind'
import { eventId, isWatched, type EventRow } from './project'
import {
  SnapshotError,
  checkFile,
  linesOf,
  readManifest,
  writeLines,
  writeManifest,
  type ChainNote,
  type FileNote,
  type Manifest,
} from './snapshot-files'
import {
  BatchWriter,
  atOneMoment,
  bodyOf,
  contentOf,
  endRestore,
  eventOf,
  eventTexts,
  foundSchemas,
  insertAttesters,
  insertEventTexts,
  insertSchemas,
  isBodiless,
  lockChain,
  migrationsOf,
  rowOf,
  snapshotPosition,
  takenAttesters,
  type Copy,
  type Database,
  type FoundSchema,
  type Query,
} from './store'

/**
 * A snapshot: the final part of the event log, the schemas that were found, the attesters of answers and the
 * position of each chain, all at one moment. Records and answers are projected from the event log, so a
 * restore recreates them. A snapshot is a folder with one file of events and one of schemas per chain, as
 * gzipped lines of JSON, and manifest.json, which is written last.
 */

/** Maximum number of events, and of their characters, that are written at once. */
const WRITTEN_EVENTS = 500
const WRITTEN_CHARACTERS = 8_000_000

/** Receives a line that describes the current step. */
export type Progress = (line: string) => void

/**
 * Writes a snapshot of these chains into a new folder. Throws a SnapshotError if no chain has a final block
 * yet, or if the folder exists or cannot be created.
 */
export async function takeSnapshot(
  database: Database,
  chains: readonly Chain[],
  folder: string,
  progress: Progress,
): Promise<Manifest> {
  const part = `${folder}.part`
  if (await lstat(folder).catch(() => undefined))
    throw new SnapshotError(`'${folder}' exists. Name a folder that does not exist.`)
  try {
    await rm(part, { recursive: true, force: true })
    await mkdir(part, { recursive: true })
  } catch (error) {
    throw new SnapshotError(
      `Could not create '${part}': ${(error as NodeJS.ErrnoException).code}. Name a new folder in one that this user may write.`,
    )
  }
  try {
    const content = await atOneMoment(database, async (query) => {
      const notes: ChainNote[] = []
      for (const chain of chains) {
        const note = await writeChain(query, chain, part, progress)
        if (note) notes.push(note)
      }
      if (notes.length === 0)
        throw new SnapshotError('The database has no final block of any chain yet. Index a chain first.')
      const migrations = await migrationsOf(query)
      const taken = new Date().toISOString()
      return { taken, migrations, chains: notes }
    })
    const manifest = await writeManifest(part, content)
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
  // Schemas that were registered in blocks that are not final yet are left out. The indexer finds them again.
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

/**
 * Restores a snapshot into an empty, migrated database, in one transaction. Checks every file before it
 * writes anything. No block counts as audited afterwards. Throws a SnapshotError.
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
      `The snapshot was taken after migration ${manifest.migrations.at(-1)}, but the newest ` +
        `migration of the database is ${migrations.at(-1) ?? 'none'}. Run npm run migrate with the ` +
        'version of the program that took the snapshot, restore, then upgrade.',
    )
  for (const { note } of known)
    for (const file of [note.events, note.found]) {
      progress(`checking ${file.name}`)
      await checkFile(folder, file)
    }
  await requireEmpty(database.query, chains)
  const uids = await database.transaction(async (query, copy) => {
    for (const { chain } of known) await lockChain(query, chain)
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
  const writer = new BatchWriter({ query, copy }, chain, log)
  let [rows, kept, characters]: [EventRow[], string[], number] = [[], [], 0]
  let [count, uids] = [0, 0]
  const flush = async () => {
    if (kept.length) {
      // During a part, the writer may roll back to its savepoint, which would undo this insert.
      await writer.written()
      await insertEventTexts(query, kept)
    }
    const bodies = new Map(rows.filter(({ data }) => data).map((row) => [row.uid, bodyOf(row)]))
    await writer.write(rows.map(eventOf), bodies)
    progress(`${chain.slug}: ${count} of ${note.events.lines} events restored`)
    ;[rows, kept, characters] = [[], [], 0]
  }
  for await (const line of linesOf(folder, note.events)) {
    const row = await eventIn(line, note)
    count++
    if (row.kind === EventKind.ATTESTED) uids++
    // The event produces no row: it is only stored in the event log.
    if (isBodiless(row) || !isWatched(chain.slug, row.schema_uid, row.attester)) kept.push(line)
    else rows.push(row)
    characters += line.length
    if (characters > WRITTEN_CHARACTERS || rows.length + kept.length >= WRITTEN_EVENTS) await flush()
  }
  await flush()
  await writer.written()
  await endRestore(query, chain, note, count)
  return uids
}

async function requireEmpty(query: Query, chains: readonly Chain[]): Promise<void> {
  const content = await contentOf(query, chains)
  if (content !== undefined)
    throw new SnapshotError(
      `A snapshot can be restored into an empty database only, but ${content}. Stop the indexers, ` +
        'create a new database, set DATABASE_URL to it, and run npm run migrate.',
    )
}

function chainOf({ chain: slug, chainId, eas }: ChainNote, chains: readonly Chain[]): Chain {
  const chain = chains.find((each) => each.slug === slug)
  if (!chain)
    throw new SnapshotError(
      `The snapshot has the chain ${slug}, which this service does not have. Check CHAINS and CHAINS_FILE.`,
    )
  if (chain.id !== chainId || chain.eas.toLowerCase() !== eas)
    throw new SnapshotError(
      `The chain ${slug} has id ${chainId} and EAS ${eas} in the snapshot, but ${chain.id} and ` +
        `${chain.eas} in this service: the snapshot is from another network`,
    )
  return chain
}

/**
 * Parses an event. Throws unless it belongs to the chain, is final, and has the content and the time that its
 * UID contains. The audit checks the other fields.
 */
async function eventIn(line: string, { chain, finalHeight, events }: ChainNote): Promise<EventRow> {
  const row = readAs(rowOf, line, events)
  if (
    row.chain !== chain ||
    row.block_number > finalHeight ||
    row.id !== eventId(chain, row.block_number, row.log_index)
  )
    throw new SnapshotError(
      `'${events.name}' has an event of another chain than ${chain}, or after block ${finalHeight}`,
    )
  if (row.kind === EventKind.ATTESTED && !(await isTrue(row)))
    throw new SnapshotError(
      `'${events.name}' has an attestation that does not match its UID or the time of its block: it was changed`,
    )
  return row
}

/** True if an attestation has the content that its UID contains, or has been withheld without content. */
async function isTrue(row: EventRow): Promise<boolean> {
  if (row.data === null) return row.withheld
  const isOfBlock = Number(row.time) * 1000 === row.block_timestamp.getTime()
  return isOfBlock && (await hashesToUid(bodyOf(row), row.uid))
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
    // The error thrown after the catch block replaces this one.
  }
  throw new SnapshotError(`'${name}' has a line that is neither an event nor a schema: it was changed`)
}
