/** Whether a chain's copy is to be relied on, what the audit may still ask its node, and which process writes it. */
module.exports = class Doubt1795651200000 {
  name = 'Doubt1795651200000'

  async up(db) {
    await db.query(`ALTER TABLE "chain_status"
      -- Why the copy is not to be relied on, as of checked_at; null while it is.
      ADD "doubt" text,
      -- Answers that could not be true and that no other endpoint settled.
      ADD "contradictions" bigint NOT NULL DEFAULT 0,
      -- Calls that the audit had saved up, and when.
      ADD "audit_calls" float8, ADD "audit_calls_at" timestamptz`)

    // The one process that writes a chain's rows. A table of its own: batches hold its row while they write.
    await db.query(
      `CREATE TABLE "chain_writer" ("chain" text PRIMARY KEY, "writer" text NOT NULL, "until" timestamptz NOT NULL)`,
    )
  }

  async down(db) {
    await db.query(`DROP TABLE "chain_writer"`)
    await db.query(
      `ALTER TABLE "chain_status" DROP "doubt", DROP "contradictions", DROP "audit_calls", DROP "audit_calls_at"`,
    )
  }
}
