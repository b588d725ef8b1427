import { setImmediate } from 'node:timers/promises'
import { Interface } from 'ethers/abi'
import { ZeroHash } from 'ethers/constants'
import { id } from 'ethers/hash'
import { toQuantity, zeroPadValue } from 'ethers/utils'
import { fieldTypes, hashesToUid, QUORUM_ABI, schemaUid, type UidFields } from '../../src/eas'
import { isRevert, revertData } from '../../src/rpc'
import { accountSlots, refusalBy, type AccountRefusal, type AccountSignature } from './account'
import { CALLS_AT_ONCE, ChainNode, ESSENTIAL, NoAnswerError, NoContractError, timeOf } from './chain-node'
import { Cache } from '../http/cache'
import { UnavailableError } from '../http/problems'
import { SharedRead } from '../http/shared'

const EAS = new Interface([
  'function getNonce(address account) view returns (uint256)',
  'function getDomainSeparator() view returns (bytes32)',
  'function getAttestTypeHash() view returns (bytes32)',
  'function getSchemaRegistry() view returns (address)',
  'function getAttestation(bytes32 uid) view returns (tuple(bytes32 uid, bytes32 schema, uint64 time, uint64 expirationTime, uint64 revocationTime, bytes32 refUID, address recipient, address attester, bool revocable, bytes data))',
  'function getRevokeOffchain(address revoker, bytes32 data) view returns (uint64)',
])
/** ABI of EIP712Proxy of EAS, and of Ownable, which PermissionedEIP712Proxy adds. */
const PROXY = new Interface([
  'function getEAS() view returns (address)',
  'function getName() view returns (string)',
  'function version() view returns (string)',
  'function getDomainSeparator() view returns (bytes32)',
  'function getAttestTypeHash() view returns (bytes32)',
  'function owner() view returns (address)',
])
const QUORUM = new Interface(QUORUM_ABI)
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

/** Log of an attestation, and its position on the chain. */
export interface AttestedLog {
  uid: string
  /** Unix seconds of its block; absent if the RPC endpoint does not return it */
  time?: number
  blockNumber: number
  transactionHash: string
}

/** Number of epochs before the current one that may still be valid, or were replaced. */
const EARLIER_EPOCHS = 8

/** Operator set of a GeoQuorum contract (packages/contracts). */
export interface QuorumEpoch {
  epoch: number
  /** Unix seconds, included */
  validFrom: number
  /** Unix seconds, excluded; 0 if the epoch was replaced before it started */
  validUntil: number
  threshold: number
  /** Lower-case addresses in the order of the bitmap; zero for one that was removed. */
  operators: string[]
}

type Registered = Record<'uid' | 'resolver' | 'schema', string> & { revocable: boolean }
/** `types`: the types of its fields, joined by commas */
type SchemaRecord = Pick<Registered, 'schema' | 'revocable'> & { types: string }

/**
 * Maximum age in milliseconds of a shared nonce or owner; 0 on local chains and those with blocks under a
 * second, where a client can land an answer and request the next one within this time.
 */
const CURRENT_SHARED_MS = 250
const SLOW_BLOCK_MS = 1_000

interface Gathering {
  /** Data of calls of EAS. */
  readonly calls: string[]
  /** Latest block of the endpoint that answered, in the form of JSON-RPC, and the results. */
  readonly answers: Promise<[block: unknown, ...results: unknown[]]>
}

/** Reads of one chain's contracts. Equal reads are shared. */
export class ChainReader extends ChainNode {
  private readonly schemas = new Cache<SchemaRecord>('schemas')
  private readonly current = new Cache<SharedRead<unknown>>('contract state')
  private readonly accounts = accountSlots(this.connected.chain.slug)
  private gathering: Gathering | undefined
  /** Number of blocks whose logs the endpoint last returned in one response (landed.ts). */
  readonly logs = { span: Infinity }

  /** Nonce of the next delegated attestation: read after this call if `fresh`, or at most 250 ms before. */
  nonce(account: string, fresh = false): Promise<bigint> {
    return this.now(this.connected.chain.eas, EAS, 'getNonce', [account], BigInt, fresh)
  }

