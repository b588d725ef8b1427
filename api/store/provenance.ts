import { LATEST_SECOND } from '../../src/location'

/**
 * What the log knows of a record beyond its fields: `include=provenance`. The specification's record
 * (docs/spec/interface.md 4) stays as it is without it.
 */

interface ProvenanceField {
  /** JSON Schema */
  type: string | readonly string[]
  description: string
}
/** A field that the database has. */
interface StoredField extends ProvenanceField {
  /** The column of location_record and answer, if its name is another one. */
  column?: string
  /** SQL of its value, if it is not the column's. */
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
    description: 'UID of the attestation that it refers to; zeros where it does not.',
  },
  revocable: { type: 'boolean', description: 'Whether its attester may revoke it.' },
  expiration_time: {
    type: ['string', 'null'],
    description: 'When it expires; null: never, or after the year 9999.',
    // A later time is never, too: Postgres and JavaScript write no such year.
    value: `CASE WHEN expiration_time BETWEEN 1 AND ${LATEST_SECOND} THEN ${time('to_timestamp(expiration_time::float8)')} END`,
  },
  revocation_time: {
    type: ['string', 'null'],
    description: 'When it was revoked; null where it was not.',
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
/** The columns that PROVENANCE_TEXT reads. */
export const PROVENANCE_COLUMNS = COLUMNS.map(({ column }) => column).join(', ')
/** The provenance of a row of location_record or answer, as a JSON text. */
export const PROVENANCE_TEXT = `row_to_json((SELECT fields FROM (SELECT ${COLUMNS.map(
  ({ name, value }) => `${value} AS ${name}`,
).join(', ')}) AS fields))::text`

/** In their order; every answer has them all. */
export const PROVENANCE_FIELDS: Readonly<Record<string, ProvenanceField>> = {
  ...Object.fromEntries(
    Object.entries(STORED).map(([name, { type, description }]) => [name, { type, description }]),
  ),
  transaction_url: {
    type: ['string', 'null'],
    description: "Its transaction in the chain's explorer; null where the chain has none.",
  },
  attestation_url: {
    type: ['string', 'null'],
    description: 'The attestation in the explorer of EAS; null where the chain has none.',
  },
}
