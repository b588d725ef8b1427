/**
 * Formats of records: JSON, GeoJSON, NDJSON, CSV, and GeoParquet and FlatGeobuf (columnar/file.ts).
 *
 * completion.ts makes what Postgres writes the records that are shown; exports.ts streams files of any length.
 */

export { ColumnarFiles, type ColumnarName } from './columnar/file'
export { Exports } from './exports'
export { csvFile, csvFormat, isColumnar, ndjsonFile, RECORD_FORMATS, TEXT_FORMATS, withMark } from './formats'
export { featureText, featureTexts, provenanceText, recordBytes, recordText, recordTexts } from './json'
export { LOCATION_RECORD, PROVENANCE_PROPERTIES } from './schema'
