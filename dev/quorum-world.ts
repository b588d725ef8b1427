import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { Wallet } from 'ethers'
import {
  bringToPresent,
  deployQuorum,
  LOCAL_CHAIN,
  mineOn,
  missingNodeBinary,
  startLocalChain,
  testAccount,
} from './chain'
import type { LocalChain } from './chain'
import { stopAll } from './in-process'
import { lockFolder, QUORUM_FOLDER } from './lock'
import { inOrder, Operator } from './operators'
import { preparedDatabase } from './prepared'
import { startWitness, type WitnessHere } from './witness'
import { processEnvironment } from '../src/config'
import { formatPolicy, formatSignerKey, generateSignerKey, type SignerKey } from '../src/tlog'
import { freePort, PlainError, requireFreePort, startService } from './services'

/** Local chain with a GeoQuorum and its operators. */
export interface QuorumWorld {
  readonly chain: LocalChain
  readonly quorum: string
  readonly threshold: number
  /** in the order of their indices */
  readonly operators: readonly Operator[]
  /** witness of each operator, which cosigns the logs of the other operators */
  readonly witnesses: readonly WitnessHere[]
  /** file for `--quorum` of the command line */
  readonly operatorsFile: string
  /** file with the key of a test account that pays for transactions */
  readonly keyFile: string
  /** resolves with a reason when a part has ended permanently */
  readonly broken: Promise<string>
  /** stops all parts in reverse order, and removes their data */
  stop(): Promise<void>
}

export interface QuorumWorldOptions {
  /** folder of this or of an earlier run. Databases are deleted at the start and at the end */
  folder: string
  /** port of the chain; the operators use the next ones */
  port: number
  signal: AbortSignal
  step: <Result>(what: string, work: Promise<Result>) => Promise<Result>
}

const OPERATORS = 5
const THRESHOLD = 3
/** File in the folder of a run. Other folders may have files that a run would replace. */
const MARKER = 'of-npm-run-quorum'
/** Number of witnesses that must cosign a log: more than half, so that two histories cannot both have it. */
const COSIGNERS = 3
/** Test account that owns the quorum, and pays for transactions of the command line. */
const OWNER = 8

/**
 * Starts a local chain, deploys a GeoQuorum, and starts five operators, each with its own key, embedded
 * database, indexer, API and RPC proxy, and a witness that cosigns the logs of the other operators. Throws a
 * PlainError that names the remedy, after it has stopped the parts started by then.
 */
export async function startQuorumWorld(options: QuorumWorldOptions): Promise<QuorumWorld> {
  const start = new Start(options)
  try {
    return await start.run()
  } catch (error) {
    await start.stop()
    throw error
  }
}

class Start {
  private readonly stops: (() => Promise<unknown>)[] = []
  private isStopping = false
  private reason: string | undefined
  private setBroken!: (reason: string) => void
  private readonly broken = new Promise<string>((resolve) => (this.setBroken = resolve))

  constructor(private readonly options: QuorumWorldOptions) {}

  /** Throws if the start was cancelled, or a part has ended. */
  private check(): void {
    this.options.signal.throwIfAborted()
    if (this.reason !== undefined) throw new PlainError(this.reason)
  }
  /** Awaits a promise that may never settle, and meanwhile checks like `check`. */
  private async unlessBroken<Result>(work: Promise<Result>): Promise<Result> {
    const { signal } = this.options
    const over = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    await Promise.race([work, over, this.broken])
    this.check()
    return work
  }

  readonly stop = async (): Promise<void> => {
    this.isStopping = true
    await stopAll(this.stops)
  }

  async run(): Promise<QuorumWorld> {
    const { folder, port, step } = this.options
    const missing = missingNodeBinary()
    if (missing) throw new PlainError(missing)
    await this.reserve()
    const wallets = inOrder(Array.from({ length: OPERATORS }, () => Wallet.createRandom().privateKey))
    // The database is migrated once, and then copied for each operator.
    await step('Embedded database: Postgres with PostGIS', preparedDatabase())
    this.check()
    const [chain, databases] = await this.all([
      step(`Local chain of ${LOCAL_CHAIN.slug}`, this.startChain()),
      step(
        'Databases of the operators',
        this.all(wallets.map((_, i) => this.startDatabase(`database-${i + 1}`))),
      ),
    ] as const)
    this.check()
    const quorum = await deployQuorum(chain, {
      ...{ operators: wallets.map(({ address }) => address), threshold: THRESHOLD },
      owner: testAccount(OWNER).address,
    })
    const logs = await Promise.all(
      wallets.map((_, i) => generateSignerKey(`127.0.0.1:${port + 1 + i}/log/v0`, 'ed25519')),
    )
    const witnesses = await this.all(wallets.map((_, i) => this.startWitness(i, logs)))
    const operators: Operator[] = []
    const starting = async () => {
      // Operators start one after the other, because each loads its own copy of all modules.
      for (const [i, wallet] of wallets.entries()) {
        this.check()
        operators.push(
          await this.startOperator(
            await Operator.create({
              ...{ chain, quorum, wallet, databaseUrl: databases[i]!, port: port + 1 + i },
              folder: path.join(folder, 'logs'),
              environment: this.logSettings(i, logs[i]!, witnesses),
            }),
          ),
        )
      }
      await this.unlessBroken(Promise.all(operators.map((each) => each.ready())))
    }
    await step(`${OPERATORS} operators: key, indexer, API, RPC proxy and witness each`, starting())
    return {
      ...{ chain, quorum, threshold: THRESHOLD, operators, witnesses },
      ...{ broken: this.broken, stop: this.stop },
      ...this.writeFiles(quorum, operators),
    }
  }

