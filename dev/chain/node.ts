import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Contract, JsonRpcProvider } from 'ethers'
import type { Chain } from '../../src/chains'
import type { GuardMessage } from '../guard'
import { deploy, mineToFinality, proxyOf } from './contracts'
import { LOCAL_CHAIN, readJson, testAccount, type LocalChain } from './local-chain'

/** Local nodes (anvil) that simulate the chains of the table. */

/** Number of blocks before the first indexed block, with the deployment: a local chain starts there. */
const BLOCKS_BEFORE_FIRST = 20

/** Reason for which a local chain cannot run on this machine, in one line; undefined if it can. */
export function missingNodeBinary(): string | undefined {
  try {
    nodeBinary()
    return undefined
  } catch {
    return (
      `There is no prebuilt chain node (anvil) for ${process.platform} ${process.arch}. Set ` +
      'RPC_URL_BASE_SEPOLIA (or that of another chain) to an endpoint of your own, or run on Linux ' +
      'or macOS (x64 or arm64) or Windows (x64).'
    )
  }
}

export function nodeBinary(): string {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const file = process.platform === 'win32' ? 'anvil.exe' : 'anvil'
  return require.resolve(`@foundry-rs/anvil-${process.platform}-${architecture}/bin/${file}`)
}

const STOP_TIMEOUT_MS = 20_000

export interface LocalChainOptions {
  /** Base Sepolia by default */
  chain?: Chain
  port: number
  /** file from which the chain continues, and to which it is saved when it stops */
  stateFile?: string
  /** saved state that a chain starts with, without saving its changes */
  loadedFrom?: string
  /** Unix seconds at which the clock of a fresh or a loaded chain starts; 40 days ago by default */
  startsAt?: number
  /** owner of the proxy, which accepts its signatures; the local service's signer by default */
  signer?: string
  /** number of blocks whose state is stored; all by default: gigabytes beyond 20,000 attestations */
  statesKept?: number
}

/**
 * Starts a local node that simulates a chain of the table. A fresh chain gets its version of EAS and its
 * registry at the real addresses, Multicall3, all schemas and the proxy of the signer. Its clock starts 40
 * days back, so that sample attestations have a past. Throws if the node does not start, or its contract
 * differs from the table.
 */
export async function startLocalChain({
  chain = LOCAL_CHAIN,
  port,
  stateFile,
  loadedFrom,
  startsAt = Math.floor(Date.now() / 1000) - 40 * 86_400,
  signer = testAccount(9).address,
  statesKept,
}: LocalChainOptions): Promise<LocalChain> {
  const fresh = !loadedFrom && (!stateFile || !existsSync(stateFile))
  const states = statesFolder(stateFile)
  const { child, ended } = startNode(chain, states, [
    ...['--host', '127.0.0.1', '--port', String(port), '--chain-id', String(chain.id), '--quiet'],
    ...['--number', String(chain.firstBlock - BLOCKS_BEFORE_FIRST), '--gas-limit', '1000000000'],
    ...(fresh ? ['--timestamp', String(startsAt)] : []),
    ...['--cache-path', states],
    ...(stateFile ? ['--state', stateFile] : []),
    ...(loadedFrom ? ['--load-state', loadedFrom] : []),
    ...(statesKept === undefined ? [] : ['--prune-history', String(statesKept)]),
  ])
  const url = `http://127.0.0.1:${port}`
  const early = await Promise.race([answering(url), ended])
  if (early !== undefined) throw new Error(early)

  const provider = new JsonRpcProvider(url, chain.id, {
    staticNetwork: true,
    batchMaxCount: 1,
    pollingInterval: 50,
    cacheTimeout: -1,
  })
  const contract = async (address: string, abi: string, account: number) =>
    new Contract(address, readJson(`abi/${abi}.json`), await provider.getSigner(account))
  let proxy = ''
  const local: LocalChain = {
    chain,
    url,
    fresh,
    get proxy() {
      return proxy
    },
    provider,
    eas: (account = 0) => contract(chain.eas, 'EAS', account),
    registry: (account = 0) => contract(chain.schemaRegistry, 'SchemaRegistry', account),
    stop: async () => {
      provider.destroy()
      child.kill('SIGTERM')
      // A node with a file for its state saves the state first.
      const insist = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
      await ended
      clearTimeout(insist)
    },
    ended,
  }
  try {
    if (fresh) await deploy(local)
    if (loadedFrom) {
      const last = (await provider.getBlock('latest'))!.timestamp
      await provider.send('anvil_setTime', [Math.max(last, startsAt) * 1000])
    }
    proxy = await proxyOf(local, signer)
    if (fresh) await mineToFinality(local)
  } catch (error) {
    provider.destroy()
    child.kill('SIGKILL') // Uses SIGKILL instead of SIGTERM, because an incomplete chain must not be saved.
    await ended
    throw error
  }
  return local
}

