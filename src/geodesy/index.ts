/**
 * ROOM 1: the geodesic kernel. GeoJSON in, metres out, on the WGS84 ellipsoid.
 * Knows no HTTP, no database and no chain, and does not round for the wire. Positions are [longitude, latitude] in degrees.
 */
export { GeometryError } from './error'
export { canonicalJson, parseGeometry } from './geojson'
export { distanceMeters } from './distance'
