import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Wallet } from 'ethers'
import { readSettings, type ConnectedChain, type Settings } from '../src/config'
import type { LocalChain } from './chain'
import { startHere, type ServiceHere } from './in-process'
import { looks, waitForHead, waitForLook } from './indexed'
import { setLocalChain, setLocalDefaults } from './local-settings'
import { startRpcProxy, type RpcProxy } from './rpc-proxy'
import { blankSettings } from './settings'

/** Operators of a quorum on a local chain. Each has its own module instances, by default in this process. */

/** Keys of operators, sorted by address, as a GeoQuorum requires. */
export function inOrder(keys: readonly string[]): Wallet[] {
  return keys.map((key) => new Wallet(key)).sort((a, b) => (BigInt(a.address) < BigInt(b.address) ? -1 : 1))
}

export interface OperatorOptions {
  chain: LocalChain
  /** address of the GeoQuorum contract */
  quorum: string
  wallet: Wallet
  /** migrated database */
  databaseUrl: string
  port: number
  folder: string
  /** settings in addition to those of a local service */
  environment?: NodeJS.ProcessEnv
  /** starts the service with these settings; in this process by default */
  run?: (environment: NodeJS.ProcessEnv) => Promise<ServiceHere>
}

/** An operator that can be stopped and started again. */
export class Operator {
  readonly url: string
  private service: ServiceHere | undefined
  /** times at which earlier indexers last read the head */
  private earlierLooks: ReadonlyMap<string, string> = new Map()

  private constructor(
    readonly options: OperatorOptions,
    readonly rpc: RpcProxy,
    private readonly settings: Settings,
    private readonly environment: NodeJS.ProcessEnv,
  ) {
    this.url = `http://127.0.0.1:${options.port}`
  }

  /** Creates an operator and starts its RPC proxy. `start` runs the service. */
  static async create(options: OperatorOptions): Promise<Operator> {
    const { chain, quorum, wallet, databaseUrl, port } = options
    const rpc = await startRpcProxy(chain.url)
    const environment: NodeJS.ProcessEnv = {
      ...blankSettings(),
      ...{ DATABASE_URL: databaseUrl, PORT: String(port), CHAINS: chain.chain.slug },
      SIGNER_PRIVATE_KEY: wallet.privateKey,
      ...options.environment,
    }
    setLocalChain(environment, { ...chain, url: rpc.url, proxy: '' })
    const needed = ['database', 'chains', 'signer'] as const
    setLocalDefaults(environment, readSettings(environment, [...needed]))
    const settings = readSettings(environment, [...needed])
    const withQuorum = (each: ConnectedChain): ConnectedChain => ({
      ...each,
      chain: { ...each.chain, quorum: quorum.toLowerCase() },
    })
    const chains = settings.chains.map(withQuorum)
    return new Operator(options, rpc, Object.assign({}, settings, { chains }), environment)
  }

  get isRunning(): boolean {
    return this.service !== undefined
  }

  /** Starts the indexer and the API. Resolves when the API accepts connections. */
  async start(): Promise<void> {
    const { folder, port, run } = this.options
    const log = path.join(folder, `operator-${port}.log`)
    this.earlierLooks = await looks(this.settings.databaseUrl)
    this.service = await (run ? run(this.environment) : startHere(this.settings, log))
  }

  /** Resolves when the indexer has read everything mined so far. Rejects if it cannot continue. */
  async caughtUp(): Promise<void> {
    const { settings, service } = this
    const { chain } = this.options
    const reading = waitForHead(settings, chain).then(() => waitForLook(settings, chain, this.earlierLooks))
    await Promise.race([reading, service!.indexing])
  }

  /** Resolves when the service signs: it has read the chain, and its log accepts entries. */
  async ready(): Promise<void> {
    await this.caughtUp()
    while (!(await fetch(`${this.url}/ready`)).ok) await pause(200)
  }

  async stop(): Promise<void> {
    const { service } = this
    this.service = undefined
    await service?.stop()
  }

  /** Stops everything, including the RPC proxy. */
  async close(): Promise<void> {
    try {
      await this.stop()
    } finally {
      await this.rpc.close()
    }
  }
}
