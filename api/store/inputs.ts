import { setImmediate } from 'node:timers/promises'

/** Attestation data that a computation needs. */
export interface InputRow {
  revoked: boolean
  /** Unix seconds; 0: never expires */
  expirationTime: bigint
  blockNumber: number
  /** GeoJSON geometry as text; null if it could not be read or was not requested */
  geometry: string | null
  /** Reason why there is no geometry, or why an attested event time is ignored; otherwise null. */
  problem: string | null
}

/**
 * SQL that is true for a row of location_record AS record if the indexer reads its schema, and has read it in
 * all blocks. For other schemas, later revocations may be unknown. `IS TRUE` makes Postgres read the lists of
 * schemas once per statement, and not once per row.
 */
export const IS_FOLLOWED = `((record.chain, record.schema_uid) IN (SELECT chain, unnest(schemas) FROM chain_status)) IS TRUE
  AND NOT EXISTS (SELECT FROM location_schema AS schema WHERE schema.chain = record.chain AND schema.uid = record.schema_uid
    AND NOT (schema.watched AND schema.read_from <= schema.block_number))`

/**
 * Maximum number of concurrent queries, and of inputs per query. Requests that arrive meanwhile are batched
 * into the next query.
 */
const QUERIES_AT_ONCE = 2
const INPUTS_IN_QUERY = 500

type ReadRow = Omit<InputRow, 'expirationTime'> & { id: string; expirationTime: string }

/** Reads inputs of computations. Concurrent requests share one query. */
export class InputLookups {
  private readonly waiting: {
    id: string
    withGeometry: boolean
    resolve: (row: InputRow | undefined) => void
    reject: (error: unknown) => void
  }[] = []
  private running = 0

  constructor(private readonly query: (text: string, values: unknown[]) => Promise<ReadRow[]>) {}

  /** Reads one input. @param id `<chain>-<uid>` */
  read(id: string, withGeometry: boolean): Promise<InputRow | undefined> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ id, withGeometry, resolve, reject })
      if (this.running < QUERIES_AT_ONCE) void this.run()
    })
  }

  /** Runs one query, by primary key. It omits records whose later revocations may be unknown. */
  private async run(): Promise<void> {
    this.running++
    // Requests that arrive in the same turn of the event loop join this query.
    await setImmediate()
    const batch = this.waiting.splice(0, INPUTS_IN_QUERY)
    try {
      if (batch.length === 0) return
      const rows = await this.query(
        `SELECT id, revoked, expiration_time::text AS "expirationTime", block_number AS "blockNumber", CASE WHEN id = ANY($2) THEN geometry END AS geometry, problem
         FROM location_record AS record WHERE id = ANY($1) AND ${IS_FOLLOWED}`,
        [
          [...new Set(batch.map(({ id }) => id))],
          batch.filter(({ withGeometry }) => withGeometry).map(({ id }) => id),
        ],
      )
      const found = new Map(
        rows.map(({ id, ...row }) => [id, { ...row, expirationTime: BigInt(row.expirationTime) }]),
      )
      for (const { id, resolve } of batch) resolve(found.get(id))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      this.running--
      if (this.waiting.length) void this.run()
    }
  }
}
