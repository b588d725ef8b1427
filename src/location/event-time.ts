// SPDX-License-Identifier: MIT
/**
 * Attested time of an event, and the time's part of a record's `problem`. This file has no imports, so that
 * pages can load it.
 */
export interface EventTime {
  /**
   * Unix seconds; undefined if the schema has no such field, or if its value is after the year 9999. The time
   * of the attestation is then used.
   */
  eventTimestamp: number | undefined
  /** reason for which an attested time is not used; null if it is used, or if there is none */
  timeProblem: string | null
}

/**
 * Latest time of a row: the end of the year 9999, in Unix seconds. The store restores rows of rolled-back
 * blocks from JSON, in which JavaScript writes a later year as "+058859-...". Postgres refuses that (22009),
 * so the revocation of such a row could never be rolled back.
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

/**
 * True if a record with this problem has no geometry. A problem of the time alone does not affect the
 * geometry.
 */
export function lacksGeometry(problem: string | null): boolean {
  return problem !== null && !problem.startsWith(TIME_PROBLEM)
}
