import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import {
  AbiCoder,
  Contract,
  ContractFactory,
  getCreateAddress,
  Interface,
  JsonRpcProvider,
  HDNodeWallet,
  type TransactionReceipt,
  ZeroAddress,
  ZeroHash,
} from 'ethers'
import type { FeatureCollection, Geometry } from 'geojson'
import { proxyCreation } from '../api/contracts/proxy-creation'
import { CHAINS, settingSuffix, type Chain } from '../src/chains'
import {
  ATTEST_TYPE_HASHES,
  BOOLEAN_RESULT_FIELDS,
  NUMERIC_RESULT_FIELDS,
  domainSeparator,
  fieldTypes,
  type AttestLayout,
} from '../src/eas'
import { LOCATION_PROTOCOL_SCHEMA, LOCATION_SCHEMA, LOCATION_SCHEMAS } from '../src/location'
import type { GuardMessage } from './guard'
import { PlainError } from './services'

/** Chain that a local node simulates by default. */
export const LOCAL_CHAIN = CHAINS.find((chain) => chain.slug === 'base-sepolia')!
/**
 * Domain versions of EAS whose creation code is in dev/contracts/, and the layout of their delegated
 * attestations.
 */
const LAYOUTS: Readonly<Record<string, AttestLayout>> = {
  '0.26': 'legacy',
  '1.2.0': 'v1',
  '1.3.0': 'v2',
  '1.4.0': 'v2',
}
const PROXY_ABI = ['function getEAS() view returns (address)', 'function owner() view returns (address)']
/** Name of the EIP-712 domain of the proxies of local chains. */
export const LOCAL_PROXY_NAME = 'Geospatial Attestation Service'
const EAS = new Interface(readJson('abi/EAS.json') as [])
export const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11'
/**
 * Publicly known mnemonic of anvil's unlocked test accounts. They are refused as signers on any chain that is
 * not local.
 */
const TEST_MNEMONIC = 'test test test test test test test test test test test junk'
const testWallet = HDNodeWallet.fromPhrase(TEST_MNEMONIC, undefined, "m/44'/60'/0'/0")
const testAccounts: HDNodeWallet[] = []
/** Test account 9 signs for the local service; accounts 0 to 8 attest. */
export const LOCAL_SIGNER_KEY = testAccount(9).privateKey
/**
 * Number of blocks before the first indexed one at which a local chain starts. The deployment is in these
 * blocks.
 */
const BLOCKS_BEFORE_FIRST = 20

export interface LocalChain {
  /** the simulated chain: its contracts, addresses and id */
  readonly chain: Chain
  readonly url: string
  /** true if it was started without a saved state */
  readonly fresh: boolean
  /** EAS's PermissionedEIP712Proxy of the signer */
  readonly proxy: string
  readonly provider: JsonRpcProvider
  /** EAS contract, called by this test account */
  eas(account?: number): Promise<Contract>
  registry(account?: number): Promise<Contract>
  stop(): Promise<void>
  /** resolves when the node has ended, with the reason as a sentence without its full stop */
  readonly ended: Promise<string>
}

/** Wallet of the test account, not connected to a chain. */
export function testAccount(index: number): HDNodeWallet {
  return (testAccounts[index] ??= testWallet.deriveChild(index))
}

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

/**
 * Version of EAS that a local node of this chain runs: the newest of its versions in dev/contracts/. Throws a
 * PlainError if there is none.
 */
