/** Storage of this browser, or of this tab; undefined if the user blocked it. */
export function storage(kind: 'localStorage' | 'sessionStorage' = 'localStorage'): Storage | undefined {
  try {
    return globalThis[kind]
  } catch {
    return undefined
  }
}

/** Stores a text, or removes it if it is undefined. A full storage keeps its earlier content. */
export function store(key: string, text: string | undefined, kind?: Parameters<typeof storage>[0]): void {
  try {
    if (text === undefined) storage(kind)?.removeItem(key)
    else storage(kind)?.setItem(key, text)
  } catch {
    // The page continues without the stored text.
  }
}
