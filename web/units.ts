import { signal } from '@preact/signals'
import { locale } from './messages'
import { storage, store } from './storage'

/** Units that the user chose for lengths and areas. Signed values stay in metres and square metres. */

export const UNIT_SYSTEMS = ['metric', 'imperial', 'nautical'] as const
export type UnitSystem = (typeof UNIT_SYSTEMS)[number]

const STORED = 'units'
const stored = UNIT_SYSTEMS.find((each) => each === storage()?.getItem(STORED))
export const units = signal<UnitSystem>(stored ?? 'metric')
export function setUnits(system: UnitSystem): void {
  units.value = system
  store(STORED, system)
}

interface Step {
  /** minimum value in base units (metres or square metres) at which this unit is used */
  from: number
  /** base units per unit */
  per: number
  symbol: string
  digits: number
}
const METRE: Step = { from: 0, per: 1, symbol: 'm', digits: 2 }
const SQUARE_METRE: Step = { from: 0, per: 1, symbol: 'm²', digits: 4 }
/** Metres per international foot, mile and nautical mile, and square metres per international acre. */
const [FOOT, MILE, NAUTICAL_MILE, ACRE] = [0.3048, 1_609.344, 1_852, 4_046.8564224]
const METRIC_AREAS: readonly Step[] = [
  SQUARE_METRE,
  { from: 1e4, per: 1e4, symbol: 'ha', digits: 2 },
  { from: 1e6, per: 1e6, symbol: 'km²', digits: 2 },
]

const LENGTHS: Readonly<Record<UnitSystem, readonly Step[]>> = {
  metric: [METRE, { from: 10_000, per: 1_000, symbol: 'km', digits: 1 }],
  imperial: [
    { from: 0, per: FOOT, symbol: 'ft', digits: 1 },
    { from: MILE / 4, per: MILE, symbol: 'mi', digits: 2 },
  ],
  nautical: [METRE, { from: NAUTICAL_MILE / 4, per: NAUTICAL_MILE, symbol: 'nmi', digits: 2 }],
}
const AREAS: Readonly<Record<UnitSystem, readonly Step[]>> = {
  metric: METRIC_AREAS,
  imperial: [
    { from: 0, per: FOOT ** 2, symbol: 'sq ft', digits: 0 },
    { from: ACRE / 4, per: ACRE, symbol: 'acres', digits: 2 },
    { from: 640 * ACRE, per: 640 * ACRE, symbol: 'sq mi', digits: 2 },
  ],
  nautical: METRIC_AREAS,
}

const written = (value: number, { per, symbol, digits }: Step) => {
  const size = value / per
  const number = size.toLocaleString(locale, { maximumFractionDigits: size >= 1_000 && per > 1 ? 0 : digits })
  return `${number} ${symbol}`
}

/**
 * Formats a length or an area in the chosen units. If they differ from the signed unit, the value in metres
 * or square metres follows.
 */
function measured(value: number, steps: readonly Step[], exact: Step): string {
  const step = steps.findLast(({ from }) => value >= from) ?? steps[0]!
  return step.per === 1 ? written(value, exact) : `${written(value, step)} (${written(value, exact)})`
}

/** @param meters formatted to a hundredth of a metre */
export const lengthText = (meters: number): string => measured(meters, LENGTHS[units.value], METRE)
/** @param squareMeters formatted to a ten-thousandth of a square metre */
export const areaText = (squareMeters: number): string =>
  measured(squareMeters, AREAS[units.value], SQUARE_METRE)
/**
 * Formats a length that the user typed. In metric units, it is in kilometres only if it is a whole number of
 * metres, so that it is not rounded.
 */
export const typedLengthText = (meters: number): string =>
  units.value !== 'metric'
    ? lengthText(meters)
    : meters >= 1_000 && Number.isInteger(meters)
      ? `${(meters / 1_000).toLocaleString(locale, { maximumFractionDigits: 3 })} km`
      : written(meters, METRE)
