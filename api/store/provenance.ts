import { LATEST_SECOND } from '../../src/location'

/**
 * Provenance of a record (`include=provenance`): log data beyond its fields. Without the parameter, the
 * record stays as the specification defines it (docs/spec/interface.md 4).
 */

interface ProvenanceField {
  /** JSON Schema type */
  type: string | readonly string[]
  description: string
}
/** Provenance field that the database stores. */
interface StoredField extends ProvenanceField {
  /** Column of location_record and answer, if its name differs. */
  column?: string
  /** SQL of the value, if it differs from the column. */
  value?: string
}

const time = (value: string) => `to_char(${value} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
const STORED: Readonly<Record<string, StoredField>> = {
  schema: {
    type: 'string',
    description: 'UID of the schema of the attestation.',
    column: 'schema_uid',
  },
  ref_uid: {
    type: 'string',
    description: 'UID of the attestation that it refers to; zeros if none.',
  },
  revocable: { type: 'boolean', description: 'True if its attester may revoke it.' },
  expiration_time: {
    type: ['string', 'null'],
    description: 'Expiration; null: never, or after the year 9999.',
    // A later time is reported as never, because Postgres and JavaScript do not write such a year.
    value: `CASE WHEN expiration_time BETWEEN 1 AND ${LATEST_SECOND} THEN ${time('to_timestamp(expiration_time::float8)')} END`,
  },
  revocation_time: {
    type: ['string', 'null'],
    description: 'Time of its revocation; null if it was not revoked.',
    value: time('revocation_time'),
  },
  block_number: { type: 'integer', description: 'Number of its block.' },
  block_hash: { type: 'string', description: 'Hash of its block.' },
  transaction_hash: { type: 'string', description: 'Hash of its transaction.' },
  log_index: { type: 'integer', description: "Index of the event in its block's logs." },
}
const COLUMNS = Object.entries(STORED).map(([name, { column = name, value = column }]) => ({
  name,
  column,
  value,
}))
/** Columns that PROVENANCE_TEXT reads. */
export const PROVENANCE_COLUMNS = COLUMNS.map(({ column }) => column).join(', ')
/** SQL of the provenance of a row of location_record or answer, as JSON text. */
export const PROVENANCE_TEXT = `row_to_json((SELECT fields FROM (SELECT ${COLUMNS.map(
  ({ name, value }) => `${value} AS ${name}`,
).join(', ')}) AS fields))::text`

/** Fields in their order. Every response contains all of them. */
export const PROVENANCE_FIELDS: Readonly<Record<string, ProvenanceField>> = {
  ...Object.fromEntries(
    Object.entries(STORED).map(([name, { type, description }]) => [name, { type, description }]),
  ),
  transaction_url: {
    type: ['string', 'null'],
    description: "Its transaction in the chain's explorer; null if the chain has no explorer.",
  },
  attestation_url: {
    type: ['string', 'null'],
    description: "The attestation in EAS's explorer; null if the chain has no such explorer.",
  },
}
