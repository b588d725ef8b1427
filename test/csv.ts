/** Parses CSV as RFC 4180 defines it, character by character. Throws if the text is not valid. */
export function parseCsv(text: string): string[][] {
  const records: string[][] = []
  for (let at = 0; at < text.length;) {
    const record: string[] = []
    for (;;) {
      let field = ''
      if (text[at] === '"') {
        for (at++; text[at] !== '"' || text[at + 1] === '"'; at++) {
          if (at >= text.length) throw new Error('a quoted field does not end')
          field += text[at]
          if (text[at] === '"') at++
        }
        at++
      } else for (; text[at] !== ',' && text[at] !== '\r' && at < text.length; at++) field += text[at]
      record.push(field)
      if (text[at++] !== ',') break
    }
    if (text[at++] !== '\n') throw new Error(`no line break at character ${at - 1}`)
    records.push(record)
  }
  return records
}
