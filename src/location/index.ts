import { schemaUid } from '../eas'
import { checkLocationFields, type LocationSchema } from './payload'

export {
  ALL_SCHEMAS,
  LOCATION_PROTOCOL_SCHEMA,
  LOCATION_SCHEMA,
  LOCATION_SCHEMAS,
  addLocationSchemas,
  dropLocationSchemas,
  isLocationSchema,
  isLocationText,
  knownSchema,
  locationSchemaUids,
  mayBeRead,
  type Attributes,
  type LocationSchema,
  type SchemaPolicy,
} from './payload'
export { LATEST_SECOND, joinProblems, lacksGeometry } from './event-time'
export { LINE_VERSION, recordLine } from './line'
export {
  cutLine,
  eastward,
  holdsPole,
  polygonLines,
  shifted,
  unwrapped,
  WIDEST_DEGREES,
  WIDEST_MAP,
  type Line,
  type Positions,
} from './plane'
export {
  FIELD_TYPES,
  RECORD_FIELD_LIST,
  RECORD_FIELDS,
  decodeLocation,
  recordFields,
  type Location,
  type RecordField,
  type RecordFields,
} from './record'
export { promisedType } from './names'
export { readWkt, writeWkt } from './wkt'

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`

/** Returns the revocable location schema with this text. Throws a TypeError if the text is not of one. */
export function locationSchema(fields: string): LocationSchema {
  checkLocationFields(fields)
  return { uid: schemaUid(fields, ZERO_ADDRESS, true), fields }
}
