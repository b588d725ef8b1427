// SPDX-License-Identifier: MIT
import { Argument, Option } from 'commander'
import { OPERATION_ROWS, TEXTS } from '../../../src/operations/table'
import * as read from './readers'
import type { Session } from './session'

/** Table of the commands with their arguments and options. The code of a command is loaded when it runs. */

/**
 * Code of a command, called with its own options and arguments. Resolves to the exit code; undefined means 0.
 */
export type Work = (session: Session<never>, ...args: never[]) => Promise<number | void>
interface CommandRow {
  name: string
  summary: string
  load: () => Promise<Work>
  args?: readonly Argument[]
  options?: readonly Option[]
}

const PLACE = 'lng,lat, a UID, a GeoJSON file, or -'
const SHAPE = 'a UID, a GeoJSON file, or -'
const ANSWER = 'a file that geo distance --json (or another) wrote, or -'

const uncapitalized = (text: string) => `${text[0]!.toLowerCase()}${text.slice(1)}`

/**
 * A command for each operation. The command itself reads its places, since it has access to standard input.
 */
const operationRows = (): CommandRow[] =>
  OPERATION_ROWS.map(([name, { inputs, parameters = [] }]) => ({
    name,
    summary: uncapitalized(TEXTS[name].summary),
    load: async () => {
      const { ask } = await import('./ask.ts')
      return (session: Parameters<typeof ask>[0], ...given: (string | number)[]) => {
        const places = given.slice(0, inputs.length) as string[]
        const numbers = given.slice(inputs.length, inputs.length + parameters.length) as number[]
        return ask(session, name, places, numbers)
      }
    },
    args: [
      ...inputs.map(
        ({ argument, accepts }) =>
          new Argument(`<${argument}>`, accepts && !accepts.includes('Point') ? SHAPE : PLACE),
      ),
      ...parameters.map(({ name, unit }) => new Argument(`<${name}>`, unit).argParser(read.metres)),
    ],
    options: [privateOption(), ...questionOptions(), landOption(), ...keyOptions()],
  }))

/** Commands about stored records and answers. */
const recordRows = (): CommandRow[] => [
  {
    name: 'records',
    summary: 'attested places, as a table or a file',
    load: async () => (await import('./records.ts')).records,
    options: [chainFilter(), ...filterOptions(), ...listOptions()],
  },
  {
    name: 'record',
    summary: 'one attested place',
    load: async () => (await import('./records.ts')).record,
    args: [new Argument('<uid>').argParser(read.uid)],
    options: [chainFilter()],
  },
  {
    name: 'stats',
    summary: 'how many places are attested',
    load: async () => (await import('./records.ts')).stats,
  },
  {
    name: 'answers',
    summary: 'answers of the service that landed',
    load: async () => (await import('./answers.ts')).answers,
    options: [chainFilter(), ...answerOptions()],
  },
  {
    name: 'watch',
    summary: 'new, revoked and reorged places, as they come',
    load: async () => (await import('./watch.ts')).watch,
    options: [
      ...[chainFilter(), ...filterOptions().filter(({ long }) => STREAMED.has(long!))],
      new Option('--after <id>', 'go on after this change'),
    ],
  },
]

/** Commands that write to a chain. */
const writingRows = (): CommandRow[] => [
  {
    name: 'attest',
    summary: 'attest a place, which others can then name by its UID',
    load: async () => (await import('./attest.ts')).attest,
    args: [new Argument('<place>', 'lng,lat, a GeoJSON file, or -; with --location-type its text')],
    options: [chainOption(), ...attestOptions(), ...keyOptions()],
  },
  {
    name: 'revoke',
    summary: 'revoke an attestation of the key, on its chain or offchain',
    load: async () => (await import('./attest.ts')).revoke,
    args: [new Argument('<attestation>', 'a UID, or the file of an offchain attestation')],
    options: [
      chainOption('slug or id of its chain (env: GEO_CHAIN); default: the first one'),
      ...keyOptions(),
    ],
  },
  {
    name: 'land',
    summary: 'land an answer: it becomes an attestation on its chain',
    load: async () => (await import('./land.ts')).landFile,
    args: [new Argument('<answer>', ANSWER)],
    options: keyOptions(),
  },
]

/** Commands that check answers, and commands about the service and the program. */
const otherRows = (): CommandRow[] => [
  {
    name: 'verify',
    summary: 'whether an attestation, or an answer, is to be believed',
    load: async () => (await import('./check.ts')).verify,
    args: [new Argument('<target>', `a UID, ${ANSWER}`)],
    options: [
      chainOption('of a UID: its chain, slug or id (env: GEO_CHAIN); default: the first one'),
      rpcOption(),
      new Option('--max-age <seconds>', 'of a UID: how old the computation may be').argParser(read.seconds),
      new Option(
        '--schema <uid>',
        'of a UID: the schema that it must have; default: those of the service',
      ).argParser(read.uid),
    ],
  },
  {
    name: 'recompute',
    summary: 'compute an answer again, here, with the kernel of the service',
    load: async () => (await import('./check.ts')).recompute,
    args: [
      new Argument('<answer>', `a UID, ${ANSWER}`),
      new Argument('[inputs...]', 'what it is about, in order; attestations may be left out at the end'),
    ],
    options: [chainOption(), rpcOption()],
  },
  {
    name: 'chains',
    summary: 'the chains of the service, and how far it follows them',
    load: async () => (await import('./service.ts')).chains,
  },
  {
    name: 'open',
    summary: 'open a page with a map in the browser',
    load: async () => (await import('./service.ts')).openPage,
    args: [new Argument('[uid]', 'of one attested place').argParser(read.uid)],
    options: [chainFilter(), filterOptions().find(({ long }) => long === '--bbox')!],
  },
  {
    name: 'batch',
    summary: 'ask the questions of a file, one a line',
    load: async () => (await import('./batch.ts')).batch,
    args: [new Argument('<file>', 'NDJSON, or -; a line is {"operation":"distance","from":...,"to":...}')],
    options: [
      new Option('-o, --output <file>', 'write the answers to this file; run again, it goes on'),
      ...[...questionOptions(), landOption(), ...keyOptions()],
    ],
  },
  {
    name: 'mcp',
    summary: 'tools for agents, over stdin and stdout',
    load: async () => (await import('./mcp.ts')).mcp,
    options: keyOptions(),
  },
]

/** All commands except completion and help, which need the others. */
export const commandRows = (): CommandRow[] => [
  ...operationRows(),
  ...recordRows(),
  ...writingRows(),
  ...otherRows(),
]

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
/** Filters that the stream of changes also accepts. */
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
