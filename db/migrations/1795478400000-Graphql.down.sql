-- The role stays: it has no privileges here any more, and other databases of the server may use it.
DROP SCHEMA published CASCADE;
DROP INDEX attestation_event_revoked;
DROP INDEX "IDX_bf998ceee9cc5a49987aeb7d3f";
DROP INDEX "IDX_11612fc8a70aeb663f02bb93ff";
