import { isDeepStrictEqual } from 'node:util'
import { DataConsistencyError } from '@subsquid/util-internal-ingest-tools'
import { Runner, type HotDatabase, type HotDatabaseState } from '@subsquid/util-internal-processor-tools'
import { expect, vi } from 'vitest'
import { doubtAbout, type IndexState } from '../api/store'
import {
  BlockReader,
  ContradictionError,
  Doubt,
  HeadReader,
  contradiction,
  headerCall,
  otherChain,
  type BlockRef,
  type ChainBlock,
  type HeadReport,
  type LogSelection,
} from '../src/chain'
import { ChainSource, ShorterChainError } from '../src/indexer/processor'
import { CHAINS, type Chain } from '../src/chains'
import { SettingsError } from '../src/config'
import { repeat } from '../src/retry'
import { Rpc } from '../src/rpc'
import { SILENT } from './rpc-proxy'
import { hunt, type Hunt } from './seed'
import {
  RECEIPT_FIELDS,
  SimulatedChain,
  SimulatedEndpoint,
  VirtualClock,
  WELL,
  type Behaviour,
  ancestor,
  topic,
  type SimulatedBlock,
} from './simulation'

/**
 * Simulates how the indexer reads: evm-processor's runner, this project's source, and a database in memory,
 * on simulated chains with scripted forks, lags, lying endpoints, halts, replaced chains and clock steps.
 * After every step, everything that the service would sign without querying the chain is on a branch that an
 * endpoint has shown recently, and the database has exactly the events of the blocks up to its tip.
 */

/** Finalities of the chains, in blocks. With 1, each block makes its parent final. */
const FINALITIES = [1, 2, 3, 8, 8, 8]
const INDEX_MAX_AGE_SECONDS = 15
/** Time within which a poll and a report begin and end: each waits for responses of up to 3 seconds. */
const POLLED_MS = 10_000
/** Milliseconds between two audits. */
const AUDIT_MS = 2_000
/** Blocks are mined at random times, so no head counts as outdated. */
const BLOCK_MS = Infinity
/** Number of the rare event that replaces the chain. */
const LAST_KIND = 32
/** Unix seconds at the start of the simulation. */
const EPOCH = 1_700_000_000
const CHAIN: Chain = { ...CHAINS[0]!, firstBlock: 1 }
const EVENT = `0x${'e'.repeat(64)}`
const REGISTERED = `0x${'d'.repeat(64)}`
/** Returns the ids of the events in these logs, without registrations. */
const eventsIn = (logs: readonly { topics: readonly string[] }[]) =>
  logs.flatMap(({ topics }) => (topics[0] === EVENT ? [topics[1]!] : []))

/** Selection of the events of known schemas, which widens by the registrations that it reads. */
class Schemas implements LogSelection {
  version = 0

  private readonly known: Set<string>

  constructor(
    private readonly stored: Set<string>,
    private readonly clock: VirtualClock,
  ) {
    this.known = new Set(stored)
  }

  get filters() {
    const address = [CHAIN.eas]
    return [
      { address, topic0: [EVENT], topic3: [...this.known] },
      { address, topic0: [REGISTERED] },
    ]
  }

  async learn(logs: Parameters<LogSelection['learn']>[0]): Promise<number> {
    const isNew = ({ topics }: { topics: readonly string[] }) =>
      topics[0] === REGISTERED && !this.known.has(topics[1]!)
    if (!logs.some(isNew)) return 0
    // Other readers go on while the schemas are stored.
    await this.clock.pause(500)
    const found = logs.filter(isNew)
    for (const { topics } of found) {
      this.stored.add(topics[1]!)
      this.known.add(topics[1]!)
    }
    if (found.length > 0) this.version++
    return found.length > 0 ? 1 : 0
  }
}

/** Methods of which an endpoint may have the responses of another chain. That of its logs would omit logs. */
const MIXED = ['eth_getBlockByNumber', 'eth_getBlockByHash', 'eth_getBlockReceipts', 'eth_blockNumber']
/** Behaviour of endpoints whose other faults could hide that they omit logs. */
const TRUE_LOGS = { omitsLogs: false, spoils: undefined }

/** Rows of one block, as a batch writes them. */
interface Rows extends BlockRef {
  events: string[]
}

