import path from 'node:path'
import { createLogger, type Logger } from '@subsquid/logger'
import { Auditor, auditOutcome } from './audit'
import { BodyReader } from './bodies'
import { parseCommand } from './command-line'
import { LAST_HEIGHT, chainNamed, rpcLimits, settingSuffix, type Chain } from '../chains'
import { SettingsError, chosenChain, type ConnectedChain, type Requirement, type Settings } from '../config'
import {
  Database,
  bodilessEvents,
  countRecords,
  countUids,
  finalBlock,
  foundSchemas,
  hasUncounted,
  noteReadingAlone,
  replayPage,
  storeBody,
  takenAttesters,
  withheldAttestations,
} from './store'
import { addAnswerAttesters } from '../answer'
import { addLocationSchemas } from '../location'
import { primaryUrl, unmigrated } from '../postgres'
import { announcedTimes } from './processor'
import { COUNTED_AT_ONCE } from './reading'
import { RangeAuditor } from './range-auditor'
import { Registry, watchedOf } from './registry'
import { Rpc } from '../rpc'
import { restoreSnapshot, takeSnapshot } from './snapshot'
import { SnapshotError } from './snapshot-files'

const UIDS_PER_PAGE = 500
const DIFFERENCES_SHOWN = 20

/** Destination of a command's messages. */
export interface Output {
  line(text: string): void
  /** Shows progress, which the next text may replace. */
  progress(text: string): void
  /** Shows the error of a command that could not be completed. */
  problem(error: unknown): void
}

/**
 * Runs `npm run replay`, `audit`, `snapshot` or `restore`. Resolves to 0 if everything is correct, to 1 if
 * something was incorrect (the command may have repaired it), and to 2 if the command could not be completed.
 *
 * @param argv the verb, its arguments and options
 */
export async function runCommand(
  argv: readonly string[],
  settingsFor: (...requirements: Requirement[]) => Settings,
  output: Output,
): Promise<number> {
  try {
    const { verb, given, values } = parseCommand(argv)
    // Messages contain absolute paths, because geo-run starts this program in a folder other than the
    // caller's.
    const folder = path.resolve(given)
    const settings = verb === 'audit' ? settingsFor('database', 'chains') : settingsFor('database')
    addLocationSchemas(settings.locationSchemas)
    const log = createLogger(verb)
    const database = new Database(await primaryUrl(settings.databaseUrl), () => {})
    const closing = [() => database.close()] as (() => unknown)[]
    const connect = async ({ chain, rpcUrls: urls }: ConnectedChain) => {
      const rpc = new Rpc({ chain, urls, ...rpcLimits(chain), log })
      closing.push(() => rpc.close())
      await rpc.check()
      return rpc
    }
    try {
      const parts = { database, settings, output, log, connect }
      if (verb === 'snapshot') return await snapshot(parts, folder)
      if (verb === 'restore') return await restore(parts, folder)
      if (verb === 'replay') return await replay(parts, values.chain, !values.check)
      return await audit(parts, chosenChain(settings.chains, values.chain), values)
    } finally {
      for (const close of closing.reverse()) await close()
    }
  } catch (error) {
    const isPlain = error instanceof SettingsError || error instanceof SnapshotError
    output.problem(isPlain ? error.message : (unmigrated(error) ?? error))
    return 2
  }
}

interface Parts {
  readonly database: Database
  readonly settings: Settings
  readonly output: Output
  readonly log: Logger
  /** Returns the endpoints of a chain, which have been checked. They are closed when the command ends. */
  readonly connect: (connected: ConnectedChain) => Promise<Rpc>
}

