-- For a search by transaction: a hash index has a third of the size of a b-tree of these texts.
CREATE INDEX "attestation_event_transaction" ON "attestation_event" USING hash ("transaction_hash");
