import type { Logger } from '@subsquid/logger'
import { ZeroAddress } from 'ethers/constants'
import { dataSlice, zeroPadValue } from 'ethers/utils'
import * as eas from '../abi/EAS'
import { addAnswerAttesters, answerAttesters } from '../answer'
import type { Chain } from '../chains'
import type { LearnedLog, LogFilter, LogSelection } from '../chain'
import { schemaUid } from '../eas'
import {
  addLocationSchemas,
  dropLocationSchemas,
  isLocationText,
  knownSchema,
  locationSchemaUids,
  mayBeRead,
  type SchemaPolicy,
} from '../location'
import type { Route, Rpc } from '../rpc'
import {
  REGISTERED,
  attestationFilter,
  registeredSchemas,
  registererOf,
  registrationFilter,
} from './registrations'
import { SchemaRoom, SEVERAL } from './schema-room'
import {
  foundSchemas,
  insertSchemas,
  noteHistoryRead,
  noteSchemas,
  noteWatched,
  schemaUses,
  storeSchemas,
  takeAttesters,
  takenAttesters,
  type AnswerAttester,
  type Database,
  type FoundSchema,
  type Transactions,
  type Watched,
} from './store'

/**
 * The location schemas and the attesters of this service's answers whose attestations are indexed on a chain.
 *
 * Location schemas are known from the start, or anyone registers them in the chain's SchemaRegistry. Nobody
 * can attest by a schema before it is registered. A reader that reads logs in order, including those of the
 * registry, and widens the filter at each registration, therefore misses nothing (chain/history.ts, head.ts).
 * The API may add attesters at any time, and the audit then reads the earlier blocks.
 */

/** Maximum number of schemas per filter, because providers limit its size. */
const TOPICS_IN_FILTER = 200
/** Maximum number of found and watched schemas of a chain, in addition to those that are listed. */
const MOST_FOUND = 1_000
/** Item in the list of watched schemas and attesters (noteSchemas): the indexer reads registrations too. */
const REGISTRATIONS = 'registrations'

export class Registry implements LogSelection {
  version = 0
  private made: { version: number; filters: readonly LogFilter[] } | undefined
  /** UIDs of all schemas whose registrations were read, whether they are location schemas or not. */
  private readonly seen = new Set<string>()
  private readonly found = new Map<string, FoundSchema>()
  /** Attesters by address. */
  private readonly attesters = new Map<string, AnswerAttester>()
  /** UIDs of the schemas that are known from the start. */
  private readonly own = new Set(locationSchemaUids())
  /** Schemas that are watched and count towards the limit. */
  private room: SchemaRoom
  private learning: Promise<unknown> = Promise.resolve()
  private readonly route: Route
  private readonly follows: boolean

  constructor(
    private readonly options: {
      chain: Chain
      rpc: Rpc
      database: Database
      policy: SchemaPolicy
      log: Logger
      /**
       * The chain's lease if this process is its indexer; undefined for a command that runs next to it.
       * Without the lease, a process that lost it would mark schemas and attesters as read.
       */
      lease: Transactions | undefined
      /** Maximum number of found schemas. Default: MOST_FOUND. */
      most?: number
    },
  ) {
    this.room = new SchemaRoom(options.most ?? MOST_FOUND)
    this.route = options.rpc.route()
    this.follows = options.policy.found === 'all' || options.policy.listed.size > 0
  }

  /** Loads the schemas that were found earlier, subject to the current settings, and the attesters. */
  async load(): Promise<void> {
    await this.takeKnown()
    if (!this.options.lease) return
    this.takeLeftOut()
    await this.takeNoted()
  }

  /** Loads what the chain's indexer watches since `watched`. Throws if the settings do not permit that. */
  async catchUp(watched: readonly string[]): Promise<void> {
    await this.learning
    await this.takeKnown()
    const before = new Set(watched)
    if (this.watched.every((each) => before.has(each)))
      throw new Error(
        `the indexer of ${this.options.chain.slug} reads more schemas or attesters than this ` +
          'process. Use the same settings for both.',
      )
  }

  private async takeKnown(): Promise<void> {
    const { chain, database } = this.options
    this.take(await takenAttesters(database.query, chain))
    const stored = await foundSchemas(database.query, chain)
    const left = stored.filter(({ uid, watched }) => !watched && this.room.has(uid)).map(({ uid }) => uid)
    this.unwatch(left)
    if (left.length) this.version++
    const fresh = stored.filter(({ uid }) => !this.found.has(uid))
    for (const { uid, attester } of await schemaUses(
      database.query,
      chain,
      fresh.map(({ uid }) => uid),
      SEVERAL,
    ))
      this.room.use(uid, attester)
    for (const schema of fresh) {
      const { uid } = schema
      // The row of a schema that is known from the start may lack its registration.
      if (schema.registerer !== null || !this.own.has(uid)) this.seen.add(uid)
      const isOnTop = this.isOnTop(uid)
      const watched = isOnTop || (schema.watched && mayBeRead(this.options.policy, uid))
      if (watched && !isOnTop) this.room.put(schema)
      this.watch({ ...schema, watched })
    }
  }

