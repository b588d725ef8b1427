import { stringify } from 'csv-stringify/sync'

/**
 * Records as CSV (RFC 4180). Anyone may attest anything, so no cell may be a formula to a spreadsheet: not where it begins, and not
 * where a spreadsheet of another locale splits it. `guarded` puts an apostrophe before such places, and docs/api.md says how to take
 * it away again.
 */

/** A record's fields, in the order of INTERFACE.md, and what goes beyond it. */
export const CSV_COLUMNS = [
  ...[
    'uid',
    'chain',
    'prover',
    'subject',
    'timestamp',
    'event_timestamp',
    'srs',
    'location_type',
    'location',
    'longitude',
    'latitude',
  ],
  ...[
    'recipe_types',
    'recipe_payloads',
    'media_types',
    'media_data',
    'memo',
    'revoked',
    'created_at',
    'updated_at',
    'problem',
  ],
]

/** Lists are JSON text, null is empty, numbers are numbers. */
export function csvText(rows: readonly unknown[], header: boolean): string {
  return stringify(rows as object[], {
    columns: CSV_COLUMNS,
    header,
    record_delimiter: 'windows',
    // A line feed or carriage return alone ends a line to many readers.
    quote_record_delimiter: true,
    cast: { boolean: String, string: guarded, object: (value) => guarded(JSON.stringify(value)) },
  })
}

/** What begins a formula: = + - @ and the minus sign, with all that Unicode's compatibility forms (NFKC) make one of them. */
const STARTS = '=⁼₌﹦＝⩵⩶+⁺₊﬩﹢＋\\-﹣－−⁻₋@﹫＠'
/**
 * What may stand before it unseen: white space, controls, ignorable, private and unassigned characters, marks, the blank Braille
 * pattern; and quotation marks, as a reader with another separator than the comma takes those for its own.
 */
const UNSEEN = '\\p{C}\\p{Z}\\p{M}\\p{Default_Ignorable_Code_Point}\\u2800"'
/**
 * Where a reader that does not separate by commas goes on with another cell or line. Quotation marks do not keep it from that: to it
 * the first cell begins with the UID, and marks within a cell are text. Commas are left out: who separates by them knows the marks.
 */
const SEPARATORS = '\\t\\n\\v\\f\\r\\x85\\u2028\\u2029;|'
/** A number alone between separators, as in coordinates that are written over several lines: no formula, and JSON stays JSON. */
const NUMBER = `[+-]?\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?[ ,\\]}]*[${SEPARATORS}]`

const AT_START = new RegExp(`^(?:[\\t\\r\\n']|[${UNSEEN}]*[${STARTS}])`, 'u')
/** Between two separators each character is looked at a fixed number of times, so the time is linear. */
const AFTER_SEPARATOR = new RegExp(
  `(?<=[${SEPARATORS}])(?='|(?:(?![${SEPARATORS}])[${UNSEEN}])*(?!${NUMBER})[${STARTS}])`,
  'gu',
)

/**
 * The text with an apostrophe at its start and after each separator where a formula may follow, or an apostrophe of its own does.
 * So the one apostrophe that stands at the start or after a separator is always ours, and to take it away gives the text back.
 */
export function guarded(text: string): string {
  const inner = text.replace(AFTER_SEPARATOR, "'")
  return AT_START.test(text) ? `'${inner}` : inner
}

/** What a text was before `guarded`. */
export function unguarded(text: string): string {
  return text.replace(APOSTROPHE, '')
}
const APOSTROPHE = new RegExp(`(?<=^|[${SEPARATORS}])'`, 'gu')
