ALTER TABLE "chain_status" DROP COLUMN "unproven_at_head";