async function replay(parts: Parts, slug: string | undefined, repair: boolean): Promise<number> {
  const { database, output } = parts
  const { namedChains } = parts.settings
  const chains = slug === undefined ? namedChains : namedChains.filter((each) => each === chainNamed(slug))
  if (chains.length === 0)
    throw new SettingsError(
      `--chain: '${slug}' is not one of ${namedChains.map((chain) => chain.slug).join(', ')}`,
    )
  let [differing, held] = [0, 0]
  for (const chain of chains) {
    // An event log without an indexer's state was restored or copied, so all of it is final.
    const finalHeight = (await finalBlock(database.query, chain))?.height ?? LAST_HEIGHT
    if (repair) {
      await countOlder(parts, chain)
      await readBodiless(parts, chain, finalHeight)
    }
    const found = await foundSchemas(database.query, chain)
    addLocationSchemas(
      found.filter(({ watched }) => watched),
      chain.slug,
    )
    addAnswerAttesters(chain.slug, await takenAttesters(database.query, chain))
    const watched = watchedOf(chain)
    const count = await countUids(database.query, chain, watched)
    let [uids, different, notFinal] = [0, 0, 0]
    for (let after = ''; ;) {
      const page = await replayPage(database, chain, watched, after, UIDS_PER_PAGE, finalHeight, repair)
      uids += page.uids
      notFinal += page.notFinal.length
      for (const { id, what } of page.differing)
        if (++different <= DIFFERENCES_SHOWN) output.line(`  ${id}: ${what}`)
      if (page.last === undefined) break
      after = page.last
      output.progress(`${chain.slug}: ${uids} of ${count} attestations replayed`)
    }
    differing += different + (await sayWithheld(parts, chain))
    // The database does not contain most of the known chains.
    if (uids === 0) continue
    held += uids
    if (repair && notFinal === 0) await noteReadingAlone(database, chain)
    const compared = uids - notFinal
    const wrong = different
      ? `${different} records differed from the log${repair ? ' and were repaired' : ''}`
      : compared > 0
        ? 'every record matches the log'
        : 'nothing was compared'
    output.line(
      `${chain.slug}: ${compared} attestations replayed, ${wrong}${notFinal ? `; ${notFinal} with events that are not final yet were skipped` : ''}`,
    )
  }
  if (held === 0) output.line('The database has no attestations to replay')
  return differing ? 1 : 0
}

/** Counts older records for statistics, as a running indexer would. */
async function countOlder({ database, output }: Parts, chain: Chain): Promise<void> {
  let percent = 0
  while (await hasUncounted(database.query, chain)) {
    output.progress(`${chain.slug}: ${percent} % of the records counted for statistics`)
    percent = await countRecords(database.query, chain, COUNTED_AT_ONCE)
  }
}

/** Reads bodies that could not be stored again, for a replay by a version that can store them. */
async function readBodiless(
  { database, settings, output, connect }: Parts,
  chain: Chain,
  finalHeight: number,
): Promise<void> {
  const events = await bodilessEvents(database.query, chain, finalHeight)
  if (events.length === 0) return
  const connected = settings.chains.find((each) => each.chain === chain)
  if (!connected)
    return output.line(
      `${chain.slug}: ${events.length} attestations could not be stored. Set ` +
        `RPC_URL_${settingSuffix(chain)} to read them again.`,
    )
  const rpc = await connect(connected)
  const bodies = await new BodyReader(rpc, chain.eas).read(announcedTimes(events))
  for (const [i, event] of events.entries()) {
    await storeBody(database, chain, event, bodies.get(event.uid)!)
    output.progress(
      `${chain.slug}: ${i + 1} of ${events.length} attestations that could not be stored read again`,
    )
  }
}

/** Prints the attestations that could not be stored and returns their number. */
async function sayWithheld({ database, output }: Parts, chain: Chain): Promise<number> {
  const withheld = await withheldAttestations(database.query, chain)
  for (const { uid, problem } of withheld.slice(0, DIFFERENCES_SHOWN))
    output.line(`  ${uid}: withheld, ${problem}`)
  if (withheld.length)
    output.line(
      `${chain.slug}: ${withheld.length} attestations are withheld, because they could not be ` +
        'stored. If a later version can store them, npm run replay reads them again.',
    )
  return withheld.length
}

