-- created_at comes after held_until, as it did.
ALTER TABLE "webhook_subscription" ADD COLUMN "held_until" timestamptz,
  ADD COLUMN "created" timestamptz NOT NULL DEFAULT now();
UPDATE "webhook_subscription" SET "holder" = NULL, "created" = "created_at";
ALTER TABLE "webhook_subscription" DROP COLUMN "created_at";
ALTER TABLE "webhook_subscription" RENAME COLUMN "created" TO "created_at";
DROP TABLE "webhook_holder";
