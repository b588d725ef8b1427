ALTER TABLE "webhook_subscription" ADD COLUMN "held_until" timestamptz;
UPDATE "webhook_subscription" SET "holder" = NULL;
DROP TABLE "webhook_holder";