async function audit(
  parts: Parts,
  connected: ConnectedChain,
  asked: { from?: string | undefined; to?: string | undefined; quick?: boolean | undefined },
): Promise<number> {
  const { database, settings, output, log } = parts
  const { chain } = connected
  const final = await finalBlock(database.query, chain)
  if (!final)
    throw new SettingsError(`The database has no final block of ${chain.slug} yet. Index the chain first.`)
  const from = blockNumber('--from', asked.from, chain.firstBlock)
  const to = blockNumber('--to', asked.to, final.height)
  if (from < chain.firstBlock || to > final.height || from > to)
    throw new SettingsError(
      `Blocks ${from} to ${to} cannot be audited. The indexed and final blocks of ${chain.slug} ` +
        `are ${chain.firstBlock} to ${final.height}.`,
    )
  const rpc = await parts.connect(connected)
  const { schemaPolicy: policy } = settings
  const registry = new Registry({ chain, rpc, database, policy, log, lease: undefined })
  await registry.load()
  const options = { chain, rpc, registry, bodies: new BodyReader(rpc, chain.eas), database, log }
  const total = { events: 0, repaired: 0, unproven: 0, contradicted: 0 }
  const show = (done: number) => {
    const { events, repaired } = total
    output.progress(
      `${chain.slug}: ${done} of ${to - from + 1} blocks audited, ${events} events, ${repaired} repaired`,
    )
    return true
  }
  if (asked.quick)
    await new RangeAuditor(options).reread({ from, to }, (read) =>
      show(Object.assign(total, read).to - from + 1),
    )
  else {
    const auditor = new Auditor(options)
    for (let next = from; next <= to;) {
      const found = await auditor.prove(next, to)
      for (const key of ['events', 'repaired', 'unproven', 'contradicted'] as const) total[key] += found[key]
      next = found.to + 1
      show(next - from)
    }
  }
  const { text, isCorrect } = auditOutcome(total)
  output.line(`${chain.slug}, blocks ${from} to ${to}: ${text}`)
  return (await sayWithheld(parts, chain)) || !isCorrect ? 1 : 0
}

async function snapshot({ database, settings, output }: Parts, folder: string): Promise<number> {
  const { chains: taken } = await takeSnapshot(database, settings.namedChains, folder, (line) =>
    output.progress(line),
  )
  for (const { chain, finalHeight, events } of taken)
    output.line(`${chain}: ${events.lines} events up to block ${finalHeight}, in ${folder}`)
  return 0
}

async function restore({ database, settings, output, log }: Parts, folder: string): Promise<number> {
  const { manifest, uids } = await restoreSnapshot(database, settings.namedChains, folder, log, (line) =>
    output.progress(line),
  )
  for (const { chain, finalHeight, events } of manifest.chains)
    output.line(`${chain}: ${events.lines} events restored, up to block ${finalHeight}`)
  for (const { chain, attesters } of manifest.chains)
    if (attesters.length)
      output.line(
        `${chain}: the snapshot names ${attesters.map(({ address }) => address).join(', ')}, whose ` +
          'attestations are now listed as answers of this service. Check this against ' +
          'ATTESTER_ADDRESS, and the attester and proxy that GET / names: the snapshot does not prove ' +
          'it.',
      )
  output.line(
    `${uids} attestations restored. Start the indexers: they resume from the snapshot, and the ` +
      'audit compares all of it with the chains. A snapshot does not contain the transparency log: before ' +
      'you start the API, set LOG_KEY to the key of a new log (docs/operations/log.md).',
  )
  return 0
}

function blockNumber(option: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise
  if (!/^\d{1,12}$/.test(text)) throw new SettingsError(`${option} must be a block number, got '${text}'`)
  return Number(text)
}
