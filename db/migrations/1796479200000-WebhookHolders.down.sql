-- created_at comes after held_until, as it did. Its NOT NULL has a name of the column from PostgreSQL 18 on, so the
-- old one goes before the new one comes.
ALTER TABLE "webhook_subscription" RENAME COLUMN "created_at" TO "created";
ALTER TABLE "webhook_subscription" ALTER COLUMN "created" DROP NOT NULL;
ALTER TABLE "webhook_subscription" ADD COLUMN "held_until" timestamptz,
  ADD COLUMN "created_at" timestamptz NOT NULL DEFAULT now();
UPDATE "webhook_subscription" SET "holder" = NULL, "created_at" = "created";
ALTER TABLE "webhook_subscription" DROP COLUMN "created";
DROP TABLE "webhook_holder";
