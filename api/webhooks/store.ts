import { apiConnections, translated, type ChainChanges, type DatabaseServers, type Finality } from '../store'
import type { RecordEvent } from '../stream'

/** A subscription as requested. */
export interface GivenSubscription {
  id: string
  url: string
  finality: Finality
  filter: Readonly<Record<string, string>>
  /** The newest first. */
  secrets: readonly string[]
}

/** Row of a subscription that this process delivers for. */
export interface HeldRow extends GivenSubscription {
  /** Time in Unix milliseconds until which the secrets after the first one sign too. */
  oldUntil: number | null
  position: string | null
  resetReason: string | null
  resetAt: Date | null
  failures: number
  /** Milliseconds since the first failure, and until the next attempt, by the clock of the database. */
  failingMs: number | null
  waitMs: number | null
  lastError: string | null
  version: string
  /** Time of the database at the read. */
  readAt: Date
}

/** A subscription as shown to its operator, without secrets. */
export interface SubscriptionRow extends Pick<GivenSubscription, 'id' | 'url' | 'finality' | 'filter'> {
  source: 'file' | 'admin'
  state: 'active' | 'failing' | 'disabled'
  /** Position before the next change to send; null: a subscription of the file that no process has begun. */
  position: string | null
  failures: number
  last_error: string | null
  next_try: Date | null
  disabled: string | null
  dead_letters: number
  created_at: Date
}

/** A dead letter as shown to its operator. */
export interface DeadLetterRow {
  number: number
  message: string
  body: string
  attempts: number
  error: string
  died_at: Date
  wanted_at: Date | null
}

/** Columns that a deliverer writes of a subscription. */
export type Progress = Pick<
  HeldRow,
  | 'id'
  | 'version'
  | 'position'
  | 'resetReason'
  | 'resetAt'
  | 'failures'
  | 'failingMs'
  | 'waitMs'
  | 'lastError'
> & { disabled: string | null }

export type DeadLetter = Pick<DeadLetterRow, 'message' | 'body' | 'attempts' | 'error'> & {
  subscription: string
}

/** Body of the message about a change. */
export type StoredBody = Pick<RecordEvent, 'chain' | 'since' | 'change'> & { body: string }

/** Days that bodies are stored. Changes are kept for 7 days and tried for 3 more; one day is a margin. */
const BODIES_KEPT_DAYS = 11
const DEAD_LETTERS_KEPT_DAYS = 30
const FORGOTTEN_AT_ONCE = 5_000
/** Hours that a replaced secret continues to sign. */
const OLD_SECRET_HOURS = 24
const STATE = `CASE WHEN disabled IS NOT NULL THEN 'disabled' WHEN failures > 0 OR last_error IS NOT NULL THEN 'failing'
  ELSE 'active' END`
const SHOWN = `id, source, url, finality, filter, position, failures, last_error,
  CASE WHEN disabled IS NULL THEN next_try END AS next_try, disabled, created_at,
  ${STATE} AS state,
  (SELECT count(*)::int FROM webhook_dead_letter WHERE subscription = row.id) AS dead_letters`

/** SQL that forgets failures, so that the next message is sent immediately and retried for three days. */
const RETRIES_RESTART = 'failures = 0, failing_since = NULL, next_try = NULL, last_error = NULL'

/** SQL statements of webhooks, all on the primary. */
export class WebhookStore {
  private readonly config = apiConnections(3, {})

  constructor(private readonly servers: DatabaseServers) {}

  private query<Row extends object>(text: string, values: unknown[]): Promise<Row[]> {
    return translated(this.servers, this.servers.query<Row>(this.config, { text, values }), false)
  }

  /**
   * Applies the subscriptions of the settings file. Retries of a changed one restart. One whose finality
   * changes starts again.
   * @param kept ids of subscriptions that stay unchanged, because their entries are invalid
   */
  async setFile(given: readonly GivenSubscription[], kept: readonly string[] = []): Promise<void> {
    await this.query(
      `WITH given AS (
         SELECT * FROM json_to_recordset($1) AS given (id text, url text, finality text, filter jsonb, secrets text[])
       ), gone AS (
         DELETE FROM webhook_subscription WHERE source = 'file' AND id NOT IN (SELECT id FROM given) AND id <> ALL($2))
       INSERT INTO webhook_subscription AS old (id, source, url, finality, filter, secrets, old_until)
       SELECT id, 'file', url, finality, filter, secrets, 'infinity' FROM given ORDER BY id
       ON CONFLICT (id) DO UPDATE SET source = 'file', url = excluded.url, finality = excluded.finality,
         filter = excluded.filter, secrets = excluded.secrets, old_until = 'infinity', version = old.version + 1,
         ${RETRIES_RESTART},
         disabled = CASE WHEN old.url = excluded.url THEN old.disabled END,
         position = CASE WHEN old.finality = excluded.finality THEN old.position END
       WHERE (old.source, old.url, old.finality, old.filter, old.secrets)
         IS DISTINCT FROM ('file', excluded.url, excluded.finality, excluded.filter, excluded.secrets)`,
      [JSON.stringify(given), kept],
    )
  }

