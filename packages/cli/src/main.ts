// SPDX-License-Identifier: MIT
import { EXIT } from './exit'
import { isListing } from './program'
import { run } from './run'

/** The program `geo`: one run with the streams, environment and signals of the process. */

const stop = new AbortController()
let isTerminated = false
// The first signal ends the command, the second one the process.
process.once('SIGINT', () => {
  stop.abort(new Error('Ended by Ctrl-C.'))
  process.once('SIGINT', () => process.exit(EXIT.interrupted))
})
process.once('SIGTERM', () => {
  isTerminated = true
  stop.abort(new Error('Ended by SIGTERM.'))
  process.once('SIGTERM', endBySigterm)
})
/** Ends the process by the signal, so that supervisors distinguish this from a failure. */
function endBySigterm(): void {
  process.removeAllListeners('SIGTERM')
  process.kill(process.pid, 'SIGTERM')
  // A container's first process does not end by its own signal.
  process.exit(EXIT.terminated)
}
const { stdin, stdout, stderr, env } = process
// The program that reads the output, such as `head`, has closed the pipe. A command that only lists has no
// further work. All others continue without their output: their exit status is a result, such as that of
// `geo verify`, and `geo log monitor` still has to send its alarm. On a full disk they also continue, but do
// not succeed.
const unwritten = ({ code }: NodeJS.ErrnoException) => {
  if (code !== 'EPIPE') process.exitCode ||= EXIT.usage
}
stdout.on('error', (error: NodeJS.ErrnoException) => {
  unwritten(error)
  if (error.code !== 'EPIPE') stderr.write(`geo: Could not write the output (${error.code}).\n`)
  if (isListing(process.argv.slice(2))) process.exit()
})
stderr.on('error', unwritten)

let abandoned = false
const code = await run(
  process.argv.slice(2),
  { stdin, stdout, stderr, env, cwd: process.cwd(), signal: stop.signal },
  () => (abandoned = true),
)
if (isTerminated && code === EXIT.interrupted) endBySigterm()
if (code !== EXIT.done) process.exitCode = code
// Otherwise, abandoned requests would keep the process alive.
if (abandoned) process.exit()
