// SPDX-License-Identifier: MIT
/** Maximum nesting depth. Real documents and geometries need a fifth of it. */
const MAX_DEPTH = 64

/** Removes the byte order mark that some editors and programs write before JSON (RFC 8259, 8.1). */
export function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text
}

/**
 * Parses JSON that has one meaning for every parser, after an optional byte order mark, in linear time and
 * without recursion. Throws a SyntaxError for a repeated key, the key __proto__, and more than 64 levels.
 */
export function parseStrictJson(marked: string): unknown {
  const text = withoutMark(marked)
  const value: unknown = JSON.parse(text)
  // The text is valid JSON, so a quote only begins or ends a string, and a string before a colon is a key.
  const open: (Set<string> | undefined)[] = []
  for (let at = 0; at < text.length; at++) {
    const letter = text[at]
    if (letter === '{' || letter === '[') {
      if (open.length === MAX_DEPTH) throw new SyntaxError(`nested deeper than ${MAX_DEPTH} levels`)
      open.push(undefined)
    } else if (letter === '}' || letter === ']') open.pop()
    else if (letter === '"') {
      const start = at
      at = endOfText(text, start)
      if (isBeforeColon(text, at + 1))
        addKey((open[open.length - 1] ??= new Set()), JSON.parse(text.slice(start, at + 1)) as string)
    }
  }
  return value
}

/** Line breaks of Unicode beyond ASCII. JSON always escapes those of ASCII. */
const OTHER_LINE_BREAKS = /[\u0085\u2028\u2029]/g

/** Escapes the line breaks in strings of JSON that it may contain: some readers of lines end a line there. */
export function onOneLine(json: string): string {
  return json.replace(OTHER_LINE_BREAKS, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Returns the texts of a list's entries. The text must be a list that JSON.parse reads. */
export function entryTexts(list: string): string[] {
  const texts: string[] = []
  let depth = 0
  let start = list.indexOf('[') + 1
  for (let at = 0; at < list.length; at++) {
    const letter = list[at]
    if (letter === '"') at = endOfText(list, at)
    else if (letter === '[' || letter === '{') depth++
    else if (letter === ']' || letter === '}') depth--
    if (depth === (letter === ',' ? 1 : 0) && (letter === ',' || letter === ']')) {
      texts.push(list.slice(start, at))
      start = at + 1
    }
  }
  return texts.length === 1 && texts[0]!.trim() === '' ? [] : texts
}

/**
 * Returns the index at which JSON.parse stopped, from its error; undefined if the error does not contain it.
 * The pattern is strict, because some of its errors quote the text, which may look like a position.
 */
export function faultPosition({ message }: Error): number | undefined {
  const [, position] = / at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(message) ?? []
  return position === undefined ? undefined : Number(position)
}

/**
 * True if valid JSON means the same to JavaScript and to Postgres's jsonb: no number that a double changes,
 * and no escape of NUL or of a surrogate, which jsonb rejects. Takes quadratic time for invalid JSON.
 */
export function isPortableJson(text: string): boolean {
  if (/\\u(?:0000|[dD][89a-fA-F])/.test(text)) return false
  const withoutStrings = text.replace(/"(?:[^"\\]|\\.)*"/g, '""')
  if (/\d{16}|[eE][+-]?\d/.test(withoutStrings)) return false
  // A double keeps at least 15 significant digits.
  const long = withoutStrings.match(/\d[\d.]{15,}/g) ?? []
  return long.every((number) => digitsOf(number) === digitsOf(String(Number(number))))
}

/** Significant digits of a number, without its sign. */
function digitsOf(number: string): string {
  return number.replace(/e.*$|\./g, '').replace(/^0+|0+$/g, '')
}

/** Returns the index of the quote that ends the string that begins at `start`. */
function endOfText(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    at = text.indexOf('"', at)
    let backslashes = 0
    while (text[at - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return at
  }
}

function isBeforeColon(text: string, at: number): boolean {
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at++
  return text[at] === ':'
}

function addKey(keys: Set<string>, key: string): void {
  if (key === '__proto__') throw new SyntaxError('the key __proto__ is not allowed')
  if (keys.has(key)) throw new SyntaxError(`the key ${JSON.stringify(key.slice(0, 40))} is set twice`)
  keys.add(key)
}
