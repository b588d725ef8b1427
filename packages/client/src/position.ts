import type { Feature, FeatureCollection, Geometry, Point } from 'geojson'

/**
 * [longitude, latitude] in degrees; a height may follow, which is part of the reference and is not measured.
 */
export type Position = readonly number[]
type Positions = Position | readonly Positions[]

/**
 * A geometry, a Feature, or a FeatureCollection of one feature: of the types of `@types/geojson`, or as
 * TypeScript infers a constant (`type` is any string then), with readonly arrays or without.
 */
export type GeoJson =
  | Geometry
  | Feature
  | FeatureCollection
  | { readonly type: string; readonly coordinates: Positions }
  | { readonly type: string; readonly geometries: readonly GeoJson[] }
  | { readonly type: string; readonly geometry: GeoJson | null; readonly properties?: unknown }
  | { readonly type: string; readonly features: readonly GeoJson[] }

/** A point by its degrees. Nothing is checked here: the service, and `attest`, name what is wrong. */
export function point(longitude: number, latitude: number): Point {
  return { type: 'Point', coordinates: [longitude, latitude] }
}

/** A position as a point; every other value unchanged. */
export function positionAsPoint<T>(value: T): Exclude<T, Position> | Point {
  const isPosition =
    Array.isArray(value) &&
    (value.length === 2 || value.length === 3) &&
    value.every((number) => typeof number === 'number')
  return isPosition ? { type: 'Point', coordinates: value as number[] } : (value as Exclude<T, Position>)
}
