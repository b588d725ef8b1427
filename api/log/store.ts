import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import {
  HASH_SIZE,
  TILE_WIDTH,
  TlogError,
  decodeBundle,
  encodeBundle,
  tilePath,
  type Tile,
} from '../../src/tlog'
import { SharedRead } from '../http/shared'
import { apiConnections, RETRY, translated, type DatabaseServers, type Store } from '../store'
import { keysOf, keysOfHash } from './leaf-keys'

const decompress = promisify(gunzip)

type Reader = Pick<Store, 'run' | 'runOnPrimary'>

export interface LogState {
  origin: string
  /** Signer key as text; null if it is in the setting LOG_KEY. */
  key: string | null
  size: number
  root: Buffer
  /** Checkpoint of `size`, signed by the log. */
  checkpoint: string
  published: string
  publishedSize: number
  /** Reason why the log signs nothing; null if it signs. */
  stopped: string | null
  open: boolean
  /** Server, timeline and database that returned the state. */
  here: string
}

/** Changes of one step of the sequencer: the next entries of the tree. */
export interface Step {
  old: { size: number; root: Uint8Array }
  head: { size: number; root: Uint8Array }
  checkpoint: string
  /** True if the checkpoint is published at once, because the policy has no witness. */
  publish: boolean
  /** SHA-256 of all these groups by id: a restored database may have other groups. */
  content: Uint8Array
  /** Groups whose entries are all in full bundles now. */
  bundled: readonly number[]
  /** Groups with entries of the partial bundle, by the position of their first entry. */
  placed: readonly { id: number; position: number }[]
  /** Full bundles, compressed. */
  bundles: readonly { index: number; entries: Uint8Array }[]
  /** Full tiles of level 0, and all tiles of higher levels that changed. */
  tiles: readonly { level: number; index: number; hashes: Uint8Array }[]
}

/** Entries that were committed together, and of which at least one is not in a full bundle. */
export interface Group {
  id: number
  /** Position of the first entry; null if the group is not in the tree yet. */
  position: number | null
  /** Entries like those of a bundle, and their leaf hashes. */
  entries: Buffer
  leaves: Buffer
}

/** Place of a leaf in the tree, with the checkpoint that is published at that time. */
interface Place extends Pick<LogState, 'published' | 'publishedSize'> {
  /** Null if the log has no entry with this leaf. */
  known: true | null
  /** First position of the leaf; null if its entry is not in the tree yet. */
  position: number | null
  /** All hashes of the leaf's tile if the tile is full; otherwise null. */
  hashes: Buffer | null
}

/** Hashes of the partial tile of level 0. Its first group may begin in the full tile before it. */
const PARTIAL_TILE = `SELECT 0, (stop / ${TILE_WIDTH})::float8,
  substring(hashes FROM (1 + ${HASH_SIZE} * (stop / ${TILE_WIDTH} * ${TILE_WIDTH} - start))::integer)
  FROM (SELECT min(position) AS start, max(position + length(leaves) / ${HASH_SIZE}) AS stop,
    string_agg(leaves, '' ORDER BY position) AS hashes FROM log_group WHERE position IS NOT NULL) AS placed
  WHERE start IS NOT NULL`
/** Columns of a group, and its number of entries. */
const GROUP = 'id::float8 AS id, position::float8 AS position, entries, leaves'
const ENTRIES = `length(leaves) / ${HASH_SIZE}`
const MAX_GROUPS = 8_192
const STATE = `origin, key, size::float8 AS size, root, checkpoint, published, published_size::float8 AS "publishedSize",
  stopped, stopped IS NULL AND open_until > now() AND opened_in = log_here() AS open, log_here() AS here`

/**
 * SQL of the log, on the primary, with a connection each for signatures, sequencer and reads of the state.
 */
export class LogStore {
  private readonly config = apiConnections(3, {})
  private readonly reader: Reader | undefined
  private readonly states = new SharedRead(() => this.query<LogState>(`SELECT ${STATE} FROM log_state`), 0)

  constructor(private readonly servers: DatabaseServers) {}

  /** Returns a store that reads the tree for one request, within the share of its client. */
  of(reader: Reader): LogStore {
    return Object.assign(Object.create(this) as LogStore, { reader })
  }

