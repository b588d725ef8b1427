/** An uncompressed vector tile. */
export interface Tile {
  z: number
  x: number
  y: number
  data: Uint8Array
}
export function pmtilesOf(
  tiles: readonly Tile[],
  metadata: { bounds: readonly [number, number, number, number] } & Record<string, unknown>,
): Buffer
export function tileId(z: number, x: number, y: number): number