  /** Returns the nonce that this account had at a block. */
  async nonceAt(account: string, block: number): Promise<bigint> {
    const { eas } = this.connected.chain
    return (await this.call(eas, EAS, 'getNonce', [account], { block: toQuantity(block) })) as bigint
  }

  /** Returns the balance of this account in the smallest unit of the chain's coin. */
  async balance(account: string): Promise<bigint> {
    return BigInt((await this.request('eth_getBalance', [account, 'latest'])) as string)
  }

  /**
   * Returns a final block up to which this account attested nothing, neither by signatures nor in its own
   * transactions; undefined if it may have. Both nonces are read at one block.
   */
  async unusedUntil(account: string): Promise<number | undefined> {
    const { number } = await this.block('latest')
    const [nonce, sent] = await Promise.all([
      this.nonceAt(account, number),
      this.request('eth_getTransactionCount', [account, toQuantity(number)]),
    ])
    const { finality } = this.connected.chain
    return nonce === 0n && Number(sent) === 0 ? Math.max(0, number - finality) : undefined
  }

  /** Returns the account whose signatures a proxy accepts, lower-case. It is read like `nonce`. */
  proxyOwner(proxy: string, fresh = false): Promise<string> {
    return this.now(proxy, PROXY, 'owner', [], addressOf, fresh)
  }

  /** Returns the registered schema; undefined if it does not exist. */
  async schema(uid: string): Promise<SchemaRecord | undefined> {
    const known = this.schemas.get(uid)
    if (known) return known
    const { schemaRegistry } = this.connected.chain
    const record = (await this.call(schemaRegistry, REGISTRY, 'getSchema', [uid])) as Registered
    if (record.uid === ZeroHash) return undefined
    const { revocable, resolver } = record
    const schema = textOf(record)
    // A text that is not UTF-8 cannot be verified, so it is not cached. No supported schema has one.
    if (schema === undefined) return { schema: '', types: '', revocable }
    if (schemaUid(schema, resolver, revocable) !== uid)
      throw new UnavailableError(
        `The RPC endpoint of ${this.connected.chain.slug} returned a schema that does not match its UID.`,
      )
    const found = { schema, types: fieldTypes(schema).join(), revocable }
    this.schemas.set(uid, found)
    return found
  }

  /**
   * Returns the present attestation, verified by its UID; undefined if it does not exist. Concurrent reads of
   * a client's request are one request, with the latest block, which `maxAgeSeconds` limits the age of.
   */
  async attestation(uid: string, maxAgeSeconds = Infinity): Promise<OnchainAttestation | undefined> {
    const answer = (await this.gather('getAttestation', [uid], maxAgeSeconds)) as OnchainAttestation
    if (answer.uid === ZeroHash) return undefined
    const { schema, time, expirationTime, revocationTime, refUID, revocable, data } = answer
    const attestation = {
      ...{ uid: answer.uid, schema, time, expirationTime, revocationTime, refUID, revocable, data },
      recipient: answer.recipient.toLowerCase(),
      attester: answer.attester.toLowerCase(),
    }
    if (attestation.uid !== uid || !(await hashesToUid(attestation, uid)))
      throw new UnavailableError(
        `The RPC endpoint of ${this.connected.chain.slug} returned an attestation that does not match its UID.`,
      )
    return attestation
  }

