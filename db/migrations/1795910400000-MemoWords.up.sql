-- Records found by words of their memo.

-- Words are what lies between spaces and marks of ASCII, in lower case; of a long memo those at its start, of a long word
-- its start: Postgres takes words of 2 kB.
CREATE FUNCTION words_of(words text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN ARRAY(SELECT left(word, 100) FROM regexp_split_to_table(lower(left(words, 2000)), '[\x01-/:-@[-`{-\x7f]+') AS word WHERE word <> '');
CREATE FUNCTION memo_words(memo text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN array_to_tsvector(words_of(memo));
-- Every word of a text, each as the beginning of a word.
CREATE FUNCTION memo_query(words text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN ('''' || array_to_string(words_of(words), ''':* & ''') || ''':*')::tsquery;
CREATE INDEX "location_record_memo_words" ON "location_record" USING gin (memo_words(memo));
