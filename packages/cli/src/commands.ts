// SPDX-License-Identifier: MIT
import { Argument, Option } from 'commander'
import { OPERATION_ROWS, TEXTS } from '../../../src/operations/table'
import * as read from './readers'
import type { Session } from './session'

/** Table of the commands with their arguments and options. The code of a command is loaded when it runs. */

/** Code of a command, called with its options and arguments. Resolves to the exit code; undefined means 0. */
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
const ANSWER = 'a file written by geo distance --json or another operation, or -'
const ANSWER_CHAIN = 'chain of an answer without chainId, as slug or id (env: GEO_CHAIN)'

const uncapitalized = (text: string) => `${text[0]!.toLowerCase()}${text.slice(1)}`

/** A command for each operation. It reads its places itself, since it has access to standard input. */
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
    options: [privateOption(), ...questionOptions(), quorumOption(), landOption(), ...keyOptions()],
  }))

const zonesRow = (): CommandRow => ({
  name: 'zones',
  summary: 'which attested zones contain a place',
  load: async () => (await import('./zones.ts')).zones,
  args: [new Argument('<place>', PLACE)],
  options: [
    option('--prover <address>', 'the zones that this address attested', read.address),
    option('--zone-schema <uid>', 'the zones of this location schema', read.uid),
    option('--uids <file>', 'the zones whose UIDs are in this file, or - for stdin'),
    ...questionOptions(),
  ],
})

const recordRows = (): CommandRow[] => [
  {
    name: 'records',
    summary: 'list attested places, as a table or a file',
    load: async () => (await import('./records.ts')).records,
    options: [chainFilter(), ...filterOptions(), ...listOptions()],
  },
  {
    name: 'record',
    summary: 'show one attested place',
    load: async () => (await import('./records.ts')).record,
    args: [new Argument('<uid>').argParser(read.uid)],
    options: [chainFilter()],
  },
  {
    name: 'stats',
    summary: 'count attested places, over all or by group',
    load: async () => (await import('./records.ts')).stats,
    options: [chainFilter(), ...filterOptions(), ...groupOptions()],
  },
  {
    name: 'answers',
    summary: 'list answers of the service that landed',
    load: async () => (await import('./answers.ts')).answers,
    options: [chainFilter(), ...answerOptions()],
  },
  {
    name: 'watch',
    summary: 'stream new, revoked and reorged places',
    load: async () => (await import('./watch.ts')).watch,
    options: [
      ...[chainFilter(), ...filterOptions().filter(({ long }) => STREAMED.has(long!))],
      option('--after <id>', 'resume after this change'),
    ],
  },
]

const writingRows = (): CommandRow[] => [
  {
    name: 'attest',
    summary: 'attest a place, so that others can refer to it by its UID',
    load: async () => (await import('./attest.ts')).attest,
    args: [
      new Argument('<place>', 'lng,lat, a GeoJSON file, or -; with --location-type, the location as text'),
    ],
    options: [chainOption(), ...attestOptions(), ...keyOptions()],
  },
  {
    name: 'revoke',
    summary: 'revoke an onchain or offchain attestation of the key',
    load: async () => (await import('./attest.ts')).revoke,
    args: [new Argument('<attestation>', 'a UID or the file of an offchain attestation')],
    options: [
      chainOption('slug or id of its chain (env: GEO_CHAIN); default: the first one'),
      ...keyOptions(),
    ],
  },
  {
    name: 'land',
    summary: 'land an answer, which becomes an attestation on its chain',
    load: async () => (await import('./land.ts')).landFile,
    args: [new Argument('<answer>', ANSWER)],
    options: [chainOption(ANSWER_CHAIN), ...keyOptions()],
  },
]

