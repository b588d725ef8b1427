DROP TABLE "location_record";
DROP FUNCTION location_record_fill;
DROP FUNCTION location_geom;
DROP FUNCTION location_shape;
DROP TABLE "attestation_event";
