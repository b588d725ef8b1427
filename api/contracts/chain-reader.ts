import { setImmediate } from 'node:timers/promises'
import { Interface } from 'ethers/abi'
import { ZeroHash } from 'ethers/constants'
import { id } from 'ethers/hash'
import { toQuantity, zeroPadValue } from 'ethers/utils'
import { isLoopback, type ConnectedChain } from '../../src/config'
import { fieldTypes, hashesToUid, schemaUid, type UidFields } from '../../src/eas'
import { isBatchRefused, Rpc, RpcError, type Route } from '../../src/rpc'
import { accountCall, readAccountAnswer, type AccountAnswer, type AccountSignature } from './account'
import { UnavailableError } from '../http/problems'
import { Semaphore } from '../http/semaphore'
import { SharedRead } from '../http/shared'

/** A block this many seconds in the future means that the clock of this service is behind. */
const SKEW_SECONDS = 60
const EAS = new Interface([
  'function getNonce(address account) view returns (uint256)',
  'function getDomainSeparator() view returns (bytes32)',
  'function getAttestTypeHash() view returns (bytes32)',
  'function getSchemaRegistry() view returns (address)',
  'function getAttestation(bytes32 uid) view returns (tuple(bytes32 uid, bytes32 schema, uint64 time, uint64 expirationTime, uint64 revocationTime, bytes32 refUID, address recipient, address attester, bool revocable, bytes data))',
  'function getRevokeOffchain(address revoker, bytes32 data) view returns (uint64)',
])
/** EIP712Proxy of EAS, and Ownable, which PermissionedEIP712Proxy adds. */
const PROXY = new Interface([
  'function getEAS() view returns (address)',
  'function getName() view returns (string)',
  'function version() view returns (string)',
  'function getDomainSeparator() view returns (bytes32)',
  'function getAttestTypeHash() view returns (bytes32)',
  'function owner() view returns (address)',
])
const ATTESTED = id('Attested(address,address,bytes32,bytes32)')
const REGISTRY = new Interface([
  'function getSchema(bytes32 uid) view returns (tuple(bytes32 uid, address resolver, bool revocable, string schema))',
])

/** An attestation as the contract has it now. Hex is lower-case. */
export interface OnchainAttestation extends UidFields {
  uid: string
  /** Unix seconds; 0 = not revoked */
  revocationTime: bigint
}

/** The log of an attestation, and where it is. */
export interface AttestedLog {
  uid: string
  /** Unix seconds of its block; absent when the node does not give it */
  time?: number
  blockNumber: number
  transactionHash: string
}

export interface Block {
  number: number
  /** Unix seconds */
  time: number
}

export interface SchemaRecord {
  schema: string
  /** The types of its fields, joined by commas */
  types: string
  revocable: boolean
}

/** What an EAS contract says of itself. */
export interface EasFacts {
  domainSeparator: string
  attestTypeHash: string
  /** lower-case */
  schemaRegistry: string
}

/** What a proxy before EAS says of itself. */
export interface ProxyFacts {
  domainSeparator: string
  attestTypeHash: string
  /** lower-case */
  eas: string
  name: string
  version: string
}

/** Why an account does not accept a signature. */
export interface AccountRefusal {
  /** False: there is no contract at its address, even after what the signature names as its factory. */
  isContract: boolean
  /** For the caller, to follow the name of the signature. */
  problem: string
}

/** The node answers, but has no contract at the address. */
export class NoContractError extends UnavailableError {}

/** The contract has no such function: it reverts, or answers something else. */
export class NoAnswerError extends UnavailableError {}

/** An endpoint that has not answered a call after this time has failed. */
const CALL_TIMEOUT_MS = 5_000
/**
 * The age of what an answer is signed for, the nonce or the owner of the proxy, where requests share it. On
 * local chains and those with blocks under a second, each request reads it anew: a client can land an answer
 * and ask for the next one within this time.
 */
