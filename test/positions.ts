/** Positions in the notation of WKT: `longitude latitude`, separated by commas. */
export const positions = (text: string): [number, number][] =>
  text.split(',').map((position) => {
    const [longitude, latitude] = position.trim().split(/\s+/).map(Number)
    return [longitude!, latitude!]
  })