  /**
   * Returns the attestations in these blocks, both included, oldest first. Throws also if the range is too
   * wide, or the endpoint lacks its last block: a lagging one returns no logs instead of an error.
   */
  async attested(
    { recipient, attester, schema }: { recipient: string; attester: string; schema: string },
    from: number,
    to: number,
  ): Promise<AttestedLog[]> {
    const topics = [ATTESTED, zeroPadValue(recipient, 32), zeroPadValue(attester, 32), schema]
    const [fromBlock, toBlock] = [from, to].map((block) => toQuantity(block))
    const filter = { address: this.connected.chain.eas, topics, fromBlock, toBlock }
    const calls = [
      { method: 'eth_getBlockByNumber', params: [toBlock, false] },
      { method: 'eth_getLogs', params: [filter] },
    ]
    const [last, logs] = await this.limited(() => this.sendToOne(calls))
    if (!last)
      throw new UnavailableError(`The RPC endpoint of ${this.connected.chain.slug} lacks block ${to}.`)
    type Log = Record<'data' | 'blockNumber' | 'transactionHash', string> & { blockTimestamp?: string }
    const isLog = (log: Partial<Log> | null) =>
      typeof log?.data === 'string' && typeof log.transactionHash === 'string'
    if (!Array.isArray(logs) || !logs.every(isLog)) throw this.noAnswerOf('eth_getLogs', 'no list of logs')
    return (logs as Log[]).map(({ data, blockNumber, blockTimestamp, transactionHash }) => ({
      ...{ uid: data.toLowerCase(), transactionHash: transactionHash.toLowerCase() },
      blockNumber: Number(blockNumber),
      // Some nodes return 0 instead of the time.
      ...(Number(blockTimestamp) > 0 && { time: Number(blockTimestamp) }),
    }))
  }

  /** Unix seconds at which this account, not another one, revoked an offchain attestation; 0 = never. */
  async offchainRevocationTime(revoker: string, uid: string, maxAgeSeconds: number): Promise<bigint> {
    return (await this.gather('getRevokeOffchain', [revoker, uid], maxAgeSeconds)) as bigint
  }

  /** Returns why an account does not accept a signature; undefined if it does. */
  accountRefusal(claim: AccountSignature, maxAgeSeconds: number): Promise<AccountRefusal | undefined> {
    // Encoding the call takes longer than all other work for a request that gets no slot.
    return this.accounts.run(this.work, () => refusalBy(this, claim, maxAgeSeconds))
  }

  async easFacts() {
    const names = ['getDomainSeparator', 'getAttestTypeHash', 'getSchemaRegistry'] as const
    const [separator, attestTypeHash, registry] = await this.facts(this.connected.chain.eas, EAS, names)
    return { separator, attestTypeHash, registry: registry.toLowerCase() }
  }

  /** Facts that a proxy states; undefined if the contract is not a proxy. */
  async proxyFacts(proxy: string) {
    const names = [
      'getEAS',
      'owner',
      'getName',
      'version',
      'getDomainSeparator',
      'getAttestTypeHash',
    ] as const
    try {
      const [eas, owner, name, version, separator, attestTypeHash] = await this.facts(proxy, PROXY, names)
      return { eas: eas.toLowerCase(), owner: owner.toLowerCase(), name, version, separator, attestTypeHash }
    } catch (error) {
      if (error instanceof NoAnswerError) return undefined
      throw error
    }
  }

  /** Calls view functions without parameters that return text or hex. */
  private facts<const Names extends readonly string[]>(to: string, abi: Interface, names: Names) {
    const ask = (name: string) => this.call(to, abi, name, [], ESSENTIAL)
    return Promise.all(names.map(ask)) as Promise<{ [I in keyof Names]: string }>
  }

  /** Epochs that are or will be valid; undefined if it is not a GeoQuorum contract of this chain's EAS. */
  async quorumEpochs(quorum: string): Promise<QuorumEpoch[] | undefined> {
    type Stored = Record<'validFrom' | 'validUntil' | 'threshold', bigint> & { operators: string[] }
    const view = (name: string, ...given: unknown[]) => this.call(quorum, QUORUM, name, given, ESSENTIAL)
    try {
      const state = await Promise.all([view('eas'), view('currentEpoch'), view('latestEpoch')])
      if ((state[0] as string).toLowerCase() !== this.connected.chain.eas) return undefined
      const [current, latest] = [Number(state[1]), Number(state[2])]
      const started = Array.from({ length: EARLIER_EPOCHS + 1 }, (_, i) => current - EARLIER_EPOCHS + i)
      // Each epoch between the current and the latest one was replaced.
      const numbers = [...new Set([...started, latest])].filter((epoch) => epoch > 0)
      const epochs = await Promise.all(
        numbers.map(async (epoch) => {
          const stored = (await view('epochOf', epoch)) as Stored
          return {
            epoch,
            validFrom: Number(stored.validFrom),
            validUntil: Number(stored.validUntil),
            threshold: Number(stored.threshold),
            operators: stored.operators.map((operator) => operator.toLowerCase()),
          }
        }),
      )
      return epochs.filter(({ validUntil }) => validUntil > this.clock() / 1_000)
    } catch (error) {
      if (error instanceof NoAnswerError || error instanceof NoContractError) return undefined
      throw error
    }
  }

