DROP TRIGGER record_state_epoch ON "record_state";
DROP FUNCTION record_state_epoch;
ALTER TABLE "record_state" DROP COLUMN "origin";
