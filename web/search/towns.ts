import lists from 'virtual:towns'
import { plainOf } from './similar'
import type { Town, TownsQuery, TownsReply } from './towns-worker'

/**
 * Finds towns whose name, or a word of it, starts with the text, the largest first; then those with a typing
 * error. Finds none if the names cannot be loaded. A worker compares them, so that the page continues to
 * respond to keys.
 */
export async function townsNamed(text: string): Promise<readonly Town[]> {
  const wanted = plainOf(text).trim()
  const url = lists[wanted[0] ?? '']
  if (url === undefined || wanted.length < 2) return []
  try {
    worker ??= start()
  } catch {
    // The browser forbids workers, or has none.
    return []
  }
  const id = String(asked++)
  worker.postMessage({ id, url: new URL(url, location.href).href, wanted } satisfies TownsQuery)
  return new Promise((resolve) => waiting.set(id, resolve))
}

let worker: Worker | undefined
const waiting = new Map<string, (towns: readonly Town[]) => void>()
let asked = 0

function start(): Worker {
  const started = new Worker(new URL('./towns-worker.ts', import.meta.url), { type: 'module' })
  started.addEventListener('message', ({ data }: MessageEvent<TownsReply>) => {
    waiting.get(data.id)?.(data.towns)
    waiting.delete(data.id)
  })
  // The code of the worker could not be loaded. The next search tries again.
  started.addEventListener('error', () => {
    started.terminate()
    worker = undefined
    for (const resolve of waiting.values()) resolve([])
    waiting.clear()
  })
  return started
}
