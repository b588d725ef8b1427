// SPDX-License-Identifier: MIT
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, expect, test } from 'vitest'
import { RECORDS_ERRORS } from '../../../../src/errors'
import { download, maximumOf, withLimit } from './download'

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

async function serverOf(respond: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_, response) => respond(response)).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  ends.push(() => void server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test(
  'a request ends after its time limit, while the garbage collector runs',
  { tags: ['slow'] },
  async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const url = await serverOf(() => {})
    const timer = setInterval(collect, 20)
    ends.push(() => clearInterval(timer))
    const request = withLimit(new AbortController().signal, 100, (signal) => fetch(url, { signal }))
    await expect(request).rejects.toThrow('0.1 s')
  },
)

test('a request ends with the signal of its caller, before and after it began', async () => {
  const url = await serverOf(() => {})
  const stop = new AbortController()
  const reading = download(url, stop.signal, 9)
  const reason = new Error('stopped')
  stop.abort(reason)
  await expect(reading).rejects.toBe(reason)
  await expect(download(url, stop.signal, 9)).rejects.toBe(reason)
})

test('a file is read up to the size of the largest file of its kind', { tags: ['slow'] }, async () => {
  const largest = {
    'tile/entries/000': 256 * (2 + 65_535),
    'tile/0/x001/000.p/3': 8_192,
    checkpoint: 131_072,
  }
  for (const [path, maximum] of Object.entries(largest)) {
    for (const size of [0, 1, maximum]) {
      const url = await serverOf((response) => response.end(Buffer.alloc(size, 'a')))
      const file = await download(url, new AbortController().signal, maximumOf(path))
      expect([size, file?.length]).toEqual([size, size])
    }
    const url = await serverOf((response) => response.end(Buffer.alloc(maximum + 1)))
    await expect(download(url, new AbortController().signal, maximumOf(path))).rejects.toMatchObject({
      kind: 'format',
    })
  }
})

test("a file is undefined for the service's own 404, and unreachable for any other failure", async () => {
  const signal = new AbortController().signal
  const statusOf = (status: number, text = 'x') =>
    serverOf((response) => response.writeHead(status).end(text))
  const { message } = RECORDS_ERRORS['not-found']
  const own = await statusOf(404, JSON.stringify({ message }))
  expect(await download(own, signal, 9)).toBeUndefined()
  const failing = [
    ...[await statusOf(500), await statusOf(403), 'http://127.0.0.1:1'],
    // A reverse proxy may respond like this while the service is unavailable.
    ...[
      await statusOf(404),
      await statusOf(404, 'null'),
      await statusOf(404, '{"message":"no Route matched"}'),
    ],
    await serverOf((response) => response.setHeader('content-type', 'text/html; charset=utf-8').end('<p>')),
    await serverOf((response) => response.destroy()),
    await serverOf((response) =>
      response.writeHead(200, { 'content-length': '9', connection: 'close' }).end('x'),
    ),
  ]
  for (const url of failing)
    await expect(download(url, signal, 9)).rejects.toMatchObject({ name: 'ConnectionError' })
})