  /** Enters a holder, whose lease ends unless it is renewed. Returns the time of the database. */
  async enter(holder: string, leaseMs: number): Promise<Date> {
    const [row] = await this.query<{ now: Date }>(
      `INSERT INTO webhook_holder (holder, held_until) VALUES ($1, now() + make_interval(secs => $2))
       RETURNING now() AS now`,
      [holder, leaseMs / 1000],
    )
    return row!.now
  }

  /**
   * Renews the lease of a holder, and ends leases that were not renewed in time. Returns the time of the
   * database; undefined if this holder's own lease had ended, so that others may hold its subscriptions.
   */
  async renew(holder: string, leaseMs: number): Promise<Date | undefined> {
    const [row] = await this.query<{ now: Date }>(
      `WITH lapsed AS (
         DELETE FROM webhook_holder WHERE holder IN (SELECT holder FROM webhook_holder
           WHERE held_until < now() AND holder <> $1 FOR UPDATE SKIP LOCKED))
       UPDATE webhook_holder SET held_until = now() + make_interval(secs => $2) WHERE holder = $1
       RETURNING now() AS now`,
      [holder, leaseMs / 1000],
    )
    return row?.now
  }

  /** Assigns to the holder its share of the subscriptions without a leased holder. Returns their number. */
  async take(holder: string): Promise<number> {
    // Concurrent statements skip a row with a new version. An order per holder makes them seldom compete.
    const rows = await this.query<{ id: string }>(
      `WITH free AS MATERIALIZED (
         SELECT id, version FROM webhook_subscription AS row WHERE disabled IS NULL
           AND NOT EXISTS (SELECT FROM webhook_holder AS other WHERE other.holder = row.holder)
       ), share AS MATERIALIZED (
         SELECT id, version FROM free ORDER BY md5(id || $1) LIMIT (
           SELECT ceil((SELECT count(*) FROM free)::float8 / greatest(1, count(*))) FROM webhook_holder)
       ), mine AS (
         SELECT row.id FROM webhook_subscription AS row JOIN share USING (id, version) FOR UPDATE OF row SKIP LOCKED)
       UPDATE webhook_subscription AS row SET holder = $1, version = version + 1 FROM mine WHERE row.id = mine.id
       RETURNING row.id`,
      [holder],
    )
    return rows.length
  }

  /** Returns the versions of the enabled subscriptions of a holder, by id. */
  async versions(holder: string): Promise<Map<string, string>> {
    const rows = await this.query<{ id: string; version: string }>(
      'SELECT id, version FROM webhook_subscription WHERE holder = $1 AND disabled IS NULL',
      [holder],
    )
    return new Map(rows.map(({ id, version }) => [id, version]))
  }

  /** Returns the number of subscriptions in each state, of all holders. */
  async counts(): Promise<Record<SubscriptionRow['state'], number>> {
    const rows = await this.query<{ state: SubscriptionRow['state']; count: number }>(
      `SELECT ${STATE} AS state, count(*)::int FROM webhook_subscription GROUP BY 1`,
      [],
    )
    return {
      ...{ active: 0, failing: 0, disabled: 0 },
      ...Object.fromEntries(rows.map(({ state, count }) => [state, count])),
    }
  }

  /** Returns those of the given subscriptions that the holder has. */
  held(holder: string, ids: readonly string[]): Promise<HeldRow[]> {
    return this.query<HeldRow>(
      `SELECT id, url, finality, filter, secrets, extract(epoch FROM old_until)::float8 * 1000 AS "oldUntil",
         position, reset_reason AS "resetReason", reset_at AS "resetAt", failures, version, now() AS "readAt",
         last_error AS "lastError",
         extract(epoch FROM now() - failing_since)::float8 * 1000 AS "failingMs",
         extract(epoch FROM next_try - now())::float8 * 1000 AS "waitMs"
       FROM webhook_subscription WHERE holder = $1 AND id = ANY($2)`,
      [holder, ids],
    )
  }

