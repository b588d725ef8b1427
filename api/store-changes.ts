import {
  RECORD_COLUMNS,
  boxesOf,
  envelope,
  meets,
  type Bbox,
  type RecordRow,
  type Statement,
} from './store-records'

/** The SQL of those who follow the records: what changed, in order, and where that leads. */

/** reorged: gone, or not revoked any more, as the chain took it back. */
export type ChangeKind = 'new' | 'revoked' | 'reorged'

/** How far each chain's changes were read: the id of the last one, by chain. */
export type ChangeIds = Readonly<Record<string, number>>

/** A chain's changes after a place in them, all of one moment. */
export interface ChainChanges {
  chain: string
  /** When the database got its first record of the chain. */
  since: Date
  /** Changes up to this id are not kept any more. */
  forgotten: number
  /** Id of the last change there is; that of the last forgotten one where none is kept. */
  last: number
  /** id, kind, UID */
  changes: [number, ChangeKind, string][]
}

/** A record as an event tells it, and what filters ask of it. */
export interface ChangedRecord extends RecordRow {
  schema: string
  locationType: string
}

/**
 * The next changes of every chain that has ever had a record, `limit` a chain at most, none beyond `upTo`. Ids are in the order in
 * which they can be seen within a chain only (migration Records), so each chain has its own place. Lives by the primary key.
 */
export function changesQuery(after: ChangeIds, upTo: ChangeIds | undefined, limit: number): Statement {
  return {
    text: `SELECT chain, since, forgotten::float8 AS forgotten,
        coalesce((SELECT max(id) FROM record_change WHERE chain = state.chain), forgotten)::float8 AS last,
        (SELECT coalesce(json_agg(json_build_array(id, kind, uid) ORDER BY id), '[]') FROM (
          SELECT id, kind, uid FROM record_change WHERE chain = state.chain AND id > coalesce(($1::jsonb ->> state.chain)::bigint, 0)
            AND ($2::jsonb IS NULL OR id <= coalesce(($2::jsonb ->> state.chain)::bigint, 0)) ORDER BY id LIMIT $3) AS next) AS changes
      FROM record_state AS state ORDER BY chain`,
    values: [JSON.stringify(after), upTo === undefined ? null : JSON.stringify(upTo), limit],
  }
}

/** These records, where they still are. Lives by the primary key. */
export function changedRecordsQuery(ids: readonly string[]): Statement {
  return {
    text: `SELECT ${RECORD_COLUMNS}, NULL AS geometry, schema_uid AS schema, location_type AS "locationType" FROM location_record WHERE id = ANY($1)`,
    values: [ids],
  }
}

/** Which of these records lie in which of the boxes, as the list's filter has it: pairs of a box's place and an id. Lives by the primary key. */
export function boxesQuery(ids: readonly string[], boxes: readonly Bbox[]): Statement {
  const parts = boxes.flatMap((bbox, place) => boxesOf(bbox).map((box) => [place, ...box] as const))
  return {
    text: `SELECT DISTINCT box.place, record.id FROM location_record AS record
      JOIN unnest($2::int[], $3::float8[], $4::float8[], $5::float8[], $6::float8[]) AS box (place, w, s, e, n)
        ON ${meets('record.geom', envelope('w', 's', 'e', 'n'))}
      WHERE record.id = ANY($1)`,
    values: [ids, ...[0, 1, 2, 3, 4].map((column) => parts.map((part) => part[column]))],
  }
}