export function localVersion(chain: Chain): string {
  const version = chain.domainVersions.findLast((version) => version in LAYOUTS)
  if (!version)
    throw new PlainError(
      `No local chain can simulate ${chain.slug}: its EAS is ${chain.domainVersions.join(' or ')}, ` +
        `but dev/contracts has ${Object.keys(LAYOUTS).join(', ')}. Leave ${chain.slug} out of ` +
        `CHAINS, or set RPC_URL_${settingSuffix(chain)} to an endpoint of the chain itself.`,
    )
  return version
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
  /**
   * number of blocks whose state the node stores; all by default, which takes gigabytes beyond 20,000
   * attestations
   */
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
  const child = spawn(
    nodeBinary(),
    [
      ...['--host', '127.0.0.1', '--port', String(port), '--chain-id', String(chain.id), '--quiet'],
      ...['--number', String(chain.firstBlock - BLOCKS_BEFORE_FIRST), '--gas-limit', '1000000000'],
      ...(fresh ? ['--timestamp', String(startsAt)] : []),
      ...['--cache-path', states],
      ...(stateFile ? ['--state', stateFile] : []),
      ...(loadedFrom ? ['--load-state', loadedFrom] : []),
      ...(statesKept === undefined ? [] : ['--prune-history', String(statesKept)]),
    ],
    // Its own process group: on Ctrl-C it must end after the indexer.
    { stdio: ['ignore', 'ignore', 'pipe'], detached: process.platform !== 'win32' },
  )
  const killWithUs = () => child.kill('SIGKILL')
  process.once('exit', killWithUs)
  child.once('exit', () => {
    process.off('exit', killWithUs)
    rmSync(states, { recursive: true, force: true })
  })
  guard(child)
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-2000)))
  const url = `http://127.0.0.1:${port}`
  const provider = new JsonRpcProvider(url, chain.id, {
    staticNetwork: true,
    batchMaxCount: 1,
    pollingInterval: 50,
    cacheTimeout: -1,
  })
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) =>
      resolve(`Could not start the local chain of ${chain.slug}: ${error.message}`),
    )
    child.once('exit', (code, signal) =>
      resolve(`The local chain of ${chain.slug} ended (${code ?? signal}) ${errors.trim()}`.trimEnd()),
    )
  })
  const early = await Promise.race([answering(url), ended])
  if (early !== undefined) throw new Error(early)

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
      // It saves its state first, if it has a file for it.
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
    child.kill('SIGKILL') // SIGKILL, not SIGTERM: an incomplete chain must not be saved.
    await ended
    throw error
  }
  return local
}

/**
 * New folder for the states of old blocks, which a node writes to disk while it runs and leaves there if it
 * is killed: gigabytes in days.
 */
function statesFolder(stateFile: string | undefined): string {
  if (stateFile === undefined) return mkdtempSync(path.join(tmpdir(), 'geospatial-chain-'))
  const folder = `${stateFile}.states`
  rmSync(folder, { recursive: true, force: true })
  return folder
}

let guardProcess: ChildProcess | undefined

/** Ends the node when this process is killed. A node has no channel on which it could notice that. */
function guard(node: ChildProcess): void {
  if (!guardProcess) {
    // Its own process group, so that it survives a kill of this one.
    guardProcess = spawn(process.execPath, ['dist/dev/guard.js'], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      detached: process.platform !== 'win32',
    })
    guardProcess.once('exit', () => (guardProcess = undefined)).on('error', () => {})
    // Neither process keeps this one alive.
    guardProcess.unref()
    guardProcess.channel?.unref()
  }
  // The service also runs without a guard.
  const tell = (runs: boolean) => {
    if (node.pid === undefined || !guardProcess?.connected) return
    guardProcess.send({ pid: node.pid, runs } satisfies GuardMessage, () => {})
  }
  tell(true)
  node.once('exit', () => tell(false))
}

/**
 * Places the real contracts at their real addresses: deploys them normally, then copies code and storage
 * (immutables are in the code).
 */