const checkRows = (): CommandRow[] => [
  {
    name: 'verify',
    summary: 'verify an attestation or an answer',
    load: async () => (await import('./check.ts')).verify,
    args: [new Argument('<target>', `a UID, ${ANSWER}`)],
    options: [
      chainOption(`chain of the UID, default: the first chain; or ${ANSWER_CHAIN}`),
      rpcOption(),
      option('--max-age <seconds>', 'maximum age of the computation, for a UID', read.seconds),
      option('--schema <uid>', 'expected schema, for a UID; default: the schemas of the service', read.uid),
      policyOption(),
    ],
  },
  {
    name: 'recompute',
    summary: 'recompute an answer locally, with the kernel of the service',
    load: async () => (await import('./check.ts')).recompute,
    args: [
      new Argument('<answer>', `a UID, ${ANSWER}`),
      new Argument('[inputs...]', 'its inputs, in order; attestations at the end may be left out'),
    ],
    options: [chainOption(), rpcOption()],
  },
  {
    name: 'log',
    summary: 'follow the transparency log and raise alarms, or print the proof of an answer',
    load: async () => (await import('./log/index.ts')).log,
    args: [
      new Argument('<action>', 'monitor: follow it; proof: print the proof of an answer').choices([
        'monitor',
        'proof',
      ]),
      new Argument('[answer]', `for proof: a leaf in hex, ${ANSWER}`),
    ],
    options: [
      policyOption(),
      option('--chain <chain>', 'compare the attestations on this chain only', read.chain),
      rpcOption(),
      option('--once', 'read up to the current checkpoint; exit with status 1 after an alarm'),
      option('--every <seconds>', 'pause between reads; default: 10', read.pause),
      option('--state <file>', 'file of the position, from which the next run resumes'),
      option('--webhook <url>', 'URL that receives each alarm as JSON'),
      option('--metrics <target>', 'port of this machine, or file, for metrics of Prometheus'),
      option('--from-block <number>', 'first block of the first run; default: the newest one', read.count),
      option(
        '--quorum-contracts <contracts>',
        'GeoQuorum contracts by chain id, for a service that may hide its own: 84532:0x...',
        read.quorums,
      ),
    ],
  },
]

const otherRows = (): CommandRow[] => [
  {
    name: 'chains',
    summary: 'list the chains of the service, and how far each is indexed',
    load: async () => (await import('./service.ts')).chains,
  },
  {
    name: 'open',
    summary: 'open a page with a map in the browser',
    load: async () => (await import('./service.ts')).openPage,
    args: [new Argument('[uid]', 'show this attested place').argParser(read.uid)],
    options: [chainFilter(), filterOptions().find(({ long }) => long === '--bbox')!],
  },
  {
    name: 'batch',
    summary: 'run the operations in a file, one a line',
    load: async () => (await import('./batch.ts')).batch,
    args: [new Argument('<file>', 'NDJSON, or -; a line is {"operation":"distance","from":...,"to":...}')],
    options: [
      option('-o, --output <file>', 'write the answers to this file; a second run resumes'),
      ...[...questionOptions(), landOption(), ...keyOptions()],
    ],
  },
  {
    name: 'mcp',
    summary: 'serve tools for agents over stdin and stdout',
    load: async () => (await import('./mcp.ts')).mcp,
    options: [quorumOption(), ...keyOptions()],
  },
]

/** All commands except completion and help, which need the others. */
export const commandRows = (): CommandRow[] => [
  ...operationRows(),
  zonesRow(),
  ...recordRows(),
  ...writingRows(),
  ...checkRows(),
  ...otherRows(),
]

/** @param parse converts the value, or rejects it */
const option = (flags: string, text?: string, parse?: (text: string) => unknown): Option => {
  const made = new Option(flags, text)
  return parse ? made.argParser(parse) : made
}
const chainOption = (
  text = 'slug or id of the chain (env: GEO_CHAIN); default: the first chain of the service',
) => option('--chain <chain>', text, read.chain)
const chainFilter = () => option('--chain <chain>', 'only on this chain', read.chain)
const privateOption = () =>
  option(
    '--private <file>',
    'sign only a salted hash of a place, and store place and salt in this file; for one of two ' +
      'places NAME=file',
  ).argParser((value: string, before: string[] = []) => [...before, value])
const quorumOption = () =>
  option(
    '--quorum <file>',
    'JSON file with the operators of a quorum, k of which must sign the same answer',
  ).conflicts('submission')
const landOption = () => option('--land', 'land the answer, which becomes an attestation')
const policyOption = () =>
  option(
    '--log-policy <file>',
    'policy of the transparency log, with its key and witnesses; default: the one that the service publishes',
  )
const rpcOption = () =>
  option('--rpc <url>', 'RPC endpoint of the chain (env: GEO_RPC_URL_<CHAIN>, GEO_RPC_URL)')
