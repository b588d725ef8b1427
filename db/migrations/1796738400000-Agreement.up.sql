-- Whether the copy of a chain agrees with the chain. `indexed_hash` is the hash of the last indexed block. `agreed_at` is
-- when a look at the chain's head began that found this block to be the head, or an ancestor of it; null if none has.
ALTER TABLE "chain_status" ADD "indexed_hash" text, ADD "agreed_at" timestamptz;
