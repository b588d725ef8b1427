import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { AbiCoder, Contract, ContractFactory, Interface, JsonRpcProvider, HDNodeWallet, type TransactionReceipt, ZeroAddress, ZeroHash } from 'ethers'
import type { FeatureCollection, Geometry } from 'geojson'
import { CHAINS } from '../src/chains'
import { BOOLEAN_RESULT_FIELDS, NUMERIC_RESULT_FIELDS, domainSeparator, fieldTypes } from '../src/eas'
import { LOCATION_PROTOCOL_SCHEMA, LOCATION_SCHEMA, LOCATION_SCHEMAS } from '../src/location'

/** The chain that the local node plays: Base Sepolia, with its real contracts at their real addresses. */
export const LOCAL_CHAIN = CHAINS.find((chain) => chain.slug === 'base-sepolia')!
const EAS = new Interface(readJson('abi/EAS.json') as [])
const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11'
/** The mnemonic of anvil's unlocked test accounts, known to everyone: refused as a signer on any chain that is not local. */
const TEST_MNEMONIC = 'test test test test test test test test test test test junk'
const testAccounts = Array.from({ length: 10 }, (_, index) => HDNodeWallet.fromPhrase(TEST_MNEMONIC, undefined, `m/44'/60'/0'/0/${index}`))
/** Test account 9 signs for the local service; accounts 0 to 8 attest. */
export const LOCAL_SIGNER_KEY = testAccount(9).privateKey
/** The local chain starts this many blocks before the first one that is indexed: the deployment lies there. */
const BLOCKS_BEFORE_FIRST = 20

export interface LocalChain {
  readonly url: string
  /** Whether it started now from nothing. */
  readonly fresh: boolean
  readonly provider: JsonRpcProvider
  /** EAS as test account n sees it. */
  eas(account?: number): Promise<Contract>
  registry(account?: number): Promise<Contract>
  stop(): Promise<void>
  /** Resolves with the reason, a sentence without its full stop, when the node has ended. */
  readonly ended: Promise<string>
}

/** The test account's wallet, not connected to a chain. */
export function testAccount(index: number): HDNodeWallet {
  return testAccounts[index]!
}

/** Why the local chain cannot run on this machine, in one line; undefined when it can. */
export function missingNodeBinary(): string | undefined {
  try {
    nodeBinary()
    return undefined
  } catch {
    return `No prebuilt chain node (anvil) for ${process.platform} ${process.arch} was installed. Set RPC_URL_BASE_SEPOLIA to an endpoint of your own, or run on Linux or macOS (x64 or arm64) or Windows (x64).`
  }
}

function nodeBinary(): string {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const file = process.platform === 'win32' ? 'anvil.exe' : 'anvil'
  return require.resolve(`@foundry-rs/anvil-${process.platform}-${architecture}/bin/${file}`)
}

/**
 * Starts a local node that plays Base Sepolia. With `stateFile` it goes on from there and saves there when stopped.
 * A fresh one gets EAS 1.2.0, its registry, Multicall3 and all schemas, and its clock starts 40 days back,
 * so that sample attestations have a past.
 */
export async function startLocalChain({ port, stateFile }: { port: number; stateFile?: string }): Promise<LocalChain> {
  const { firstBlock } = LOCAL_CHAIN
  const fresh = !stateFile || !existsSync(stateFile)
  const child = spawn(
    nodeBinary(),
    [
      ...['--host', '127.0.0.1', '--port', String(port), '--chain-id', String(LOCAL_CHAIN.id), '--quiet'],
      ...['--number', String(firstBlock - BLOCKS_BEFORE_FIRST), '--gas-limit', '1000000000'],
      ...(fresh ? ['--timestamp', String(Math.floor(Date.now() / 1000) - 40 * 86_400)] : []),
      ...(stateFile ? ['--state', stateFile] : []),
    ],
    // Its own process group: a Ctrl-C in the terminal is ours to pass on, after the indexer has stopped.
    { stdio: ['ignore', 'ignore', 'pipe'], detached: process.platform !== 'win32' },
  )
  const killWithUs = () => child.kill('SIGKILL')
  process.once('exit', killWithUs)
  child.once('exit', () => process.off('exit', killWithUs))
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-2000)))
  const url = `http://127.0.0.1:${port}`
  const provider = new JsonRpcProvider(url, LOCAL_CHAIN.id, { staticNetwork: true, batchMaxCount: 1, pollingInterval: 50, cacheTimeout: -1 })
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`The local chain could not be started: ${error.message}`))
    child.once('exit', (code, signal) => resolve(`The local chain ended (${code ?? signal}) ${errors.trim()}`.trimEnd()))
  })
  const early = await Promise.race([answering(url), ended])
  if (early !== undefined) throw new Error(early)

  const contract = async (address: string, abi: string, account: number) => new Contract(address, readJson(`abi/${abi}.json`), await provider.getSigner(account))
  const chain: LocalChain = {
    url,
    fresh,
    provider,
    eas: (account = 0) => contract(LOCAL_CHAIN.eas, 'EAS', account),
    registry: (account = 0) => contract(LOCAL_CHAIN.schemaRegistry, 'SchemaRegistry', account),
    stop: async () => {
      provider.destroy()
      child.kill('SIGTERM')
      await ended
    },
    ended,
  }
  if (fresh) await deploy(chain)
  return chain
}

