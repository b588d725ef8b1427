DROP INDEX "attestation_event_transaction";
