// SPDX-License-Identifier: MIT
import type { QuorumError } from '@geospatial-attestation/client'
import { CommanderError, type Command } from 'commander'
import { version } from '../package.json'
import { filesIn, type Context, type Files } from './context'
import { EXIT, exitCodeOf } from './exit'
import { fileNamed } from './key'
import { jsonLine, visible } from './output'
import { buildProgram, type Runner } from './program'
import { TimeoutError } from './waiting'

/**
 * Runs one command, and resolves to its exit code. It never ends the process, and neither reads nor changes
 * the state of the process.
 *
 * @param argv the arguments after `geo`
 * @param onAbandon called before the end of a run that was interrupted or has timed out: requests that it no
 * longer awaits may keep the process alive
 */
export async function run(
  argv: readonly string[],
  context: Context,
  onAbandon: () => void = () => {},
): Promise<number> {
  // During a passphrase prompt, the terminal sends Ctrl-C as a key instead of a signal.
  const key = new AbortController()
  const own: Context = { ...context, signal: AbortSignal.any([context.signal, key.signal]) }
  const files = filesIn(context.cwd)
  let code: number = EXIT.done
  let sent: string | undefined
  const runner: Runner = async (work, options, args) => {
    const { openSession } = await import('./session.ts')
    const session = openSession(options as never, own, files, () => key.abort(new Error('Ended by Ctrl-C.')))
    try {
      code = (await work(session, ...(args as never[]))) ?? EXIT.done
    } finally {
      sent = session.pending()
      session.end()
    }
  }
  const fail = ({ name, dissent }: Error & Partial<QuorumError>, text: string) => {
    // The value of an option may be a secret.
    const message = text.replace(/(--?[\w-]+=)[^\s']+/g, '$1...')
    const json = argv.includes('--json')
    const lines = json
      ? [jsonLine({ error: { name, message, exitCode: code, ...(dissent && { dissent }) } })]
      : `geo: ${message}`.split('\n').map(visible)
    context.stderr.write(`${lines.join('\n')}\n`)
  }
  try {
    const program = buildProgram(version, runner, own)
    await program.parseAsync(withoutDashes(argv, program), { from: 'user' })
  } catch (error) {
    if (own.signal.aborted) {
      onAbandon()
      code = EXIT.interrupted
      const { message } = own.signal.reason as Error
      if (sent !== undefined) fail(error as Error, message + checkFirst(sent))
      return code
    }
    if (error instanceof CommanderError) {
      code = error.exitCode === 0 ? EXIT.done : EXIT.usage
      // These errors carry the help or version text, which has been printed.
      if (!/^commander\.(help|version)/.test(error.code))
        fail(
          error,
          error.message.replace(/^error: /, '') +
            (error.code === 'commander.unknownCommand' ? '\ngeo --help lists the commands.' : ''),
        )
    } else {
      code = await exitCodeOf(error)
      const text = textOf(error as NodeJS.ErrnoException, code, files)
      // A script repeats the command after these codes, and would send another transaction.
      const isRepeated = code === EXIT.unreachable || code === EXIT.limited || code === EXIT.key
      if (sent !== undefined && isRepeated) code = EXIT.landing
      fail(error as Error, sent === undefined || text.includes(sent) ? text : text + checkFirst(sent))
      if (error instanceof TimeoutError) onAbandon()
    }
  }
  return code
}

const checkFirst = (sent: string) => ` The transaction ${sent} was sent: check it before you run this again.`

/** Prefixes positions west of Greenwich with a space: their minus sign does not start an option. */
function withoutDashes(words: readonly string[], program: Command): string[] {
  const options = [program, ...program.commands].flatMap((command) => command.options)
  const valued = new Set(options.flatMap(({ required, long, short }) => (required ? [long, short] : [])))
  return words.map((word, i) =>
    /^-[\d.]+(e[-+]?\d+)?,/i.test(word) && !valued.has(words[i - 1]) ? ` ${word}` : word,
  )
}

/** Options named in the client's messages, and their names in `geo`. */
const OPTIONS = { '{ registerSchema: true }': '--register-schema', '{ unchecked: true }': '--unchecked' }

function textOf(error: NodeJS.ErrnoException, code: number, files: Files): string {
  const { message, stack, path, syscall } = error
  // Reports are public, and the URL of an RPC endpoint may include a secret.
  const report = (stack ?? message).replace(/https?:\/\/[^\s"')]+/g, 'https://...')
  if (code === EXIT.fault) return `Internal error of geo. Report it:\n${report}`
  if (error instanceof TimeoutError) return error.text()
  if (syscall === undefined)
    return Object.entries(OPTIONS).reduce((text, [theirs, ours]) => text.replace(theirs, ours), message)
  const file = path === undefined ? '' : ` ${fileNamed(files.nameOf(path))}`
  return `Could not use the file${file} (${error.code}, ${syscall}).`
}
