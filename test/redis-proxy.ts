import { connect, createServer, type Socket } from 'node:net'

export interface RedisProxy {
  /** Of the proxy. */
  readonly url: string
  /** Nothing passes any more, in either direction; connections are still taken. */
  freeze(): void
  /** What was held back passes, and all that comes. */
  thaw(): void
  /** The connections there are carry nothing any more, and are not closed either, as when a route is lost; new ones work. */
  strand(): void
  /** Connections taken so far. */
  connections(): number
  /** Every connection is cut, and new ones are refused. */
  cut(): Promise<void>
  /** New connections are taken again, at the same port. */
  restore(): Promise<void>
  close(): Promise<void>
}

/** A way to Redis that freezes, breaks and comes back when told to. */
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
  await listen(0)
  const address = server.address() as { port: number }
  const cut = async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  }
  return {
    url: `redis://127.0.0.1:${address.port}`,
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
    restore: () => listen(address.port),
    close: async () => {
      if (server.listening) await cut()
    },
  }
}
