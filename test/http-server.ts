import { createServer, Server, type RequestListener } from 'node:http'
import type { AddressInfo, Server as NetServer } from 'node:net'
import { atEnd } from './ends'

/** Starts a server on a free port, and returns its URL. It is closed after the file's tests. */
export const serve = (listener: RequestListener): Promise<string> => listening(createServer(listener))

/** Like `serve`, for a server that the test makes. */
export async function listening(server: NetServer): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(() => {
    server.close()
    if (server instanceof Server) server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