/** The connection to the database is lost, and with it a transaction or only the response to its COMMIT. */
class DatabaseFault extends Error {}
const EXPECTED = [DataConsistencyError, DatabaseFault, ShorterChainError]

/** Tables of typeorm-store, and chain_status. */
class MemoryDatabase implements HotDatabase<Rows[]> {
  readonly supportsHotBlocks = true
  final: BlockRef = { height: -1, hash: '0x' }
  rows: Rows[] = []
  hot: Rows[] = []
  /** numbers of the blocks whose logs only one endpoint has confirmed, until the audit proves them */
  unproven: readonly number[] = []
  /** schemas that were found, and the first one */
  readonly schemas = new Set([topic(0)])
  private indexed: (BlockRef & { timestamp: number }) | undefined
  private agreedAt: number | undefined
  private report: (HeadReport & { checkedAt: number }) | undefined

  constructor(
    private readonly clock: VirtualClock,
    private readonly random: () => number,
  ) {}

  connect(): Promise<HotDatabaseState> {
    return Promise.resolve({ ...this.final, top: this.hot.map(({ height, hash }) => ({ height, hash })) })
  }

  async transact(
    { prevHead, nextHead }: { prevHead: BlockRef; nextHead: BlockRef },
    write: (store: Rows[]) => Promise<void>,
  ): Promise<void> {
    expect(prevHead.hash).toBe(this.final.hash)
    const written: Rows[] = []
    await write(written)
    this.rows.push(...written)
    this.hot = []
    this.final = { height: nextHead.height, hash: nextHead.hash }
    this.committed()
  }

  transactHot(): Promise<void> {
    throw new Error('the runner uses transactHot2')
  }

  async transactHot2(
    {
      baseHead,
      newBlocks,
      finalizedHead,
    }: { baseHead: BlockRef; newBlocks: BlockRef[]; finalizedHead: BlockRef },
    write: (store: Rows[], from: number, to: number) => Promise<void>,
  ): Promise<void> {
    const chain = [this.final, ...this.hot]
    expect(chain.map(({ hash }) => hash)).toContain(baseHead.hash)
    expect(finalizedHead.height).toBeGreaterThanOrEqual(this.final.height)
    const written: Rows[] = []
    await write(written, 0, newBlocks.length)
    expect(written.map(({ hash }) => hash)).toEqual(newBlocks.map(({ hash }) => hash))
    const hot = [...this.hot.filter(({ height }) => height <= baseHead.height), ...written]
    expect([this.final, ...hot].map(({ hash }) => hash)).toContain(finalizedHead.hash)
    this.rows.push(...hot.filter(({ height }) => height <= finalizedHead.height))
    this.hot = hot.filter(({ height }) => height > finalizedHead.height)
    this.final = { height: finalizedHead.height, hash: finalizedHead.hash }
    this.committed()
  }

  /** Loses the response to some commits. */
  private committed(): void {
    if (this.random() < 0.01) throw new DatabaseFault('no response to COMMIT')
  }

  /** last block in the database */
  get tip(): BlockRef | undefined {
    return this.indexed
  }

  noteIndexed(last: BlockRef & { timestamp: number }, agreementAgeMs: number): void {
    this.indexed = last
    this.agreedAt = this.clock.now() - agreementAgeMs
    if (this.report && last.height > this.report.number)
      this.report = { ...this.report, number: last.height, timestamp: last.timestamp / 1000 }
  }

  noteHead(report: HeadReport): void {
    this.report = { ...report, checkedAt: this.clock.now() - report.ageMs }
    if (report.tipHash === this.indexed?.hash) this.agreedAt = this.clock.now() - report.agreementAgeMs
  }

  /** state of the index as the API reads it */
  get state(): IndexState {
    const { indexed, report, agreedAt = -Infinity } = this
    const now = this.clock.now() / 1000
    return {
      headBlock: report?.number ?? null,
      headTime: report ? new Date(report.timestamp * 1000) : null,
      headAge: report ? EPOCH + report.checkedAt / 1000 - report.timestamp : null,
      checkedAge: report ? now - report.checkedAt / 1000 : null,
      indexedBlock: indexed?.height ?? null,
      indexedTime: indexed ? new Date(indexed.timestamp) : null,
      agreedAge: agreedAt === -Infinity ? null : now - agreedAt / 1000,
      doubt: report?.doubt ?? null,
    }
  }
}

