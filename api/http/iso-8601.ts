import { DateTime, type WeekdayNumbers } from 'luxon'

/**
 * Pattern of a calendar date, an ordinal date or a week date, in extended or basic form; in extended form
 * also a year or a month alone.
 */
const DATE = String.raw`(?<year>\d{4})(?:(?:-(?<month>\d\d)(?:-(?<day>\d\d))?|(?<bMonth>\d\d)(?<bDay>\d\d))|-?(?<ordinal>\d{3})|-W(?<week>\d\d)(?:-(?<weekday>\d))?|W(?<bWeek>\d\d)(?<bWeekday>\d)?)?`
/**
 * Pattern of a time, whose last number may have a fraction. The bounded length of the fraction bounds the
 * work.
 */
const TIME = String.raw`(?<hour>\d\d)(?:(?::(?<minute>\d\d)(?::(?<second>\d\d))?)|(?<bMinute>\d\d)(?<bSecond>\d\d)?)?(?:[.,](?<fraction>\d{1,20}))?`
/**
 * Pattern of a zone. ISO 8601's minus is U+2212; a hyphen is accepted too. An unescaped + in a query string
 * arrives as a space.
 */
const ZONE = String.raw`(?<zone>z|(?<sign>[-+ \u2212])(?<zoneHour>\d\d)(?::?(?<zoneMinute>\d\d))?)`
const INSTANT = new RegExp(`^${DATE}(?:[t ]${TIME}${ZONE}?)?$`, 'i')

const [DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS] = [86_400_000, 3_600_000, 60_000, 1_000]
const FIRST_INSTANT = -62_135_596_800_000
/** The end of the year 9999, in Unix milliseconds. */
export const LAST_INSTANT = 253_402_300_799_999

/**
 * Parses an ISO 8601 date, or date and time, to Unix milliseconds; undefined if it is malformed. Without an
 * offset it is UTC. A year, month, week or day is its start. 24:00 is the next day's 00:00, a leap second the
 * second after it. Years are 0001 to 9999, in UTC too. Unsupported: times alone, durations, intervals,
 * centuries, and years of more digits, which are ISO 8601 by agreement only.
 * @param round direction for a fraction that is finer than milliseconds
 */
export function instantOf(text: string, round: 'down' | 'up' = 'down'): number | undefined {
  const parts = INSTANT.exec(text)?.groups
  if (!parts) return undefined
  const midnight = dayOf(parts)
  const complete = ['day', 'bDay', 'ordinal', 'weekday', 'bWeekday'].some((name) => parts[name] !== undefined)
  if (midnight === undefined || (parts.hour !== undefined && !complete)) return undefined
  const time = timeOf(parts, round)
  const zone = zoneOf(parts)
  if (time === undefined || zone === undefined) return undefined
  const instant = midnight + time - zone
  // A leap second is the last second of a month, in UTC.
  if (secondOf(parts) === 60 && !isMonthsStart(Math.floor(instant / SECOND_MS) * SECOND_MS)) return undefined
  return instant >= FIRST_INSTANT && instant <= LAST_INSTANT ? instant : undefined
}

/** Returns the start of the day, or of the year, month or week. */
function dayOf(parts: Record<string, string | undefined>): number | undefined {
  const given = (...names: string[]) => names.map((name) => parts[name]).find((each) => each !== undefined)
  const number = (...names: string[]) => Number(given(...names) ?? 1)
  const year = number('year')
  const date = given('week', 'bWeek')
    ? {
        weekYear: year,
        weekNumber: number('week', 'bWeek'),
        weekday: number('weekday', 'bWeekday') as WeekdayNumbers,
      }
    : given('ordinal')
      ? { year, ordinal: number('ordinal') }
      : { year, month: number('month', 'bMonth'), day: number('day', 'bDay') }
  const start = DateTime.fromObject(date, { zone: 'utc' })
  return start.isValid && year >= 1 ? start.toMillis() : undefined
}

function secondOf({ second, bSecond }: Record<string, string | undefined>): number {
  return Number(second ?? bSecond ?? 0)
}

/** Returns the milliseconds since midnight. */
function timeOf(parts: Record<string, string | undefined>, round: 'down' | 'up'): number | undefined {
  const { hour, fraction } = parts
  const minute = parts.minute ?? parts.bMinute
  const second = parts.second ?? parts.bSecond
  const last = second !== undefined ? SECOND_MS : minute !== undefined ? MINUTE_MS : HOUR_MS
  const whole =
    Number(hour ?? 0) * HOUR_MS + Number(minute ?? 0) * MINUTE_MS + Number(second ?? 0) * SECOND_MS
  const exact = fraction === undefined ? 0n : BigInt(fraction) * BigInt(last)
  const scale = 10n ** BigInt(fraction?.length ?? 0)
  const more = Number(exact / scale) + (round === 'up' && exact % scale !== 0n ? 1 : 0)
  const inRange =
    Number(hour ?? 0) <= 23
      ? Number(minute ?? 0) <= 59 && Number(second ?? 0) <= 60
      : whole === DAY_MS && exact === 0n
  return inRange ? whole + more : undefined
}

/** Returns the milliseconds that the zone is ahead of UTC. */
function zoneOf({ sign, zoneHour, zoneMinute }: Record<string, string | undefined>): number | undefined {
  const [hours, minutes] = [Number(zoneHour ?? 0), Number(zoneMinute ?? 0)]
  if (hours > 23 || minutes > 59) return undefined
  return (sign === '-' || sign === '\u2212' ? -1 : 1) * (hours * HOUR_MS + minutes * MINUTE_MS)
}

function isMonthsStart(instant: number): boolean {
  return instant % DAY_MS === 0 && new Date(instant).getUTCDate() === 1
}
