/** Storage of this browser; undefined if the user blocked it. */
export function storage(): Storage | undefined {
  try {
    return localStorage
  } catch {
    return undefined
  }
}
