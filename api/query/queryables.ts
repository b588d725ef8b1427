import { chainNamed } from '../../src/chains'
import { RECORD_FIELD_LIST, type RecordField } from '../../src/location'

/**
 * Properties that a CQL2 filter may name: the single-valued fields of a record, its keys, and its geometry.
 * Each row of RECORD_FIELDS with a type in TYPES is included automatically. The other properties are rows of
 * QUERYABLES.
 */

export interface Queryable {
  /** lower: text stored in lower case and compared without regard to letter case */
  type: 'text' | 'lower' | 'time' | 'number' | 'boolean' | 'geometry'
  /** SQL column of location_record */
  column: string
  /** Resolves a name given with = or IN to the stored value. */
  named?: (name: string) => string
}

const TYPES: Partial<Record<RecordField['type'], Queryable['type']>> = {
  ...{ text: 'text', address: 'lower', time: 'time' },
  ...{ number: 'number', boolean: 'boolean' },
}
/** The attested text may be a megabyte long. Filters use `geometry` and `location_type` instead. */
const WITHOUT = ['location']

/** By the name of the property. */
export const QUERYABLES: ReadonlyMap<string, Queryable> = new Map<string, Queryable>([
  ['id', { type: 'lower', column: 'id' }],
  ...RECORD_FIELD_LIST.flatMap(([name, field]): [string, Queryable][] => {
    const type = TYPES[field.type]
    return type && !WITHOUT.includes(name) ? [[name, { type, column: name }]] : []
  }),
  // Accepts a slug, an alias or an ID, like the `chain` parameter.
  ['chain', { type: 'lower', column: 'chain', named: (name) => chainNamed(name)?.slug ?? name }],
  ['uid', { type: 'lower', column: 'uid' }],
  ['schema', { type: 'lower', column: 'schema_uid' }],
  ['geometry', { type: 'geometry', column: 'geom' }],
])
