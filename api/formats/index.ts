/**
 * Formats of records: JSON, GeoJSON, NDJSON, CSV, and GeoParquet and FlatGeobuf (columnar/file.ts).
 *
 * completion.ts makes what Postgres writes the records that are shown; exports.ts streams files of any length.
 */

export { ColumnarFiles, type ColumnarName } from './columnar/file'
export { Exports } from './exports'
export {
  csvFile,
  csvFormat,
  featureText,
  featureTexts,
  isColumnar,
  ndjsonFile,
  RECORD_FORMATS,
  recordBytes,
  recordText,
  recordTexts,
  TEXT_FORMATS,
  withMark,
} from './formats'