/** Puts the real contracts to their real addresses: deployed normally, then code and storage copied (immutables lie in the code). */
async function deploy(chain: LocalChain): Promise<void> {
  const { provider } = chain
  const { firstBlock } = LOCAL_CHAIN
  const artifact = readJson('dev/contracts/eas-1.2.0.json')
  const signer = await provider.getSigner(0)
  const create = async (code: string, abi: unknown[], ...parameters: unknown[]) => {
    const contract = await new ContractFactory(new Interface(abi as []), code, signer).deploy(...parameters)
    await mined(chain, contract.deploymentTransaction()!.hash)
    return contract.getAddress()
  }
  const copies = [
    [await create(artifact.registryCreationCode, []), LOCAL_CHAIN.schemaRegistry],
    [await create(artifact.easCreationCode, ['constructor(address registry)'], LOCAL_CHAIN.schemaRegistry), LOCAL_CHAIN.eas],
    [await create(readJson('dev/contracts/multicall3.json').creationCode, []), MULTICALL3],
  ] as const
  for (const [from, to] of copies) {
    await provider.send('anvil_setCode', [to, await provider.getCode(from)])
    for (let slot = 0; slot < 8; slot++) await provider.send('anvil_setStorageAt', [to, `0x${slot.toString(16)}`, await provider.getStorage(from, slot)])
  }
  const separator = domainSeparator({ version: '1.2.0', chainId: LOCAL_CHAIN.id, verifyingContract: LOCAL_CHAIN.eas })
  const answered = await (await chain.eas()).getFunction('getDomainSeparator').staticCall()
  if (answered !== separator) throw new Error(`The local EAS has the domain separator ${answered}, expected ${separator}`)

  const registry = await chain.registry()
  for (const fields of [...LOCATION_SCHEMAS.map((schema) => schema.fields), NUMERIC_RESULT_FIELDS, BOOLEAN_RESULT_FIELDS])
    await mined(chain, (await registry.getFunction('register').send(fields, ZeroAddress, true)).hash)
  // A chain worth indexing has a final block: until then evm-processor waits for one.
  const missing = firstBlock + LOCAL_CHAIN.finality - (await provider.getBlockNumber())
  await provider.send('anvil_mine', [`0x${missing.toString(16)}`, '0x1'])
}

/** An attestation request of a location schema, as EAS's attest() takes it. */
export function locationRequest(geometry: Geometry, options: { schema?: string; memo?: string; eventTimestamp?: number; recipient?: string; expirationTime?: number } = {}) {
  const type = `geojson-${geometry.type.toLowerCase()}`
  const location = JSON.stringify(geometry)
  const schema = options.schema ?? LOCATION_SCHEMA.uid
  const encode = (fields: string, values: unknown[]) => AbiCoder.defaultAbiCoder().encode(fieldTypes(fields), values)
  const data =
    schema === LOCATION_PROTOCOL_SCHEMA.uid
      ? encode(LOCATION_PROTOCOL_SCHEMA.fields, ['0.2.0', 'http://www.opengis.net/def/crs/OGC/1.3/CRS84', type, location])
      : encode(LOCATION_SCHEMA.fields, [options.eventTimestamp ?? 0, 'EPSG:4326', type, location, [], [], [], [], options.memo ?? ''])
  return request(schema, data, options)
}

/** An attestation request with any payload. */
export function request(schema: string, data: string, options: { recipient?: string; expirationTime?: number } = {}) {
  return {
    schema,
    data: { recipient: options.recipient ?? ZeroAddress, expirationTime: options.expirationTime ?? 0, revocable: true, refUID: ZeroHash, data, value: 0 },
  }
}

/** Sends one attestation and answers its UID, once it is mined. */
export async function attest(chain: LocalChain, attestation: ReturnType<typeof request>, account = 0): Promise<string> {
  const receipt = await send(chain, account, EAS.encodeFunctionData('attest', [attestation]))
  return EAS.parseLog(receipt.logs[0]!)!.args.uid as string
}

/** Revokes an attestation of a location schema. */
export async function revoke(chain: LocalChain, uid: string, account = 0, schema = LOCATION_SCHEMA.uid): Promise<void> {
  await send(chain, account, EAS.encodeFunctionData('revoke', [{ schema, data: { uid, value: 0 } }]))
}

/** A call of EAS by test account n. Plain JSON-RPC: ethers' signer asks five more questions a transaction. */
async function send(chain: LocalChain, account: number, data: string): Promise<TransactionReceipt> {
  const from = testAccount(account).address
  // Named, so that nothing is estimated: large payloads cost more than the estimate says.
  const gas = '0x1dcd6500'
  return mined(chain, await (chain.provider.send('eth_sendTransaction', [{ from, to: LOCAL_CHAIN.eas, data, gas }]) as Promise<string>))
}

/**
 * The receipt of a sent transaction, once it is mined; throws when it reverted. (ethers' own wait() listens for the next
 * block, which never comes when the node has mined the transaction in between and mines on demand only.)
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
 * Attests the sample places, from nine accounts and spread over the last 40 days: every fourth under the four-string
 * schema, every seventh to a recipient of its own, every twentieth revoked afterwards. Then the clock is set right.
 */
export async function attestPlaces(chain: LocalChain, onProgress: (done: number, total: number) => void): Promise<void> {
  const places = (readJson('dev/places.geojson') as FeatureCollection<Geometry, { name: string; memo: string }>).features
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
    const uid = await attest(chain, locationRequest(place.geometry, { schema, memo, eventTimestamp: time - 600, recipient }), account)
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

/** A file of the project, whose folder is the working directory of everything that npm starts. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- JSON of our own files
function readJson(file: string): any {
  return JSON.parse(readFileSync(file, 'utf8'))
}
