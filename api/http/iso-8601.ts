/** A calendar, ordinal or week date, in extended or basic form; in the former also a year or month alone. */
const DATE = String.raw`(?<year>\d{4})(?:(?:-(?<month>\d\d)(?:-(?<day>\d\d))?|(?<bMonth>\d\d)(?<bDay>\d\d))|-?(?<ordinal>\d{3})|-W(?<week>\d\d)(?:-(?<weekday>\d))?|W(?<bWeek>\d\d)(?<bWeekday>\d)?)?`
/** A time, whose last number may have a fraction. Its bounded length bounds the work. */
const TIME = String.raw`(?<hour>\d\d)(?:(?::(?<minute>\d\d)(?::(?<second>\d\d))?)|(?<bMinute>\d\d)(?<bSecond>\d\d)?)?(?:[.,](?<fraction>\d{1,20}))?`
/** A zone. ISO 8601's minus is U+2212; a hyphen works too. An unescaped + in a query arrives as a space. */
const ZONE = String.raw`(?<zone>z|(?<sign>[-+ \u2212])(?<zoneHour>\d\d)(?::?(?<zoneMinute>\d\d))?)`
const INSTANT = new RegExp(`^${DATE}(?:[t ]${TIME}${ZONE}?)?$`, 'i')

/** Pattern of a duration. Years and months are whole numbers, because their lengths differ. */
const DURATION = new RegExp(
  `^P(?=\\d|T\\d)${number('years', 'Y', '')}${number('months', 'M', '')}${number('weeks', 'W')}${number('days', 'D')}` +
    `(?:T(?=\\d)${number('hours', 'H')}${number('minutes', 'M')}${number('seconds', 'S')})?$`,
  'i',
)
/** Returns the pattern of an optional number that a letter follows. */
function number(name: string, letter: string, fraction = '(?:[.,]\\d+)?'): string {
  return `(?:(?<${name}>\\d+${fraction})${letter})?`
}

export const DAY_MS = 86_400_000
const [HOUR_MS, MINUTE_MS, SECOND_MS] = [3_600_000, 60_000, 1_000]
const FIRST_INSTANT = -62_135_596_800_000
/** The end of the year 9999, in Unix milliseconds. */
export const LAST_INSTANT = 253_402_300_799_999

/**
 * Parses an ISO 8601 date, or date and time, to Unix milliseconds; undefined if it is malformed. Without an
 * offset it is UTC. A year, month, week or day is its start. 24:00 is the next day's 00:00, a leap second the
 * second after it. Years are 0001 to 9999, in UTC too. Unsupported: times alone, durations, intervals,
 * centuries, and years of more digits, which are ISO 8601 by agreement only.
 * @param round direction for a fraction that is finer than milliseconds; up, even beyond the year 9999
 */
export function instantOf(text: string, round: 'down' | 'up' = 'down'): number | undefined {
  const parts = INSTANT.exec(text)?.groups
  if (!parts) return undefined
  const midnight = dayOf(parts)
  const complete = ['day', 'bDay', 'ordinal', 'weekday', 'bWeekday'].some((name) => parts[name] !== undefined)
  if (midnight === undefined || (parts.hour !== undefined && !complete)) return undefined
  const time = timeOf(parts)
  const zone = zoneOf(parts)
  if (time === undefined || zone === undefined) return undefined
  const instant = midnight + time.whole - zone
  // A leap second is the last second of a month, in UTC.
  if (secondOf(parts) === 60 && !isMonthsStart(Math.floor(instant / SECOND_MS) * SECOND_MS)) return undefined
  if (instant < FIRST_INSTANT || instant > LAST_INSTANT) return undefined
  return round === 'up' && time.isFiner ? instant + 1 : instant
}

/** Returns the start of the day, or of the year, month or week. */
function dayOf(parts: Record<string, string | undefined>): number | undefined {
  const given = (...names: string[]) => names.map((name) => parts[name]).find((each) => each !== undefined)
  const number = (...names: string[]) => Number(given(...names) ?? 1)
  const year = number('year')
  if (year < 1) return undefined
  if (given('week', 'bWeek'))
    return startOfWeekday(year, number('week', 'bWeek'), number('weekday', 'bWeekday'))
  return given('ordinal')
    ? startOfOrdinal(year, number('ordinal'))
    : startOfDay(year, number('month', 'bMonth'), number('day', 'bDay'))
}

