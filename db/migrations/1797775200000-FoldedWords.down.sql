CREATE OR REPLACE FUNCTION words_of(words text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN ARRAY(SELECT left(word, 100) FROM regexp_split_to_table(lower(left(words, 2000)), '[\x01-/:-@[-`{-\x7f]+') AS word WHERE word <> '');
DROP FUNCTION folded(text);
CREATE INDEX "location_record_older_words" ON "location_record" USING gin (memo_words(memo));
DROP INDEX "location_record_memo_words";
ALTER INDEX "location_record_older_words" RENAME TO "location_record_memo_words";
