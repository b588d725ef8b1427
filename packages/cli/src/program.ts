import type { EventEmitter } from 'node:events'
import { Argument, Command, Option } from 'commander'
import { SHELLS } from './completion'
import type { Context, Output } from './context'
import { EXAMPLES } from './examples'
import { EXIT_TEXTS } from './exit'
import * as read from './readers'
import type { Options, Session } from './session'

/**
 * The commands and their options. A command loads its code when it runs, so that --help and completion stay
 * quick.
 */

/** What a command does, with options and arguments of its own; the number is its exit code, 0 without one. */
export type Work = (session: Session<never>, ...args: never[]) => Promise<number | void>
/** Runs a command's work with the options that were given. */
export type Runner = (work: Work, options: Options, args: readonly unknown[]) => Promise<void>

/** Above what the client's own tries of one request take, and a block of the slowest chain. */
const TIMEOUT_SECONDS = 300
/** Commands that take as long as there is something to do. */
const LONG: ReadonlySet<string> = new Set(['answers', 'batch', 'mcp', 'records', 'watch'])

const PLACE = 'lng,lat, a UID, a GeoJSON file, or -'
const OPERATIONS = {
  distance: { summary: 'metres between two places', args: { a: PLACE, b: PLACE } },
  contains: { summary: 'whether a place lies in another', args: { container: PLACE, place: PLACE } },
  within: {
    summary: 'whether two places are at most so many metres apart',
    args: { a: PLACE, b: PLACE, radius: 'metres' },
  },
  intersects: { summary: 'whether two places touch', args: { a: PLACE, b: PLACE } },
  area: { summary: 'square metres of a polygon', args: { polygon: 'a UID, a GeoJSON file, or -' } },
  length: { summary: 'metres along a line', args: { line: 'a UID, a GeoJSON file, or -' } },
} as const

