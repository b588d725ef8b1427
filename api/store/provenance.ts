import { chainBySlug } from '../../src/chains'
import type { RecordResult } from './model'

/**
 * What the log knows of a record beyond its fields: `include=provenance`. The specification's record
 * (docs/spec/interface.md 4) stays as it is without it.
 */

interface ProvenanceField {
  /** JSON Schema */
  type: string | readonly string[]
  description: string
}

/** Those that the database has. */
const COLUMNS = {
  schema: { type: 'string', description: 'UID of the schema of the attestation.' },
  ref_uid: {
    type: 'string',
    description: 'UID of the attestation that it refers to; zeros where it does not.',
  },
  revocable: { type: 'boolean', description: 'Whether its attester may revoke it.' },
  expiration_time: {
    type: ['string', 'null'],
    description: 'When it expires; null: never, or after the year 9999.',
  },
  revocation_time: { type: ['string', 'null'], description: 'When it was revoked; null where it was not.' },
  block_number: { type: 'integer', description: 'Number of its block.' },
  block_hash: { type: 'string', description: 'Hash of its block.' },
  transaction_hash: { type: 'string', description: 'Hash of its transaction.' },
  log_index: { type: 'integer', description: "Index of the event in its block's logs." },
} as const satisfies Record<string, ProvenanceField>
export type ProvenanceColumn = keyof typeof COLUMNS

/** In their order; every answer has them all. */
export const PROVENANCE_FIELDS: Readonly<Record<string, ProvenanceField>> = {
  ...COLUMNS,
  transaction_url: {
    type: ['string', 'null'],
    description: "Its transaction in the chain's explorer; null where the chain has none.",
  },
  attestation_url: {
    type: ['string', 'null'],
    description: 'The attestation in the explorer of EAS; null where the chain has none.',
  },
}

/** The provenance as members of a JSON object, without its braces; undefined where it was not asked for. */
export function provenanceText({
  provenance,
  chain,
  uid,
}: Pick<RecordResult, 'provenance' | 'chain' | 'uid'>): string | undefined {
  if (provenance === undefined) return undefined
  const { transaction_hash } = JSON.parse(provenance) as { transaction_hash: string }
  const { explorer, attestations } = chainBySlug(chain) ?? {}
  const urls = {
    transaction_url: explorer ? `${explorer}/tx/${transaction_hash}` : null,
    attestation_url: attestations ? `${attestations}/attestation/view/${uid}` : null,
  }
  return `${provenance.slice(1, -1)},${JSON.stringify(urls).slice(1, -1)}`
}