  /**
   * Assigns places to schemas that were left out before, those with more attesters first. One without
   * attestations replaces no other. The audit reads their history.
   */
  private takeLeftOut(): void {
    const leftOut = [...this.found.values()]
      .filter(({ uid, watched }) => !watched && mayBeRead(this.options.policy, uid))
      .sort((a, b) => this.room.usersOf(b.uid) - this.room.usersOf(a.uid))
    for (const schema of leftOut) {
      const { entered, left } = this.room.usersOf(schema.uid)
        ? this.room.enter(schema)
        : { entered: this.room.enterFree(schema), left: undefined }
      if (left) this.unwatch([left.uid])
      if (entered) this.watch({ ...schema, watched: true })
    }
  }

  /** Watched items: UIDs of schemas, addresses of attesters, and REGISTRATIONS if those are read. */
  get watched(): readonly string[] {
    const { schemas, attesters } = watchedOf(this.options.chain)
    return [...schemas, ...attesters, ...(this.follows ? [REGISTRATIONS] : [])]
  }

  /** Loads the attesters that the API has added. Must be called while no audit step is running. */
  async takeNoted(): Promise<void> {
    const { chain, database, lease = database, log } = this.options
    const taken = this.take(await takeAttesters(database.query, lease, chain))
    if (taken.length === 0) return
    log.info({ chain: chain.slug, attesters: taken }, 'reading answers of these attesters')
  }

  /** Watches these attesters. Returns the addresses of those that were not watched before. */
  private take(attesters: readonly AnswerAttester[]): string[] {
    const fresh = attesters.filter(({ address }) => !this.attesters.has(address))
    if (fresh.length === 0) return []
    for (const attester of fresh) this.attesters.set(attester.address, attester)
    addAnswerAttesters(this.options.chain.slug, fresh)
    this.version++
    return fresh.map(({ address }) => address)
  }

  /** Stores what is watched from now on. `fresh`: nothing is indexed yet. Returns the new items. */
  async note(fresh: boolean): Promise<string[]> {
    const { chain, database, lease = database } = this.options
    return lease.transaction(async (query) => {
      const added = await noteSchemas(query, chain, this.watched, fresh)
      const unregistered = this.unregistered(added)
      await insertSchemas(query, chain, unregistered)
      for (const schema of unregistered) this.found.set(schema.uid, schema)
      const watched = [...this.found.values()].filter((each) => each.watched).map(({ uid }) => uid)
      for (const { uid, readFrom } of await noteWatched(query, chain, watched, added))
        this.found.set(uid, { ...this.found.get(uid)!, readFrom })
      await noteHistoryRead(query, chain)
      return added
    })
  }

  /** Returns the added schemas that are known from the start, as if registered in the chain's first block. */
  private unregistered(added: readonly string[]): FoundSchema[] {
    const { firstBlock } = this.options.chain
    return added
      .filter((uid) => this.own.has(uid) && !this.found.has(uid))
      .map((uid) => ({
        ...{ ...knownSchema(uid), resolver: ZeroAddress, revocable: true, registerer: null },
        ...{ block: firstBlock, readFrom: firstBlock, watched: true },
      }))
  }

  get filters(): readonly LogFilter[] {
    if (this.made?.version !== this.version)
      this.made = { version: this.version, filters: this.makeFilters() }
    return this.made.filters
  }

  private makeFilters(): LogFilter[] {
    const { chain } = this.options
    const uids = locationSchemaUids(chain.slug)
    const filters: LogFilter[] = []
    for (let i = 0; i < uids.length; i += TOPICS_IN_FILTER)
      filters.push({ ...attestationFilter(chain), topic3: uids.slice(i, i + TOPICS_IN_FILTER) })
    const attesters = answerAttesters(chain.slug)
    if (attesters.length)
      filters.push({
        ...attestationFilter(chain),
        topic2: attesters.map((address) => zeroPadValue(address, 32)),
      })
    return this.follows ? [...filters, registrationFilter(chain)] : filters
  }

  /** Implements LogSelection.learn. Schemas are stored before they are watched. */
  async learn(logs: readonly LearnedLog[]): Promise<number> {
    if (!this.follows) return 0
    // Attestations that are read but not stored yet also count as uses.
    for (const { address, topics } of logs)
      if (
        topics[0] === eas.events.Attested.topic &&
        address === this.options.chain.eas &&
        !this.isOnTop(topics[3]!) &&
        this.room.has(topics[3]!)
      )
        this.room.use(topics[3]!, dataSlice(topics[2]!, 12))
    const fresh = logs.filter((log) => this.isFresh(log))
    if (fresh.length === 0) return 0
    const turn = this.learning.then(() => this.learnNow(fresh.filter((log) => this.isFresh(log))))
    this.learning = turn.catch(() => {})
    return turn
  }

