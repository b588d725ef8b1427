// SPDX-License-Identifier: MIT
import type { EventEmitter } from 'node:events'
import { Argument, Command, Option, type ErrorOptions } from 'commander'
import { commandRows, type Work } from './commands'
import { SHELLS } from './completion'
import type { Context, Output } from './context'
import { EXAMPLES } from './examples'
import { EXIT_TEXTS } from './exit'
import * as read from './readers'
import type { Options } from './session'

export type Runner = (work: Work, options: Options, args: readonly unknown[]) => Promise<void>

/** Default timeout in seconds: longer than the client's retries, and than a block of the slowest chain. */
const TIMEOUT_SECONDS = 300
/** Commands without a default timeout, which run as long as there is work to do. */
const LONG: ReadonlySet<string> = new Set(['answers', 'batch', 'log', 'mcp', 'records', 'watch'])

/** True for words of a command line whose command lists results until its output is closed. */
export function isListing(words: readonly string[]): boolean {
  const names = new Set(commandRows().map(({ name }) => name))
  const name = words.find((word) => names.has(word))
  return name !== undefined && name !== 'log' && LONG.has(name)
}

/** Reads the environment variables of a run; commander's own Command reads those of the process. */
class ContextCommand extends Command {
  constructor(
    name: string,
    private readonly env: NodeJS.ProcessEnv,
  ) {
    super(name)
  }
  override createCommand(name: string): Command {
    return new ContextCommand(name, this.env)
  }
  override error(message: string, options?: ErrorOptions): never {
    const isAboutArguments = /^commander\.(missing|excess)Argument/.test(options?.code ?? '')
    const [name, usage] = [this.name(), this.usage()]
    return super.error(
      isAboutArguments ? `${message}\nUsage: geo ${name} ${usage}\ngeo help ${name} has examples.` : message,
      options,
    )
  }
  /** commander calls this after it has parsed the command line. An empty variable counts as unset. */
  _parseOptionsEnv(): void {
    for (const option of this.options) {
      const value = this.env[option.envVar ?? '']
      const source = this.getOptionValueSource(option.attributeName())
      if (value && (source === undefined || source === 'default'))
        (this as unknown as EventEmitter).emit(`optionEnv:${option.name()}`, value)
    }
  }
}

export function buildProgram(
  version: string,
  run: Runner,
  context: Pick<Context, 'stdout' | 'stderr' | 'env'>,
): Command {
  const program = emptyProgram(version, context)
  const command = (name: string, summary: string, load: () => Promise<Work>) =>
    program
      .command(name)
      .summary(summary)
      .description(`${summary[0]!.toUpperCase()}${summary.slice(1)}.`)
      .addHelpText('after', examplesOf(name))
      .action(async function (this: Command) {
        const { timeout = LONG.has(name) ? 0 : TIMEOUT_SECONDS, ...options } = this.optsWithGlobals<Options>()
        await run(await load(), { ...options, timeout }, this.processedArgs)
      })
  for (const { name, summary, load, args = [], options = [] } of commandRows()) {
    const made = command(name, summary, load)
    for (const argument of args) made.addArgument(argument)
    for (const option of options) made.addOption(option)
  }
  command('completion', 'print the completion script of a shell', async () => {
    const { completionScript } = await import('./completion.ts')
    return async ({ print }, shell: (typeof SHELLS)[number]) => {
      for (const line of completionScript(program, shell).trimEnd().split('\n')) print(line)
    }
  }).addArgument(new Argument('<shell>').choices(SHELLS))
  const isCommand = (name: string) => program.commands.some((each) => each.name() === name)
  program
    .helpCommand(false)
    .command('help')
    .summary('show the help of a command, with examples')
    .argument('[command]')
    .action((name?: string) => {
      // An unknown command fails in the same way as without `help`.
      program.parse(name === undefined ? ['--help'] : [name, ...(isCommand(name) ? ['--help'] : [])], {
        from: 'user',
      })
    })
  return program
}

function emptyProgram(
  version: string,
  { stdout, stderr, env }: Pick<Context, 'stdout' | 'stderr' | 'env'>,
): Command {
  return new ContextCommand('geo', env)
    .description('Signed answers about places, from a Geospatial Attestation Service.')
    .version(version)
    .addOption(
      new Option('--url <url>', 'URL of the service').env('GEO_URL').default('http://127.0.0.1:3000'),
    )
    .addOption(
      new Option('--attester <address>', 'expected attester; default: the attester that the service names')
        .env('GEO_ATTESTER')
        .argParser(read.address),
    )
    .addOption(
      new Option(
        '--contracts <list>',
        'EAS contract and proxy of chains, as id:0x...:0x..., comma-separated; default: those that ' +
          'the service names',
      )
        .env('GEO_CONTRACTS')
        .argParser(read.contracts),
    )
    .addOption(
      new Option(
        '--timeout <seconds>',
        `timeout in seconds; 0: none; default: ${TIMEOUT_SECONDS}, and none for ${[...LONG].join(', ')}`,
      ).argParser(read.timeout),
    )
    .option('--json', 'write JSON for scripts: one value, or one per line for several results')
    .option('-q, --quiet', 'write only errors to stderr')
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      outputError: () => {},
      getOutHelpWidth: () => widthOf(stdout),
      getErrHelpWidth: () => widthOf(stderr),
    })
    .showSuggestionAfterError()
    .addHelpText('after', () => `\nExit codes:\n${codes.join('\n')}\n\ngeo help COMMAND shows examples.`)
}

const widthOf = ({ isTTY, columns }: Output) => (isTTY ? columns : undefined) ?? 80

const codes = Object.entries(EXIT_TEXTS).map(([code, text]) => `  ${code.padStart(3)}  ${text}`)

function examplesOf(name: string): string {
  const examples = EXAMPLES[name] ?? []
  return `\nExamples:\n${examples.map(({ text, command }) => `  # ${text}\n  ${command}`).join('\n')}`
}