/** Reads the variables of a run, where commander's own Command reads those of the process. */
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
  /** commander calls it when the options of the command line are read. An empty variable is not set. */
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
  { stdout, stderr, env }: Pick<Context, 'stdout' | 'stderr' | 'env'>,
): Command {
  const program = new ContextCommand('geo', env)
    .description('Signed answers about places, from a Geospatial Attestation Service.')
    .version(version)
    .addOption(
      new Option('--url <url>', 'address of the service').env('GEO_URL').default('http://127.0.0.1:3000'),
    )
    .addOption(
      new Option('--attester <address>', 'who must have signed; default: whom the service names')
        .env('GEO_ATTESTER')
        .argParser(read.address),
    )
    .addOption(
      new Option(
        '--contracts <list>',
        'EAS and its proxy of chains, as id:0x...:0x..., by commas; default: those that the service names',
      )
        .env('GEO_CONTRACTS')
        .argParser(read.contracts),
    )
    .addOption(
      new Option(
        '--timeout <seconds>',
        `end after so long; 0: never; default: ${TIMEOUT_SECONDS}, and never for ${[...LONG].join(', ')}`,
      ).argParser(read.timeout),
    )
    .option('--json', 'JSON for scripts: one value or, of several results, one a line')
    .option('-q, --quiet', 'on stderr only what is wrong')
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
    .addHelpText('after', () => `\nExit codes:\n${codes()}\n\ngeo help COMMAND shows examples.`)
  const command = (name: string, summary: string, work: () => Promise<Work>) =>
    program
      .command(name)
      .summary(summary)
      .description(`${summary[0]!.toUpperCase()}${summary.slice(1)}.`)
      .addHelpText('after', examplesOf(name))
      .action(async function (this: Command) {
        const { timeout = LONG.has(name) ? 0 : TIMEOUT_SECONDS, ...options } = this.optsWithGlobals<Options>()
        await run(await work(), { ...options, timeout }, this.processedArgs)
      })

  for (const [name, { summary, args }] of Object.entries(OPERATIONS)) {
    const each = command(name, summary, async () => {
      const { ask } = await import('./ask.ts')
      const names = Object.keys(args).filter((argument) => argument !== 'radius')
      return (session: Parameters<typeof ask>[0], ...given: (string | number)[]) =>
        ask(
          session,
          name as keyof typeof OPERATIONS,
          Object.fromEntries(names.map((argument, i) => [argument, given[i] as string])),
          given[names.length] as number,
        )
    })
    for (const [argument, text] of Object.entries(args)) each.addArgument(readArgument(argument, text))
    for (const option of [privateOption(), ...questionOptions(), landOption(), ...keyOptions()])
      each.addOption(option)
  }
  const records = command(
    'records',
    'attested places, as a table or a file',
    async () => (await import('./records.ts')).records,
  )
  for (const option of [chainFilter(), ...filterOptions(), ...listOptions()]) records.addOption(option)
  command('record', 'one attested place', async () => (await import('./records.ts')).record)
    .addArgument(new Argument('<uid>').argParser(read.uid))
    .addOption(chainFilter())
  command('stats', 'how many places are attested', async () => (await import('./records.ts')).stats)
  const answers = command(
    'answers',
    'answers of the service that landed',
    async () => (await import('./answers.ts')).answers,
  )
  for (const option of [chainFilter(), ...answerOptions()]) answers.addOption(option)
  const watch = command(
    'watch',
    'new, revoked and reorged places, as they come',
    async () => (await import('./watch.ts')).watch,
  )
  for (const option of [chainFilter(), ...filterOptions().filter(({ long }) => STREAMED.has(long!))])
    watch.addOption(option)
  watch.option('--after <id>', 'go on after this change')
  const attest = command(
    'attest',
    'attest a place, which others can then name by its UID',
    async () => (await import('./attest.ts')).attest,
  )
  attest.argument('<place>', 'lng,lat, a GeoJSON file, or -; with --location-type its text')
  for (const option of [chainOption(), ...attestOptions(), ...keyOptions()]) attest.addOption(option)
  const revoke = command(
    'revoke',
    'revoke an attestation of the key, on its chain or offchain',
    async () => (await import('./attest.ts')).revoke,
  )
  revoke.argument('<attestation>', 'a UID, or the file of an offchain attestation')
  for (const option of [
    chainOption('slug or id of its chain (env: GEO_CHAIN); default: the first one'),
    ...keyOptions(),
  ])
    revoke.addOption(option)
  const land = command(
    'land',
    'land an answer: it becomes an attestation on its chain',
    async () => (await import('./land.ts')).landFile,
  )
  land.argument('<answer>', 'a file that geo distance --json (or another) wrote, or -')
  for (const option of keyOptions()) land.addOption(option)
  command(
    'verify',
    'whether an attestation, or an answer, is to be believed',
    async () => (await import('./check.ts')).verify,
  )
    .argument('<target>', 'a UID, a file that geo distance --json (or another) wrote, or -')
    .addOption(chainOption('of a UID: its chain, slug or id (env: GEO_CHAIN); default: the first one'))
    .addOption(rpcOption())
    .addOption(
      new Option('--max-age <seconds>', 'of a UID: how old the computation may be').argParser(read.seconds),
    )
    .addOption(
      new Option(
        '--schema <uid>',
        'of a UID: the schema that it must have; default: those of the service',
      ).argParser(read.uid),
    )
  command(
    'recompute',
    'compute an answer again, here, with the kernel of the service',
    async () => (await import('./check.ts')).recompute,
  )
    .argument('<answer>', 'a UID, a file that geo distance --json (or another) wrote, or -')
    .argument('[inputs...]', 'what it is about, in order; attestations may be left out at the end')
    .addOption(chainOption())
    .addOption(rpcOption())
  command(
    'chains',
    'the chains of the service, and how far it follows them',
    async () => (await import('./service.ts')).chains,
  )
  command(
    'open',
    'open a page with a map in the browser',
    async () => (await import('./service.ts')).openPage,
  )
    .addArgument(new Argument('[uid]', 'of one attested place').argParser(read.uid))
    .addOption(chainFilter())
    .addOption(filterOptions().find(({ long }) => long === '--bbox')!)
  const batch = command(
    'batch',
    'ask the questions of a file, one a line',
    async () => (await import('./batch.ts')).batch,
  )
    .argument('<file>', 'NDJSON, or -; a line is {"operation":"distance","from":...,"to":...}')
    .option('-o, --output <file>', 'write the answers to this file; run again, it goes on')
  for (const option of [...questionOptions(), landOption(), ...keyOptions()]) batch.addOption(option)
  const mcp = command(
    'mcp',
    'tools for agents, over stdin and stdout',
    async () => (await import('./mcp.ts')).mcp,
  )
  for (const option of keyOptions()) mcp.addOption(option)
  command('completion', 'print the completion script of a shell', async () => {
    const { completionScript } = await import('./completion.ts')
    return async ({ print }, shell: (typeof SHELLS)[number]) =>
      print(completionScript(program, shell).trimEnd())
  }).addArgument(new Argument('<shell>').choices(SHELLS))
  const isCommand = (name: string) => program.commands.some((each) => each.name() === name)
  program
    .helpCommand(false)
    .command('help')
    .summary('help for a command, with examples')
    .argument('[command]')
    .action((name?: string) => {
      // An unknown one is refused as it is without help.
      program.parse(name === undefined ? ['--help'] : [name, ...(isCommand(name) ? ['--help'] : [])], {
        from: 'user',
      })
    })
  return program
}

const widthOf = ({ isTTY, columns }: Output) => (isTTY ? columns : undefined) ?? 80

function codes(): string {
  return Object.entries(EXIT_TEXTS)
    .map(([code, text]) => `  ${code.padStart(3)}  ${text}`)
    .join('\n')
}

function examplesOf(name: string): string {
  const examples = EXAMPLES[name] ?? []
  return `\nExamples:\n${examples.map(({ text, command }) => `  # ${text}\n  ${command}`).join('\n')}`
}

/** A place is read by its command, which has standard input. */
function readArgument(name: string, text: string): Argument {
  const argument = new Argument(`<${name}>`, text)
  return name === 'radius' ? argument.argParser(read.metres) : argument
}