  private query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    return translated(this.servers, this.servers.query<Row>(this.config, { text, values }), false)
  }

  /** Reads data that never changes, from a replica if there is one. */
  private read<Row extends object>(text: string, values: unknown[]): Promise<Row[]> {
    return this.reader
      ? this.reader.run<Row>({ text, values }, true, RETRY)
      : translated(this.servers, this.servers.read<Row>(this.config, { text, values }), false)
  }

  /** Reads the newest part of the tree, which a replica may not have yet. */
  private readNewest<Row extends object>(text: string, values: unknown[]): Promise<Row[]> {
    return this.reader
      ? this.reader.runOnPrimary<Row>({ text, values }, RETRY)
      : this.query<Row>(text, values)
  }

  async create(log: Pick<LogState, 'origin' | 'key' | 'checkpoint'> & { root: Uint8Array }): Promise<void> {
    await this.query(
      `INSERT INTO log_state (origin, key, size, root, checkpoint, published, published_size)
       VALUES ($1, $2, 0, $3, $4, $4, 0) ON CONFLICT DO NOTHING`,
      [log.origin, log.key, Buffer.from(log.root), log.checkpoint],
    )
  }

  /** Returns the state; undefined if there is no log yet. Concurrent callers share one read. */
  async state(): Promise<LogState | undefined> {
    return (await this.states.fresh())[0]
  }

  /**
   * Stores a group of entries, and returns the log's origin; undefined, and nothing stored, if it is closed.
   */
  async append(entries: readonly Uint8Array[], leaves: readonly Uint8Array[]): Promise<string | undefined> {
    const [row] = await this.query<{ origin: string | null }>('SELECT log_append($1, $2) AS origin', [
      encodeBundle(entries),
      Buffer.concat(leaves),
    ])
    return row!.origin ?? undefined
  }

  /**
   * Acquires or renews the lease of the sequencer. `held` is true if this process has it.
   * @param confirmed server on which this process has confirmed that the log is not a restored backup. On it,
   *   entries are accepted for `openSeconds`.
   * @param opening state before the confirmation, to open the log after it. Only the reason in that state is
   *   deleted, and only if no other process has had the lease since: a later reason is newer than the
   *   confirmation. A renewal deletes no reason.
   */
  async claim(
    holder: string,
    leaseSeconds: number,
    openSeconds: number,
    confirmed: string | undefined,
    opening?: Pick<LogState, 'stopped'>,
  ): Promise<(LogState & { held: boolean }) | undefined> {
    const [row] = await this.query<LogState & { held: boolean }>(
      `WITH claimed AS (
         UPDATE log_state SET holder = $1, held_until = now() + $2 * interval '1 second',
           open_until = CASE WHEN $4 = log_here() THEN now() + $3 * interval '1 second' ELSE open_until END,
           opened_in = CASE WHEN $4 = log_here() THEN $4 ELSE opened_in END,
           stopped = CASE WHEN $5 AND $4 = log_here() AND stopped = $6 THEN NULL ELSE stopped END
         WHERE holder = $1 OR (held_until < now() AND NOT $5) RETURNING *)
       SELECT ${STATE}, true AS held FROM claimed
       UNION ALL SELECT ${STATE}, false FROM log_state WHERE NOT EXISTS (SELECT FROM claimed)`,
      [holder, leaseSeconds, openSeconds, confirmed ?? null, opening !== undefined, opening?.stopped ?? null],
    )
    return row
  }

  async stop(holder: string, reason: string): Promise<void> {
    await this.query(
      `UPDATE log_state SET stopped = $2, open_until = '-infinity' WHERE holder = $1 AND
         (stopped, open_until) IS DISTINCT FROM ($2, '-infinity'::timestamptz)`,
      [holder, reason],
    )
  }

  /** Releases the lease, so that another process can acquire it before it expires. */
  async release(holder: string): Promise<void> {
    await this.query(`UPDATE log_state SET held_until = '-infinity' WHERE holder = $1`, [holder])
  }

  /** Returns groups that have no position yet, the oldest first, until they exceed a number of bytes. */
  async waiting(maxBytes: number): Promise<Group[]> {
    return this.query<Group>(
      `SELECT ${GROUP} FROM (
         SELECT *, sum(length(entries)) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) - length(entries) AS before
         FROM (SELECT * FROM log_group WHERE position IS NULL ORDER BY id LIMIT ${MAX_GROUPS}) AS oldest) AS each
       WHERE before < $1 ORDER BY each.id`,
      [maxBytes],
    )
  }

  /** Returns the groups with entries of the partial bundle, in their order. */
  async partial(): Promise<(Group & { position: number })[]> {
    return this.query<Group & { position: number }>(
      `SELECT ${GROUP} FROM log_group WHERE position IS NOT NULL ORDER BY log_group.position`,
    )
  }

  /**
   * Applies a step in one statement. Returns false and changes nothing if the tree or an entry has changed or
   * the lease was lost, so that every position has exactly one entry, even after a failure or a restore.
   */
  async apply(holder: string, step: Step): Promise<boolean> {
    const { old, head, checkpoint, publish, content, bundled, placed, bundles, tiles } = step
    const rows = await this.query(
      `WITH fence AS (
         UPDATE log_state SET size = $4, root = $5, checkpoint = $6,
           published = CASE WHEN $7 THEN $6 ELSE published END,
           published_size = CASE WHEN $7 THEN $4 ELSE published_size END
         WHERE holder = $1 AND size = $2 AND root = $3 AND $17 =
           (SELECT sha256(string_agg(entries || leaves, '' ORDER BY id)) FROM log_group WHERE id = ANY($8::bigint[] || $9::bigint[]))
         RETURNING 1
       ), gone AS (
         DELETE FROM log_group USING fence WHERE id = ANY($8::bigint[])
       ), put AS (
         UPDATE log_group SET position = placed.position
         FROM fence, unnest($9::bigint[], $10::bigint[]) AS placed(id, position)
         WHERE log_group.id = placed.id AND log_group.position IS DISTINCT FROM placed.position
       ), packed AS (
         INSERT INTO log_bundle SELECT bundle.* FROM fence, unnest($11::bigint[], $12::bytea[]) AS bundle
       ), hashed AS (
         INSERT INTO log_tile (level, index, hashes, keys)
         SELECT level, index, hashes, keys::integer[]
         FROM fence, unnest($13::smallint[], $14::bigint[], $15::bytea[], $16::text[]) AS tile(level, index, hashes, keys)
         ON CONFLICT (level, index) DO UPDATE SET hashes = excluded.hashes)
       SELECT FROM fence`,
      [
        ...[holder, old.size, Buffer.from(old.root), head.size, Buffer.from(head.root), checkpoint, publish],
        ...[bundled, placed.map(({ id }) => id), placed.map(({ position }) => position)],
        ...[bundles.map(({ index }) => index), bundles.map(({ entries }) => entries)],
        ...[tiles.map(({ level }) => level), tiles.map(({ index }) => index)],
        tiles.map(({ hashes }) => hashes),
        tiles.map(({ level, index, hashes }) => (level === 0 ? `{${keysOf(hashes, index).join()}}` : null)),
        content,
      ],
    )
    return rows.length > 0
  }

  /** Publishes a checkpoint with its cosignatures, unless a newer one is published. */
  async publish(holder: string, checkpoint: string, size: number): Promise<void> {
    await this.query(
      `UPDATE log_state SET published = $2, published_size = $3
       WHERE holder = $1 AND published_size <= $3 AND size >= $3`,
      [holder, checkpoint, size],
    )
  }

  /** Sizes of the last checkpoints that the witnesses cosigned, by witness name. */
  async cosigned(): Promise<Map<string, number>> {
    const rows = await this.query<{ name: string; size: number }>(
      'SELECT name, size::float8 AS size FROM log_witness',
    )
    return new Map(rows.map(({ name, size }) => [name, size]))
  }

  async noteCosigned(name: string, size: number): Promise<void> {
    await this.query(
      `INSERT INTO log_witness VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET size = excluded.size`,
      [name, size],
    )
  }

  /** Returns the published checkpoint and the place of a leaf; undefined if there is no log yet. */
  async find(leaf: Uint8Array): Promise<Place | undefined> {
    // One statement, and thus one snapshot, because entries move to tiles. Groups are read only if no tile
    // has the leaf. A hash that begins within a leaf matches no entry.
    const [place] = await this.readNewest<Place>(
      `WITH tile AS (
         SELECT (index * ${TILE_WIDTH} + (position($2::bytea IN hashes) - 1) / ${HASH_SIZE})::float8 AS position, hashes
         FROM log_tile_with($1::integer[], $2) WHERE position($2::bytea IN hashes) % ${HASH_SIZE} = 1
       ), entry AS (
         SELECT (position + (position($2::bytea IN leaves) - 1) / ${HASH_SIZE})::float8 AS position,
           NULL::bytea AS hashes
         FROM log_group WHERE NOT EXISTS (SELECT FROM tile) AND position($2::bytea IN leaves) % ${HASH_SIZE} = 1
         ORDER BY log_group.position LIMIT 1
       ), place AS (
         SELECT true AS known, * FROM tile UNION ALL SELECT true, * FROM entry)
       SELECT published, published_size::float8 AS "publishedSize", known, position, hashes
       FROM log_state LEFT JOIN place ON true`,
      [keysOfHash(leaf), Buffer.from(leaf)],
    )
    return place
  }

  async backlog(): Promise<number> {
    const [row] = await this.query<{ entries: number }>(
      `SELECT coalesce(sum(${ENTRIES}), 0)::float8 AS entries FROM log_group WHERE position IS NULL`,
    )
    return row!.entries
  }

  /** Returns the hashes of tiles. Throws a TlogError if the tree does not have them. */
  async tiles(tiles: readonly Tile[]): Promise<Uint8Array[]> {
    if (tiles.length === 0) return []
    const partial = tiles.some(({ level, width }) => level === 0 && width < TILE_WIDTH)
    const text = `SELECT level, index::float8 AS index, hashes FROM log_tile
      JOIN unnest($1::smallint[], $2::bigint[]) AS wanted(level, index) USING (level, index)
      ${partial ? `UNION ALL ${PARTIAL_TILE}` : ''}`
    const values = [tiles.map(({ level }) => level), tiles.map(({ index }) => index)]
    const find = (rows: { level: number; index: number; hashes: Buffer }[]) => {
      const byTile = new Map(rows.map(({ level, index, hashes }) => [`${level}/${index}`, hashes]))
      return tiles.map(({ level, index, width }) => {
        const hashes = byTile.get(`${level}/${index}`)
        return hashes && hashes.length >= width * HASH_SIZE
          ? hashes.subarray(0, width * HASH_SIZE)
          : undefined
      })
    }
    let found = find(await this.read(text, values))
    // Retried on the primary: a replica may not have the last tiles yet.
    if (found.includes(undefined)) found = find(await this.readNewest(text, values))
    return found.map((hashes, at) => {
      if (!hashes) throw new TlogError(tilePath(tiles[at]!), 'a tile of the tree')
      return hashes
    })
  }

  /** Returns a bundle, compressed with gzip if it is full; undefined if the tree does not have it. */
  async bundle({ index, width }: Tile): Promise<{ compressed: Buffer } | { bytes: Uint8Array } | undefined> {
    const text = `SELECT NULL AS position, entries AS bytes, ${TILE_WIDTH} AS entries FROM log_bundle WHERE index = $1
      UNION ALL SELECT position::float8, entries, ${ENTRIES} FROM log_group
      WHERE position < ($1 + 1) * ${TILE_WIDTH} AND position + ${ENTRIES} > $1 * ${TILE_WIDTH}
      ORDER BY position NULLS FIRST`
    type Row = { position: number | null; bytes: Buffer; entries: number }
    const first = index * TILE_WIDTH
    const isThere = (rows: Row[]) => {
      const { position, entries } = rows.at(-1) ?? { position: 0, entries: 0 }
      return rows[0]?.position === null || (position ?? 0) + entries >= first + width
    }
    let rows = await this.read<Row>(text, [index])
    // Retried on the primary: a replica may not have the last entries yet.
    if (!isThere(rows)) rows = await this.readNewest<Row>(text, [index])
    if (!isThere(rows)) return undefined
    const full = rows[0]!.position === null ? rows[0]!.bytes : undefined
    if (full && width === TILE_WIDTH) return { compressed: full }
    const start = full ? first : rows[0]!.position!
    const entries = full
      ? decodeBundle(await decompress(full), TILE_WIDTH)
      : rows.flatMap((row) => decodeBundle(row.bytes, row.entries))
    return { bytes: encodeBundle(entries.slice(first - start, first - start + width)) }
  }
}
