import { stringify } from 'csv-stringify/sync'
import { RECORD_FIELDS } from '../../src/location'

/**
 * Records as CSV (RFC 4180). Anyone may attest any text, so no cell may be a formula to a spreadsheet,
 * neither at its start nor where a spreadsheet of another locale splits it. `guarded` inserts an apostrophe
 * at such places. docs/reference/record-formats.md describes how to remove it.
 */

/** Fields of a record, in their order. */
export const CSV_COLUMNS: readonly string[] = Object.keys(RECORD_FIELDS)

/** Lists are JSON text, null is an empty cell. @param columns default: the fields of a record */
export function csvText(rows: readonly unknown[], header: boolean, columns = CSV_COLUMNS): string {
  return stringify(rows as object[], {
    columns: [...columns],
    header,
    record_delimiter: 'windows',
    // Many readers end a line at a line feed or a carriage return alone.
    quote_record_delimiter: true,
    cast: { boolean: String, string: guarded, object: (value) => guarded(JSON.stringify(value)) },
  })
}

/** Characters that start a formula: = + - @, the minus sign, and their compatibility forms (NFKC). */
const STARTS = '=⁼₌﹦＝⩵⩶+⁺₊﬩﹢＋\\-﹣－−⁻₋@﹫＠'
/** Invisible characters that may precede the start of a formula: */
const UNSEEN = '\\p{C}\\p{Z}\\p{M}\\p{Default_Ignorable_Code_Point}\\u2800"'
/**
 * Characters where a reader with another separator than the comma starts a new cell or line. Quotation marks
 * do not prevent this: to such a reader they are text within a cell. The comma is left out, because a reader
 * that splits by commas honours quotation marks.
 */
const SEPARATORS = '\\t\\n\\v\\f\\r\\x85\\u2028\\u2029;|'
/**
 * A number alone between separators, as in coordinates over several lines, is not a formula. At the end of
 * the text a closing bracket must follow it: a reader that does not split by commas appends the next cell,
 * and no formula has a bracket that closes before one opens.
 */
const NUMBER = `[+-]?\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?[ ,\\]}]*(?:[${SEPARATORS}]|[\\]}] *$)`

const AT_START = new RegExp(`^(?:[\\t\\r\\n']|[${UNSEEN}]*[${STARTS}])`, 'u')
/** Examines each character between two separators a fixed number of times, so its time is linear. */
const AFTER_SEPARATOR = new RegExp(
  `(?<=[${SEPARATORS}])(?='|(?:(?![${SEPARATORS}])[${UNSEEN}])*(?!${NUMBER})[${STARTS}])`,
  'gu',
)

/**
 * Inserts an apostrophe at the start and after each separator if a formula or an apostrophe follows. An
 * apostrophe in these positions is therefore always inserted, and removing it restores the text.
 */
export function guarded(text: string): string {
  const inner = text.replace(AFTER_SEPARATOR, "'")
  return AT_START.test(text) ? `'${inner}` : inner
}
