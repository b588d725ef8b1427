import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { Wallet, type TypedDataField } from 'ethers'
import { createGeo, type Quorum, type QuorumOptions } from '@geospatial-attestation/client'
import { bringToPresent, deployQuorum, testAccount, type LocalChain } from '../dev/chain'
import type { ServiceHere } from '../dev/in-process'
import { inOrder, Operator } from '../dev/operators'
import { freePort, startService, type Service } from '../dev/services'
import { quorumDomain, type QuorumAnswer } from '../src/eas'
import { startTestChain } from './chains'
import { createMigratedDatabase, temporaryFolder } from './database'
import { atEnd } from './ends'

/**
 * Starts five operators with separate databases, keys and RPC proxies, on one local chain. Three of them have
 * two processes each, the indexer and the API, which can be killed and frozen. The others run in this
 * process. They are stopped after the file's tests.
 */
export interface OperatorsWorld {
  readonly chain: LocalChain
  /** address of the GeoQuorum contract */
  readonly quorum: string
  /** in the order of their indices */
  readonly operators: readonly Operator[]
  /** true if the operator has its own processes */
  hasProcesses(operator: Operator): boolean
  /** sends a signal to both processes of an operator */
  signal(operator: Operator, name: OperatorSignal): void
}
export type OperatorSignal = 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'
const OPERATORS = 5
const WITH_PROCESSES = 3
export const THRESHOLD = 3

export async function startOperators(): Promise<OperatorsWorld> {
  const folder = temporaryFolder()
  const chain = await startTestChain({ port: await freePort(), statesKept: 200 })
  await bringToPresent(chain)
  const wallets = inOrder(Array.from({ length: OPERATORS }, (_, i) => `0x${`${i + 1}`.repeat(64)}`))
  const quorum = await deployQuorum(chain, {
    ...{ operators: wallets.map(({ address }) => address), threshold: THRESHOLD },
    owner: testAccount(8).address,
  })
  const { slug } = chain.chain
  const CHAINS_FILE = path.join(folder, 'chains.json')
  writeFileSync(CHAINS_FILE, JSON.stringify([{ slug, quorum }]))
  const databases = await Promise.all(wallets.map(() => createMigratedDatabase()))
  const operators: Operator[] = []
  atEnd(() => Promise.all(operators.map((each) => each.close())))
  const processes = new Map<Operator, Set<Service>>()
  for (const [i, wallet] of wallets.entries()) {
    const running = new Set<Service>()
    const own = i < WITH_PROCESSES && {
      environment: { API_PROCESSES: '1', CHAINS_FILE },
      run: (environment: NodeJS.ProcessEnv) => startProcesses(environment, slug, folder, running),
    }
    const operator = await Operator.create({
      ...{ chain, quorum, wallet, databaseUrl: databases[i]!.url, port: await freePort(), folder },
      ...own,
    })
    if (own) processes.set(operator, running)
    operators.push(operator)
  }
  await Promise.all(operators.map((each) => each.start()))
  await Promise.all(operators.map((each) => each.caughtUp()))
  return {
    ...{ chain, quorum, operators },
    hasProcesses: (operator) => processes.has(operator),
    signal: (operator, name) => {
      for (const { pid } of processes.get(operator)!) process.kill(pid, name)
    },
  }
}

/** Starts the indexer and the API of an operator. `running` has those processes that have not ended. */
async function startProcesses(
  environment: NodeJS.ProcessEnv,
  slug: string,
  folder: string,
  running: Set<Service>,
): Promise<ServiceHere> {
  const start = (name: string, ...args: string[]) => {
    const settings = { ...process.env, ...environment }
    const service = startService(`${name}-${environment.PORT}`, args, settings, folder)
    running.add(service)
    void service.ended.then(() => running.delete(service))
    return service
  }
  const api = start('api', 'dist/api/main.js')
  const indexer = start('indexer', 'lib/indexer/main.js', slug)
  const indexing = indexer.ended.then((code) => {
    throw new Error(`The indexer has ended (${code}):\n${indexer.tail()}`)
  })
  indexing.catch(() => {})
  const stop = async () => void (await Promise.all([api, indexer].map((each) => each.stop())))
  try {
    await api.ready
  } catch (error) {
    await stop()
    throw error
  }
  return { indexing, stop }
}

/** Creates a client of a quorum whose requests a front of an operator may change. */
export function quorumBehind(
  { chain, quorum, operators }: OperatorsWorld,
  fetch: typeof globalThis.fetch,
  options: Partial<QuorumOptions> = {},
): Promise<Quorum> {
  return createGeo({ url: operators[0]!.url, chain: chain.chain.id, fetch }).quorum({
    ...{ operators: operators.map(({ url }) => url), k: THRESHOLD, contract: quorum, timeout: 60_000 },
    ...options,
  })
}

/**
 * Members of the typed data `Answer`, copied from the contract so that they are independent of the client.
 */
const ANSWER_FIELDS: TypedDataField[] = [
  { name: 'schema', type: 'bytes32' },
  { name: 'recipient', type: 'address' },
  { name: 'expirationTime', type: 'uint64' },
  { name: 'revocable', type: 'bool' },
  { name: 'refUID', type: 'bytes32' },
  { name: 'data', type: 'bytes' },
  { name: 'deadline', type: 'uint64' },
  { name: 'epoch', type: 'uint32' },
]

/** Signs any content with an operator's own key, as a dishonest operator could. */
export function signContent(
  wallet: Wallet,
  { chainId, quorum }: { chainId: number; quorum: string },
  answer: QuorumAnswer,
): Promise<string> {
  return wallet.signTypedData(quorumDomain(chainId, quorum), { Answer: ANSWER_FIELDS }, answer)
}