/** An indexer on a database and endpoints that is restarted when it ends, as by a supervisor. */
class SimulatedIndexer {
  refused: SettingsError | undefined
  restarts = 0
  private stopping = new AbortController()

  constructor(
    private readonly chain: Chain,
    private readonly database: MemoryDatabase,
    private readonly endpoints: readonly SimulatedEndpoint[],
    private readonly clock: VirtualClock,
    private readonly random: () => number,
  ) {
    void this.run()
  }

  restart(): void {
    this.stopping.abort(new Error('restarted'))
  }

  stop(): void {
    this.refused ??= new SettingsError('stopped')
    this.stopping.abort(new Error('stopped'))
  }

  private async run(): Promise<void> {
    while (!this.refused) {
      this.stopping = new AbortController()
      const stop = this.stopping
      await this.index(stop.signal).catch((error: Error) => {
        if (error instanceof SettingsError) this.refused ??= error
        else if (!stop.signal.aborted) failures.push(error)
      })
      stop.abort()
      this.restarts++
      if (!this.refused) await this.clock.pause(1_000)
    }
  }

  private async index(signal: AbortSignal): Promise<void> {
    const { chain, clock, database } = this
    const { finality } = chain
    const urls = this.endpoints.map((_, i) => `http://endpoint-${i}.example`)
    const rpc = new Rpc({
      ...{ chain, urls, batchSize: 100, timeoutMs: 1_000, log: SILENT, signal, clock },
      connect: ({ url }) => this.endpoints[urls.indexOf(url)]!.client,
    })
    const doubt = new Doubt(clock)
    doubt.unprovenAtHead = database.unproven
    const selection = new Schemas(database.schemas, clock)
    const reader = () => new BlockReader(rpc, selection, doubt, clock)
    const options = { doubt, clock, finality, log: SILENT, pollMs: 1_000 }
    const storedAtOrBelow = async (height: number) =>
      database.rows.findLast((row) => row.height <= height && row.events.length > 0)
    const head = new HeadReader({
      ...{ ...options, blocks: reader() },
      storedAtOrBelow,
    })
    void repeat(
      signal,
      async () => {
        database.noteHead(await head.report(() => Promise.resolve(database.tip)))
        return 1_000
      },
      () => 1_000,
      clock,
    )
    const blocks = reader()
    const stored = database.final.height < 0 ? undefined : database.final
    const other = stored && (await contradiction(stored, { ...options, blocks, signal, storedAtOrBelow }))
    if (other) throw otherChain(finality, other)
    const source = new ChainSource({
      ...options,
      rpc,
      head,
      blocks,
      selection,
      decode: (block) => {
        if (block.logs.some(({ data }) => data === '0x')) throw new ContradictionError('a log has no data')
        return block
      },
      stored,
      storedAtOrBelow,
      signal,
    })
    void repeat(
      signal,
      async () => {
        await this.audit(reader(), head)
        return AUDIT_MS
      },
      () => AUDIT_MS,
      clock,
    )
    await new Runner<unknown, Rows[]>({
      ...{ database, hotDataSource: source, allBlocksAreFinal: false, log: SILENT },
      requests: [{ range: { from: chain.firstBlock }, request: undefined }],
      prometheus: NO_METRICS,
      process: async (store, batch) => {
        // Fails as for a block whose attestations are not available at any endpoint yet.
        if (this.random() < 0.02) throw new DataConsistencyError('a body is missing')
        // Polls, forks and restarts happen while a batch is written.
        await clock.pause(this.random() * (this.random() < 0.1 ? 20_000 : 200), signal)
        if (this.random() < 0.01) throw new DatabaseFault('the transaction was rolled back')
        const read = batch.blocks as ChainBlock[]
        for (const { header, logs } of read)
          store.push({
            height: header.height,
            hash: header.hash,
            events: eventsIn(logs),
          })
        const { height, hash, timestamp } = read.at(-1)!.header
        const agreementAgeMs = head.agreementAge({ height, hash })
        database.noteIndexed({ height, hash, timestamp }, agreementAgeMs)
        database.unproven = doubt.unprovenAtHead.filter((each) => each <= height)
      },
    }).run()
  }