const CURRENT_SHARED_MS = 250
const SLOW_BLOCK_MS = 1_000
/**
 * More calls than this at a time are refused, except essential ones: a slow node must not pile up requests of
 * the service.
 */
const MAX_CALLS_IN_FLIGHT = 64
/**
 * Accounts that are asked at a time, and that wait for it, at most CALL_TIMEOUT_MS: what clients make a node
 * compute must leave room for other reads. A batch that is signed again may ask 40.
 */
const ACCOUNT_CHECKS = { all: 16, each: 16, waiting: 200, waitingEach: 200 }
/** The age of a shared time of the last block, and of a shared number of a final one. */
const HEAD_SHARED_MS = 2_000
/** Attestations in one request to a node: those of two full batches. */
const ATTESTATIONS_AT_ONCE = 80
/** How long an endpoint's chain id is cached. */
const CHAIN_ID_SHARED_MS = 60_000
/** The age of the name of the node's software at which it is read again. */
const SOFTWARE_SHARED_MS = 60_000
/** Schemas cannot change once registered; this many are remembered. */
const SCHEMAS_REMEMBERED = 10_000

/** Attestations that are read together. */
interface Gathering {
  readonly uids: string[]
  /** The latest block of the endpoint that answered, as JSON-RPC has it, and what getAttestation answered. */
  readonly answers: Promise<[block: unknown, ...attestations: unknown[]]>
}

interface Reading {
  /** Every answer of the API needs it: it is made however many other calls are under way. */
  essential?: boolean
  /**
   * The answer must not be older than the question: it is not shared with an equal call that is under way.
   */
  anew?: boolean
  /** The block whose state is asked; default: the latest. */
  block?: string
}
const ESSENTIAL: Reading = { essential: true }

/**
 * The API's reads of one chain's contracts. Equal reads of several requests are shared; their time and number
 * are limited. All methods throw an UnavailableError when no endpoint answers.
 */
export class ChainReader {
  private readonly inFlight = new Map<string | symbol, Promise<unknown>>()
  private readonly schemas = new Map<string, SchemaRecord>()
  private readonly current = new Map<string, SharedRead<unknown>>()
  readonly rpc: Rpc
  private readonly route: Route
  /** Unix seconds of the last block */
  private readonly headTime: SharedRead<number>
  private readonly finalBlocks: SharedRead<readonly number[]>
  private readonly accountSlots = new Semaphore(ACCOUNT_CHECKS)
  private gathering: Gathering | undefined
  private readonly developmentNode = new SharedRead(
    async () => /^(anvil|hardhat)/i.test(await this.clientVersion()),
    SOFTWARE_SHARED_MS,
  )
  private lastLocal = false
  /** The number of blocks whose logs the node last gave in one answer; kept by the searches in landed.ts. */
  logSpan = Infinity

  /**
   * @param clock Unix milliseconds
   * @param batchSize calls in one HTTP request
   */
  constructor(
    private readonly connected: ConnectedChain,
    private readonly clock: () => number,
    private readonly batchSize = ATTESTATIONS_AT_ONCE + 1,
  ) {
    this.rpc = new Rpc({
      chain: connected.chain,
      urls: connected.rpcUrls,
      batchSize,
      concurrency: 1_000, // calls are limited here, by MAX_CALLS_IN_FLIGHT
      timeoutMs: CALL_TIMEOUT_MS,
      chainIdValidMs: CHAIN_ID_SHARED_MS,
    })
    this.route = this.rpc.route()
    this.headTime = new SharedRead(async () => (await this.block('latest')).time, HEAD_SHARED_MS)
    this.finalBlocks = new SharedRead(() => this.readFinalBlocks(), HEAD_SHARED_MS)
  }

  close(): void {
    this.rpc.close()
  }

  /**
   * True if the chain runs on this machine, on a node for development: such chains make blocks on demand. A
   * node of another kind, or one that does not answer, is not local wherever it runs.
   */
  async isLocal(): Promise<boolean> {
    if (!this.isOnThisMachine) return false
    return (this.lastLocal = await this.developmentNode.get().catch(() => false))
  }

