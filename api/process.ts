import type { FastifyInstance } from 'fastify'
import { SettingsError } from '../src/config'
import { onStop } from '../src/process'

/** Time that requests under way may take after a stop, in milliseconds. */
const STOP_TIMEOUT_MS = 5_000

/** Runs a process. It exits with status 2 and no stack for invalid settings, with 1 for other errors. */
export function runProcess(main: () => Promise<void>): void {
  main().catch((error: Error) => {
    console.error(error instanceof SettingsError ? error.message : error)
    process.exit(error instanceof SettingsError ? 2 : 1)
  })
}

/**
 * Listens, and sends 'listening' to the parent process. When the process has to end, stops listening, then
 * calls `close`. Throws a SettingsError if it cannot listen at this address.
 * @param names of the settings of host and port, for the error
 */
export async function listenUntilStopped(
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
  names: ListenNames,
  close: () => Promise<void>,
): Promise<void> {
  onStop(() => {
    setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref()
    void app
      .close()
      .then(close)
      .then(() => process.exit(0))
  })

  await app.listen({ host, port }).catch((error: NodeJS.ErrnoException) => {
    const fault = listenFault(error.code, host, port, names)
    throw fault === undefined ? error : new SettingsError(fault)
  })
  process.send?.('listening')
}

type ListenNames = Readonly<Record<'host' | 'port', string>>

/** Returns why the process cannot listen, and the remedy; undefined if the settings are not the cause. */
function listenFault(
  code: string | undefined,
  host: string,
  port: number,
  names: ListenNames,
): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `${names.port}: port ${port} of ${host} is in use. Stop what listens there, or set ${names.port} to another port.`
    case 'EACCES':
      return `${names.port}: this process has no permission to listen on port ${port}. Set ${names.port} to a port above 1023.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${names.host}: ${host} is not an address of this machine. Set ${names.host} to one of its addresses, such as 127.0.0.1 or 0.0.0.0.`
  }
  return undefined
}
