// SPDX-License-Identifier: MIT
import { createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type {
  ExportFormat,
  LocationRecord,
  RecordFilters,
  RecordGroupFilters,
} from '@geospatial-attestation/client'
import { cut } from '../../../src/cut'
import { UsageError } from './exit'
import { replaceFile } from './files'
import { fileOf, isBinary } from './framing'
import { readText } from './inputs'
import { bytes, grouped, table, TABLE_ROWS, time, visible, type Field } from './output'
import { startProgress } from './progress'
import type { Session } from './session'

export interface RecordFlags {
  prover?: string
  subject?: string
  fromTimestamp?: string
  toTimestamp?: string
  bbox?: string
  near?: string
  radius?: number
  intersects?: string
  revoked?: string
  memo?: string
  locationType?: string
  schema?: string
  sort?: string
  format?: 'table' | 'json' | 'geoparquet2' | ExportFormat
  limit?: number
  bom?: boolean
  output?: string
}

/** Formats by the ending of a file's name. */
const FORMATS: Readonly<Record<string, 'json' | ExportFormat>> = {
  ...{ '.csv': 'csv', '.geojson': 'geojson', '.json': 'json', '.ndjson': 'ndjson' },
  ...{ '.parquet': 'geoparquet', '.fgb': 'flatgeobuf' },
}

function formatOf(output = ''): 'json' | ExportFormat | undefined {
  const ending = path.extname(output).toLowerCase()
  return Object.hasOwn(FORMATS, ending) ? FORMATS[ending] : undefined
}

export async function records(session: Session<RecordFlags>): Promise<void> {
  const { options } = session
  const filters = await filtersOf(session)
  const format = options.format ?? (options.json ? 'json' : (formatOf(options.output) ?? 'table'))
  const { limit } = options
  if (options.bom && format !== 'csv') throw new UsageError('--bom needs --format csv.')
  if (format === 'geoparquet2') return write(session, { ...filters, version: '2' }, 'geoparquet', limit)
  if (format !== 'table') return write(session, filters, format, limit)
  if (options.output)
    throw new UsageError(
      'A table cannot be written to a file. Let its name end with .csv, .geojson, .ndjson, .parquet, ' +
        '.fgb or .json, or set --format.',
    )
  const found: LocationRecord[] = []
  // One extra record shows whether there are more.
  const rows = limit ?? TABLE_ROWS
  for await (const record of session.geo.records.list({
    ...filters,
    limit: rows + 1,
    signal: session.signal,
  }))
    found.push(record)
  const shown = found.slice(0, rows)
  if (shown.length > 0) printRecords(shown, session)
  if (found.length > rows)
    session.note(
      `${rows === 1 ? 'The first one is shown' : `The first ${grouped(rows)} are shown`}: --limit shows more, --format ${filters.sort === 'distance' ? 'json' : 'csv'} writes all.`,
    )
  if (found.length === 0) session.note('No matching records.')
}

/** Returns the filters of the list under their names in the API. */
export async function filtersOf({ options, at }: Session<RecordFlags>): Promise<RecordFilters> {
  const { chain, prover, subject, fromTimestamp, toTimestamp, schema, sort, revoked } = options
  const { near, radius, memo, locationType: location_type } = options
  const all = {
    ...{ chain, prover, subject, fromTimestamp, toTimestamp, schema, sort, location_type, revoked },
    ...{ bbox: options.bbox?.trim(), near: near?.trim(), radius, memo },
    intersects: options.intersects && (await shapeOf(options.intersects, at)),
  }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

/** Returns GeoJSON or WKT, given directly or in a file. */
async function shapeOf(given: string, at: Session['at']): Promise<string> {
  const file = await stat(at(given)).catch(() => undefined)
  if (file?.isFile()) return (await readText(given, at)).trim()
  if (/^\s*[{]|\(/.test(given)) return given
  throw new UsageError(
    `'${given}' is not GeoJSON, WKT such as 'POLYGON((13 52,14 52,14 53,13 53,13 52))', or a ` +
      'file with one of them.',
  )
}

function printRecords(rows: readonly LocationRecord[], { printTable }: Session): void {
  const byDistance = rows[0]!.distance_meters !== undefined
  printTable(
    [
      ['UID', 'CHAIN', 'TIME', 'TYPE', 'LNG', 'LAT', ...(byDistance ? ['METRES'] : []), 'MEMO'],
      ...rows.map(({ uid, chain, timestamp, location_type, longitude, latitude, memo, revoked, ...row }) => [
        ...[uid, chain, time(timestamp), cut(location_type, 24)],
        ...[longitude, latitude].map((degrees) => (degrees === null ? '' : degrees.toFixed(4))),
        ...(byDistance ? [row.distance_meters!.toFixed(2)] : []),
        `${revoked ? '(revoked) ' : ''}${cut(memo ?? '', 60)}`,
      ]),
    ],
    byDistance ? [4, 5, 6] : [4, 5],
  )
}

/** Writes records to a file or to stdout, with a progress bar if stderr is a terminal and stdout is not. */
async function write(
  session: Session<RecordFlags>,
  filters: RecordFilters,
  format: 'json' | ExportFormat,
  limit: number | undefined,
): Promise<void> {
  const { options, geo, signal } = session
  const { stdout, stderr } = session.context
  const binary = isBinary(format)
  if (binary && options.output === undefined && stdout.isTTY)
    throw new UsageError(
      `A ${format} file cannot be shown in a terminal. Write it to a file with -o, or to a pipe.`,
    )
  const drawn = !binary && !options.quiet && stderr.isTTY && (options.output !== undefined || !stdout.isTTY)
  const counted = drawn ? await geo.records.page({ ...filters, limit: 1, total: true, signal }) : undefined
  const total = counted && Math.min(limit ?? Infinity, counted.total ?? 0)
  const progress = drawn
    ? startProgress(stderr, {
        unit: 'records',
        total,
        atLeast: counted?.total_exact === false && limit !== total,
      })
    : undefined
  let [count, size] = [0, 0]
  const source = fileOf(geo, filters, { format, limit, bom: options.bom, signal }, (more, chunk) => {
    count += more
    size += chunk
    progress?.add(more, chunk)
  })
  try {
    if (options.output !== undefined) await toFile(options.output, session.at, source)
    else
      await pipeline(Readable.from(stdout.isTTY ? harmless(source) : source), stdout, {
        end: false,
      })
  } finally {
    progress?.end()
  }
  if (drawn || options.output !== undefined)
    session.note(
      `${binary ? '' : `${grouped(count)} records, `}${bytes(size)}${options.output ? `, in ${options.output}` : ''}`,
    )
}

/** Names of open files of a process, such as /dev/stdout: links to files that others may have written. */
const OPEN_FILE = /^\/dev\/(stdout|stderr|fd\/\d+)$|^\/proc\/(self|\d+)\/fd\/\d+$/

/**
 * Writes a file that appears under its name only once it is complete. A link is kept. A pipe, a device such
 * as /dev/null and an open file such as /dev/stdout are written directly, after their content.
 */
async function toFile(name: string, at: Session['at'], source: AsyncIterable<Uint8Array>): Promise<void> {
  const given = at(name)
  const found = await stat(given).catch(() => undefined)
  if (!OPEN_FILE.test(given) && found?.isFile() !== false) return replaceFile(given, source)
  await pipeline(Readable.from(source), createWriteStream(given, { flags: 'a' }))
}

/** Removes control characters of untrusted text, for a terminal. */
async function* harmless(source: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const chunk of source)
    yield decoder.decode(chunk, { stream: true }).replace(/[^\n\t]+/g, (text) => visible(text))
}

export async function record(session: Session, uid: string): Promise<void> {
  const { options, geo, signal, paint, print, printFields } = session
  const found = await geo.records.get(uid, { chain: options.chain, signal })
  if (options.json) return session.printJson(found)
  const position = found.longitude === null ? undefined : `${found.longitude}, ${found.latitude}`
  print(paint.bold(found.memo || found.location_type))
  if (found.revoked) print(paint.bad('revoked'))
  const rows: Field[] = [
    ['uid', found.uid],
    ['chain', found.chain],
    ['prover', found.prover],
    ['subject', found.subject],
    ['attested', time(found.timestamp)],
    ['event', time(found.event_timestamp)],
    ['type', found.location_type],
    ['lng, lat', position],
    ['location', found.location],
    ['problem', found.problem ?? undefined],
    ['map', `${geo.url}/api/v0/location-records/${found.uid}?format=html`],
  ]
  printFields(rows)
}

export interface GroupFlags extends RecordFlags {
  by?: string
  top?: number
  sum?: string
}

export async function stats(session: Session<GroupFlags>): Promise<void> {
  const { options, geo, signal, paint, print } = session
  if (options.by !== undefined) return groups(session, options.by)
  const given = Object.keys(await filtersOf(session))
  if (given.length > 0 || options.top !== undefined || options.sum !== undefined)
    throw new UsageError('Filters, --top, --sum and --sort belong to --by, such as --by day.')
  const found = await geo.records.stats({ signal })
  if (options.json) return session.printJson(found)
  const { total, by_chain, by_time, revoked } = found
  print(paint.bold(`${grouped(total)} records`))
  const rows: [string, number][] = [
    ...Object.entries(by_chain),
    ['revoked', revoked],
    ['last 24 hours', by_time.last_24_hours],
    ['last 7 days', by_time.last_7_days],
    ['last 30 days', by_time.last_30_days],
  ]
  for (const line of table(
    rows.map(([name, count]) => [name, grouped(count)]),
    [1],
  ))
    print(line)
}

async function groups(session: Session<GroupFlags>, by: string): Promise<void> {
  const { options, geo, signal } = session
  const { top, sum } = options
  const query = { ...(await filtersOf(session)), ...(top !== undefined && { top }), ...(sum && { sum }) }
  const found = await geo.records.groupBy(by, { ...(query as RecordGroupFilters), signal })
  if (options.json) return session.printJson(found)
  const { data, rest, groups: _, total: records, ...sums } = found
  const all = { records, ...sums }
  const keys = by.split(',').map((each) => each.split(':')[0]!)
  const measures = Object.keys(all)
  const row = (labels: string[], group: object) => [
    ...labels,
    ...measures.map((name) =>
      grouped((group as Record<string, number>)[name]!, name.startsWith('records') ? 0 : 2),
    ),
  ]
  const blank = keys.slice(1).map(() => '')
  session.printTable(
    [
      [...keys, ...measures].map((name) => name.replaceAll('_', ' ').toUpperCase()),
      ...data.map((group) =>
        row(
          keys.map((key) => String(group[key as keyof typeof group] ?? '')),
          group,
        ),
      ),
      ...(rest ? [row([`${grouped(rest.groups)} others`, ...blank], rest)] : []),
      row(['all', ...blank], all),
    ],
    measures.map((_, i) => keys.length + i),
  )
}
