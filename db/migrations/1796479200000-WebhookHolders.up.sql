-- Leases of webhooks are of processes, not of subscriptions: one row is renewed, as often as one likes.
CREATE TABLE "webhook_holder" (
  -- As webhook_subscription.holder has it. An identity that has lost its lease never gets one again.
  "holder" text PRIMARY KEY,
  -- Until then it sends, unless it renews that; after it any other process may delete the row.
  "held_until" timestamptz NOT NULL);
-- Processes of the release before send until their leases end, though they can no longer renew them.
LOCK TABLE "webhook_subscription";
INSERT INTO "webhook_holder" SELECT "holder", max("held_until") FROM "webhook_subscription"
  WHERE "holder" IS NOT NULL AND "held_until" > now() GROUP BY "holder";
ALTER TABLE "webhook_subscription" DROP COLUMN "held_until";
