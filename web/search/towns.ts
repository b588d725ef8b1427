import lists from 'virtual:towns'
import { plainOf } from './similar'
import type { Town, TownsQuery, TownsReply } from './towns-worker'

/**
 * Finds towns whose name, or a word of it, starts with the text, the largest first; then those with a typing
 * error. A worker compares the names, so that the page continues to respond to keys.
 */
export async function townsNamed(text: string): Promise<readonly Town[]> {
  const wanted = plainOf(text).trim()
  const url = lists[wanted[0] ?? '']
  if (url === undefined || wanted.length < 2) return []
  const reply = await ask({ url: new URL(url, location.href).href, wanted })
  if ('problem' in reply) throw new Error(reply.problem)
  return reply.towns
}

let worker: Worker | undefined
const waiting = new Map<string, (reply: TownsReply) => void>()
let asked = 0

function start(): Worker {
  const started = new Worker(new URL('./towns-worker.ts', import.meta.url), { type: 'module' })
  started.addEventListener('message', ({ data }: MessageEvent<TownsReply>) => {
    waiting.get(data.id)?.(data)
    waiting.delete(data.id)
  })
  // The code of the worker could not be loaded. The next search tries again.
  started.addEventListener('error', () => {
    started.terminate()
    worker = undefined
    for (const [id, reply] of waiting) reply({ id, problem: 'The names of towns could not be loaded.' })
    waiting.clear()
  })
  return started
}

function ask(query: Omit<TownsQuery, 'id'>): Promise<TownsReply> {
  worker ??= start()
  const id = String(asked++)
  worker.postMessage({ ...query, id } satisfies TownsQuery)
  return new Promise((resolve) => waiting.set(id, resolve))
}
