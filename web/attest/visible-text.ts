/**
 * Characters without ink: control, format and unassigned characters, separators, characters that a font may
 * ignore (such as Hangul fillers and variation selectors), the blank pattern of Braille, and the placeholder
 * of an object.
 */
const INVISIBLE = /(?![\n\t ])([\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufffc])\1*/gu

/**
 * Text whose hiding characters are visible: invisible characters as their code points, and the number of
 * consecutive line breaks. Lines of spaces count as empty.
 * @param lineBreaks returns the words for a number of line breaks
 */
export function visibleText(text: string, lineBreaks: (count: number) => string): string {
  return text
    .replace(INVISIBLE, (run, character: string) => {
      const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')
      const count = run.length / character.length
      return count > 1 ? `[U+${code} × ${count}]` : `[U+${code}]`
    })
    .replace(/\n(?:[\t ]*\n){3,}/g, (lines) => `\n${lineBreaks(lines.replaceAll(/[^\n]/g, '').length)}\n`)
}
