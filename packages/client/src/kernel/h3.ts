// SPDX-License-Identifier: MIT
/** Replaces h3-js (rolldown.config.mjs), whose 200 kB are loaded only for a location that is an H3 cell. */
let h3: typeof import('h3-js') | undefined

export async function loadH3(): Promise<void> {
  h3 ??= await import('h3-js')
}

/** @public */
export function isValidCell(cell: string): boolean {
  return h3!.isValidCell(cell)
}

/** @public */
export function cellToBoundary(cell: string, geoJson: boolean): number[][] {
  return h3!.cellToBoundary(cell, geoJson)
}
