-- Changes that are sent to subscribers (api/webhooks).
CREATE TABLE "webhook_subscription" (
  "id" text PRIMARY KEY,
  -- file: of WEBHOOKS_FILE; admin: made by the admin API.
  "source" text NOT NULL,
  "url" text NOT NULL, "finality" text NOT NULL,
  -- As the query of the stream has it, by name.
  "filter" jsonb NOT NULL,
  -- The newest first; the one before signs too until old_until.
  "secrets" text[] NOT NULL, "old_until" timestamptz,
  -- Before the next change that is to be sent. Null: the deliverer begins where the changes are.
  "position" text,
  -- That changes before the position were lost, and why: told first.
  "reset_reason" text, "reset_at" timestamptz,
  -- Failed tries since the last that succeeded, and when the next one may be.
  "failures" integer NOT NULL DEFAULT 0, "failing_since" timestamptz, "next_try" timestamptz, "last_error" text,
  -- Why nothing is sent any more.
  "disabled" text,
  -- Goes up when somebody else than its deliverer changes the row, or it gets another deliverer.
  "version" bigint NOT NULL DEFAULT 1,
  -- The one process that sends, until then unless it renews that.
  "holder" text, "held_until" timestamptz,
  "created_at" timestamptz NOT NULL DEFAULT now());

-- What is sent of a change, the same bytes to all and at each try. "since" is record_state's, in Unix milliseconds.
CREATE TABLE "webhook_message" (
  "finality" text, "chain" text, "since" bigint, "change" bigint, "body" text NOT NULL,
  "created_at" timestamptz NOT NULL DEFAULT now(), PRIMARY KEY ("finality", "chain", "since", "change"));
CREATE INDEX "webhook_message_created_at" ON "webhook_message" ("created_at");

-- Messages that were given up after three days.
CREATE TABLE "webhook_dead_letter" (
  "subscription" text REFERENCES "webhook_subscription" ON DELETE CASCADE, "message" text,
  "number" bigint GENERATED ALWAYS AS IDENTITY,
  "body" text NOT NULL, "attempts" integer NOT NULL, "error" text NOT NULL, "died_at" timestamptz NOT NULL DEFAULT now(),
  -- When somebody asked for another try.
  "wanted_at" timestamptz,
  PRIMARY KEY ("subscription", "message"));
CREATE INDEX "webhook_dead_letter_number" ON "webhook_dead_letter" ("subscription", "number");
