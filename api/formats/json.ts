import { chainNamed } from '../../src/chains'
import { type BareRecord, type RecordResult } from '../store/model'

/** Records as JSON. A worker loads this file, so it must not import the database. */

/** Writes a record as JSON text, with the requested additions to its fields. */
export function recordText(record: RecordResult): string {
  const more = [
    provenanceText(record),
    record.centimeters === undefined ? undefined : `"distance_meters":${record.centimeters / 100}`,
  ].filter((each) => each !== undefined)
  return more.length ? `${record.text.slice(0, -1)},${more.join()}}` : record.text
}

/** Writes records as lines, joined by line breaks. Consecutive rows of a list are one slice of its text. */
export function recordLines(rows: readonly RecordResult[]): string {
  if (!rows.every(isBare)) return rows.map(recordText).join('\n')
  const parts: string[] = []
  for (let at = 0; at < rows.length;) {
    const { lines, start } = rows[at]!
    let end = start - 1
    for (; at < rows.length && rows[at]!.lines === lines && rows[at]!.start === end + 1; at++)
      ({ end } = rows[at]!)
    parts.push(lines.slice(start, end))
  }
  return parts.join('\n')
}

const LINE_BREAK = 0x0a
const COMMA = 0x2c

/** Writes records as elements of a JSON array, in UTF-8, between the beginning and the end of a response. */
export function recordBytes(before: string, rows: readonly RecordResult[], after: string): Buffer {
  // Joined as bytes, because a joined string would be a second copy of the page on the heap.
  const texts = [before, recordLines(rows), after]
  const bytes = Buffer.allocUnsafe(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0))
  let written = 0
  for (const text of texts) written += bytes.write(text, written)
  // Strings in JSON contain no line breaks.
  for (let at = bytes.indexOf(LINE_BREAK); at >= 0; at = bytes.indexOf(LINE_BREAK, at + 1)) bytes[at] = COMMA
  return bytes
}

function isBare(row: RecordResult): row is BareRecord {
  return 'lines' in row && row.centimeters === undefined
}

/**
 * Writes a record as the text of a GeoJSON Feature (RFC 7946): its id is `<chain>-<uid>`, its properties are
 * the record. The row must have been read with its geometry.
 */
export function featureText(row: RecordResult): string {
  const { chain, uid, geometry } = row
  return `{"type":"Feature","id":"${chain}-${uid}","geometry":${geometry},"properties":${recordText(row)}}`
}

/** Members of a JSON object, without braces; undefined if provenance was not requested. */
export function provenanceText({
  provenance,
  chain,
  uid,
}: Pick<RecordResult, 'provenance' | 'chain' | 'uid'>): string | undefined {
  if (provenance === undefined) return undefined
  const { transaction_hash } = JSON.parse(provenance) as { transaction_hash: string }
  const { explorer, attestations } = chainNamed(chain) ?? {}
  const urls = {
    transaction_url: explorer ? `${explorer}/tx/${transaction_hash}` : null,
    attestation_url: attestations ? `${attestations}/attestation/view/${uid}` : null,
  }
  return `${provenance.slice(1, -1)},${JSON.stringify(urls).slice(1, -1)}`
}
