/**
 * Formats of records: json.ts completes the JSON that Postgres writes, and schema.ts describes it. formats.ts
 * writes GeoJSON, NDJSON and CSV, groups.ts statistics by group, columnar/file.ts GeoParquet and FlatGeobuf.
 * exports.ts streams files of any length.
 */

export { ColumnarFiles } from './columnar/file'
export { Exports } from './exports'
export {
  csvFile,
  csvFormat,
  GEOPARQUET_2,
  ndjsonFile,
  RECORD_FORMATS,
  TEXT_FORMATS,
  withMark,
} from './formats'
export { groupsJson, groupsSchema, sendGroups } from './groups'
export { featureText, provenanceText, recordBytes, recordText } from './json'
export { LOCATION_RECORD, PROVENANCE_PROPERTIES } from './schema'
