// SPDX-License-Identifier: MIT
import type { Geometry, Polygon, Position } from 'geojson'
import { positions } from '../../../test/positions'
import { box, polygon } from '../../../test/shapes'

/** A box as a polygon, from its south-west to its north-east corner. */
const between = ([west, south]: Position, [east, north]: Position): Polygon =>
  polygon(box(west!, south!, east!, north!))

/** Raw geometries of requests. The contracts pin the tower and the zone. `parcel` is half a km2. */
export const TYPED = {
  tower: { type: 'Point', coordinates: [2.2945, 48.8584] },
  elsewhere: { type: 'Point', coordinates: [2.2987, 48.8556] },
  zone: between([2.22, 48.81], [2.42, 48.91]),
  vastTyped: between([0, 45], [20, 55]),
  line: { type: 'LineString', coordinates: positions('2.2945 48.8584, 2.3522 48.8566') },
  parcel: between([2.29, 48.85], [2.297, 48.858]),
} satisfies Record<string, Geometry>

/** Roles of the accounts that attest, or are recipients. */
export type Role = 'prover' | 'account' | 'second' | 'mallory'
export interface Attested {
  by: Role
  to: Role | 'order'
  geometry: Geometry
  observed?: number
}
/** Address of the escrow in forge's tests. Its first order has an address that deliveries are attested to. */
export const ESCROW = '0xe5c0000000000000000000000000000000000001'

/**
 * Attested locations, with attester and recipient. The contracts trust the prover's. Mallory claims to be
 * nearby, and attests half of Europe as a position. `near` is 390 m from the tower. All are observed when
 * they are attested, except those with `observed`: seconds after that.
 */
export const ATTESTED = {
  near: { by: 'prover', to: 'account', geometry: { type: 'Point', coordinates: [2.2987, 48.8561] } },
  nearAgain: { by: 'prover', to: 'account', geometry: { type: 'Point', coordinates: [2.2985, 48.856] } },
  nearSecond: { by: 'prover', to: 'second', geometry: { type: 'Point', coordinates: [2.2986, 48.8562] } },
  expiring: { by: 'prover', to: 'account', geometry: { type: 'Point', coordinates: [2.2984, 48.8563] } },
  far: { by: 'prover', to: 'account', geometry: { type: 'Point', coordinates: [13.3777, 52.5163] } },
  half: { by: 'prover', to: 'account', geometry: between([2.3, 48.85], [2.5, 48.87]) },
  claimed: { by: 'mallory', to: 'mallory', geometry: { type: 'Point', coordinates: [2.2944, 48.8584] } },
  vast: { by: 'mallory', to: 'mallory', geometry: between([-5, 42], [20, 55]) },
  stale: {
    ...{ by: 'prover', to: 'account', geometry: { type: 'Point', coordinates: [2.2987, 48.8561] } },
    observed: -400 * 86_400,
  },
  foretold: {
    ...{ by: 'prover', to: 'account', geometry: { type: 'Point', coordinates: [2.2987, 48.8561] } },
    observed: 30 * 86_400,
  },
  delivered: { by: 'prover', to: 'order', geometry: { type: 'Point', coordinates: [2.2987, 48.8561] } },
  deliveredStale: {
    ...{ by: 'prover', to: 'order', geometry: { type: 'Point', coordinates: [2.2987, 48.8561] } },
    observed: -400 * 86_400,
  },
  deliveredForetold: {
    ...{ by: 'prover', to: 'order', geometry: { type: 'Point', coordinates: [2.2987, 48.8561] } },
    observed: 30 * 86_400,
  },
  deliveredFar: { by: 'prover', to: 'order', geometry: { type: 'Point', coordinates: [13.3777, 52.5163] } },
  deliveredClaimed: {
    by: 'mallory',
    to: 'order',
    geometry: { type: 'Point', coordinates: [2.2944, 48.8584] },
  },
} satisfies Record<string, Attested>

