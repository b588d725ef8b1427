// SPDX-License-Identifier: MIT
import {
  ConnectionError,
  messageOf,
  type ExportFormat,
  type Geo,
  type RecordFilters,
} from '@geospatial-attestation/client'
import { UsageError } from './exit'
import { jsonLine } from './output'

/** Formats records as the bytes of a file: the service's stream, counted, and cut after `limit` records. */

interface FileOptions {
  format: 'json' | ExportFormat
  limit: number | undefined
  /** true: a byte order mark before CSV */
  bom?: boolean
  signal: AbortSignal
}

/** Up to this limit the service responds with a page, which may end early; above it, with all records. */
const LARGEST_PAGE = 1000
const NEWLINE = 0x0a
const QUOTE = 0x22
const COMMA = 0x2c
const BRACE = 0x7b
const encode = (text: string) => new TextEncoder().encode(text)

type TextFormat = Exclude<ExportFormat, 'geoparquet' | 'flatgeobuf'>

/** Returns true for binary formats, whose records cannot be counted while they are streamed. */
export function isBinary(format: FileOptions['format']): format is 'geoparquet' | 'flatgeobuf' {
  return format === 'geoparquet' || format === 'flatgeobuf'
}

/** @param onMore called with the number of records and bytes in each chunk */
export async function* fileOf(
  geo: Geo,
  filters: RecordFilters,
  { format, limit, bom, signal }: FileOptions,
  onMore: (records: number, size: number) => void,
): AsyncGenerator<Uint8Array> {
  if (format === 'json') {
    let before = '['
    for await (const record of geo.records.list({ ...filters, limit, signal })) {
      const chunk = encode(`${before}\n${jsonLine(record)}`)
      onMore(1, chunk.length)
      yield chunk
      before = ','
    }
    yield encode(before === '[' ? '[]\n' : '\n]\n')
    return
  }
  const exported = async (most: number | undefined) => {
    const options = { ...filters, format, ...(most && { limit: most }), ...(bom && { bom }), signal }
    return whole(await geo.records.export(options), signal)
  }
  if (isBinary(format)) {
    for await (const chunk of await exported(limit)) {
      onMore(0, chunk.length)
      yield chunk
    }
    return
  }
  // The service exports records sorted by distance only as a page.
  const isNearest = filters.sort === 'distance'
  if (isNearest && (limit === undefined || limit > LARGEST_PAGE))
    throw new UsageError(
      `As ${format}, at most ${LARGEST_PAGE} nearest places are available. Set --limit ` +
        `${LARGEST_PAGE} or less, or use --format json for all.`,
    )
  const asked = limit === undefined || isNearest ? limit : Math.max(limit, LARGEST_PAGE + 1)
  const ends = recordEnds(format)
  let records = 0
  // The last byte is delayed: in GeoJSON it may be the comma after the last feature.
  let lastByte: Uint8Array = new Uint8Array()
  for await (const chunk of await exported(asked)) {
    const found = ends(chunk)
    const left = limit === undefined ? Infinity : limit - records
    const cut = found.length >= left
    const bytes = Buffer.concat([lastByte, cut ? chunk.subarray(0, found[left - 1]) : chunk])
    const written = cut ? ended(bytes, format) : bytes.subarray(0, -1)
    records += Math.min(found.length, left)
    onMore(Math.min(found.length, left), written.length)
    yield written
    if (cut) return
    lastByte = bytes.subarray(-1)
  }
  if (isNearest && records < limit!) await refuseShort(geo, filters, records, limit!, signal)
  onMore(0, lastByte.length)
  yield lastByte
}

/** Throws a UsageError if the page, like one of large records, ended before some of the nearest records. */
async function refuseShort(
  geo: Geo,
  filters: RecordFilters,
  records: number,
  limit: number,
  signal: AbortSignal,
): Promise<void> {
  let matching = 0
  for await (const _ of geo.records.list({ ...filters, limit, signal })) matching++
  if (matching > records)
    throw new UsageError(
      `The records are so large that only the nearest ${records} fit. Set --limit ${records}, or ` +
        'use --format json.',
    )
}

/** Yields the chunks of a response. Throws a ConnectionError if the response is cut off. */
async function* whole(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) yield chunk
  } catch (error) {
    signal.throwIfAborted()
    throw new ConnectionError(`The export was interrupted (${messageOf(error)}). Run it again.`, {
      cause: error,
    })
  }
}

/** Creates a function that finds the ends of records in chunks: the indexes after their line breaks. */
function recordEnds(format: TextFormat): (chunk: Uint8Array) => number[] {
  let [quoted, header, start] = [false, format !== 'ndjson', 0]
  return (chunk) => {
    const ends: number[] = []
    for (const [i, byte] of chunk.entries()) {
      start ||= byte
      if (format === 'csv' && byte === QUOTE) quoted = !quoted
      if (byte !== NEWLINE || quoted) continue
      // The last lines of a GeoJSON file are not records.
      const counts = !header && (format !== 'geojson' || start === BRACE)
      if (counts) ends.push(i + 1)
      ;[header, start] = [false, 0]
    }
    return ends
  }
}

function ended(bytes: Buffer, format: TextFormat): Buffer {
  if (format !== 'geojson') return bytes
  const feature = bytes.subarray(0, bytes.at(-2) === COMMA ? -2 : -1)
  return Buffer.concat([feature, encode('\n]}\n')])
}
