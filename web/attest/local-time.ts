/** Local times in the format of an input of type datetime-local, such as 2026-05-01T12:30. */

/** Time of a photo, which is not certain if only the camera's clock is known and not its time zone. */
export interface PhotoTime {
  local: string
  isCertain: boolean
}

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** Instant of a local time; undefined if the clocks skip or repeat this time, or it is not a time. */
export function instantOf(local: string): Date | undefined {
  const at = new Date(local)
  const offsetAfter = (ms: number) => new Date(at.getTime() + ms).getTimezoneOffset()
  // A Date has the first of two instants with this local time.
  const later = new Date(at.getTime() + (offsetAfter(DAY_MS) - offsetAfter(-DAY_MS)) * MINUTE_MS)
  const isRepeated = later.getTime() !== at.getTime() && localTime(later) === local
  return localTime(at) === local && !isRepeated ? at : undefined
}

/** Local time of an instant; an empty string for an invalid one. */
const localTime = (at: Date): string => minuteOf(at.getTime() - at.getTimezoneOffset() * MINUTE_MS)

const minuteOf = (ms: number): string => (Number.isNaN(ms) ? '' : new Date(ms).toISOString().slice(0, 16))

/**
 * Time of a photo from its EXIF tags: its local time, such as `2026:05:01 12:30:45`, and the offset of that
 * from UTC, such as `+09:00`. Many cameras write no offset. Undefined if the calendar has no such time.
 */
export function photoTime(taken: unknown, offset: unknown): PhotoTime | undefined {
  const [, date, time] = /^(\d{4}:\d\d:\d\d) (\d\d:\d\d)/.exec(String(taken)) ?? []
  if (date === undefined) return undefined
  const local = `${date.replaceAll(':', '-')}T${time}`
  // A camera whose clock was never set writes zeros.
  if (minuteOf(Date.parse(`${local}Z`)) !== local) return undefined
  const [zone] = /^[+-]\d\d:\d\d/.exec(String(offset)) ?? []
  const known = zone === undefined ? '' : localTime(new Date(local + zone))
  return known === '' ? { local, isCertain: false } : { local: known, isCertain: true }
}
