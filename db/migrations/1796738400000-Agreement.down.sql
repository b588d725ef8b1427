ALTER TABLE "chain_status" DROP "indexed_hash", DROP "agreed_at";