  /** Revert data of a simulated call in hex, which may be empty; undefined if the call succeeds. */
  async revertOf(to: string, data: string): Promise<string | undefined> {
    try {
      await this.request('eth_call', [{ to, data }, 'latest'], { unshared: true })
      return undefined
    } catch (error) {
      const { cause } = error as Error
      if (!isRevert(cause)) throw error
      return revertData(cause) ?? '0x'
    }
  }

  /** Calls a view function that returns one word. Every answer needs it, so the call is encoded once. */
  private now<T>(
    to: string,
    abi: Interface,
    name: string,
    parameters: unknown[],
    valueOf: (word: string) => T | undefined,
    fresh: boolean,
  ): Promise<T> {
    const { shared } = this
    const read = this.current.of([to, name, ...parameters].join(), () => {
      const { chain } = this.connected
      const data = abi.encodeFunctionData(name, parameters)
      const call = async () => {
        const answer = await shared.ask(to, name, data, { essential: true, unshared: true })
        const value = /^0x[0-9a-f]{64}$/i.test(answer) ? valueOf(answer) : undefined
        if (value === undefined) throw shared.noAnswerOf(name, `answered ${answer.slice(0, 80)}`)
        return value
      }
      const sharedMs = shared.isOnThisMachine || chain.blockMs < SLOW_BLOCK_MS ? 0 : CURRENT_SHARED_MS
      return new SharedRead(call, sharedMs)
    }) as SharedRead<T>
    return fresh ? read.fresh() : read.get()
  }

  /** Calls a view function of EAS. Calls that start in one turn of the event loop are one request. */
  private async gather(name: string, parameters: unknown[], maxAgeSeconds: number): Promise<unknown> {
    const { slug, eas } = this.connected.chain
    const data = EAS.encodeFunctionData(name, parameters)
    if (!this.gathering || this.gathering.calls.length >= CALLS_AT_ONCE) {
      const calls: string[] = []
      const begin = async () => {
        await setImmediate()
        if (this.gathering?.calls === calls) this.gathering = undefined
        return this.limited(() => this.sendAtHead(calls.map((each) => ({ to: eas, data: each }))))
      }
      this.gathering = { calls, answers: begin() }
    }
    const { calls, answers } = this.gathering
    if (!calls.includes(data)) calls.push(data)
    const [block, ...results] = await answers
    const answer = results[calls.indexOf(data)]
    if (answer === '0x') throw new NoContractError(`The RPC endpoint of ${slug} finds no contract at ${eas}.`)
    const headTime = timeOf(block)
    if (typeof answer !== 'string' || Number.isNaN(headTime))
      throw this.noAnswerOf(name, 'a value that is not a string, or no latest block')
    await this.requireFresh(headTime, maxAgeSeconds)
    return this.decode(EAS, name, answer)
  }
}

/** Returns the address in a word, lower-case; undefined if the word is not an address. */
function addressOf(word: string): string | undefined {
  return /^0x0{24}/.test(word) ? `0x${word.slice(26).toLowerCase()}` : undefined
}

/** Returns the text of a schema; undefined if it is not UTF-8, which ethers reports when it is read. */
function textOf(record: Registered): string | undefined {
  try {
    return record.schema
  } catch {
    return undefined
  }
}
