DROP INDEX "location_record_memo_words";
DROP FUNCTION memo_query(text);
DROP FUNCTION memo_words(text);
DROP FUNCTION words_of(text);
