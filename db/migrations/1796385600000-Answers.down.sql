-- The log has no events of answers, so that another migration up has them read again.
DELETE FROM attestation_event USING answer
  WHERE attestation_event.chain = answer.chain AND attestation_event.uid = answer.uid;
DROP VIEW published.answer;
DROP TABLE "answer";
DROP FUNCTION answer_after_change();
DROP TABLE "answer_attester";