/** Returns the start of a day in UTC, in Unix milliseconds; undefined if the month has no such day. */
export function startOfDay(year: number, month: number, day: number): number | undefined {
  const date = new Date(0).setUTCFullYear(year, month - 1, day)
  return new Date(date).getUTCMonth() === month - 1 ? date : undefined
}

/** Returns the start of a day by its number in the year, from 1; undefined if the year has no such day. */
function startOfOrdinal(year: number, ordinal: number): number | undefined {
  const day = startOfDay(year, 1, 1)! + (ordinal - 1) * DAY_MS
  return new Date(day).getUTCFullYear() === year ? day : undefined
}

/** Returns the start of a weekday, Monday being 1; undefined if the year has no such week. */
function startOfWeekday(year: number, week: number, weekday: number): number | undefined {
  // 4 January is in week 1, and a week belongs to the year of its Thursday.
  const fourth = startOfDay(year, 1, 4)!
  const monday = fourth - ((new Date(fourth).getUTCDay() + 6) % 7) * DAY_MS + (week - 1) * 7 * DAY_MS
  return new Date(monday + 3 * DAY_MS).getUTCFullYear() === year && weekday >= 1 && weekday <= 7
    ? monday + (weekday - 1) * DAY_MS
    : undefined
}

function secondOf({ second, bSecond }: Record<string, string | undefined>): number {
  return Number(second ?? bSecond ?? 0)
}

/** Returns the whole milliseconds since midnight. `isFiner`: a fraction of a millisecond is left. */
function timeOf(parts: Record<string, string | undefined>): { whole: number; isFiner: boolean } | undefined {
  const { hour, fraction } = parts
  const minute = parts.minute ?? parts.bMinute
  const second = parts.second ?? parts.bSecond
  const last = second !== undefined ? SECOND_MS : minute !== undefined ? MINUTE_MS : HOUR_MS
  const whole =
    Number(hour ?? 0) * HOUR_MS + Number(minute ?? 0) * MINUTE_MS + Number(second ?? 0) * SECOND_MS
  const exact = fraction === undefined ? 0n : BigInt(fraction) * BigInt(last)
  const scale = 10n ** BigInt(fraction?.length ?? 0)
  const inRange =
    Number(hour ?? 0) <= 23
      ? Number(minute ?? 0) <= 59 && Number(second ?? 0) <= 60
      : whole === DAY_MS && exact === 0n
  return inRange ? { whole: whole + Number(exact / scale), isFiner: exact % scale !== 0n } : undefined
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

/**
 * Adds or subtracts an ISO 8601 duration in UTC: years and months first, then the rest. A day that the month
 * does not have becomes the month's last day. Returns Unix milliseconds, with a fraction if the duration has
 * a finer one, and NaN beyond the range of Date; undefined if the duration is malformed.
 */
export function shiftedBy(instant: number, duration: string, direction: 1 | -1): number | undefined {
  const parts = DURATION.exec(duration)?.groups
  if (!parts) return undefined
  // One division, after products of integers, so that whole milliseconds stay whole.
  const of = (name: string, unit: number) => {
    const [whole, fraction = ''] = (parts[name] ?? '0').split(/[.,]/)
    return Number(whole) * unit + (Number(fraction) * unit) / 10 ** fraction.length
  }
  const date = new Date(instant)
  const month = date.getUTCMonth() + direction * (of('years', 12) + of('months', 1))
  const lastDay = new Date(new Date(0).setUTCFullYear(date.getUTCFullYear(), month + 1, 0)).getUTCDate()
  date.setUTCMonth(month, Math.min(date.getUTCDate(), lastDay))
  const days = of('weeks', 7 * DAY_MS) + of('days', DAY_MS)
  const rest = of('hours', HOUR_MS) + of('minutes', MINUTE_MS) + of('seconds', SECOND_MS)
  return date.getTime() + direction * (days + rest)
}
