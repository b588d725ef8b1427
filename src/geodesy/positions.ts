// SPDX-License-Identifier: MIT
import type { Position } from 'geojson'

/** Coordinates of positions in flat arrays, by index. */
export interface Numbers {
  /** degrees */
  lon: Float64Array
  lat: Float64Array
  /** third numbers, NaN if a position has none; absent if no position has one */
  altitude?: Float64Array
}

/** Position `i` in GeoJSON's form. */
export function positionAt({ lon, lat, altitude }: Numbers, i: number): Position {
  return altitude === undefined || Number.isNaN(altitude[i])
    ? [lon[i]!, lat[i]!]
    : [lon[i]!, lat[i]!, altitude[i]!]
}

/** List of positions that grows. Its arrays are longer than the list. */
export class Positions implements Numbers {
  // 8 numbers are 64 bytes. V8 allocates larger arrays outside its heap, which takes fifteen times as long.
  lon = new Float64Array(8)
  lat = new Float64Array(8)
  altitude?: Float64Array
  count = 0

  /** @param altitude NaN if the position has none */
  add(longitude: number, latitude: number, altitude: number): void {
    if (this.count === this.lon.length) this.reserve(1)
    this.lon[this.count] = longitude
    this.lat[this.count] = latitude
    if (!Number.isNaN(altitude)) {
      this.altitude ??= new Float64Array(this.lon.length).fill(NaN)
      this.altitude[this.count] = altitude
    }
    this.count++
  }

  /** Makes room for this many more positions. */
  reserve(more: number): void {
    if (this.count + more <= this.lon.length) return
    const capacity = Math.max(2 * this.count, this.count + more)
    const grown = (array: Float64Array) => {
      const larger = new Float64Array(capacity)
      larger.set(array)
      return larger
    }
    this.lon = grown(this.lon)
    this.lat = grown(this.lat)
    this.altitude = this.altitude && grown(this.altitude).fill(NaN, this.altitude.length)
  }

  /** Appends the positions from `start` to before `end` of another list. */
  addAll({ lon, lat, altitude }: Numbers, start: number, end: number): void {
    this.reserve(end - start)
    if (altitude) for (let i = start; i < end; i++) this.add(lon[i]!, lat[i]!, altitude[i]!)
    else {
      this.lon.set(lon.subarray(start, end), this.count)
      this.lat.set(lat.subarray(start, end), this.count)
      this.count += end - start
    }
  }

  /** Returns arrays of exactly the list's length. Nothing may be added to the list afterwards. */
  numbers(): Numbers {
    return this.mapArrays((array) => (array.length === this.count ? array : array.slice(0, this.count)))
  }

  /** Views of the parts of the arrays that hold the list. */
  used(): Numbers {
    return this.mapArrays((array) => array.subarray(0, this.count))
  }

  private mapArrays(part: (array: Float64Array) => Float64Array): Numbers {
    return {
      lon: part(this.lon),
      lat: part(this.lat),
      ...(this.altitude && { altitude: part(this.altitude) }),
    }
  }
}
