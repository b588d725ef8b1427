import { styleText } from 'node:util'
import type { Output } from './context'

/** What people read: colours, tables, numbers, and text of strangers made harmless. */

/** Styles of a terminal; plain text elsewhere, and where NO_COLOR is set. */
export interface Paint {
  bold(text: string): string
  dim(text: string): string
  good(text: string): string
  bad(text: string): string
}

export function paintOf(stream: Pick<Output, 'isTTY' | 'getColorDepth'>, env: NodeJS.ProcessEnv): Paint {
  const coloured =
    stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb' && stream.getColorDepth?.(env) !== 1
  const style = (format: Parameters<typeof styleText>[0]) => (text: string) =>
    // Otherwise styleText asks the stdout and the environment of the process.
    coloured ? styleText(format, text, { validateStream: false }) : text
  return { bold: style('bold'), dim: style('dim'), good: style('green'), bad: style('red') }
}

/** C0 and C1 controls and line separators; marks that turn the direction of writing. */
const UNSEEN = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

/** Anyone may attest anything: text of a record on one line, without what a terminal would obey. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (mark) => (/\s/.test(mark) ? ' ' : '\ufffd'))
}

/** JSON on one line. What a terminal would obey, and JSON leaves as it is, is escaped: it means the same. */
export function jsonLine(value: unknown): string {
  const text = JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each))
  return text.replace(UNSEEN, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Columns of equal width; the last one is not padded. */
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

/** Names with their values below each other; those without a value are left out. */
export function fields(rows: readonly (readonly [string, string | undefined])[], paint: Paint): string[] {
  const present = rows.filter((row): row is [string, string] => row[1] !== undefined)
  const width = Math.max(...present.map(([name]) => name.length))
  return present.map(([name, value]) => `${paint.dim(name.padEnd(width))}  ${value}`)
}

/** 1,234,567.89 */
export function grouped(value: number, digits = 0): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

/** 2026-11-22 20:45:18Z, of Unix seconds or ISO 8601 */
export function time(when: number | string): string {
  const date = new Date(typeof when === 'number' ? when * 1000 : when)
  if (Number.isNaN(date.getTime())) return `second ${when}`
  return date.toISOString().replace('T', ' ').replace(/\.\d+/, '')
}

/** "in 59 min", "3 h ago", "now" */
export function distanceInTime(seconds: number): string {
  if (Math.abs(seconds) < 0.5) return 'now'
  return seconds < 0 ? `${duration(-seconds)} ago` : `in ${duration(seconds)}`
}

/** "59 min", of seconds */
export function duration(size: number): string {
  const [per, unit] =
    size < 120 ? [1, 's'] : size < 7_200 ? [60, 'min'] : size < 172_800 ? [3_600, 'h'] : [86_400, 'days']
  return `${Math.round(size / Number(per))} ${unit}`
}

/** 1.2 MB */
export function bytes(count: number): string {
  const power = count < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(count) / 3))
  return `${(count / 1000 ** power).toFixed(power ? 1 : 0)} ${['B', 'kB', 'MB', 'GB', 'TB'][power]}`
}
