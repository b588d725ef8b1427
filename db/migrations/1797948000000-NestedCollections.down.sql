CREATE OR REPLACE FUNCTION location_fields(id text) RETURNS text LANGUAGE sql STABLE SET TimeZone = 'UTC'
  RETURN (SELECT (to_jsonb(record) - ARRAY['geom', 'reach', 'line'])::text FROM location_record AS record
    WHERE record.id = location_fields.id);