  /** Result of the last `isLocal`, without waiting for the node. */
  get wasLocal(): boolean {
    void this.isLocal()
    return this.lastLocal
  }

  private get isOnThisMachine(): boolean {
    return this.connected.rpcUrls.every(isLoopback)
  }

  /**
   * The nonce that the next delegated attestation of this account must have. It is read after this call with
   * `fresh`, on local chains and on chains with fast blocks; otherwise at most 250 ms before it.
   */
  nonce(account: string, fresh = false): Promise<bigint> {
    return this.now(this.connected.chain.eas, EAS, 'getNonce', [account], BigInt, fresh)
  }

  /** Balance of this account in the smallest unit of the chain's coin. */
  async balance(account: string): Promise<bigint> {
    return BigInt((await this.request('eth_getBalance', [account, 'latest'])) as string)
  }

  /**
   * A final block up to which this account has attested nothing, neither by signatures (its nonce in EAS) nor
   * in transactions of its own; undefined where it may have. Both are of one block, whichever endpoint
   * answers. Throws UnavailableError.
   */
  async unusedUntil(account: string): Promise<number | undefined> {
    const { eas, finality } = this.connected.chain
    const { number } = await this.block('latest')
    const block = toQuantity(number)
    const [nonce, sent] = await Promise.all([
      this.call(eas, EAS, 'getNonce', [account], { block }),
      this.request('eth_getTransactionCount', [account, block]),
    ])
    return nonce === 0n && Number(sent) === 0 ? Math.max(0, number - finality) : undefined
  }

  /** The account whose signatures a proxy takes, lower-case. It is read as `nonce` is. */
  proxyOwner(proxy: string, fresh = false): Promise<string> {
    return this.now(proxy, PROXY, 'owner', [], addressOf, fresh)
  }

  /** The registered schema; undefined when there is none. */
  async schema(uid: string): Promise<SchemaRecord | undefined> {
    const known = this.schemas.get(uid)
    if (known) return known
    const record = (await this.call(this.connected.chain.schemaRegistry, REGISTRY, 'getSchema', [uid])) as {
      uid: string
      resolver: string
      revocable: boolean
      schema: string
    }
    if (record.uid === ZeroHash) return undefined
    const { revocable, resolver } = record
    const schema = textOf(record)
    // A text that is no UTF-8 cannot be proven; no schema of ours is one.
    if (schema !== '' && schemaUid(schema, resolver, revocable) !== uid)
      throw new UnavailableError(`The node of ${this.connected.chain.slug} answered a false schema.`)
    if (this.schemas.size >= SCHEMAS_REMEMBERED) this.schemas.clear()
    const found = { schema, types: fieldTypes(schema).join(), revocable }
    this.schemas.set(uid, found)
    return found
  }

  /**
   * The attestation as it is now, its content proven by its UID; undefined when the contract has none. All
   * that are asked for at the same time are one request to one endpoint, together with its latest block,
   * which must not be older than `maxAgeSeconds` (see checkFresh).
   */
  async attestation(uid: string, maxAgeSeconds = Infinity): Promise<OnchainAttestation | undefined> {
    const { headTime, word } = await this.gather(uid)
    if (maxAgeSeconds < Infinity && !(await this.isLocal())) this.requireFresh(headTime, maxAgeSeconds)
    const answer = this.decode(EAS, 'getAttestation', word) as OnchainAttestation
    if (answer.uid === ZeroHash) return undefined
    const { schema, time, expirationTime, revocationTime, refUID, revocable, data } = answer
    const attestation = {
      ...{ uid: answer.uid, schema, time, expirationTime, revocationTime, refUID, revocable, data },
      recipient: answer.recipient.toLowerCase(),
      attester: answer.attester.toLowerCase(),
    }
    if (attestation.uid !== uid || !(await hashesToUid(attestation, uid)))
      throw new UnavailableError(`The node of ${this.connected.chain.slug} answered a false attestation.`)
    return attestation
  }

