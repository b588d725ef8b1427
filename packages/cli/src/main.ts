import { CommanderError } from 'commander'
import { version } from '../package.json'
import { EXIT, exitCodeOf } from './exit'
import { fileNamed } from './key'
import { buildProgram, type Runner } from './program'
import { TimeoutError } from './waiting'

/** `geo`: runs one command, and ends with its exit code. */

const stop = new AbortController()
// The first Ctrl-C ends the command, a second one the process.
process.once('SIGINT', () => {
  stop.abort(new Error('Ended by Ctrl-C.'))
  process.once('SIGINT', () => process.exit(EXIT.interrupted))
})
// Who reads the output has seen enough, as head does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.done)
  throw error
})
// A variable that is set to nothing is not set.
for (const name of Object.keys(process.env))
  if (name.startsWith('GEO_') && process.env[name] === '') delete process.env[name]

const run: Runner = async (work, options, args) => {
  const { openSession } = await import('./session')
  process.exitCode =
    (await work(openSession(options as never, stop.signal), ...(args as never[]))) ?? EXIT.done
}

/** Positions west of Greenwich start with a minus, and are no options. */
function withoutDashes(words: readonly string[]): string[] {
  return words.map((word) => (/^-[\d.]+(e[-+]?\d+)?,/i.test(word) ? ` ${word}` : word))
}

async function main(words: string[]): Promise<void> {
  try {
    await buildProgram(version, run).parseAsync(withoutDashes(words), { from: 'user' })
  } catch (error) {
    // Requests that are given up may take long to end.
    if (stop.signal.aborted) process.exit(EXIT.interrupted)
    else if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.usage
      // Of these the text is the help, which was shown.
      if (!/^commander\.(help|version)/.test(error.code))
        fail(
          error,
          error.message.replace(/^error: /, '') +
            (error.code === 'commander.unknownCommand' ? '\ngeo --help lists the commands.' : ''),
        )
    } else {
      process.exitCode = await exitCodeOf(error)
      fail(error as Error, textOf(error as NodeJS.ErrnoException))
      if (error instanceof TimeoutError) process.exit()
    }
  }
}

/** What the client's messages call options, which are options here. */
const OPTIONS = { '{ registerSchema: true }': '--register-schema', '{ unchecked: true }': '--unchecked' }

function textOf(error: NodeJS.ErrnoException): string {
  const { message, stack, code, path, syscall } = error
  if (process.exitCode === EXIT.fault) return `This is a fault of geo. Please report it:\n${stack ?? message}`
  if (error instanceof TimeoutError) return error.text()
  if (syscall === undefined)
    return Object.entries(OPTIONS).reduce((text, [theirs, ours]) => text.replace(theirs, ours), message)
  return `The file${path === undefined ? '' : ` ${fileNamed(path)}`} cannot be used (${code}, ${syscall}).`
}

/** Says on stderr what is wrong; with --json as JSON. What was given to an unknown option may be a secret. */
function fail({ name }: Error, text: string): void {
  const message = text.replace(/(--?[\w-]+=)[^\s']+/g, '$1...')
  const json = process.argv.includes('--json')
  const { exitCode } = process
  process.stderr.write(
    json ? `${JSON.stringify({ error: { name, message, exitCode } })}\n` : `geo: ${message}\n`,
  )
}

await main(process.argv.slice(2))
