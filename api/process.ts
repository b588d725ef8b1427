import type { FastifyInstance } from 'fastify'
import { SettingsError } from '../src/config'
import { onStop } from '../src/process'

/** How long a stop waits for requests under way. */
const STOP_TIMEOUT_MS = 5_000

/** Runs a process to its end: settings that are wrong are told without a stack, and exit with 2. */
export function runProcess(main: () => Promise<void>): void {
  main().catch((error: Error) => {
    console.error(error instanceof SettingsError ? error.message : error)
    process.exit(error instanceof SettingsError ? 2 : 1)
  })
}

/**
 * Listens, and tells whoever started this process; when it has to end, stops listening and then closes the rest.
 * Throws a SettingsError when it cannot listen there.
 * @param prefix of the names of the settings that say where: HOST and PORT
 */
export async function listenUntilStopped(
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
  prefix: '' | 'GQL_',
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
    const fault = listenFault(error.code, host, port, prefix)
    throw fault === undefined ? error : new SettingsError(fault)
  })
  process.send?.('listening')
}

/** Why it is not possible to listen there, and what to do; undefined for what is no matter of settings. */
function listenFault(
  code: string | undefined,
  host: string,
  port: number,
  prefix: string,
): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `${prefix}PORT: port ${port} of ${host} is in use. Stop what listens there, or set ${prefix}PORT to another port.`
    case 'EACCES':
      return `${prefix}PORT: the system does not let this process listen on port ${port}. Set ${prefix}PORT to one above 1023.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${prefix}HOST: ${host} is no address of this machine. Set ${prefix}HOST to one that is, such as 127.0.0.1 or 0.0.0.0.`
  }
  return undefined
}