  /**
   * The attestations of this schema by this attester to this recipient in these blocks, both included, the
   * oldest first. A range that is too wide for the node is an UnavailableError, too.
   */
  async attested(
    { recipient, attester, schema }: { recipient: string; attester: string; schema: string },
    from: number,
    to: number,
  ): Promise<AttestedLog[]> {
    const topics = [ATTESTED, zeroPadValue(recipient, 32), zeroPadValue(attester, 32), schema]
    const filter = {
      address: this.connected.chain.eas,
      topics,
      fromBlock: toQuantity(from),
      toBlock: toQuantity(to),
    }
    const logs = (await this.request('eth_getLogs', [filter])) as {
      data: string
      blockNumber: string
      blockTimestamp?: string
      transactionHash: string
    }[]
    return logs.map(({ data, blockNumber, blockTimestamp, transactionHash }) => ({
      ...{ uid: data.toLowerCase(), blockNumber: Number(blockNumber), transactionHash },
      ...(blockTimestamp && { time: Number(blockTimestamp) }),
    }))
  }

  /** The block of this number; the last one as of now; the last one that is final by consensus. */
  async block(which: number | 'latest' | 'finalized'): Promise<Block> {
    const latest = which === 'latest'
    const name = typeof which === 'number' ? toQuantity(which) : which
    const block = await this.request('eth_getBlockByNumber', [name, false], {
      essential: latest,
      anew: latest,
    })
    const { number, timestamp } = block as { number: string; timestamp: string }
    return { number: Number(number), time: Number(timestamp) }
  }

  /**
   * When this account revoked an offchain attestation, in Unix seconds; 0 = never. Revocations of the same
   * UID by other accounts do not count.
   */
  async offchainRevocationTime(revoker: string, uid: string): Promise<bigint> {
    return (await this.call(this.connected.chain.eas, EAS, 'getRevokeOffchain', [revoker, uid])) as bigint
  }

  /**
   * Why an account does not accept a signature (ERC-1271, ERC-6492); undefined when it does. It must accept
   * it at a final block, which no reorg undoes, and at the last one, so that a key that it has put away no
   * longer counts. A local chain, which makes blocks on demand, is asked at its last block only. It is asked
   * anew each time.
   */
  async accountRefusal(claim: AccountSignature): Promise<AccountRefusal | undefined> {
    const call = accountCall(claim)
    if (!call) return { isContract: true, problem: 'ends as ERC-6492 says, but is not of its form' }
    const { slug } = this.connected.chain
    const release = await this.accountSlots
      .acquire('all', AbortSignal.timeout(CALL_TIMEOUT_MS))
      .catch((cause: unknown) => {
        throw new UnavailableError(`The node of ${slug} is busy with questions to accounts.`, { cause })
      })
    try {
      const [last, final] = await Promise.all([
        this.askAccount(call, 'latest'),
        this.isLocal().then((isLocal) => (isLocal ? undefined : this.askAccountAtFinalBlock(call))),
      ])
      const contract = `the contract ${claim.account} of ${slug}`
      if (last === 'no contract')
        return { isContract: false, problem: `is not that of a key, and there is no ${contract.slice(4)}` }
      if (last === 'refused') return { isContract: true, problem: `is not accepted by ${contract}` }
      if (final && final.answer !== 'accepted')
        return {
          isContract: true,
          problem: `is not accepted by ${contract} as of its block ${final.block}, the last one that is final: try again later`,
        }
      return undefined
    } finally {
      release()
    }
  }

  /** The chain id of the endpoints: that of this chain if one of them answers it. */
  async chainId(): Promise<number> {
    const { chain } = this.connected
    const ids = await this.rpc.chainIds()
    if (ids.length === 0) throw this.noAnswer()
    return ids.find((id) => id === chain.id) ?? ids[0]!
  }

