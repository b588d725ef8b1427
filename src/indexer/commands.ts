import '../chains-file'
import { processSettings } from '../config'
import { unifySubsquidLog } from '../log'
import { onStop } from '../process'
import { runCommand, type Output } from './run-command'

/** Milliseconds between two lines of progress. A terminal shows one line, which is overwritten. */
const SHOW_EVERY_MS = 5_000

const { stdout } = process
let shownAt = -Infinity
const output: Output = {
  line: (text) => console.log(`${stdout.isTTY ? '\r\x1b[K' : ''}${text}`),
  progress(text) {
    if (stdout.isTTY) stdout.write(`\r\x1b[K${text}`)
    else if (performance.now() - shownAt > SHOW_EVERY_MS) {
      shownAt = performance.now()
      console.log(text)
    }
  },
  problem: (error) => console.error(error),
}

// A repair is one transaction: if the process stops, it is either complete or undone.
onStop((reason) => {
  output.line(`Stopped (${reason})`)
  process.exit(2)
})

void runCommand(
  process.argv.slice(2),
  (...requirements) => {
    const settings = processSettings(...requirements)
    unifySubsquidLog(settings.logLevel)
    return settings
  },
  output,
).then((code) => process.exit(code))
