import { chainBySlug } from '../../src/chains'
import { checksumAddress } from '../../src/eas'
import { RECORD_FIELD_LIST } from '../../src/location'
import { CHAIN_AT, type BareRecord, type RecordResult } from '../store/model'

/** Records as JSON. A worker loads this file, so it must not import the database. */

/** Writes a record as JSON text, with the requested additions to its fields. */
export function recordText(record: RecordResult): string {
  return recordTexts([record])[0]!
}

/** Writes several records at once, which is faster than one by one. */
export function recordTexts(rows: readonly RecordResult[]): string[] {
  const texts = completed(rows.map(({ text }) => text).join('\n'), rows.length, '\n')
    .toString()
    .split('\n')
  return rows.map((row, i) => {
    const more = [
      provenanceText(row),
      row.centimeters === undefined ? undefined : `"distance_meters":${row.centimeters / 100}`,
    ].filter((each) => each !== undefined)
    return more.length ? `${texts[i]!.slice(0, -1)},${more.join()}}` : texts[i]!
  })
}

/** Writes records as JSON in UTF-8, each followed by a comma or a line break. */
export function recordBytes(rows: readonly RecordResult[], separator: ',' | '\n'): Buffer {
  if (!rows.every(isBare))
    return Buffer.from(
      recordTexts(rows)
        .map((text) => text + separator)
        .join(''),
    )
  const parts: Buffer[] = []
  for (let at = 0; at < rows.length;) {
    const first = at
    const { lines, start } = rows[at]!
    let end = start - 1
    for (; at < rows.length && rows[at]!.lines === lines && rows[at]!.start === end + 1; at++)
      ({ end } = rows[at]!)
    parts.push(completed(lines.slice(start, end), at - first, separator))
  }
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
}

function isBare(row: RecordResult): row is BareRecord {
  return 'lines' in row && row.centimeters === undefined
}

/**
 * Writes a record as the text of a GeoJSON Feature (RFC 7946): its id is `<chain>-<uid>`, its properties are
 * the record. The row must have been read with its geometry.
 */
export function featureText(row: RecordResult): string {
  return featureTexts([row])[0]!
}

export function featureTexts(rows: readonly RecordResult[]): string[] {
  const records = recordTexts(rows)
  return rows.map(
    ({ chain, uid, geometry }, i) =>
      `{"type":"Feature","id":"${chain}-${uid}","geometry":${geometry},"properties":${records[i]}}`,
  )
}

/** Writes the provenance as members of a JSON object, without braces; undefined if it was not requested. */
export function provenanceText({
  provenance,
  chain,
  uid,
}: Pick<RecordResult, 'provenance' | 'chain' | 'uid'>): string | undefined {
  if (provenance === undefined) return undefined
  const { transaction_hash } = JSON.parse(provenance) as { transaction_hash: string }
  const { explorer, attestations } = chainBySlug(chain) ?? {}
  const urls = {
    transaction_url: explorer ? `${explorer}/tx/${transaction_hash}` : null,
    attestation_url: attestations ? `${attestations}/attestation/view/${uid}` : null,
  }
  return `${provenance.slice(1, -1)},${JSON.stringify(urls).slice(1, -1)}`
}

// --- Completion ---

/**
 * Postgres writes the JSON of records several times as fast as this process would, except for three things:
 * the checksums of addresses, the form of times, and the omission of an optional field that is null (sql.ts).
 * They are completed here, in one pass over the bytes of a whole page, because joining the parts of each
 * record took three times as long.
 */
const QUOTE = 0x22
const DOT = 0x2e
const ZERO = 0x30
const LINE_BREAK = 0x0a
const BRACE = 0x7d
const Z = 0x5a

const ADDRESS_LENGTH = 42
/** Bytes of a time to the second, and of one with milliseconds and Z. */
const SECONDS_LENGTH = 19
const TIME_LENGTH = 24

/** Fields to complete. Each directly follows the previous one, except the time of writing (`created_at`). */
const [PROVER, SUBJECT, TIME, EVENT_TIME, CREATED, UPDATED] = RECORD_FIELD_LIST.filter(
  ([, { type }]) => type === 'address' || type === 'time',
).map(([name]) => Buffer.from(`","${name}":"`)) as [Buffer, Buffer, Buffer, Buffer, Buffer, Buffer]
const WRITTEN = CREATED.subarray(2)
/** End of a record whose optional last field is null, and end of one that also has a geometry. */
const NO_OPTION = Buffer.from(',"attributes":null}')
const USUAL_END = Buffer.concat([Buffer.from('","problem":null'), NO_OPTION])
/** Maximum number of bytes added to a record: four times may lack a fraction. Plus its separator. */
const GROWTH = 4 * (TIME_LENGTH - SECONDS_LENGTH) + 1

