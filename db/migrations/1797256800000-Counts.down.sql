DROP FUNCTION count_records;
CREATE OR REPLACE FUNCTION location_record_after_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        TRUNCATE record_state, record_hour, record_change, record_cell;
        RETURN NULL;
      END $$;
DROP TRIGGER location_record_counts_insert ON "location_record";
DROP FUNCTION location_record_counts_insert;
DROP TRIGGER location_record_counts_update ON "location_record";
DROP FUNCTION location_record_counts_update;
DROP TRIGGER location_record_counts_delete ON "location_record";
DROP FUNCTION location_record_counts_delete;
DROP FUNCTION record_dimensions;
DROP TABLE "record_count", "record_uncounted";
ALTER TABLE "location_record" DROP COLUMN "area_square_centimeters", DROP COLUMN "length_centimeters";