  /** Stores why the holder cannot read a subscription, unless it was changed. Its position stays. */
  async noteUnreadable(
    holder: string,
    { id, version }: Pick<HeldRow, 'id' | 'version'>,
    reason: string,
  ): Promise<void> {
    await this.query(
      'UPDATE webhook_subscription SET last_error = $4 WHERE id = $1 AND version = $2 AND holder = $3',
      [id, version, holder, reason],
    )
  }

  /** Writes progress and dead letters for those that the holder has in this version. Returns their ids. */
  async keep(
    holder: string,
    progress: readonly Progress[],
    dead: readonly DeadLetter[],
  ): Promise<Set<string>> {
    const rows = await this.query<{ id: string }>(
      `WITH kept AS (
         UPDATE webhook_subscription AS row SET position = given.position, reset_reason = given."resetReason",
           reset_at = given."resetAt", failures = given.failures,
           failing_since = now() - make_interval(secs => given."failingMs" / 1000),
           next_try = now() + make_interval(secs => given."waitMs" / 1000),
           last_error = given."lastError", disabled = given.disabled,
           holder = CASE WHEN given.disabled IS NULL THEN row.holder END
         FROM json_to_recordset($2) AS given (id text, version bigint, position text, "resetReason" text,
           "resetAt" timestamptz, failures integer, "failingMs" float8, "waitMs" float8, "lastError" text, disabled text)
         WHERE row.id = given.id AND row.version = given.version AND row.holder = $1 RETURNING row.id
       ), dead AS (
         INSERT INTO webhook_dead_letter (subscription, message, body, attempts, error)
         SELECT subscription, message, body, attempts, error
         FROM json_to_recordset($3) AS given (subscription text, message text, body text, attempts integer, error text)
         JOIN kept ON kept.id = subscription ON CONFLICT DO NOTHING)
       SELECT id FROM kept`,
      [holder, JSON.stringify(progress), JSON.stringify(dead)],
    )
    return new Set(rows.map(({ id }) => id))
  }

  /** Stores the bodies of these changes unless they are stored already. Returns the stored ones. */
  async storeBodies(finality: string, bodies: readonly StoredBody[]): Promise<StoredBody[]> {
    const given = JSON.stringify(bodies)
    const columns = 'given (chain text, since bigint, change bigint, body text)'
    await this.query(
      `INSERT INTO webhook_message (finality, chain, since, change, body)
       SELECT $1, chain, since, change, body FROM json_to_recordset($2) AS ${columns} ORDER BY chain, change
       ON CONFLICT DO NOTHING`,
      [finality, given],
    )
    return this.query<StoredBody>(
      `SELECT chain, since::float8 AS since, change::float8 AS change, message.body
       FROM webhook_message AS message JOIN json_to_recordset($2) AS ${columns} USING (chain, since, change)
       WHERE finality = $1`,
      [finality, given],
    )
  }

  /** Returns dead letters to retry, `atMost` for each of the given subscriptions that the holder has. */
  wanted(holder: string, ids: readonly string[], atMost: number): Promise<DeadLetter[]> {
    return this.query<DeadLetter>(
      `SELECT subscription, message, body, attempts, error FROM (
         SELECT letter.*, row_number() OVER (PARTITION BY subscription ORDER BY wanted_at, number) AS place
         FROM webhook_dead_letter AS letter JOIN webhook_subscription AS row ON row.id = subscription
         WHERE wanted_at IS NOT NULL AND row.holder = $1 AND row.id = ANY($2)) AS wanted
       WHERE place <= $3 ORDER BY wanted_at, number`,
      [holder, ids, atMost],
    )
  }

  /** Records the outcome of a retry of a dead letter; error: undefined if it was accepted. */
  async tried({ subscription, message }: DeadLetter, error: string | undefined): Promise<void> {
    if (error === undefined)
      await this.query('DELETE FROM webhook_dead_letter WHERE subscription = $1 AND message = $2', [
        subscription,
        message,
      ])
    else
      await this.query(
        `UPDATE webhook_dead_letter SET wanted_at = NULL, attempts = attempts + 1, error = $3
         WHERE subscription = $1 AND message = $2`,
        [subscription, message, error],
      )
  }

  /** Ends the lease of a holder, so that others need not wait for its subscriptions. */
  async release(holder: string): Promise<void> {
    await this.query('DELETE FROM webhook_holder WHERE holder = $1', [holder])
  }