async function deploy(local: LocalChain): Promise<void> {
  const { chain, provider } = local
  const version = localVersion(chain)
  const artifact = readJson(`dev/contracts/eas-${version}.json`)
  const signer = await provider.getSigner(0)
  const create = async (code: string, abi: unknown[], ...parameters: unknown[]) => {
    const contract = await new ContractFactory(new Interface(abi as []), code, signer).deploy(...parameters)
    await mined(local, contract.deploymentTransaction()!.hash)
    return contract.getAddress()
  }
  const copies = [
    [await create(artifact.registryCreationCode, []), chain.schemaRegistry],
    [
      await create(artifact.easCreationCode, ['constructor(address registry)'], chain.schemaRegistry),
      chain.eas,
    ],
    [await create(readJson('dev/contracts/multicall3.json').creationCode, []), MULTICALL3],
  ] as const
  for (const [from, to] of copies) {
    await provider.send('anvil_setCode', [to, await provider.getCode(from)])
    for (let slot = 0; slot < 8; slot++)
      await provider.send('anvil_setStorageAt', [
        to,
        `0x${slot.toString(16)}`,
        await provider.getStorage(from, slot),
      ])
  }
  const eas = await local.eas()
  const expected = [
    domainSeparator({ name: 'EAS', version, chainId: chain.id, verifyingContract: chain.eas }),
    ATTEST_TYPE_HASHES[LAYOUTS[version]!],
  ]
  const answered = await Promise.all(
    ['getDomainSeparator', 'getAttestTypeHash'].map((view) => eas.getFunction(view).staticCall()),
  )
  if (String(answered) !== String(expected))
    throw new Error(
      `The local EAS of ${chain.slug} has the domain separator and attest type hash ${answered.join(', ')}, expected ${expected.join(', ')}`,
    )

  const registry = await local.registry()
  for (const fields of [
    ...LOCATION_SCHEMAS.map((schema) => schema.fields),
    NUMERIC_RESULT_FIELDS,
    BOOLEAN_RESULT_FIELDS,
  ])
    await mined(local, (await registry.getFunction('register').send(fields, ZeroAddress, true)).hash)
}

/** Indexing needs a final block, which evm-processor waits for. */
async function mineToFinality({ chain, provider }: LocalChain): Promise<void> {
  const missing = chain.firstBlock + chain.finality - (await provider.getBlockNumber())
  await provider.send('anvil_mine', [`0x${missing.toString(16)}`, '0x1'])
}

/** Proxy that this account deployed before, otherwise a new one. */
async function proxyOf(local: LocalChain, owner: string): Promise<string> {
  const { chain, provider } = local
  const deployed = await provider.getTransactionCount(owner)
  for (let nonce = 0; nonce < deployed; nonce++) {
    const address = getCreateAddress({ from: owner, nonce })
    const found = new Contract(address, PROXY_ABI, provider)
    const is = [found.getFunction('getEAS')(), found.getFunction('owner')()] as Promise<string>[]
    const [eas, ownedBy] = await Promise.all(is).catch(() => [])
    if (eas?.toLowerCase() === chain.eas && ownedBy === owner) return address
  }
  await provider.send('anvil_impersonateAccount', [owner])
  if ((await provider.getBalance(owner)) === 0n)
    await provider.send('anvil_setBalance', [owner, '0x8ac7230489e80000'])
  const hash = (await provider.send('eth_sendTransaction', [
    { from: owner, data: proxyCreation(chain.eas, LOCAL_PROXY_NAME), gas: '0x7a1200' },
  ])) as string
  const { contractAddress } = await mined(local, hash)
  await provider.send('anvil_stopImpersonatingAccount', [owner])
  return contractAddress!
}

/** Attestation request of a location schema, in the form of EAS's attest(). */
export function locationRequest(
  geometry: Geometry,
  options: {
    schema?: string
    memo?: string
    eventTimestamp?: number
    recipient?: string
    expirationTime?: number
  } = {},
) {
  const type = `geojson-${geometry.type.toLowerCase()}`
  const location = JSON.stringify(geometry)
  const schema = options.schema ?? LOCATION_SCHEMA.uid
  const encode = (fields: string, values: unknown[]) =>
    AbiCoder.defaultAbiCoder().encode(fieldTypes(fields), values)
  const data =
    schema === LOCATION_PROTOCOL_SCHEMA.uid
      ? encode(LOCATION_PROTOCOL_SCHEMA.fields, [
          '0.2.0',
          'http://www.opengis.net/def/crs/OGC/1.3/CRS84',
          type,
          location,
        ])
      : encode(LOCATION_SCHEMA.fields, [
          options.eventTimestamp ?? 0,
          'EPSG:4326',
          type,
          location,
          [],
          [],
          [],
          [],
          options.memo ?? '',
        ])
  return request(schema, data, options)
}

