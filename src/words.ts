/** Marks that follow a letter of the Latin, Greek or Cyrillic script, in a decomposed text. */
const MARKS =
  // oxlint-disable-next-line no-misleading-character-class -- ranges that begin and end with marks
  /([A-Za-z\u00c0-\u02af\u0370-\u052f\u1c80-\u1c8f\u1d00-\u1dbf\u1e00-\u1fff\u2c60-\u2c7f\ua640-\ua69f\ua720-\ua7ff\uab30-\uab6f])[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+/g
/** Letters that do not decompose, in lower case, and the letters by which they are found. */
const LETTERS: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', þ: 'th' },
  ...{ ø: 'o', ł: 'l', đ: 'd', ð: 'd', ħ: 'h', ı: 'i', ς: 'σ' },
}
const LETTER = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'g')

/**
 * Returns a text as searches compare it: in compatibility form (NFKD, then NFC) and lower case, without the
 * marks of Latin, Greek and Cyrillic letters. Other marks stay, because they distinguish letters (が, か) or
 * vowels (कि, क). The database has the same function (db/migrations, FoldedWords).
 */
export const folded = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(MARKS, '$1')
    .toLowerCase()
    .replace(LETTER, (letter) => LETTERS[letter]!)
    .normalize('NFC')

/** Returns the words of a search for memos: all text between spaces and punctuation of ASCII. */
export const wordsOf = (text: string): string[] => folded(text).match(/[^\0-/:-@[-`{-\x7f]+/g) ?? []

/** Control characters, and those that change the direction of text, also of the text after them. */
const CONTROLS = /[\p{Cc}\p{Bidi_Control}]/gu
const VISIBLE = /(?!\p{Default_Ignorable_Code_Point})[^\p{C}\p{Z}]/u

/** Returns a text on one line, without CONTROLS; an empty text if none of its characters is visible. */
export function lineOf(text: string): string {
  const line = text.replace(/\s+/g, ' ').replace(CONTROLS, '').trim()
  return VISIBLE.test(line) ? line : ''
}