/**
 * Completes records into the form that the API returns (docs/spec/interface.md 4), as UTF-8, each followed by
 * the separator.
 * @param lines records as Postgres writes them, one per line
 * @param count number of records, or more
 */
function completed(lines: string, count: number, separator: ',' | '\n'): Buffer {
  // The bytes are read from the end of the buffer and written to its beginning. Written bytes never overtake
  // unread ones.
  let at = count * GROWTH
  const bytes = Buffer.allocUnsafe(at + Buffer.byteLength(lines))
  bytes.write(lines, at)
  const after = separator.charCodeAt(0)
  let length = 0
  while (at < bytes.length) {
    const lineBreak = bytes.indexOf(LINE_BREAK, at)
    const end = lineBreak < 0 ? bytes.length : lineBreak
    let chainEnd = at + CHAIN_AT
    while (bytes[chainEnd] !== QUOTE) chainEnd++
    const prover = chainEnd + PROVER.length
    const subject = prover + ADDRESS_LENGTH + SUBJECT.length
    const isOwn = areEqual(bytes, prover, subject, ADDRESS_LENGTH)
    completeAddress(bytes, prover)
    // Most attesters attest about themselves.
    if (isOwn) bytes.copyWithin(subject, prover, prover + ADDRESS_LENGTH)
    else completeAddress(bytes, subject)

    let start = subject + ADDRESS_LENGTH + TIME.length
    length = move(bytes, at, start, length)
    at = completeTime(bytes, start, length)
    length += TIME_LENGTH
    start = at + EVENT_TIME.length
    length = move(bytes, at, start, length)
    at = completeTime(bytes, start, length)
    length += TIME_LENGTH
    start = writtenAt(bytes, at, end)
    length = move(bytes, at, start, length)
    at = completeTime(bytes, start, length)
    length += TIME_LENGTH
    start = at + UPDATED.length
    length = move(bytes, at, start, length)
    at = completeTime(bytes, start, length)
    length += TIME_LENGTH
    const isShort = endsWith(bytes, end, NO_OPTION)
    start = isShort ? end - NO_OPTION.length : end
    length = move(bytes, at, start, length)
    if (isShort) bytes[length++] = BRACE
    bytes[length++] = after
    at = end + 1
  }
  return bytes.subarray(0, length)
}

/** Completes one record. */
export function completedRecord(line: string): string {
  const bytes = completed(line, 1, '\n')
  return bytes.toString('utf8', 0, bytes.length - 1)
}

/** @returns the end of the moved bytes at `to` */
function move(bytes: Buffer, start: number, end: number, to: number): number {
  bytes.copyWithin(to, start, end)
  return to + end - start
}

/** Replaces the lower-case address at `at` by its checksummed form. */
function completeAddress(bytes: Buffer, at: number): void {
  const checksummed = checksumAddress(bytes.toString('latin1', at, at + ADDRESS_LENGTH))
  for (let i = 0; i < ADDRESS_LENGTH; i++) bytes[at + i] = checksummed.charCodeAt(i)
}

/**
 * Writes the time at `from`, which has only the decimals it needs, to `to` with three decimals.
 * @returns the end of the time that was read
 */
function completeTime(bytes: Buffer, from: number, to: number): number {
  let end = from + SECONDS_LENGTH
  bytes.copyWithin(to, from, end)
  to += SECONDS_LENGTH
  bytes[to++] = DOT
  if (bytes[end] === DOT) end++
  for (let digit = 0; digit < 3; digit++) bytes[to++] = bytes[end] === QUOTE ? ZERO : bytes[end++]!
  bytes[to] = Z
  while (bytes[end] !== QUOTE) end++
  return end
}

/** Returns the offset of the time of writing in a record that was read up to `at`. */
function writtenAt(bytes: Buffer, at: number, end: number): number {
  // No string can contain the key, because quotes are escaped in strings. Attributes, which can, come last.
  if (!endsWith(bytes, end, USUAL_END)) return bytes.indexOf(WRITTEN, at) + WRITTEN.length
  return valueBefore(bytes, valueBefore(bytes, end - USUAL_END.length) - UPDATED.length)
}

/** Returns the start of the quoted text that ends at `end`. */
function valueBefore(bytes: Buffer, end: number): number {
  let start = end
  while (bytes[start - 1] !== QUOTE) start--
  return start
}

function endsWith(bytes: Buffer, end: number, tail: Buffer): boolean {
  const start = end - tail.length
  for (let i = 0; i < tail.length; i++) if (bytes[start + i] !== tail[i]) return false
  return true
}

function areEqual(bytes: Buffer, one: number, other: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (bytes[one + i] !== bytes[other + i]) return false
  return true
}
