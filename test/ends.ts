/** Functions that end what the current test file has started, the latest last. */
const ends: (() => Promise<void>)[] = []

/**
 * Registers a function that ends what a test file has started, and returns it. It runs only once: when it is
 * called, or after the file's tests, before everything that was started earlier is ended.
 */
export function atEnd(end: () => unknown): () => Promise<void> {
  let ended: Promise<void> | undefined
  const once = () => (ended ??= (async () => void (await end()))())
  ends.push(once)
  return once
}

/** Ends everything, even if ending one part fails. */
export async function endAll(): Promise<void> {
  const errors: unknown[] = []
  for (const end of ends.splice(0).reverse()) await end().catch((error: unknown) => errors.push(error))
  if (errors.length) throw errors.length === 1 ? errors[0] : new AggregateError(errors)
}
