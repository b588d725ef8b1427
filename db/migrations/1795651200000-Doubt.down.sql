DROP TABLE "chain_writer";
ALTER TABLE "chain_status" DROP "doubt", DROP "contradictions", DROP "audit_calls", DROP "audit_calls_at";