const chainOption = (
  text = 'slug or id of the chain of the question (env: GEO_CHAIN); default: the first one',
) => new Option('--chain <chain>', text).argParser(read.chain)
const chainFilter = () => new Option('--chain <chain>', 'of this chain only').argParser(read.chain)
const privateOption = () =>
  new Option(
    '--private <file>',
    'sign only a salted hash of a place, and keep both in this file; of two places NAME=file',
  ).argParser((value: string, before: string[] = []) => [...before, value])
const landOption = () => new Option('--land', 'land the answer, which becomes an attestation')
const rpcOption = () =>
  new Option('--rpc <url>', 'a node of the chain (env: GEO_RPC_URL_<CHAIN>, GEO_RPC_URL)')
function questionOptions(): Option[] {
  return [
    chainOption(),
    new Option('--recipient <address>', 'who receives the attestation; default: nobody').argParser(
      read.address,
    ),
    new Option('--schema <uid>', 'schema to attest under; default: that of the service').argParser(read.uid),
    new Option('--submission <form>', 'how the answer lands; default: as the service is set').choices([
      'direct',
      'proxy',
    ]),
  ]
}
function keyOptions(): Option[] {
  return [
    rpcOption(),
    new Option('--key-file <file>', 'the key that pays: hex, or a keystore; only you may read it').env(
      'GEO_KEY_FILE',
    ),
    new Option('--passphrase-file <file>', 'of a keystore; default: GEO_PASSPHRASE, or you are asked'),
  ]
}
function attestOptions(): Option[] {
  return [
    new Option('--memo <text>', 'what to say of it'),
    new Option('--time <time>', 'when it was so (ISO 8601); default: now').argParser(read.date),
    new Option('--recipient <address>', 'whom it is about; default: nobody').argParser(read.address),
    new Option('--expiration <time>', 'until when it holds; default: for ever').argParser(read.date),
    new Option('--location-type <type>', 'of a text, such as wkt, h3 or geohash'),
    new Option('--schema <schema>', 'v0.1 (the default), location-protocol, or a UID').argParser(
      read.schemaName,
    ),
    new Option('--register-schema', 'register the schema first, where the chain does not have it'),
    new Option('--ref-uid <uid>', 'the attestation that it refers to').argParser(read.uid),
    new Option('--unchecked', 'without asking the service whether it can read the place'),
    new Option('--wait', 'until the service shows it'),
    new Option('--offchain', 'sign it without a transaction, and print the attestation'),
    new Option('-o, --output <file>', 'of --offchain: write it to this file'),
  ]
}
/** The filters that a stream has, too. */
const STREAMED = new Set(['--prover', '--subject', '--schema', '--location-type', '--bbox'])
function filterOptions(): Option[] {
  return [
    new Option('--prover <address>', 'who attested').argParser(read.address),
    new Option('--subject <address>', 'the recipient').argParser(read.address),
    new Option('--from-timestamp <time>', 'attested after this (ISO 8601)'),
    new Option('--to-timestamp <time>', 'attested before this (ISO 8601)'),
    new Option('--bbox <box>', 'minLng,minLat,maxLng,maxLat'),
    new Option('--near <position>', 'lng,lat; with --radius or --sort distance'),
    new Option('--radius <metres>', 'with --near').argParser(read.metres),
    new Option('--intersects <shape>', 'GeoJSON, WKT, or a file of it'),
    new Option('--memo <words>', 'words of the memo, or how they begin'),
    new Option('--revoked <boolean>').choices(['true', 'false']),
    new Option('--location-type <type>', 'such as geojson-point'),
    new Option('--schema <uid>', 'schema of the attestation').argParser(read.uid),
  ]
}
function answerOptions(): Option[] {
  return [
    new Option('--attested-by <address>', 'the signer, or the proxy of a chain').argParser(read.address),
    new Option('--recipient <address>', 'whom they are for').argParser(read.address),
    new Option('--operation <name>', 'such as distance, within, or within:50000 (centimetres)'),
    new Option('--input <uid>', 'about this attestation, or the reference of a geometry').argParser(read.uid),
    new Option('--from-timestamp <time>', 'landed after this (ISO 8601)'),
    new Option('--to-timestamp <time>', 'landed before this (ISO 8601)'),
    new Option('--revoked <boolean>').choices(['true', 'false']),
    new Option('--limit <n>', 'at most so many; default: 20 of a table, else all').argParser(read.count),
  ]
}
function listOptions(): Option[] {
  return [
    new Option('--sort <field>', 'default: the newest first').choices([
      ...['timestamp', '-timestamp', 'event_timestamp', '-event_timestamp', 'distance'],
    ]),
    new Option('--limit <n>', 'at most so many; default: 20 of a table, else all').argParser(read.count),
    new Option('--format <format>', 'default: table').choices([
      ...['table', 'json', 'ndjson', 'csv', 'geojson', 'geoparquet', 'flatgeobuf'],
    ]),
    new Option('-o, --output <file>', 'write to this file, once it is whole'),
  ]
}