  /** Proves final blocks that only one endpoint has confirmed, if their receipts have the stored events. */
  private async audit(blocks: BlockReader, head: HeadReader): Promise<void> {
    const { database } = this
    for (const height of database.unproven) {
      const stored = database.rows.find((row) => row.height === height)
      const [checked] = stored ? await blocks.headers([headerCall(height)]) : []
      if (checked?.header.hash !== stored?.hash) continue
      const read = checked && (await blocks.logs(checked))
      const events = read && eventsIn(read.logs)
      if (read?.evidence !== 'proven' || !isDeepStrictEqual(events, stored!.events)) continue
      head.settled(height, height)
      database.unproven = database.unproven.filter((each) => each !== height)
    }
  }
}
const NO_METRICS = {
  addRunnerMetrics: () => {},
  serve: () => Promise.resolve({ port: 0 }),
} as unknown as ConstructorParameters<typeof Runner>[0]['prometheus']
/** Events of all histories, for the report. */
const met = { checks: 0, fresh: 0, refused: 0, restarts: 0 }
/** Errors for which an indexer was restarted. */
const failures: Error[] = []

/** Simulates one history. Returns the number of mined blocks. */
async function simulate(random: () => number): Promise<number> {
  const below = (n: number) => Math.floor(random() * n)
  const chance = (p: number) => random() < p
  const finality = FINALITIES[below(FINALITIES.length)]!
  const clock = new VirtualClock()
  let chain = new SimulatedChain(CHAIN.eas)
  let made = 0
  let event = 0
  /** The highest block that was final on the chain. The database has it, or may have it soon. */
  let final: SimulatedBlock | undefined
  const schemasOf = (head: SimulatedBlock | undefined) => {
    const found = [topic(0)]
    for (let block = head; block; block = block.parent)
      for (const { topics } of block.logs) if (topics[0] === REGISTERED) found.push(topics[1]!)
    return found
  }
  const mine = async (count: number) => {
    for (let i = 0; i < count; i++, made++) {
      const registered = schemasOf(chain.head)
      const topics: string[][] = []
      for (let left = chance(0.3) ? 1 + below(chance(0.02) ? 40 : 2) : 0; left > 0; left--) {
        // A schema may be registered and used in one block.
        if (chain.head && chance(0.2))
          topics.push([REGISTERED, registered[registered.push(topic(below(30))) - 1]!])
        topics.push([EVENT, topic(++event), topic(0), registered[below(registered.length)]!])
      }
      const { height } = await chain.mine(EPOCH + Math.floor(clock.now() / 1000), topics)
      if (height - finality > (final?.height ?? 0)) final = ancestor(chain.head, height - finality)
    }
  }
  await mine(2 + below(chance(0.3) ? 300 : 60))
  const longestRange = 5 + below(60)
  const latencyMs = () => 1 + below(chance(0.05) ? 3_000 : 60)
  const endpointOf = (served: SimulatedChain) =>
    new SimulatedEndpoint(served, CHAIN.id, clock, latencyMs, longestRange)
  const endpoints = Array.from({ length: 1 + below(chance(0.2) ? 4 : 2) }, () => endpointOf(chain))
  const database = new MemoryDatabase(clock, random)
  const chains = [chain]
  /** True after a final block of the database may have left the chain. */
  let mayRefuse = false
  const script: string[] = []
  /** Returns another chain, without events. */
  const otherBlocks = async (blocks: number) => {
    const other = new SimulatedChain(CHAIN.eas, 1_000_000 * chains.length)
    chains.push(other)
    for (let i = 0; i < blocks; i++) await other.mine(EPOCH, [])
    return other
  }

  const check = () => {
    const { tip, state } = database
    if (!tip) return
    const block = chains.map(({ blocks }) => blocks.get(tip.hash)).find(Boolean)!
    // The database must have exactly the events of the tip's branch.
    const expected: string[] = []
    for (
      let each: SimulatedBlock | undefined = block;
      each && each.height >= CHAIN.firstBlock;
      each = each.parent
    )
      expected.unshift(...eventsIn(each.logs))
    const rows = [...database.rows, ...database.hot]
    const events = rows.flatMap((row) => row.events)
    if (events.join() !== expected.join()) expect({ script, events }).toEqual({ script, events: expected })
    met.checks++
    if (doubtAbout(state, INDEX_MAX_AGE_SECONDS, false, BLOCK_MS) !== undefined) return
    met.fresh++
    // A fresh index ends with a block of a branch that an endpoint has shown.
    const since = clock.now() - 1_000 * INDEX_MAX_AGE_SECONDS
    const isShown = endpoints.some(({ shown }) =>
      shown.some(({ at, head }) => at >= since && ancestor(head, block.height) === block),
    )
    if (!isShown) expect({ script, at: clock.now(), tip }).toBe('a block that an endpoint has shown')
    // After a rollback without another block, the index counts as doubtful once a poll has noticed it.
    const lately = endpoints.flatMap(({ shown }) => shown).filter(({ at }) => at >= clock.now() - POLLED_MS)
    const wasPolled = lately.some(({ at }) => at < clock.now() - 0.7 * POLLED_MS)
    const isPolled = lately.some(({ at }) => at > clock.now() - 0.3 * POLLED_MS)
    const isGone =
      wasPolled &&
      isPolled &&
      lately.every(({ head }) => head.height < block.height && ancestor(block, head.height) === head)
    expect({ script, at: clock.now(), tip, isGone }).toMatchObject({ isGone: false })
  }

  const indexer = new SimulatedIndexer({ ...CHAIN, finality }, database, endpoints, clock, random)
  const pass = async (milliseconds: number) => {
    await clock.pass(milliseconds, check)
    for (const { shown } of endpoints) shown.splice(0, Math.max(0, shown.length - 2_000))
  }
  /**
   * Lets reads end that began while these endpoints refused receipts. If the only endpoint then omitted logs,
   * nothing would show it before the audit.
   */
  const showReceipts = async (behaviours: readonly Behaviour[]) => {
    if (!behaviours.some(({ cutsLogs }) => cutsLogs)) return
    for (const each of behaviours) Object.assign(each, WELL)
    await pass(10_000)
  }
  await pass(below(chance(0.5) ? 500 : 5_000))
  for (let step = 0; step < 40 && !indexer.refused; step++) {
    const endpoint = endpoints[below(endpoints.length)]!
    const { behaviour } = endpoint
    const kind = step === 0 && chance(0.1) ? LAST_KIND : below(LAST_KIND + 1)
    if (kind < 7) {
      script.push('mine')
      await mine(1 + below(4))
    } else if (kind < 11) {
      const depth = Math.min(below(finality), chain.head!.height - 1)
      const blocks = below(depth + 3)
      script.push(`revert ${depth}, mine ${blocks}`)
      chain.revert(depth)
      await mine(blocks)
    } else if (kind < 12) {
      script.push('lag')
      const lags = chance(0.5) ? [behaviour] : endpoints.map((each) => each.behaviour)
      for (const each of lags) Object.assign(each, { lag: below(chance(0.5) ? 4 : finality), ...TRUE_LOGS })
    } else if (kind < 13) {
      script.push('freeze')
      behaviour.frozenAt = endpoint.head
    } else if (kind < 14) {
      script.push('down')
      behaviour.isDown = true
    } else if (kind < 15) {
      script.push('omit logs')
      // Without receipts, logs that the only endpoint omits are missing until the audit.
      await showReceipts([behaviour])
      Object.assign(behaviour, WELL, { omitsLogs: true })
    } else if (kind < 17) {
      script.push('well')
      Object.assign(behaviour, WELL)
      endpoint.chain = chain
    } else if (kind < 18) {
      script.push('restart')
      indexer.restart()
    } else if (kind < 20) {
      script.push('wait')
      await pass(below(40_000))
    } else if (kind < 21) {
      script.push('clock step')
      vi.setSystemTime(below(2 * EPOCH) * 1000)
    } else if (kind < 22) {
      script.push('stale cache')
      behaviour.cachedAt = ancestor(
        endpoint.head,
        Math.max(0, endpoint.head.height - (chance(0.5) ? 0 : below(3 * finality))),
      )
    } else if (kind < 23) {
      script.push('several nodes')
      Object.assign(behaviour, { spread: below(11), ...TRUE_LOGS })
    } else if (kind < 24) {
      script.push('old blocks for new numbers')
      Object.assign(behaviour, { staleBy: 1 + below(3), ...TRUE_LOGS })
    } else if (kind < 25) {
      script.push('another chain at one endpoint')
      mayRefuse = true
      endpoint.chain = await otherBlocks(2 + below(400))
      behaviour.frozenAt = behaviour.cachedAt = undefined
    } else if (kind < 26) {
      script.push('malformed logs')
      Object.assign(behaviour, { cutsLogs: true, ...TRUE_LOGS })
    } else if (kind < 27) {
      // Endpoints behind one broken provider, if all of them do this.
      const spoils = RECEIPT_FIELDS[below(RECEIPT_FIELDS.length)]
      const spoilt = chance(0.5) ? [behaviour] : endpoints.map((each) => each.behaviour)
      script.push(`${spoilt.length} of ${endpoints.length} spoil ${spoils}`)
      await showReceipts(spoilt)
      for (const each of spoilt) Object.assign(each, WELL, { spoils })
    } else if (kind < 28) {
      script.push('no headers')
      Object.assign(behaviour, { hidesHeaders: true, ...TRUE_LOGS })
    } else if (kind < 29) {
      // Read at the start of the indexer only, which then ends if no other endpoint is on the chain.
      script.push('another chain id, restart')
      mayRefuse = true
      Object.assign(behaviour, { otherId: 1, ...TRUE_LOGS })
      indexer.restart()
    } else if (kind < 30) {
      script.push('another block range')
      endpoint.longestRange = 1 + below(60)
    } else if (kind < 31) {
      script.push('failing requests')
      behaviour.fails = 0.3
    } else if (kind < 32) {
      const method = MIXED[below(MIXED.length)]!
      script.push(`${method} of another chain`)
      // The latest block, and its number, are those of that chain.
      if (method.endsWith('Number')) mayRefuse = true
      const other = await otherBlocks(2 + below(100))
      Object.assign(behaviour, WELL, { mixed: { method, endpoint: endpointOf(other) } })
    } else if (chance(0.15) || step === 0) {
      script.push('replaced chain')
      mayRefuse = true
      chain = new SimulatedChain(CHAIN.eas, 1_000_000 * chains.length)
      chains.push(chain)
      await mine(2 + below(80))
      for (const each of endpoints) {
        each.chain = chain
        each.behaviour.frozenAt = each.behaviour.cachedAt = undefined
      }
    }
    // Several consecutive reverts, and branches that only a frozen endpoint still shows.
    if (final && ancestor(chain.head, final.height) !== final) mayRefuse = true
    if (endpoints.some((each) => each.behaviour.frozenAt) && endpoints.some((each) => each.behaviour.isDown))
      mayRefuse = true
    await pass(below(6_000))
  }
  for (const endpoint of endpoints) {
    Object.assign(endpoint.behaviour, WELL)
    endpoint.chain = chain
  }
  // Mines beyond all blocks of abandoned forks, because the indexer waits for announced history, and a real
  // chain does not stay shorter than its forks. A block that no receipts have proved is in doubt until it is
  // final.
  const longest = Math.max(...[...chain.blocks.values()].map(({ height }) => height))
  await mine(2 + finality + longest - chain.head!.height)
  await pass(120_000)
  const { tip, state } = database
  const doubt = doubtAbout(state, INDEX_MAX_AGE_SECONDS, false, BLOCK_MS)
  const { height, hash } = database.final
  // A branch that only a frozen endpoint has shown may be final in the database. In that case, nothing is
  // signed.
  const isOnChain = ancestor(chain.head, height)?.header.hash === hash
  if (indexer.refused || !isOnChain)
    expect({ script, mayRefuse, doubt }).toEqual({ script, mayRefuse: true, doubt: expect.any(String) })
  else
    expect({ script, tip: tip?.hash, doubt }).toEqual({
      script,
      doubt: undefined,
      tip: chain.head!.header.hash,
    })
  met.restarts += indexer.restarts
  if (indexer.refused) met.refused++
  indexer.stop()
  await clock.pass(10_000, () => {})
  return made
}

hunt(
  'the service signs only about the chain, and stores all its events in the event log',
  20,
  async ({ cases, random, report }: Hunt) => {
    vi.useFakeTimers({ toFake: ['Date'] })
    failures.length = 0
    const started = performance.now()
    let blocks = 0
    for (let i = 0; i < cases; i++) blocks += await simulate(random)
    vi.useRealTimers()
    expect(
      failures.filter((error) => !EXPECTED.some((kind) => error instanceof kind)).map(({ stack }) => stack),
    ).toEqual([])
    report(
      `${cases} histories, ${blocks} blocks, ${Math.round((1000 * blocks) / (performance.now() - started))} blocks/s; ${JSON.stringify(met)}`,
    )
  },
)
