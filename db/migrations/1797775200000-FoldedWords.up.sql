-- Words of memos without accents: `sao paulo` finds `São Paulo` (docs/reference/records.md, Words of a memo). The rule is
-- also in src/words.ts, and a test compares both.

-- A text in compatibility form and lower case, without the marks of Latin, Greek and Cyrillic letters. ASCII text, the most
-- frequent, takes a tenth of the time.
CREATE FUNCTION folded(words text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN octet_length(words) = length(words) THEN lower(words COLLATE "C") ELSE
    normalize(translate(replace(replace(replace(replace(lower(regexp_replace(normalize(words, NFKD),
      '(?<=[A-Za-z\u00c0-\u02af\u0370-\u052f\u1c80-\u1c8f\u1d00-\u1dbf\u1e00-\u1fff\u2c60-\u2c7f\ua640-\ua69f\ua720-\ua7ff\uab30-\uab6f])[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+',
      '', 'g')), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'), 'øłđðħıς', 'olddhiσ'), NFC) END;
-- Words are what lies between spaces and marks of ASCII; of a long memo those at its start, of a long word its start, because
-- Postgres takes words of 2 kB.
CREATE OR REPLACE FUNCTION words_of(words text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN ARRAY(SELECT left(word, 100) FROM regexp_split_to_table(folded(left(words, 2000)), '[\x01-/:-@[-`{-\x7f]+') AS word WHERE word <> '');

-- Readers use the older index until the new one is complete.
CREATE INDEX "location_record_folded_words" ON "location_record" USING gin (memo_words(memo));
DROP INDEX "location_record_memo_words";
ALTER INDEX "location_record_folded_words" RENAME TO "location_record_memo_words";
