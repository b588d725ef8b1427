// SPDX-License-Identifier: MIT
/** Error for a geometry that is not accepted: names the position in the input, and the rule it breaks. */
export class GeometryError extends Error {
  override readonly name = 'GeometryError'

  /** @param path path in the client's input, such as `from.coordinates[0]` */
  constructor(
    readonly path: string,
    readonly problem: string,
  ) {
    super(`${path}: ${problem}`)
  }
}
