import { FIELD_TYPES, RECORD_FIELD_LIST, type RecordField } from '../../src/location'
import type { Schema } from '../http/openapi-components'
import { PROVENANCE_FIELDS } from '../store'

/** JSON Schema of records. */

function fieldSchema({ type, nullable, optional, description, items, schema }: RecordField): Schema {
  const { type: name, ...more } = FIELD_TYPES[type] as Schema
  return {
    type: nullable && !optional ? [name, 'null'] : name,
    ...(items !== undefined && { items: { type: 'string', description: items } }),
    description,
    ...more,
    ...schema,
  }
}

export const LOCATION_RECORD = {
  type: 'object',
  description: 'An attested location.',
  required: RECORD_FIELD_LIST.filter(([, { optional }]) => !optional).map(([name]) => name),
  properties: Object.fromEntries(RECORD_FIELD_LIST.map(([name, field]) => [name, fieldSchema(field)])),
}
/** Fields that `include=provenance` adds to a record. */
export const PROVENANCE_PROPERTIES: Readonly<Record<string, Schema>> = Object.fromEntries(
  Object.entries(PROVENANCE_FIELDS).map(([name, { description, ...field }]) => [
    name,
    { ...field, description: `${description} With \`include=provenance\` only.` },
  ]),
)
