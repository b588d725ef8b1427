import { stringify } from 'csv-stringify/sync'
import { RECORD_FIELDS } from '../../src/location'

/**
 * Records as CSV (RFC 4180). Anyone may attest any text, so no cell may be a formula to a spreadsheet: not at
 * its start, and not where a spreadsheet of another locale splits it. `guarded` puts an apostrophe before
 * such places; docs/reference/record-formats.md says how to remove it.
 */

/** A record's fields, in their order. */
export const CSV_COLUMNS: readonly string[] = Object.keys(RECORD_FIELDS)

/**
 * Lists are JSON text, null is empty, numbers are numbers.
 * @param columns by default those of the record
 */
export function csvText(rows: readonly unknown[], header: boolean, columns = CSV_COLUMNS): string {
  return stringify(rows as object[], {
    columns: [...columns],
    header,
    record_delimiter: 'windows',
    // A line feed or carriage return alone ends a line to many readers.
    quote_record_delimiter: true,
    cast: { boolean: String, string: guarded, object: (value) => guarded(JSON.stringify(value)) },
  })
}

/** What starts a formula: = + - @ and the minus sign, and their Unicode compatibility forms (NFKC). */
const STARTS = '=⁼₌﹦＝⩵⩶+⁺₊﬩﹢＋\\-﹣－−⁻₋@﹫＠'
/**
 * What may come before it unseen: white space, controls, ignorable, private and unassigned characters, marks,
 * the blank Braille pattern; and quotation marks, which a reader with another separator takes for its own.
 */
const UNSEEN = '\\p{C}\\p{Z}\\p{M}\\p{Default_Ignorable_Code_Point}\\u2800"'
/**
 * Where a reader with another separator than the comma starts a new cell or line. Quotation marks do not stop
 * it: to this reader they are text within a cell. Commas are left out: a reader that splits by them honours
 * the marks.
 */
const SEPARATORS = '\\t\\n\\v\\f\\r\\x85\\u2028\\u2029;|'
/** A number alone between separators, as coordinates over several lines have it, is no formula. */
const NUMBER = `[+-]?\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?[ ,\\]}]*[${SEPARATORS}]`

const AT_START = new RegExp(`^(?:[\\t\\r\\n']|[${UNSEEN}]*[${STARTS}])`, 'u')
/** Each character between two separators is looked at a fixed number of times: the time is linear. */
const AFTER_SEPARATOR = new RegExp(
  `(?<=[${SEPARATORS}])(?='|(?:(?![${SEPARATORS}])[${UNSEEN}])*(?!${NUMBER})[${STARTS}])`,
  'gu',
)

/**
 * The text with an apostrophe at its start and after each separator, where a formula or an apostrophe
 * follows. So one apostrophe at the start or after a separator is always ours, and removing it restores the
 * text.
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
