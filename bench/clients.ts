import { request } from 'node:http'

/** Clients of an API behind a trusted proxy, each with an address of its own. */

/** Milliseconds after which a response counts as an error. */
const LONGEST_MS = 60_000
/** Maximum length in bytes of a text that a listener waits for. */
const LONGEST_TEXT = 100

/** Sends a request from this address (X-Forwarded-For), a POST if it has a body. Returns the status. */
export async function answered(url: string, address: string, path: string, body?: string): Promise<number> {
  const response = await fetch(url + path, {
    headers: {
      'x-forwarded-for': address,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { method: 'POST', body }),
    signal: AbortSignal.timeout(LONGEST_MS),
  })
  await response.arrayBuffer()
  return response.status
}

/** Sends a request. Throws if its status is not 200. */
export async function ok(url: string, address: string, path: string, body?: string): Promise<void> {
  const status = await answered(url, address, path, body)
  if (status !== 200) throw new Error(`${path} was answered with ${status}`)
}

interface Listener {
  status: number
  /** Resolves when a text is received, with it and what follows it, at most LONGEST_TEXT bytes. */
  until: (text: string) => Promise<string>
  close: () => void
}

/** Listens to the stream of changes, after the event `from` if it is given. */
export function listen(url: string, address: string, from = '', query = ''): Promise<Listener> {
  return new Promise((resolve, reject) => {
    const asked = request(
      `${url}/api/v0/location-records/stream${query}`,
      { agent: false, headers: { 'x-forwarded-for': address, ...(from && { 'last-event-id': from }) } },
      (response) => {
        // Only the end of the data is kept, to do little work for many megabytes: this process also measures.
        let last = Buffer.alloc(0)
        let look = (_: Buffer) => {}
        response.on('data', (chunk: Buffer) => {
          look(chunk)
          look(Buffer.concat([last, chunk.subarray(0, LONGEST_TEXT)]))
          last = Buffer.from(chunk.subarray(-LONGEST_TEXT))
        })
        response.on('error', () => {})
        resolve({
          status: response.statusCode!,
          until: (text) =>
            new Promise((arrived, late) => {
              const timer = setTimeout(() => late(new Error('no event')), LONGEST_MS)
              response.once('close', () => late(new Error('closed')))
              look = (chunk) => {
                const at = chunk.indexOf(text)
                if (at < 0) return
                clearTimeout(timer)
                arrived(chunk.toString('utf8', at, at + LONGEST_TEXT))
              }
              look(last)
            }),
          close: () => asked.destroy(),
        })
      },
    )
    asked.on('error', reject)
    asked.end()
  })
}

/** Position in the log of changes before the first change of all chains. */
export async function firstPosition(url: string, address: string): Promise<string> {
  const stream = await listen(url, address)
  const [, newest] = /^\nid: ([^\n]+)/.exec(await stream.until('\nid: '))!
  stream.close()
  return newest!.replace(/\.\d+/g, '.0')
}