  /** Deletes old dead letters and up to FORGOTTEN_AT_ONCE old bodies. Returns true if more may be old. */
  async forget(): Promise<boolean> {
    const [row] = await this.query<{ count: number }>(
      `WITH bodies AS (
         DELETE FROM webhook_message WHERE ctid IN (SELECT ctid FROM webhook_message
           WHERE created_at < now() - make_interval(days => $1) LIMIT $3) RETURNING chain),
       letters AS (DELETE FROM webhook_dead_letter WHERE died_at < now() - make_interval(days => $2))
       SELECT count(*)::int FROM bodies`,
      [BODIES_KEPT_DAYS, DEAD_LETTERS_KEPT_DAYS, FORGOTTEN_AT_ONCE],
    )
    return row!.count === FORGOTTEN_AT_ONCE
  }

  /** Adds a subscription at a position; undefined if there are already `atMost` of them. */
  async add(
    { id, url, finality, filter, secrets }: GivenSubscription,
    position: string,
    atMost: number,
  ): Promise<SubscriptionRow | undefined> {
    const [row] = await this.query<SubscriptionRow>(
      `INSERT INTO webhook_subscription AS row (id, source, url, finality, filter, secrets, position)
       SELECT $1, 'admin', $2, $3, $4, $5, $6 WHERE (SELECT count(*) FROM webhook_subscription) < $7 RETURNING ${SHOWN}`,
      [id, url, finality, JSON.stringify(filter), secrets, position, atMost],
    )
    return row
  }

  /** Returns a page of subscriptions in the order of their ids. */
  list(after: string, limit: number): Promise<SubscriptionRow[]> {
    return this.query<SubscriptionRow>(
      `SELECT ${SHOWN} FROM webhook_subscription AS row WHERE id > $1 ORDER BY id LIMIT $2`,
      [after, limit],
    )
  }

  async get(id: string): Promise<SubscriptionRow | undefined> {
    const rows = await this.query<SubscriptionRow>(
      `SELECT ${SHOWN} FROM webhook_subscription AS row WHERE id = $1`,
      [id],
    )
    return rows[0]
  }

  /** Deletes a subscription. Its deliverer stops at its next check. */
  async remove(id: string): Promise<void> {
    await this.query(`DELETE FROM webhook_subscription WHERE id = $1 AND source = 'admin'`, [id])
  }

  /** Replaces the secret, and clears the failures. The previous secret continues to sign for a day. */
  async rotate(id: string, secret: string): Promise<void> {
    await this.query(
      `UPDATE webhook_subscription SET secrets = ARRAY[$2, secrets[1]], version = version + 1,
         old_until = now() + make_interval(hours => $3), ${RETRIES_RESTART} WHERE id = $1 AND source = 'admin'`,
      [id, secret, OLD_SECRET_HOURS],
    )
  }

  /**
   * Moves a subscription to this position, and clears its failures. A reset that the receiver has not
   * accepted is sent before the changes, because they do not contain those that it reports as lost.
   */
  async replay(id: string, position: string): Promise<void> {
    await this.query(
      `UPDATE webhook_subscription SET position = $2, disabled = NULL, version = version + 1, ${RETRIES_RESTART}
       WHERE id = $1`,
      [id, position],
    )
  }

  /**
   * Returns for each chain the change before the first one that was logged after a time. Its id need not be
   * the highest up to that time: a change has the time at which its transaction began, and the next id when
   * it is written. No transaction lasts an hour, so older changes need not be read.
   */
  changesUntil(time: Date): Promise<Pick<ChainChanges, 'chain' | 'since' | 'last'>[]> {
    return this.query(
      `SELECT chain, since, greatest(forgotten, coalesce(
         (SELECT min(id) - 1 FROM record_change AS change WHERE change.chain = state.chain AND changed_at > $1
           AND id > coalesce((SELECT max(id) FROM record_change AS old
             WHERE old.chain = state.chain AND changed_at <= $1::timestamptz - interval '1 hour'), 0)),
         (SELECT max(id) FROM record_change AS change WHERE change.chain = state.chain)))::float8 AS last
       FROM record_state AS state ORDER BY chain`,
      [time],
    )
  }

  deadLetters(subscription: string, after: number, limit: number): Promise<DeadLetterRow[]> {
    return this.query<DeadLetterRow>(
      `SELECT number::float8 AS number, message, body, attempts, error, died_at, wanted_at FROM webhook_dead_letter
       WHERE subscription = $1 AND number > $2 ORDER BY number LIMIT $3`,
      [subscription, after, limit],
    )
  }

  /** Requests a retry of a dead letter. Returns true if the dead letter exists. */
  async want(subscription: string, message: string): Promise<boolean> {
    const rows = await this.query<{ message: string }>(
      `UPDATE webhook_dead_letter SET wanted_at = now() WHERE subscription = $1 AND message = $2 RETURNING message`,
      [subscription, message],
    )
    return rows.length > 0
  }
}
