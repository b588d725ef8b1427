// SPDX-License-Identifier: MIT
import { run } from './run'

/** Runs the program `geo-witness` with the process's streams, clock and signals. */
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
process.exitCode = await run(process.argv.slice(2), {
  print: (text) => void process.stdout.write(text),
  report: (text) => void process.stderr.write(text),
  clock: () => Math.floor(Date.now() / 1000),
  signal: stop.signal,
})
