import { expect } from 'vitest'
import { hunt } from '../../test/seed'
import type { RecordQuery, RecordResult, TimeWindow } from './model'
import { listByWindows, LEAST_RECORDS } from './windows'

hunt('lists by windows are the wanted records, up to large ones', 300, async ({ cases, random }) => {
  const upTo = (most: number) => Math.floor(random() * (most + 1))
  for (let i = 0; i < cases; i++) {
    // Times of records of a place, newest first, among many other records.
    const times = Array.from({ length: upTo(40) }, () => upTo(1_000_000)).sort((a, b) => b - a)
    const extent = { total: LEAST_RECORDS + upTo(100_000), first: new Date(0), last: new Date(1_000_000) }
    const [limit, offset, mostAtOnce] = [1 + upTo(20), upTo(1) * upTo(30), 1 + upTo(12)]
    const inside = ({ since, until }: TimeWindow) =>
      times.filter((time) => (!since || time >= since.getTime()) && (!until || time < until.getTime()))
    const list = ({ limit, offset = 0 }: RecordQuery, window: TimeWindow) => {
      const found = inside(window).slice(offset, offset + limit)
      const rows = found.slice(0, mostAtOnce).map((time) => ({ text: String(time) }) as RecordResult)
      return Promise.resolve({ rows, isCut: rows.length < found.length })
    }
    const count = (_: object, cap: number, window: TimeWindow) =>
      Promise.resolve(Math.min(cap, inside(window).length))
    const { rows, isCut } = await listByWindows({ limit, offset }, extent, { list, count })
    const wanted = times.slice(offset, offset + limit)
    const read = rows.map(({ text }) => Number(text))
    expect(read).toEqual(wanted.slice(0, read.length))
    expect(isCut).toBe(read.length < wanted.length)
  }
})