/** Attestation request with any payload. */
export function request(
  schema: string,
  data: string,
  options: { recipient?: string; expirationTime?: number } = {},
) {
  return {
    schema,
    data: {
      recipient: options.recipient ?? ZeroAddress,
      expirationTime: options.expirationTime ?? 0,
      revocable: true,
      refUID: ZeroHash,
      data,
      value: 0,
    },
  }
}

/** Sends an attestation and returns its UID after it is mined. */
export async function attest(
  chain: LocalChain,
  attestation: ReturnType<typeof request>,
  account = 0,
): Promise<string> {
  const [log] = await send(chain, account, EAS.encodeFunctionData('attest', [attestation]))
  return EAS.parseLog(log!)!.args.uid as string
}

/** Revokes an attestation of a location schema. */
export async function revoke(
  chain: LocalChain,
  uid: string,
  account = 0,
  schema = LOCATION_SCHEMA.uid,
): Promise<void> {
  await send(chain, account, EAS.encodeFunctionData('revoke', [{ schema, data: { uid, value: 0 } }]))
}

/**
 * Sends a call of EAS by a test account and returns its logs after it is mined (EIP-7966). Plain JSON-RPC,
 * because ethers' signer makes five more calls per transaction.
 */
async function send(
  { chain, provider }: LocalChain,
  account: number,
  data: string,
): Promise<{ topics: string[]; data: string }[]> {
  const from = testAccount(account).address
  // Fixed, so that nothing is estimated: large payloads cost more than the estimate.
  const gas = '0x1dcd6500'
  const { status, transactionHash, logs } = (await provider.send('eth_sendTransactionSync', [
    { from, to: chain.eas, data, gas },
  ])) as { status: string; transactionHash: string; logs: { topics: string[]; data: string }[] }
  if (status !== '0x1') throw new Error(`transaction ${transactionHash} reverted`)
  return logs
}

/**
 * Receipt of a transaction after it is mined. Throws if it reverted. ethers' wait() listens for the next
 * block, which never comes if the transaction was mined before and the node mines on demand.
 */
export async function mined(chain: LocalChain, hash: string): Promise<TransactionReceipt> {
  for (;;) {
    const receipt = await chain.provider.getTransactionReceipt(hash)
    if (receipt?.status === 0) throw new Error(`transaction ${hash} reverted`)
    if (receipt) return receipt
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
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
  // It fails if the node ends, or a reorg dropped the block. The next block is then handled.
  void provider.on('block', (number: number) => void follow(number).catch(() => {}))
}

/**
 * Attests every nth of the sample places from nine accounts, spread over the last 40 days. Every fourth uses
 * the four-string schema, every seventh has a recipient, every twentieth is revoked. Then the clock is set to
 * the present.
 */
export async function attestPlaces(
  chain: LocalChain,
  nth: number,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  const { features } = readJson('dev/places.geojson') as FeatureCollection<
    Geometry,
    { name: string; memo: string }
  >
  const places = features.filter((_, i) => i % nth === 0)
  const { provider } = chain
  const start = (await provider.getBlock('latest'))!.timestamp + 1
  const step = Math.floor((Date.now() / 1000 - 3600 - start) / places.length)
  for (const [i, place] of places.entries()) {
    const account = i % 9
    const time = start + i * step
    await provider.send('evm_setNextBlockTimestamp', [time])
    const schema = i % 4 === 3 ? LOCATION_PROTOCOL_SCHEMA.uid : LOCATION_SCHEMA.uid
    const memo = `${place.properties.name}: ${place.properties.memo}`
    const recipient = i % 7 === 6 ? testAccount((account + 1) % 9).address : testAccount(account).address
    const uid = await attest(
      chain,
      locationRequest(place.geometry, { schema, memo, eventTimestamp: time - 600, recipient }),
      account,
    )
    if (i % 20 === 19) await revoke(chain, uid, account, schema)
    onProgress(i + 1, places.length)
  }
  await provider.send('anvil_setTime', [Date.now()])
  await provider.send('anvil_mine', ['0x1'])
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

/** Reads a JSON file of the project. npm starts everything in the project's folder. */
function readJson(file: string): any {
  return JSON.parse(readFileSync(file, 'utf8'))
}
