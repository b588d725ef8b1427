/** A geometry that is not accepted. The message names the place in the input and says what would be right. */
export class GeometryError extends Error {
  override readonly name = 'GeometryError'

  /** @param path the place in the caller's input, such as `from.coordinates[0]` */
  constructor(
    readonly path: string,
    readonly problem: string,
  ) {
    super(`${path}: ${problem}`)
  }
}
