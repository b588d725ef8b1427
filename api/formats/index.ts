/**
 * Formats of records: json.ts completes the JSON that Postgres writes, and schema.ts describes it. formats.ts
 * writes GeoJSON, NDJSON and CSV, columnar/file.ts GeoParquet and FlatGeobuf. exports.ts streams files of any
 * length.
 */

export { ColumnarFiles } from './columnar/file'
export { Exports } from './exports'
export { csvFile, csvFormat, ndjsonFile, RECORD_FORMATS, TEXT_FORMATS, withMark } from './formats'
export { featureText, provenanceText, recordBytes, recordText } from './json'
export { LOCATION_RECORD, PROVENANCE_PROPERTIES } from './schema'
