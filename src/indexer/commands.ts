import '../chains-file'
import path from 'node:path'
import { createLogger } from '@subsquid/logger'
import { Auditor, auditOutcome } from './audit'
import { BodyReader } from './bodies'
import { parseCommand } from './command-line'
import { chainNamed, rpcLimits, settingSuffix, type Chain } from '../chains'
import { unifySubsquidLog } from '../log'
import { SettingsError, chosenChain, processSettings, type ConnectedChain, type Settings } from '../config'
import {
  Database,
  LAST_HEIGHT,
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
  type Replayed,
} from './store'
import { addAnswerAttesters } from '../answer'
import { addLocationSchemas } from '../location'
import { primaryUrl, unmigrated } from '../postgres'
import { onStop } from '../process'
import { announcedTimes } from './processor'
import { COUNTED_AT_ONCE } from './reading'
import { RangeAuditor } from './range-auditor'
import { Registry, watchedOf } from './registry'
import { Rpc } from '../rpc'
import { restoreSnapshot, takeSnapshot } from './snapshot'
import { SnapshotError } from './snapshot-files'

const UIDS_PER_PAGE = 500
const SHOW_EVERY_MS = 5_000
const DIFFERENCES_SHOWN = 20

/**
 * `npm run replay`, `audit`, `snapshot` and `restore`. Exits with status 0 if everything is correct, 1 if
 * something was incorrect (the command may have repaired it), and 2 if the command could not be completed.
 */
async function main(): Promise<number> {
  const { verb, given, values } = parseCommand(process.argv.slice(2))
  // Messages contain absolute paths, because geo-run starts this program in a folder other than the caller's.
  const folder = path.resolve(given)
  const settings = verb === 'audit' ? processSettings('database', 'chains') : processSettings('database')
  unifySubsquidLog(settings.logLevel)
  addLocationSchemas(settings.locationSchemas)
  const database = new Database(await primaryUrl(settings.databaseUrl), () => {})
  try {
    if (verb === 'snapshot') return await snapshot(database, settings, folder)
    if (verb === 'restore') return await restore(database, settings, folder)
    if (verb === 'replay') return await replay(database, settings, values.chain, !values.check)
    return await audit(database, settings, chosenChain(settings.chains, values.chain), values)
  } finally {
    await database.close()
  }
}

async function replay(
  database: Database,
  settings: Settings,
  slug: string | undefined,
  repair: boolean,
): Promise<number> {
  const { namedChains } = settings
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
      await countOlder(database, chain)
      await readBodiless(database, settings, chain, finalHeight)
    }
    const found = await foundSchemas(database.query, chain)
    addLocationSchemas(
      found.filter(({ watched }) => watched),
      chain.slug,
    )
    addAnswerAttesters(chain.slug, await takenAttesters(database.query, chain))
    const watched = watchedOf(chain)
    const count = await countUids(database.query, chain, watched)
    const total: Replayed = { uids: 0, differing: [], notFinal: [] }
    for (let after = ''; ;) {
      const page = await replayPage(database, chain, watched, after, UIDS_PER_PAGE, finalHeight, repair)
      total.uids += page.uids
      total.notFinal.push(...page.notFinal)
      for (const difference of page.differing) {
        if (total.differing.push(difference) <= DIFFERENCES_SHOWN)
          progress.line(`  ${difference.id}: ${difference.what}`)
      }
      if (page.last === undefined) break
      after = page.last
      progress.show(`${chain.slug}: ${total.uids} of ${count} attestations replayed`)
    }
    differing += total.differing.length
    differing += await sayWithheld(database, chain)
    // The database does not contain most of the known chains.
    if (total.uids === 0) continue
    held += total.uids
    if (repair && total.notFinal.length === 0) await noteReadingAlone(database, chain)
    const compared = total.uids - total.notFinal.length
    const wrong = total.differing.length
      ? `${total.differing.length} records differed from the log${repair ? ' and were repaired' : ''}`
      : compared > 0
        ? 'every record matches the log'
        : 'nothing was compared'
    progress.line(
      `${chain.slug}: ${compared} attestations replayed, ${wrong}${total.notFinal.length ? `; ${total.notFinal.length} with events that are not final yet were skipped` : ''}`,
    )
  }
  if (held === 0) progress.line('The database has no attestations to replay')
  return differing ? 1 : 0
}

/** Counts older records for statistics, as a running indexer would. */
async function countOlder(database: Database, chain: Chain): Promise<void> {
  let percent = 0
  while (await hasUncounted(database.query, chain)) {
    progress.show(`${chain.slug}: ${percent} % of the records counted for statistics`)
    percent = await countRecords(database.query, chain, COUNTED_AT_ONCE)
  }
}

