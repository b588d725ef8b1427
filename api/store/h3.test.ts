import { cellToBoundary, cellToLatLng, getPentagons, latLngToCell } from 'h3-js'
import { expect } from 'vitest'
import { hunt } from '../../test/seed'
import { cellNumbers, cellOf } from './h3'

/** Latitudes and longitudes: poles, antimeridian, and one where h3-js errs near the centre of a face. */
const SPECIAL = [
  [90, 0],
  [-90, 0],
  [0, 180],
  [0, -180],
  [46.041889395, 71.527900036],
]

hunt('numbers of cells are those of h3-js', 5_000, ({ cases, random }) => {
  const anywhere = (): [number, number] => [
    (Math.asin(random() * 2 - 1) * 180) / Math.PI,
    (random() + random() / 2 ** 32) * 360 - 180,
  ]
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)]!
  const anyCell = () => latLngToCell(...anywhere(), Math.floor(random() * 16))
  const kinds: (() => readonly number[])[] = [
    anywhere,
    () => pick(SPECIAL),
    () => cellToLatLng(anyCell()),
    () => cellToLatLng(pick(getPentagons(Math.floor(random() * 16)))),
    // On the edge of a cell. Across the antimeridian, it is anywhere.
    () => {
      const boundary = cellToBoundary(anyCell())
      const [at, share] = [Math.floor(random() * boundary.length), random()]
      const next = boundary[(at + 1) % boundary.length]!
      return boundary[at]!.map((degrees, i) => degrees + (next[i]! - degrees) * share)
    },
  ]
  const numbers = Array.from({ length: 16 }, (_, resolution) => cellNumbers(resolution))
  for (let i = 0; i < cases; i++) {
    const spread = 10 ** -(random() * 16)
    const [lat, lng] = pick(kinds)().map((degrees) => degrees + (random() - 0.5) * spread)
    const latitude = Math.max(-90, Math.min(90, lat!))
    const longitude = Math.max(-180, Math.min(180, lng!))
    const found = numbers.map((numberOf, resolution) => cellOf(numberOf(longitude, latitude), resolution))
    const expected = numbers.map((_, resolution) => latLngToCell(latitude, longitude, resolution))
    expect({ latitude, longitude, found }).toEqual({ latitude, longitude, found: expected })
  }
})
