import { connect, createServer, type Socket } from 'node:net'
import { freePort } from '../dev/services'

export interface RedisProxy {
  /** URL of the proxy */
  readonly url: string
  /** Stops the traffic in both directions. Connections are still accepted. */
  freeze(): void
  /** Resumes the traffic, including the delayed part. */
  thaw(): void
  /** Existing connections stay open without traffic, as after the loss of a route. New connections work. */
  strand(): void
  /** number of connections accepted so far */
  connections(): number
  /** Closes every connection and refuses new ones. */
  cut(): Promise<void>
  /** Accepts connections again, on the same port. */
  restore(): Promise<void>
  close(): Promise<void>
}

/** A TCP proxy in front of Redis that freezes, breaks and recovers on demand. */
export async function startRedisProxy(target: string): Promise<RedisProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const stranded = new WeakSet<Socket>()
  let frozen = false
  let connections = 0
  const server = createServer((inward) => {
    connections++
    const outward = connect(Number(port) || 6379, hostname)
    for (const [from, to] of [
      [inward, outward],
      [outward, inward],
    ] as const) {
      sockets.add(from)
      from.on('data', (chunk) => to.write(chunk))
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      if (frozen) from.pause()
    }
  })
  const listen = (at: number) => new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve))
  // Reserves a port, so that no other process uses it while the proxy accepts no connections.
  const proxyPort = await freePort()
  await listen(proxyPort)
  const cut = async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  }
  return {
    url: `redis://127.0.0.1:${proxyPort}`,
    freeze: () => {
      frozen = true
      for (const socket of sockets) socket.pause()
    },
    thaw: () => {
      frozen = false
      for (const socket of sockets) if (!stranded.has(socket)) socket.resume()
    },
    strand: () => {
      for (const socket of sockets) {
        socket.pause()
        stranded.add(socket)
      }
    },
    connections: () => connections,
    cut,
    restore: () => listen(proxyPort),
    close: async () => {
      if (server.listening) await cut()
    },
  }
}
