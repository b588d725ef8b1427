import type { FastifyInstance } from 'fastify'
import { SettingsError } from '../src/config'

/** How long a stop waits for requests under way. */
const STOP_TIMEOUT_MS = 5_000

/** Runs a process to its end: settings that are wrong are told without a stack, and exit with 2. */
export function runProcess(main: () => Promise<void>): void {
  main().catch((error: Error) => {
    console.error(error instanceof SettingsError ? error.message : error)
    process.exit(error instanceof SettingsError ? 2 : 1)
  })
}

/** Listens, and tells whoever started this process; on a signal, or when they are gone, stops listening and then closes the rest. */
export async function listenUntilStopped(app: FastifyInstance, { host, port }: { host: string; port: number }, close: () => Promise<void>): Promise<void> {
  let stopping = false
  const stop = async () => {
    if (stopping) return
    stopping = true
    setTimeout(() => process.exit(1), STOP_TIMEOUT_MS).unref()
    await app.close()
    await close()
    process.exit(0)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
  if (process.send) process.once('disconnect', () => void stop())

  await app.listen({ host, port })
  process.send?.('listening')
}
