-- The columns of a record from which the API writes its line if none is stored: only those of the line. JSON of the whole
-- row includes that of the shape, which PostGIS refuses to write for a collection within a collection.
CREATE OR REPLACE FUNCTION location_fields(id text) RETURNS text LANGUAGE sql STABLE SET TimeZone = 'UTC'
  RETURN (SELECT row_to_json(fields)::text FROM (
    SELECT uid, chain, prover, subject, timestamp, event_timestamp, srs, location_type, location, longitude, latitude,
      recipe_types, recipe_payloads, media_types, media_data, memo, revoked, created_at, updated_at, problem, attributes
    FROM location_record AS record WHERE record.id = location_fields.id) AS fields);