  /** The facts about EAS that the signer compares with the table of chains. */
  async easFacts(): Promise<EasFacts> {
    const { eas } = this.connected.chain
    const [domainSeparator, attestTypeHash, schemaRegistry] = await Promise.all([
      this.call(eas, EAS, 'getDomainSeparator', [], ESSENTIAL),
      this.call(eas, EAS, 'getAttestTypeHash', [], ESSENTIAL),
      this.call(eas, EAS, 'getSchemaRegistry', [], ESSENTIAL),
    ])
    return {
      domainSeparator: domainSeparator as string,
      attestTypeHash: attestTypeHash as string,
      schemaRegistry: (schemaRegistry as string).toLowerCase(),
    }
  }

  /** The facts about a proxy that the signer compares with the chain's EAS; undefined where it has none. */
  async proxyFacts(proxy: string): Promise<ProxyFacts | undefined> {
    const ask = (name: string) => this.call(proxy, PROXY, name, [], ESSENTIAL) as Promise<string>
    const answers = await Promise.all(
      ['getEAS', 'getName', 'version', 'getDomainSeparator', 'getAttestTypeHash'].map(ask),
    ).catch((error: unknown) => {
      if (error instanceof NoAnswerError) return undefined
      throw error
    })
    if (!answers) return undefined
    const [eas, name, version, domainSeparator, attestTypeHash] = answers
    return {
      ...{ eas: eas!.toLowerCase(), name: name!, version: version! },
      ...{ domainSeparator: domainSeparator!, attestTypeHash: attestTypeHash! },
    }
  }

  /**
   * What a call that changes the state would revert with now, as hex; undefined when it would succeed. Throws
   * UnavailableError, also for a revert without data.
   */
  async revertOf(to: string, data: string): Promise<string | undefined> {
    try {
      await this.request('eth_call', [{ to, data }, 'latest'], { anew: true })
      return undefined
    } catch (error) {
      const revert = error instanceof UnavailableError ? revertData(error.cause) : undefined
      if (revert === undefined) throw error
      return revert
    }
  }

  /**
   * Throws an UnavailableError if the node's last block is older than this, as its state is too old then; or
   * if that block is in the future, as its age is not known then. Local chains are exempt: they make blocks
   * on demand.
   */
  async checkFresh(maxSeconds: number): Promise<void> {
    if (!(await this.isLocal())) this.requireFresh(await this.headTime.get(), maxSeconds)
  }

  /** The name of the node's software, such as `anvil/v1.7.1`. */
  clientVersion(): Promise<string> {
    return this.request('web3_clientVersion', [], ESSENTIAL) as Promise<string>
  }

  /**
   * A view of one word as it is now; shared by requests where blocks are slow, see CURRENT_SHARED_MS. Every
   * answer needs it: the call is encoded once.
   */
  private now<T>(
    to: string,
    abi: Interface,
    name: string,
    parameters: unknown[],
    valueOf: (word: string) => T | undefined,
    fresh: boolean,
  ): Promise<T> {
    const key = [to, name, ...parameters].join()
    let read = this.current.get(key) as SharedRead<T> | undefined
    if (!read) {
      const { chain } = this.connected
      const data = abi.encodeFunctionData(name, parameters)
      const call = async () => {
        const answer = await this.ask(to, name, data, { essential: true, anew: true })
        const value = /^0x[0-9a-f]{64}$/i.test(answer) ? valueOf(answer) : undefined
        if (value === undefined) throw this.noAnswerOf(name, `answered ${answer.slice(0, 80)}`)
        return value
      }
      const sharedMs = this.isOnThisMachine || chain.blockMs < SLOW_BLOCK_MS ? 0 : CURRENT_SHARED_MS
      this.current.set(key, (read = new SharedRead(call, sharedMs)))
    }
    return fresh ? read.fresh() : read.get()
  }