/** Reads bodies that could not be stored again, for a replay by a version that can store them. */
async function readBodiless(
  database: Database,
  settings: Settings,
  chain: Chain,
  finalHeight: number,
): Promise<void> {
  const events = await bodilessEvents(database.query, chain, finalHeight)
  if (events.length === 0) return
  const urls = settings.chains.find((each) => each.chain === chain)?.rpcUrls
  if (!urls)
    return progress.line(
      `${chain.slug}: ${events.length} attestations could not be stored. Set ` +
        `RPC_URL_${settingSuffix(chain)} to read them again.`,
    )
  const rpc = new Rpc({ chain, urls, ...rpcLimits(chain), log: createLogger('replay') })
  await rpc.check()
  const bodies = await new BodyReader(rpc, chain.eas).read(announcedTimes(events))
  for (const [i, event] of events.entries()) {
    await storeBody(database, chain, event, bodies.get(event.uid)!)
    progress.show(
      `${chain.slug}: ${i + 1} of ${events.length} attestations that could not be stored read again`,
    )
  }
}

/** Prints the attestations that could not be stored and returns their number. */
async function sayWithheld(database: Database, chain: Chain): Promise<number> {
  const withheld = await withheldAttestations(database.query, chain)
  for (const { uid, problem } of withheld.slice(0, DIFFERENCES_SHOWN))
    progress.line(`  ${uid}: withheld, ${problem}`)
  if (withheld.length)
    progress.line(
      `${chain.slug}: ${withheld.length} attestations are withheld, because they could not be ` +
        'stored. If a later version can store them, npm run replay reads them again.',
    )
  return withheld.length
}

async function audit(
  database: Database,
  settings: Settings,
  { chain, rpcUrls }: ConnectedChain,
  asked: { from?: string | undefined; to?: string | undefined; quick?: boolean | undefined },
): Promise<number> {
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
  const log = createLogger('audit')
  const rpc = new Rpc({ chain, urls: rpcUrls, ...rpcLimits(chain), log })
  await rpc.check()
  const { schemaPolicy: policy } = settings
  const registry = new Registry({ chain, rpc, database, policy, log, isIndexer: false })
  await registry.load()
  const options = { chain, rpc, registry, bodies: new BodyReader(rpc, chain.eas), database, log }
  const total = { events: 0, repaired: 0, unproven: 0, contradicted: 0 }
  const show = (done: number) => {
    const { events, repaired } = total
    progress.show(
      `${chain.slug}: ${done} of ${to - from + 1} blocks audited, ${events} events, ${repaired} repaired`,
    )
    return true
  }
  if (asked.quick) Object.assign(total, await new RangeAuditor(options).reread({ from, to }, show))
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
  progress.line(`${chain.slug}, blocks ${from} to ${to}: ${text}`)
  return (await sayWithheld(database, chain)) || !isCorrect ? 1 : 0
}

async function snapshot(database: Database, settings: Settings, folder: string): Promise<number> {
  const { chains: taken } = await takeSnapshot(database, settings.namedChains, folder, (line) =>
    progress.show(line),
  )
  for (const { chain, finalHeight, events } of taken)
    progress.line(`${chain}: ${events.lines} events up to block ${finalHeight}, in ${folder}`)
  return 0
}

async function restore(database: Database, settings: Settings, folder: string): Promise<number> {
  const { manifest, uids } = await restoreSnapshot(
    database,
    settings.namedChains,
    folder,
    createLogger('restore'),
    (line) => progress.show(line),
  )
  for (const { chain, finalHeight, events } of manifest.chains)
    progress.line(`${chain}: ${events.lines} events restored, up to block ${finalHeight}`)
  for (const { chain, attesters } of manifest.chains)
    if (attesters.length)
      progress.line(
        `${chain}: the snapshot names ${attesters.map(({ address }) => address).join(', ')}, whose ` +
          'attestations are now listed as answers of this service. Check this against ' +
          'ATTESTER_ADDRESS, and the attester and proxy that GET / names: the snapshot does not prove ' +
          'it.',
      )
  progress.line(
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

/** Shows progress: on a terminal as one line that is overwritten, elsewhere as one line every few seconds. */
const progress = {
  shownAt: -Infinity,
  show(line: string): void {
    if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${line}`)
    else if (performance.now() - this.shownAt > SHOW_EVERY_MS) {
      this.shownAt = performance.now()
      console.log(line)
    }
  },
  line(line: string): void {
    console.log(`${process.stdout.isTTY ? '\r\x1b[K' : ''}${line}`)
  },
}

// A repair is one transaction: if the process stops, it is either complete or undone.
onStop((reason) => {
  progress.line(`Stopped (${reason})`)
  process.exit(2)
})

main().then(
  (code) => process.exit(code),
  (error: Error) => {
    const isPlain = error instanceof SettingsError || error instanceof SnapshotError
    console.error(isPlain ? error.message : (unmigrated(error) ?? error))
    process.exit(2)
  },
)