function questionOptions(): Option[] {
  return [
    chainOption(),
    option('--recipient <address>', 'recipient of the attestation; default: none', read.address),
    option('--schema <uid>', 'schema to attest under; default: the schema of the service', read.uid),
    option('--submission <form>', 'how the answer lands; default: the setting of the service').choices([
      'direct',
      'proxy',
    ]),
  ]
}
function keyOptions(): Option[] {
  return [
    rpcOption(),
    option('--key-file <file>', 'file of the key that pays: hex or a keystore, readable only by you').env(
      'GEO_KEY_FILE',
    ),
    option(
      '--passphrase-file <file>',
      'file with the passphrase of the keystore; default: GEO_PASSPHRASE, or a prompt',
    ),
  ]
}
function attestOptions(): Option[] {
  return [
    option('--memo <text>', 'description of the place'),
    option('--time <time>', 'time of the event (ISO 8601); default: now', read.date),
    option('--recipient <address>', 'recipient of the attestation; default: none', read.address),
    option('--expiration <time>', 'expiration; default: never', read.date),
    option('--location-type <type>', 'location type of a text, such as wkt, h3 or geohash'),
    option('--schema <schema>', 'v0.1 (the default), location-protocol, or a UID', read.schemaName),
    option('--register-schema', 'register the schema first if the chain does not have it'),
    option('--ref-uid <uid>', 'UID of an attestation that it refers to', read.uid),
    option('--unchecked', 'do not ask the service if it can read the place'),
    option('--wait', 'wait until the service has indexed it'),
    option('--offchain', 'sign it without a transaction and print the attestation'),
    option('-o, --output <file>', 'with --offchain: write it to this file'),
  ]
}
/** Filters that the stream of changes also accepts. */
const STREAMED = new Set(['--prover', '--subject', '--schema', '--location-type', '--bbox'])
function filterOptions(): Option[] {
  return [
    option('--prover <address>', 'attester', read.address),
    option('--subject <address>', 'recipient', read.address),
    option('--from-timestamp <time>', 'attested after this time (ISO 8601)'),
    option('--to-timestamp <time>', 'attested before this time (ISO 8601)'),
    option('--bbox <box>', 'minLng,minLat,maxLng,maxLat'),
    option('--near <position>', 'lng,lat; with --radius or --sort distance'),
    option('--radius <metres>', 'with --near', read.metres),
    option('--intersects <shape>', 'GeoJSON, WKT, or a file with one of them'),
    option('--memo <words>', 'words of the memo, or beginnings of words'),
    option('--revoked <boolean>').choices(['true', 'false']),
    option('--location-type <type>', 'location type, such as geojson-point'),
    option('--schema <uid>', 'schema of the attestation', read.uid),
  ]
}
function answerOptions(): Option[] {
  return [
    option('--attested-by <address>', 'attester: the signer, or the proxy of a chain', read.address),
    option('--recipient <address>', 'recipient', read.address),
    option('--operation <name>', 'operation, such as distance, within, or within:50000 (centimetres)'),
    option('--input <uid>', 'input: UID of an attestation, or reference of a geometry', read.uid),
    option('--from-timestamp <time>', 'landed after this time (ISO 8601)'),
    option('--to-timestamp <time>', 'landed before this time (ISO 8601)'),
    option('--revoked <boolean>').choices(['true', 'false']),
    option('--limit <n>', 'maximum number; default: 20 in a table, otherwise all', read.count),
  ]
}
function groupOptions(): Option[] {
  return [
    option('--by <dimensions>', 'one or two, such as day, month,chain or geohash:5'),
    option('--top <n>', 'maximum number of groups; default: 1000', read.count),
    option('--sum <names>', 'area, length or both: sums of measured geometries'),
    option('--sort <field>', 'records, a sum or a dimension; - is descending, as in --sort=-records'),
  ]
}
function listOptions(): Option[] {
  return [
    option('--sort <field>', 'order; default: newest first').choices([
      ...['timestamp', '-timestamp', 'event_timestamp', '-event_timestamp', 'distance'],
    ]),
    option('--limit <n>', 'maximum number; default: 20 in a table, otherwise all', read.count),
    option('--format <format>', 'output format; default: that of the ending of -o, or table').choices([
      ...['table', 'json', 'ndjson', 'csv', 'geojson', 'geoparquet', 'geoparquet2', 'flatgeobuf'],
    ]),
    option('--bom', 'with --format csv: a byte order mark, by which Excel recognizes UTF-8'),
    option('-o, --output <file>', 'write to this file when the output is complete'),
  ]
}
