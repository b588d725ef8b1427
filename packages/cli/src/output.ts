// SPDX-License-Identifier: MIT
import { randomUUID } from 'node:crypto'
import { styleText } from 'node:util'
import type { Output } from './context'

/** Output for people: colours, tables, numbers, and sanitized text of strangers. */

/** Styles of a terminal. Text stays plain elsewhere, and if NO_COLOR is set. */
export interface Paint {
  bold(text: string): string
  dim(text: string): string
  good(text: string): string
  bad(text: string): string
  /** Makes the text of strangers in a line safe for a terminal, and keeps the styles of this paint. */
  line(text: string): string
}

export function paintOf(stream: Pick<Output, 'isTTY' | 'getColorDepth'>, env: NodeJS.ProcessEnv): Paint {
  const coloured =
    stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb' && stream.getColorDepth?.(env) !== 1
  // Until the line is complete, a random text stands for ESC, so that only styles of this paint become it.
  const escape = randomUUID()
  const style = (format: Parameters<typeof styleText>[0]) => (text: string) =>
    coloured
      ? // By default, styleText would check the stdout and environment of the process.
        styleText(format, visible(text), { validateStream: false }).replaceAll('\x1b', escape)
      : text
  return {
    ...{ bold: style('bold'), dim: style('dim'), good: style('green'), bad: style('red') },
    line: (text) => text.split(escape).map(visible).join('\x1b'),
  }
}

/** C0 and C1 control characters, line separators, and marks that change the direction of writing. */
const UNSEEN = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

/** Makes text of strangers safe for a terminal: one line without control characters. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (mark) => (/\s/.test(mark) ? ' ' : '\ufffd'))
}

/** Formats JSON on one line. It escapes characters that a terminal would obey; the value stays the same. */
export function jsonLine(value: unknown): string {
  const text = JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each))
  return text.replace(UNSEEN, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Number of rows of a table without --limit. */
export const TABLE_ROWS = 20

/** Aligns the cells of columns; `right` lists the right-aligned columns. The last column is not padded. */
export function table(rows: readonly (readonly string[])[], right: readonly number[] = []): string[] {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]!.length)))
  return rows.map((row) =>
    row
      .map((cell, i) => {
        if (right.includes(i)) return cell.padStart(widths[i]!)
        return i === row.length - 1 ? cell : cell.padEnd(widths[i]!)
      })
      .join('  ')
      .trimEnd(),
  )
}

/** A name and its value. */
export type Field = readonly [name: string, value: string | undefined]

/** Lists names with their values, one a line; names without a value are omitted. */
export function fields(rows: readonly Field[], paint: Paint): string[] {
  const present = rows.filter((row): row is [string, string] => row[1] !== undefined)
  const width = Math.max(...present.map(([name]) => name.length))
  return present.map(([name, value]) => `${paint.dim(name.padEnd(width))}  ${value}`)
}

/**
 * Groups digits, such as "1,234,567.89". It rounds the double itself: Intl rounds its shortest text, which
 * may already be rounded up.
 */
export function grouped(value: number, digits = 0): string {
  const text = value.toFixed(digits) as `${number}`
  return new Intl.NumberFormat('en-US', { minimumFractionDigits: digits }).format(text)
}

/** Formats Unix seconds or an ISO 8601 time like the client, such as "2026-11-22T20:45:18Z". */
export function time(when: number | string): string {
  const date = new Date(typeof when === 'number' ? when * 1000 : when)
  if (Number.isNaN(date.getTime())) return `second ${when}`
  return date.toISOString().replace(/\.\d+/, '')
}

/** Formats a number of seconds relative to now: "in 59 min", "3 h ago", "now". */
export function distanceInTime(seconds: number): string {
  if (Math.abs(seconds) < 0.5) return 'now'
  return seconds < 0 ? `${duration(-seconds)} ago` : `in ${duration(seconds)}`
}

/** Formats a duration in seconds, such as "59 min". */
export function duration(size: number): string {
  const [per, unit] =
    size < 120 ? [1, 's'] : size < 7_200 ? [60, 'min'] : size < 172_800 ? [3_600, 'h'] : [86_400, 'days']
  return `${Math.round(size / Number(per))} ${unit}`
}

/** Formats a number of bytes, such as "1.2 MB". */
export function bytes(count: number): string {
  const power = count < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(count) / 3))
  return `${(count / 1000 ** power).toFixed(power ? 1 : 0)} ${['B', 'kB', 'MB', 'GB', 'TB'][power]}`
}
