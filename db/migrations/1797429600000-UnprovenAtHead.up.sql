-- Blocks near the head whose logs only one endpoint vouched for when they were written, in the transaction that wrote them,
-- so that a restart does not forget them. Those of an earlier version, which stored their number only in the sentence of
-- "doubt", are all blocks that are not final.
ALTER TABLE "chain_status" ADD "unproven_at_head" int8multirange NOT NULL DEFAULT '{}';
UPDATE chain_status SET unproven_at_head = int8multirange(int8range(final_height, indexed_height, '(]'))
  WHERE doubt LIKE '%unproven blocks at the head: %' AND final_height < indexed_height;
