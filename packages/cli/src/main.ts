// SPDX-License-Identifier: MIT
import { EXIT } from './exit'
import { isListing } from './program'
import { run } from './run'

/**
 * The program `geo`: executes one run with the streams, environment and signals of the process, and sets its
 * exit code.
 */

const stop = new AbortController()
// The first Ctrl-C ends the command, the second one the process.
process.once('SIGINT', () => {
  stop.abort(new Error('Ended by Ctrl-C.'))
  process.once('SIGINT', () => process.exit(EXIT.interrupted))
})
// The program that reads the output, such as `head`, has closed the pipe. A command that only lists has no
// further work. All others continue without their output: their exit status is a result, such as that of
// `geo verify`, and `geo log monitor` still has to send its alarm.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  if (isListing(process.argv.slice(2))) process.exit(EXIT.done)
})

let abandoned = false
const { stdin, stdout, stderr, env } = process
process.exitCode = await run(
  process.argv.slice(2),
  { stdin, stdout, stderr, env, cwd: process.cwd(), signal: stop.signal },
  () => (abandoned = true),
)
// Otherwise, abandoned requests would keep the process alive.
if (abandoned) process.exit()
