import { parseArgs } from 'node:util'
import { SettingsError } from '../config'

const USAGE = `node lib/indexer/commands.js replay [--chain <slug>] [--check]
  Rebuilds the records of every attestation from the event log, and repairs differences. --check only reports them.
  Attestations that could not be stored are read from the chain again if its RPC_URL_* is set.
node lib/indexer/commands.js audit --chain <slug> [--from <block>] [--to <block>] [--quick]
  Verifies the event log against the chain, block by block, by headers and receipts, and repairs differences.
  --quick only reads the logs a second time. Default range: the chain's first block to the newest final block.
node lib/indexer/commands.js snapshot <new folder>
  Writes a consistent copy of the final part of the event log, with checksums and the position of each chain.
node lib/indexer/commands.js restore <folder>
  Restores a snapshot into an empty, migrated database. The restored blocks count as not audited.`

const OPTIONS = {
  chain: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  check: { type: 'boolean' },
  quick: { type: 'boolean' },
} as const

/** Options of each command, and true if a folder follows it. */
const COMMANDS = {
  replay: { options: ['chain', 'check'], hasFolder: false },
  audit: { options: ['chain', 'from', 'to', 'quick'], hasFolder: false },
  snapshot: { options: [], hasFolder: true },
  restore: { options: [], hasFolder: true },
} as const satisfies Record<string, { options: readonly (keyof typeof OPTIONS)[]; hasFolder: boolean }>

/** Parses the arguments of commands.ts. Throws a SettingsError with the usage. */
export function parseCommand(args: readonly string[]) {
  try {
    const [first, ...rest] = args
    const verb = (Object.keys(COMMANDS) as (keyof typeof COMMANDS)[]).find((each) => each === first)
    if (!verb) throw new Error(`expected ${Object.keys(COMMANDS).join(', ')}, got '${first ?? ''}'`)
    const { hasFolder, options } = COMMANDS[verb]
    const { positionals, values } = parseArgs({ args: rest, allowPositionals: true, options: OPTIONS })
    const other = Object.keys(values).find((name) => !options.some((each) => each === name))
    if (other !== undefined) throw new Error(`${verb} does not have the option --${other}`)
    if (positionals.length !== Number(hasFolder))
      throw new Error(
        `expected ${verb}${hasFolder ? ' <folder>' : ''}, got '${[verb, ...positionals].join(' ')}'`,
      )
    return { verb, given: positionals[0] ?? '', values }
  } catch (error) {
    throw new SettingsError(`${(error as Error).message}\n\n${USAGE}`)
  }
}
