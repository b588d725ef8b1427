-- The version of the projection (READING in src/indexer/project.ts) by which all records of a chain were made; 0 for an
-- older one: the chain's indexer replays them then.
ALTER TABLE "chain_status" ADD "reading" integer NOT NULL DEFAULT 0;
