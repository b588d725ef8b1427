// SPDX-License-Identifier: MIT
import type { Output } from './context'
import { bytes, grouped } from './output'

/** A line on stderr that shows the progress of a long command, if stderr is a terminal. */
export interface Progress {
  add(count: number, size?: number): void
  end(): void
}

const WIDTH = 24
/** Minimum interval between two drawings, in milliseconds. A shorter interval would not be noticed. */
const EVERY_MS = 100
const SILENT: Progress = { add: () => {}, end: () => {} }

/** Replaces the current line of a terminal. A longer text would wrap, and only its last row be cleared. */
export function redraw(stream: Output, text: string): void {
  stream.write(`\r\x1b[K${text.slice(0, (stream.columns || 80) - 1)}`)
}

/** @param total undefined if it is unknown; with `atLeast` it is a lower bound */
export function startProgress(
  stream: Output,
  { unit, total, atLeast = false }: { unit: string; total?: number; atLeast?: boolean },
): Progress {
  if (!stream.isTTY) return SILENT
  const started = performance.now()
  let [done, size, drawn] = [0, 0, -Infinity]
  const draw = () => {
    drawn = performance.now()
    const share = total && !atLeast ? Math.min(1, done / total) : undefined
    const full = Math.round((share ?? 0) * WIDTH)
    const parts = [
      share === undefined
        ? ''
        : `[${'#'.repeat(full)}${'-'.repeat(WIDTH - full)}] ${Math.floor(share * 100)}%`,
      `${grouped(done)}${total === undefined ? '' : ` of ${atLeast ? 'more than ' : ''}${grouped(total)}`} ${unit}`,
      size ? bytes(size) : '',
      `${Math.round((drawn - started) / 1000)} s`,
    ]
    redraw(stream, parts.filter(Boolean).join('  '))
  }
  draw()
  return {
    add: (count, more = 0) => {
      done += count
      size += more
      if (performance.now() - drawn >= EVERY_MS) draw()
    },
    end: () => redraw(stream, ''),
  }
}
