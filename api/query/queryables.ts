import { chainNamed } from '../../src/chains'
import { RECORD_FIELD_LIST, type RecordField } from '../../src/location'

/**
 * What a filter in CQL2 may name: the fields of a record that have one value, what it is found by, and its
 * geometry. A new row of RECORD_FIELDS with such a type is here as well; what is none of them is a row below.
 */

export interface Queryable {
  /** lower: text that is stored in lower case, and compared without regard to letter case */
  type: 'text' | 'lower' | 'time' | 'number' | 'boolean' | 'geometry'
  /** SQL, of location_record */
  column: string
  /** What a name that is asked for, by = or IN, stands for. */
  named?: (name: string) => string
}

const TYPES: Partial<Record<RecordField['type'], Queryable['type']>> = {
  ...{ text: 'text', address: 'lower', time: 'time' },
  ...{ number: 'number', boolean: 'boolean' },
}
/** The text as it was attested, a megabyte maybe: what it says is asked of `geometry` and `location_type`. */
const WITHOUT = ['location']

/** By the name of the property. */
export const QUERYABLES: ReadonlyMap<string, Queryable> = new Map<string, Queryable>([
  ['id', { type: 'lower', column: 'id' }],
  ...RECORD_FIELD_LIST.flatMap(([name, field]): [string, Queryable][] => {
    const type = TYPES[field.type]
    return type && !WITHOUT.includes(name) ? [[name, { type, column: name }]] : []
  }),
  // As of the parameter: by slug, alias or ID.
  ['chain', { type: 'lower', column: 'chain', named: (name) => chainNamed(name)?.slug ?? name }],
  ['uid', { type: 'lower', column: 'uid' }],
  ['schema', { type: 'lower', column: 'schema_uid' }],
  ['geometry', { type: 'geometry', column: 'geom' }],
])
