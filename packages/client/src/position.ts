// SPDX-License-Identifier: MIT
import type { Feature, FeatureCollection, Geometry, Point } from 'geojson'

/** [longitude, latitude] in degrees. A height may follow; it is part of the reference but is not measured. */
export type Position = readonly number[]
type Positions = Position | readonly Positions[]

/**
 * A geometry, a Feature, or a FeatureCollection of one feature: in the types of `@types/geojson`, or in the
 * types that TypeScript infers for a constant (`type` is then any string), with or without readonly arrays.
 */
export type GeoJson =
  | Geometry
  | Feature
  | FeatureCollection
  | { readonly type: string; readonly coordinates: Positions }
  | { readonly type: string; readonly geometries: readonly GeoJson[] }
  | { readonly type: string; readonly geometry: GeoJson | null; readonly properties?: unknown }
  | { readonly type: string; readonly features: readonly GeoJson[] }

/** Creates a point from degrees. It checks nothing: the service and `attest` report an invalid coordinate. */
export function point(longitude: number, latitude: number): Point {
  return { type: 'Point', coordinates: [longitude, latitude] }
}

/** Converts a position to a point, and returns every other value unchanged. */
export function positionAsPoint<T>(value: T): Exclude<T, Position> | Point {
  const isPosition =
    Array.isArray(value) &&
    (value.length === 2 || value.length === 3) &&
    value.every((number) => typeof number === 'number')
  return isPosition ? { type: 'Point', coordinates: value as number[] } : (value as Exclude<T, Position>)
}