/** Starts the node's process, which ends with this one. */
function startNode(
  { slug }: Chain,
  states: string,
  args: readonly string[],
): { child: ChildProcess; ended: Promise<string> } {
  const child = spawn(nodeBinary(), args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    // Runs in its own process group, because on Ctrl-C it must end after the indexer.
    detached: process.platform !== 'win32',
  })
  const killWithUs = () => child.kill('SIGKILL')
  process.once('exit', killWithUs)
  child.once('exit', () => {
    process.off('exit', killWithUs)
    rmSync(states, { recursive: true, force: true })
  })
  guard(child)
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-2000)))
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`Could not start the local chain of ${slug}: ${error.message}`))
    child.once('exit', (code, signal) =>
      resolve(`The local chain of ${slug} ended (${code ?? signal}) ${errors.trim()}`.trimEnd()),
    )
  })
  return { child, ended }
}

/** New folder for states of old blocks: gigabytes in days, which a killed node leaves on the disk. */
function statesFolder(stateFile: string | undefined): string {
  if (stateFile === undefined) return mkdtempSync(path.join(tmpdir(), 'geospatial-chain-'))
  const folder = `${stateFile}.states`
  rmSync(folder, { recursive: true, force: true })
  return folder
}

let guardProcess: ChildProcess | undefined

/** Ends the node when this process is killed. A node itself cannot detect that. */
function guard(node: ChildProcess): void {
  if (!guardProcess) {
    // Runs in its own process group, so that it survives a kill of this process.
    guardProcess = spawn(process.execPath, ['dist/dev/guard.js'], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      detached: process.platform !== 'win32',
    })
    guardProcess.once('exit', () => (guardProcess = undefined)).on('error', () => {})
    // Neither process keeps this process alive.
    guardProcess.unref()
    guardProcess.channel?.unref()
  }
  // The service runs without the guard if the guard cannot be started.
  const tell = (runs: boolean) => {
    if (node.pid === undefined || !guardProcess?.connected) return
    guardProcess.send({ pid: node.pid, runs } satisfies GuardMessage, () => {})
  }
  tell(true)
  node.once('exit', () => tell(false))
}

/**
 * Mines an empty block after each block with transactions, like a live chain, until the node ends. On a node
 * that mines on demand only, ethers' wait() never returns if the transaction is mined between its first
 * request for the receipt and its first request for the number of the last block.
 */
export function mineOn({ chain, url, ended }: LocalChain): void {
  const provider = new JsonRpcProvider(url, chain.id, { staticNetwork: true, pollingInterval: 1000 })
  void ended.then(() => provider.destroy())
  const follow = async (number: number) => {
    const block = await provider.getBlock(number)
    if (block?.transactions.length && (await provider.getBlockNumber()) === number)
      await provider.send('anvil_mine', ['0x1'])
  }
  // The request fails if the node ends or a reorg has removed the block. The next block triggers another one.
  void provider.on('block', (number: number) => void follow(number).catch(() => {}))
}

async function answering(url: string): Promise<void> {
  for (;;) {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }),
    }).catch(() => undefined)
    if (answer?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
}