  /** Waits for all promises even if one rejects, because parts that start later must be stopped too. */
  private async all<const Parts extends readonly Promise<unknown>[]>(
    parts: Parts,
  ): Promise<{ -readonly [I in keyof Parts]: Awaited<Parts[I]> }> {
    await Promise.allSettled(parts)
    return Promise.all(parts) as never
  }

  /** Locks and empties the folder, and checks that the ports are free. */
  private async reserve(): Promise<void> {
    const { folder, port } = this.options
    mkdirSync(folder, { recursive: true })
    const marker = path.join(folder, MARKER)
    const isOwn = folder === path.resolve(QUORUM_FOLDER) || existsSync(marker)
    if (!isOwn && readdirSync(folder).length > 0)
      throw new PlainError(
        `${folder} contains files, but not the file ${MARKER} of an earlier run. Choose an empty folder, or ` +
          'remove this one.',
      )
    writeFileSync(marker, '')
    this.stops.push(await lockFolder(folder, { PORT: port }))
    const empty = () => rmSync(path.join(folder, 'databases'), { recursive: true, force: true })
    empty()
    this.stops.push(async () => empty())
    for (let i = 0; i <= OPERATORS; i++)
      await requireFreePort(
        port + i,
        'PORT',
        i === 0 ? 'local chain' : `operator ${i}`,
        `${port + 100} npm run quorum`,
      )
  }

  private async startChain(): Promise<LocalChain> {
    const chain = await startLocalChain({ port: this.options.port })
    this.stops.push(() => chain.stop())
    void chain.ended.then((reason) => this.breaks(`${reason}. Start again.`))
    await bringToPresent(chain)
    mineOn(chain)
    return chain
  }

  private async startDatabase(name: string): Promise<string> {
    const { folder } = this.options
    const port = await freePort()
    const data = path.join(folder, 'databases', name)
    mkdirSync(path.dirname(data), { recursive: true })
    const args = ['dist/dev/database.js', '--small', String(port), data]
    const database = startService(name, args, processEnvironment(), path.join(folder, 'logs'))
    this.stops.push(() => database.stop())
    database.ready.catch(({ message }: Error) => this.breaks(message))
    await this.unlessBroken(database.ready)
    void database.ended.then((code) =>
      this.breaks(`The embedded database ${name} ended (${code}). Start again.`),
    )
    return `postgres://postgres@127.0.0.1:${port}/postgres`
  }

  /** Starts the witness of an operator, whose files are deleted with the databases of the logs. */
  private async startWitness(operator: number, logs: readonly SignerKey[]): Promise<WitnessHere> {
    const witness = await startWitness(
      `operator-${operator}.example/witness`,
      logs.filter((_, i) => i !== operator),
      path.join(this.options.folder, 'databases', `witness-${operator}`),
    )
    this.stops.push(() => witness.stop())
    return witness
  }

  /** Settings of an operator's log, which the witnesses of the other operators cosign. */
  private logSettings(
    operator: number,
    key: SignerKey,
    witnesses: readonly WitnessHere[],
  ): NodeJS.ProcessEnv {
    const others = new Map(
      witnesses.flatMap((witness, i) => (i === operator ? [] : [[`operator-${i}`, witness] as const])),
    )
    const file = path.join(this.options.folder, `policy-${operator}.txt`)
    const groups = new Map([['others', { threshold: COSIGNERS, members: [...others.keys()] }]])
    const log = { key, url: `http://${key.name}` }
    writeFileSync(file, formatPolicy({ logs: [log], witnesses: others, groups, quorum: 'others' }))
    return { LOG: file, LOG_KEY: formatSignerKey(key) }
  }

  private async startOperator(operator: Operator): Promise<Operator> {
    this.stops.push(() => operator.close())
    await operator.start()
    return operator
  }

  private breaks(reason: string): void {
    if (this.isStopping) return
    this.reason ??= reason
    this.setBroken(this.reason)
  }

  private writeFiles(
    contract: string,
    operators: readonly Operator[],
  ): Pick<QuorumWorld, 'operatorsFile' | 'keyFile'> {
    const { folder } = this.options
    const [operatorsFile, keyFile] = [path.join(folder, 'operators.json'), path.join(folder, 'key.txt')]
    const listed = { operators: operators.map(({ url }) => url), k: THRESHOLD, contract }
    writeFileSync(operatorsFile, `${JSON.stringify(listed, undefined, 2)}\n`)
    writeFileSync(keyFile, testAccount(OWNER).privateKey, { mode: 0o600 })
    for (const [i, { options }] of operators.entries())
      writeFileSync(path.join(folder, `operator-${i}.txt`), options.wallet.privateKey, { mode: 0o600 })
    return { operatorsFile, keyFile }
  }
}