export type Place = keyof typeof TYPED | keyof typeof ATTESTED
/** Schemas of requests; without one, the service's own. */
export type Schema = 'token' | 'parcels' | 'denied' | 'tokenDenied'

export interface Question {
  operation: string
  inputs: Record<string, Place>
  radius?: number
  schema?: Schema
  /** `account` by default; null for no recipient */
  to?: Role | null
}

const within = (geometry: Place, target: Place, radius = 500) => ({
  ...{ operation: 'within', inputs: { geometry, target }, radius },
})
const contains = (container: Place, geometry: Place) => ({
  ...{ operation: 'contains', inputs: { container, geometry } },
})
const intersects = (geometry1: Place, geometry2: Place) => ({
  ...{ operation: 'intersects', inputs: { geometry1, geometry2 } },
})
const distance = (from: Place, to: Place) => ({ operation: 'distance', inputs: { from, to } })
const about = (operation: string, geometry: Place) => ({ operation, inputs: { geometry } })

/** Requests to the service: those that contracts expect, and those that attackers prefer. */
export const QUESTIONS: Readonly<Record<string, Question>> = {
  within: within('near', 'tower'),
  withinElsewhere: within('near', 'elsewhere'),
  withinTyped: within('tower', 'tower'),
  withinWide: within('far', 'tower', 2_000_000),
  withinTenfold: within('near', 'tower', 5_000),
  withinFar: within('far', 'tower'),
  withinMallory: { ...within('near', 'tower'), to: 'mallory' },
  withinNobody: { ...within('near', 'tower'), to: null },
  withinDenied: { ...within('near', 'tower'), schema: 'denied' },
  contains: contains('zone', 'near'),
  containsFar: contains('zone', 'far'),
  containsVast: contains('vastTyped', 'far'),
  containsSwapped: contains('vast', 'zone'),
  delivered: contains('zone', 'delivered'),
  containsStale: contains('zone', 'stale'),
  containsForetold: contains('zone', 'foretold'),
  deliveredStale: contains('zone', 'deliveredStale'),
  deliveredForetold: contains('zone', 'deliveredForetold'),
  deliveredFar: contains('zone', 'deliveredFar'),
  deliveredClaimed: contains('zone', 'deliveredClaimed'),
  deliveredVast: contains('vastTyped', 'deliveredFar'),
  intersects: intersects('zone', 'half'),
  disjoint: intersects('zone', 'far'),
  distance: distance('near', 'tower'),
  distanceFar: distance('far', 'tower'),
  length: about('length', 'line'),
  area: about('area', 'zone'),
  token: { ...within('near', 'tower'), schema: 'token' },
  tokenAgain: { ...within('nearAgain', 'tower'), schema: 'token' },
  tokenSecond: { ...within('nearSecond', 'tower'), schema: 'token', to: 'second' },
  tokenDenied: { ...within('near', 'tower'), schema: 'tokenDenied' },
  tokenNobody: { ...within('near', 'tower'), schema: 'token', to: null },
  tokenMallory: { ...within('near', 'tower'), schema: 'token', to: 'mallory' },
  tokenElsewhere: { ...within('near', 'elsewhere'), schema: 'token' },
  tokenWide: { ...within('far', 'tower', 2_000_000), schema: 'token' },
  tokenIntersects: { ...intersects('near', 'zone'), schema: 'token' },
  tokenSwapped: { ...within('tower', 'near'), schema: 'token' },
  tokenTyped: { ...within('tower', 'tower'), schema: 'token' },
  tokenClaimed: { ...within('claimed', 'tower'), schema: 'token', to: 'mallory' },
  tokenStale: { ...within('stale', 'tower'), schema: 'token' },
  tokenForetold: { ...within('foretold', 'tower'), schema: 'token' },
  tokenFar: { ...within('far', 'tower'), schema: 'token' },
  parcel: { ...about('area', 'parcel'), schema: 'parcels' },
  parcelMallory: { ...about('area', 'parcel'), schema: 'parcels', to: 'mallory' },
  parcelHuge: { ...about('area', 'zone'), schema: 'parcels' },
}
