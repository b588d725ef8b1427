/** Positions in the notation of WKT: `longitude latitude`, separated by commas. */
export const positions = (text: string): [number, number][] =>
  text.split(',').map((position) => {
    const [longitude, latitude] = position.trim().split(/\s+/).map(Number)
    return [longitude!, latitude!]
  })

/** Positions of the Eiffel Tower and the Brandenburg Gate, which are 881329.94 m apart. */
export const TOWER = { type: 'Point' as const, coordinates: [2.2945, 48.8584] }
export const GATE = { type: 'Point' as const, coordinates: [13.3777, 52.5163] }