  private requireFresh(headTime: number, maxSeconds: number): void {
    const age = Math.round(this.clock() / 1000 - headTime)
    const { slug } = this.connected.chain
    if (age > maxSeconds)
      throw new UnavailableError(`The last block of ${slug} that its node knows is ${age} seconds old.`)
    if (age < -SKEW_SECONDS)
      throw new UnavailableError(
        `The last block of ${slug} is ${-age} seconds in the future: the clock of this service is behind.`,
      )
  }

  /**
   * Returns the result of getAttestation, and the Unix seconds of the latest block of the endpoint.
   * Reads that begin in one turn of the event loop are one request.
   */
  private async gather(uid: string): Promise<{ headTime: number; word: string }> {
    if (!this.gathering || this.gathering.uids.length >= ATTESTATIONS_AT_ONCE) {
      const uids: string[] = []
      const begin = async () => {
        await setImmediate()
        if (this.gathering?.uids === uids) this.gathering = undefined
        return this.limited(Symbol('attestations'), () => this.sendAttestations(uids))
      }
      this.gathering = { uids, answers: begin() }
    }
    const { uids, answers } = this.gathering
    if (!uids.includes(uid)) uids.push(uid)
    const [block, ...attestations] = await answers
    const { slug, eas } = this.connected.chain
    const answer = attestations[uids.indexOf(uid)]
    if (answer === '0x') throw new NoContractError(`The node of ${slug} has no contract at ${eas}.`)
    const headTime = timeOf(block)
    if (typeof answer !== 'string' || Number.isNaN(headTime))
      throw this.noAnswerOf('getAttestation', 'no text, or no latest block')
    return { headTime, word: answer }
  }

  /**
   * Reads the latest block first: the state is at least as new. What an endpoint refuses as a batch, or what
   * RPC_BATCH_SIZE makes several requests, is asked one by one at that block: an endpoint may be several
   * nodes.
   */
  private async sendAttestations(uids: readonly string[]): Promise<[unknown, ...unknown[]]> {
    const latest = ['latest', false]
    const call = (uid: string, block: unknown) => [
      { to: this.connected.chain.eas, data: EAS.encodeFunctionData('getAttestation', [uid]) },
      block,
    ]
    if (uids.length < this.batchSize)
      try {
        const calls = uids.map((uid) => ({ method: 'eth_call', params: call(uid, 'latest') }))
        const block = { method: 'eth_getBlockByNumber', params: latest }
        return (await this.route.batchCall([block, ...calls], { once: true })) as [unknown, ...unknown[]]
      } catch (cause) {
        if (!isBatchRefused(cause as Error)) throw this.noAnswer(cause)
      }
    const block = (await this.send('eth_getBlockByNumber', latest)) as { number: string }
    return [block, ...(await Promise.all(uids.map((uid) => this.send('eth_call', call(uid, block.number)))))]
  }

  private async askAccount(call: object, block: string): Promise<AccountAnswer> {
    const answer = readAccountAnswer(await this.request('eth_call', [call, block], { anew: true }))
    if (!answer)
      throw new UnavailableError(`The node of ${this.connected.chain.slug} has no answer of an account.`)
    return answer
  }

  private async askAccountAtFinalBlock(call: object): Promise<{ answer: AccountAnswer; block: number }> {
    const blocks = await this.finalBlocks.get()
    let failure: unknown
    for (const block of blocks)
      try {
        return { answer: await this.askAccount(call, toQuantity(block)), block }
      } catch (error) {
        // Only a node that is well and refuses may lack the state of this block.
        if (!((error as Error).cause instanceof RpcError)) throw error
        failure = error
      }
    throw failure
  }

  /**
   * What is final by consensus, where the node knows that, and then what the indexer counts as final: a node
   * that keeps only the newest states may not have that of the first one.
   */
  private async readFinalBlocks(): Promise<readonly number[]> {
    const [finalized, last] = await Promise.all([
      this.block('finalized').catch(() => undefined),
      this.block('latest'),
    ])
    const counted = Math.max(0, last.number - this.connected.chain.finality)
    return finalized ? [finalized.number, counted] : [counted]
  }

