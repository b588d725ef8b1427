// SPDX-License-Identifier: MIT
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { version } from '../package.json'
import { TlogError, formatVerifierKey, parseVerifierKey } from '../../../src/tlog'
import { Folder, UsageError } from './folder'
import { serve } from './server'
import { Witness } from './witness'

const HELP = `Usage: geo-witness <command> [options]

Commands:
  init <name>   create a key, and print its verifier key; the name is a URL without a scheme: witness.example.org/w1
  vkey          print the verifier key
  serve         cosign checkpoints of the logs, over HTTP

Options:
  --folder <path>     folder of the key and the last checkpoints (default: witness)
  --log <vkey>        serve: verifier key of a log; repeat it for each log
  --listen <address>  serve: host and port (default: 127.0.0.1:7380); use a reverse proxy for TLS
  --version
  --help
`

/** Streams, clock and stop signal of a run. */
export interface Surroundings {
  print: (text: string) => void
  report: (text: string) => void
  /** Unix seconds */
  clock: () => number
  /** ends `serve` */
  signal: AbortSignal
}

/** Runs the program. Resolves to its exit status: 0, or 2 for invalid usage or an unusable folder. */
export async function run(argv: readonly string[], around: Surroundings): Promise<number> {
  try {
    await execute(argv, around)
    return 0
  } catch (error) {
    const isUsage = error instanceof UsageError || error instanceof TlogError
    if (!isUsage && !(error as NodeJS.ErrnoException).code) throw error
    around.report(`geo-witness: ${(error as Error).message}\n`)
    return 2
  }
}

async function execute(argv: readonly string[], around: Surroundings): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      folder: { type: 'string', default: 'witness' },
      log: { type: 'string', multiple: true, default: [] },
      listen: { type: 'string', default: '127.0.0.1:7380' },
      version: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  const [command, ...rest] = positionals
  const folder = new Folder(values.folder)
  if (values.version) return around.print(`${version}\n`)
  if (values.help || command === undefined) return around.print(HELP)
  if (rest.length !== (command === 'init' ? 1 : 0) || !['init', 'vkey', 'serve'].includes(command))
    throw new UsageError('Expected init <name>, vkey or serve. geo-witness --help lists the options.')
  if (command === 'init') return around.print(`${formatVerifierKey(await folder.create(rest[0]!))}\n`)
  if (command === 'vkey') return around.print(`${formatVerifierKey(await folder.key())}\n`)
  if (values.log.length === 0) throw new UsageError('Name a log: --log <vkey>.')
  const [host, port] = parseAddress(values.listen)
  const logs = values.log.map(parseVerifierKey)
  const key = await folder.key()
  const release = await folder.lock()
  try {
    const loss = new AbortController()
    const onError = (error: unknown) => {
      // Another process has claimed the folder, and this one cannot cosign any more.
      if (error instanceof UsageError) loss.abort(error)
      else around.report(`geo-witness: ${(error as Error).stack}\n`)
    }
    const witness = new Witness(key, logs, folder, await folder.checkpoints(key), around.clock, onError)
    const server = serve(witness, onError)
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve))
    const { address, port: actual } = server.address() as AddressInfo
    around.print(
      `Listening on ${address}:${actual} as ${key.name} for ${[...new Set(logs.map(({ name }) => name))].join(', ')}.\n`,
    )
    await new Promise<void>((resolve) => {
      const stop = () => {
        server.close(() => resolve())
        server.closeIdleConnections()
      }
      for (const signal of [around.signal, loss.signal])
        if (signal.aborted) stop()
        else signal.addEventListener('abort', stop, { once: true })
    })
    loss.signal.throwIfAborted()
  } finally {
    release()
  }
}

function parseAddress(text: string): [host: string, port: number] {
  const [, host, port] = /^\[?(.+?)\]?:(\d{1,5})$/.exec(text) ?? []
  if (host === undefined || Number(port) > 65_535)
    throw new UsageError(`--listen: expected a host and a port such as 127.0.0.1:7380, got '${text}'.`)
  return [host, Number(port)]
}
