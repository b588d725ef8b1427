-- Whether a chain's copy is reliable, what the audit may still ask its node, and which process writes it.
ALTER TABLE "chain_status"
  -- Why the copy is not reliable, as of checked_at; null while it is.
  ADD "doubt" text,
  -- Answers that could not be true and that no other endpoint settled.
  ADD "contradictions" bigint NOT NULL DEFAULT 0,
  -- Calls that the audit has saved up, and when that was computed.
  ADD "audit_calls" float8, ADD "audit_calls_at" timestamptz;

-- The one process that writes a chain's rows. A table of its own: batches lock its row while they write.
CREATE TABLE "chain_writer" ("chain" text PRIMARY KEY, "writer" text NOT NULL, "until" timestamptz NOT NULL);
