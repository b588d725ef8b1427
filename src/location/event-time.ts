// SPDX-License-Identifier: MIT
/** Attested time of an event, and its part of a record's `problem`. No imports, so that pages can load it. */
export interface EventTime {
  /** Unix seconds; undefined without such a field, and after 9999: the attestation's time is then used */
  eventTimestamp: number | undefined
  /** reason for which an attested time is not used; null if it is used, or if there is none */
  timeProblem: string | null
}

/**
 * Latest time of a row, Unix seconds: the end of 9999. The store restores rolled-back rows from JSON, in
 * which JavaScript writes later years as "+058859-...", which Postgres refuses (22009).
 */
export const LATEST_SECOND = 253_402_300_799

/** Units that writers use instead of seconds, with their number per second. */
const FINER_UNITS: readonly [name: string, perSecond: bigint][] = [
  ['milliseconds', 1_000n],
  ['microseconds', 1_000_000n],
  ['nanoseconds', 1_000_000_000n],
]
/** Seconds from 1973 to 2286. No number is in this range in two of the units. */
const LIKELY = { least: 100_000_000n, below: 10_000_000_000n }
const TIME_PROBLEM = 'eventTimestamp '

/** Reads the field eventTimestamp of a payload; undefined if its schema has none. */
export function readEventTime(value: bigint | undefined): EventTime {
  if (value === undefined) return { eventTimestamp: undefined, timeProblem: null }
  if (value <= LATEST_SECOND) return { eventTimestamp: Number(value), timeProblem: null }
  const unit = FINER_UNITS.find(
    ([, scale]) => value >= LIKELY.least * scale && value < LIKELY.below * scale,
  )?.[0]
  return {
    eventTimestamp: undefined,
    timeProblem: `${TIME_PROBLEM}${value} is after the year 9999 in Unix seconds${unit ? `; it looks like ${unit}` : ''}; event_timestamp is the time of the attestation`,
  }
}

/** Problem of a record: everything that could not be read as intended; null if there is nothing. */
export function joinProblems(geometryProblem: string | null, timeProblem: string | null): string | null {
  return [geometryProblem, timeProblem].filter((problem) => problem !== null).join('; ') || null
}

/** True if a record with this problem has no geometry. It has one if only the time is a problem. */
export function lacksGeometry(problem: string | null): boolean {
  return problem !== null && !problem.startsWith(TIME_PROBLEM)
}