  private isFresh({ address, topics }: LearnedLog): boolean {
    return (
      address === this.options.chain.schemaRegistry &&
      REGISTERED.includes(topics[0]!) &&
      !this.seen.has(topics[1]!)
    )
  }

  private async learnNow(logs: readonly LearnedLog[]): Promise<number> {
    const contents = await registeredSchemas(this.options.chain, this.route, logs)
    const schemas: Omit<FoundSchema, 'readFrom'>[] = []
    for (const [i, { uid, schema, resolver, revocable }] of contents.entries()) {
      // Text that is not UTF-8 decodes to a text with another hash. No location schema contains such text.
      if (schemaUid(schema, resolver, revocable) !== uid) {
        if (schema.includes('\ufffd')) continue
        throw new Error(`the RPC endpoint returned a schema that does not match its UID ${uid}`)
      }
      if (!isLocationText(schema)) continue
      schemas.push({
        ...{ uid, fields: schema, resolver: resolver.toLowerCase(), revocable },
        registerer: registererOf(logs[i]!),
        block: Number(logs[i]!.blockNumber),
        watched: false,
      })
    }
    let learned = 0
    for (let entering = schemas; entering.length;) {
      const { watched, left } = await this.enter(entering)
      learned += watched
      // Logs that were read in the meantime used these schemas, which are now the last to be replaced.
      entering = left
        .filter((uid) => this.room.usersOf(uid) > 0)
        .map((uid) => ({ ...this.found.get(uid)!, watched: false }))
    }
    for (const { uid } of contents) this.seen.add(uid)
    return learned
  }

  /** Assigns places to found schemas. Returns the number of newly watched ones, and UIDs of replaced ones. */
  private async enter(
    schemas: Omit<FoundSchema, 'readFrom'>[],
  ): Promise<{ watched: number; left: readonly string[] }> {
    const { chain, database, log, lease, policy } = this.options
    // All changes are made in a copy, which takes effect once they are stored.
    const room = this.room.copy()
    const left = new Set<string>()
    for (const each of schemas) {
      if (this.isOnTop(each.uid)) each.watched = true
      else if (mayBeRead(policy, each.uid)) {
        // A command that runs next to the indexer must not replace a schema that the indexer reads.
        const result = lease ? room.enter(each) : { entered: room.enterFree(each), left: undefined }
        each.watched = result.entered
        if (result.left) left.add(result.left.uid)
      }
    }
    for (const each of schemas) if (left.delete(each.uid)) each.watched = false
    // An attester may be added during this wait. That is safe, because attesters do not depend on these logs.
    const stored = await storeSchemas(lease ?? database, chain, schemas, [...left], lease !== undefined)
    this.unwatch([...left])
    this.room = room
    let watched = 0
    for (const schema of stored) if (this.watch(schema)) watched++
    log.info(
      {
        chain: chain.slug,
        watched: schemas.filter((each) => each.watched).map(({ uid }) => uid),
        leftOut: [...left, ...schemas.filter((each) => !each.watched).map(({ uid }) => uid)],
      },
      'found location schemas in the registry',
    )
    return { watched, left: [...left] }
  }

  /** True if this event happened before its schema or attester was known, so that no node is to blame. */
  isHistory({
    schemaUid: uid,
    attester,
    blockNumber,
  }: {
    schemaUid: string
    attester: string
    blockNumber: number
  }): boolean {
    const schema = this.found.get(uid)
    const known = schema?.watched ? schema : this.attesters.get(attester)
    return known !== undefined && blockNumber < known.readFrom
  }

  /** True if a schema takes no place: it is known from the start, or listed in the settings. */
  private isOnTop(uid: string): boolean {
    return this.own.has(uid) || this.options.policy.listed.has(uid)
  }

  /** Stores a schema. Returns true if it is watched from now on and was not before. */
  private watch(schema: FoundSchema): boolean {
    const { uid, watched } = schema
    this.found.set(uid, schema)
    if (!watched || this.own.has(uid)) return false
    addLocationSchemas([schema], this.options.chain.slug)
    this.version++
    return true
  }

  /** Removes schemas from their places. Filters that still contain them for a while do no harm. */
  private unwatch(uids: readonly string[]): void {
    for (const uid of uids) {
      this.room.leave(uid)
      this.found.set(uid, { ...this.found.get(uid)!, watched: false })
    }
    dropLocationSchemas(uids, this.options.chain.slug)
  }
}

/** Returns the schemas and attesters of a chain that are watched now. */
export function watchedOf({ slug }: Chain): Watched {
  return { schemas: locationSchemaUids(slug), attesters: answerAttesters(slug) }
}
