/** Ends of what the current test file has started, the latest last. */
const ends: (() => Promise<void>)[] = []

/**
 * Registers how something ends that a test file has started, and returns it. It runs once: when it is called,
 * otherwise after the file's tests, before what was started earlier ends.
 */
export function atEnd(end: () => unknown): () => Promise<void> {
  let ended: Promise<void> | undefined
  const once = () => (ended ??= (async () => void (await end()))())
  ends.push(once)
  return once
}

/** Ends all of it, even if some of it fails to. */
export async function endAll(): Promise<void> {
  const errors: unknown[] = []
  for (const end of ends.splice(0).reverse()) await end().catch((error: unknown) => errors.push(error))
  if (errors.length) throw errors.length === 1 ? errors[0] : new AggregateError(errors)
}