  private async call(
    to: string,
    abi: Interface,
    name: string,
    parameters: unknown[],
    how?: Reading,
  ): Promise<unknown> {
    return this.decode(abi, name, await this.ask(to, name, abi.encodeFunctionData(name, parameters), how))
  }

  private decode(abi: Interface, name: string, answer: string): unknown {
    try {
      return abi.decodeFunctionResult(name, answer)[0] as unknown
    } catch (error) {
      throw this.noAnswerOf(name, error)
    }
  }

  /** The answer of a view, as the node gives it. */
  private async ask(to: string, name: string, data: string, how?: Reading): Promise<string> {
    const answer = await this.request('eth_call', [{ to, data }, how?.block ?? 'latest'], how).catch(
      (error: UnavailableError) => {
        throw isRevert(error.cause) ? this.noAnswerOf(name, error.cause) : error
      },
    )
    if (answer === '0x')
      throw new NoContractError(`The node of ${this.connected.chain.slug} has no contract at ${to}.`)
    if (typeof answer !== 'string') throw this.noAnswerOf(name, 'the answer is no text')
    return answer
  }

  /** Shares equal calls that are under way, unless `anew`. */
  private request(
    method: string,
    parameters: unknown[],
    { essential, anew }: Reading = {},
  ): Promise<unknown> {
    const send = () => this.send(method, parameters)
    if (anew && essential) return send()
    // A call that must not be shared has a key of its own.
    const key = anew ? Symbol(method) : JSON.stringify({ method, params: parameters })
    return this.inFlight.get(key) ?? this.limited(key, send, essential)
  }

  /** Sends unless too much is under way. */
  private limited<T>(key: string | symbol, send: () => Promise<T>, essential = false): Promise<T> {
    if (!essential && this.inFlight.size >= MAX_CALLS_IN_FLIGHT)
      return Promise.reject(new UnavailableError(`The node of ${this.connected.chain.slug} is busy.`))
    const call = send().finally(() => this.inFlight.delete(key))
    this.inFlight.set(key, call)
    return call
  }

  /** Asks every endpoint once at most: a client waits for the answer. */
  private async send(method: string, parameters: unknown[]): Promise<unknown> {
    try {
      return await this.route.call(method, parameters, { once: true, required: true })
    } catch (cause) {
      throw this.noAnswer(cause)
    }
  }

  private noAnswerOf(name: string, cause: unknown): NoAnswerError {
    return new NoAnswerError(`The node of ${this.connected.chain.slug} has no answer of ${name}().`, {
      cause,
    })
  }

  private noAnswer(cause?: unknown): UnavailableError {
    return new UnavailableError(`The node of ${this.connected.chain.slug} does not answer right now.`, {
      cause,
    })
  }
}

/** Unix seconds of a block as JSON-RPC has it; NaN of anything else. */
function timeOf(block: unknown): number {
  return Number((block as { timestamp?: string } | null)?.timestamp)
}

/** The address in a word, lower-case; undefined where the word is none. */
function addressOf(word: string): string | undefined {
  return /^0x0{24}/.test(word) ? `0x${word.slice(26).toLowerCase()}` : undefined
}

/** Whether a node's error says that the call reverted: geth's code 3, or data of a revert. */
function isRevert(error: unknown): boolean {
  return error instanceof RpcError && (error.code === 3 || revertData(error) !== undefined)
}

/**
 * The data of a revert in a node's error: geth and anvil give it as the error's data, others within an object
 * or after a word.
 */
function revertData(error: unknown): string | undefined {
  if (!(error instanceof RpcError)) return undefined
  const data: unknown = (error.data as { data?: unknown } | undefined)?.data ?? error.data
  return typeof data === 'string' ? /0x(?:[0-9a-f]{2})+$/i.exec(data)?.[0] : undefined
}

/** The text of a schema; empty when it is no UTF-8, which ethers reports when the field is read. */
function textOf(record: { schema: string }): string {
  try {
    return record.schema
  } catch {
    return ''
  }
}
