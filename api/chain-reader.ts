import { Interface, ZeroHash, id, toQuantity, zeroPadValue } from 'ethers'
import { isLoopback, type ConnectedChain } from '../src/config'
import { fieldTypes, hashesToUid, schemaUid, type UidFields } from '../src/eas'
import { UnavailableError } from './problems'
import { SharedRead } from './shared'

const EAS = new Interface([
  'function getNonce(address account) view returns (uint256)',
  'function getDomainSeparator() view returns (bytes32)',
  'function getAttestTypeHash() view returns (bytes32)',
  'function getSchemaRegistry() view returns (address)',
  'function getAttestation(bytes32 uid) view returns (tuple(bytes32 uid, bytes32 schema, uint64 time, uint64 expirationTime, uint64 revocationTime, bytes32 refUID, address recipient, address attester, bool revocable, bytes data))',
  'function getRevokeOffchain(address revoker, bytes32 data) view returns (uint64)',
])
const ATTESTED = id('Attested(address,address,bytes32,bytes32)')
const REGISTRY = new Interface([
  'function getSchema(bytes32 uid) view returns (tuple(bytes32 uid, address resolver, bool revocable, string schema))',
])

/** An attestation as the contract has it now; hex lower-case. */
export interface OnchainAttestation extends UidFields {
  uid: string
  /** Unix seconds; 0 = not revoked */
  revocationTime: bigint
}

/** Where an attestation was made. */
export interface AttestedLog {
  uid: string
  /** Unix seconds of its block, where the node says it */
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
  /** Its fields' types, joined by commas */
  types: string
  revocable: boolean
}

export interface ContractFacts {
  domainSeparator: string
  attestTypeHash: string
  /** lower-case */
  schemaRegistry: string
}

/** The node answers, but has no contract where one is asked. */
export class NoContractError extends UnavailableError {}

/** A call that has no answer by then is given up. */
const CALL_TIMEOUT_MS = 5_000
/**
 * So old a nonce may be where blocks come more slowly. Where they come faster, a client can have landed an answer and ask
 * for the next one within this time, and each request needs a nonce that was read after it came.
 */
const NONCE_SHARED_MS = 250
/** More calls than this at once are refused, but for the few that every answer needs: a slow node must not pile up the service's requests. */
const MAX_CALLS_IN_FLIGHT = 64
/** How long the time of the last block is good. */
const HEAD_SHARED_MS = 2_000
/** How long an endpoint's word for its chain is good. */
const PROOF_SHARED_MS = 60_000
/** Schemas cannot change once registered; as many are remembered. */
const SCHEMAS_REMEMBERED = 10_000

interface Asking {
  /** What every answer needs: it is asked however many other calls there are. */
  essential?: boolean
  /** The answer must not be older than the question: an equal call that is under way does not serve. */
  anew?: boolean
}
const ESSENTIAL: Asking = { essential: true }

/**
 * The API's few reads of one chain's contracts, shared between requests that ask the same and bounded in time and number.
 * Throws UnavailableError when the node does not answer.
 */
export class ChainReader {
  private readonly inFlight = new Map<string, Promise<unknown>>()
  private readonly schemas = new Map<string, SchemaRecord>()
  private readonly nonces = new Map<string, SharedRead<bigint>>()
  private readonly proofs = new Map<string, SharedRead<number>>()
  /** Unix seconds of the last block */
  private readonly headTime: SharedRead<number>
  /** Of how many blocks the node last gave the logs at once, as who asks it has found out. */
  logSpan = Infinity
  private counter = 0

  /** @param clock milliseconds */
  constructor(
    private readonly connected: ConnectedChain,
    private readonly clock: () => number,
  ) {
    this.headTime = new SharedRead(async () => (await this.block('latest')).time, HEAD_SHARED_MS, clock)
  }

  /** Whether the chain is one that runs here, which makes blocks when asked to. */
  get local(): boolean {
    return this.connected.rpcUrls.every(isLoopback)
  }

  /**
   * The nonce that the next delegated attestation of this account must carry: read after this call where `fresh`, on local
   * chains, and on chains whose blocks come that fast; else at most 250 ms before.
   */
  nonce(account: string, fresh = false): Promise<bigint> {
    let read = this.nonces.get(account)
    if (!read) {
      const { chain } = this.connected
      const call = () =>
        this.call(chain.eas, EAS, 'getNonce', [account], { essential: true, anew: true }).then(
          (value) => value as bigint,
        )
      this.nonces.set(
        account,
        (read = new SharedRead(
          call,
          this.local || chain.blockMs <= NONCE_SHARED_MS ? 0 : NONCE_SHARED_MS,
          this.clock,
        )),
      )
    }
    return fresh ? read.fresh() : read.get()
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
    // What is no UTF-8 cannot be proven, and is no schema of ours.
    if (schema !== '' && schemaUid(schema, resolver, revocable) !== uid)
      throw new UnavailableError(`The node of ${this.connected.chain.slug} answered a false schema.`)
    if (this.schemas.size >= SCHEMAS_REMEMBERED) this.schemas.clear()
    const found = { schema, types: fieldTypes(schema).join(), revocable }
    this.schemas.set(uid, found)
    return found
  }

  /** The attestation as it is now, its content proven against its UID; undefined when the contract has none. */
  async attestation(uid: string): Promise<OnchainAttestation | undefined> {
    const answer = (await this.call(this.connected.chain.eas, EAS, 'getAttestation', [
      uid,
    ])) as OnchainAttestation
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
   * Where attestations of this schema were made, by this attester, to this recipient, in these blocks, both included, oldest
   * first. A node may refuse what is too many blocks for it, which is an UnavailableError too.
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
    const logs = (await this.rpc('eth_getLogs', [filter])) as {
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

  /** A block by its number, or the last one as of now. */
  async block(which: number | 'latest'): Promise<Block> {
    const latest = which === 'latest'
    const block = await this.rpc('eth_getBlockByNumber', [latest ? which : toQuantity(which), false], {
      essential: latest,
      anew: latest,
    })
    const { number, timestamp } = block as { number: string; timestamp: string }
    return { number: Number(number), time: Number(timestamp) }
  }

  /** When this account revoked an offchain attestation, in Unix seconds; 0 = never. Others' revocations of the same UID are theirs. */
  async offchainRevocationTime(revoker: string, uid: string): Promise<bigint> {
    return (await this.call(this.connected.chain.eas, EAS, 'getRevokeOffchain', [revoker, uid])) as bigint
  }

  /** The chain that the endpoints are on: ours, if one of them is. */
  async chainId(): Promise<number> {
    const { chain, rpcUrls } = this.connected
    const answers = await Promise.allSettled(rpcUrls.map((url) => this.ask(url, 'eth_chainId', [])))
    const ids = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [Number(answer.value)] : []))
    if (ids.length === 0)
      throw new UnavailableError(`The node of ${chain.slug} does not answer right now.`, { cause: answers })
    return ids.find((id) => id === chain.id) ?? ids[0]!
  }

  /** What the signer's probe holds against our tables. */
  async contractFacts(): Promise<ContractFacts> {
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

  /** Throws an UnavailableError where the node's last block is older than so many seconds: what it says now may be long untrue. Local chains make blocks on demand. */
  async checkFresh(maxSeconds: number): Promise<void> {
    if (this.local) return
    const age = Math.round(this.clock() / 1000 - (await this.headTime.get()))
    if (age > maxSeconds)
      throw new UnavailableError(
        `The last block of ${this.connected.chain.slug} that its node knows is ${age} seconds old.`,
      )
  }

  /** What the node calls itself, such as `anvil/v1.7.1`. */
  clientVersion(): Promise<string> {
    return this.rpc('web3_clientVersion', [], ESSENTIAL) as Promise<string>
  }

  private async call(
    to: string,
    abi: Interface,
    name: string,
    parameters: unknown[],
    how: Asking = {},
  ): Promise<unknown> {
    const answer = await this.rpc(
      'eth_call',
      [{ to, data: abi.encodeFunctionData(name, parameters) }, 'latest'],
      how,
    )
    if (answer === '0x')
      throw new NoContractError(`The node of ${this.connected.chain.slug} has no contract at ${to}.`)
    try {
      return abi.decodeFunctionResult(name, answer as string)[0] as unknown
    } catch (error) {
      throw new UnavailableError(`The node of ${this.connected.chain.slug} has no answer of ${name}().`, {
        cause: error,
      })
    }
  }

  /** Equal calls under way are one, unless it is to be asked anew. */
  private rpc(method: string, parameters: unknown[], { essential, anew }: Asking = {}): Promise<unknown> {
    if (anew) return this.send(method, parameters)
    const body = JSON.stringify({ method, params: parameters })
    const running = this.inFlight.get(body)
    if (running) return running
    if (!essential && this.inFlight.size >= MAX_CALLS_IN_FLIGHT)
      return Promise.reject(new UnavailableError(`The node of ${this.connected.chain.slug} is busy.`))
    const call = this.send(method, parameters).finally(() => this.inFlight.delete(body))
    this.inFlight.set(body, call)
    return call
  }

  private async send(method: string, params: unknown[]): Promise<unknown> {
    const { chain, rpcUrls } = this.connected
    let cause: unknown
    for (const url of rpcUrls) {
      try {
        await this.prove(url)
        return await this.ask(url, method, params)
      } catch (error) {
        cause = error
      }
    }
    throw new UnavailableError(`The node of ${chain.slug} does not answer right now.`, { cause })
  }

  /** Each endpoint is asked for its chain before it is believed, and again now and then. Throws for one of another chain. */
  private async prove(url: string): Promise<void> {
    let proof = this.proofs.get(url)
    if (!proof)
      this.proofs.set(
        url,
        (proof = new SharedRead(
          async () => Number(await this.ask(url, 'eth_chainId', [])),
          PROOF_SHARED_MS,
          this.clock,
        )),
      )
    const id = await proof.get()
    if (id !== this.connected.chain.id) throw new Error(`is on chain ${id}`)
  }

  private async ask(url: string, method: string, params: unknown[]): Promise<unknown> {
    const id = ++this.counter
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    })
    const answer = (await response.json()) as { id?: unknown; result?: unknown; error?: { message?: string } }
    if (answer.result !== undefined && answer.result !== null && answer.id === id) return answer.result
    throw new Error(answer.error?.message ?? `HTTP ${response.status} without a result of this call`)
  }
}

/** A schema's text; empty, which is no schema of ours, when it is no UTF-8 (ethers says so at the field only). */
function textOf(record: { schema: string }): string {
  try {
    return record.schema
  } catch {
    return ''
  }
}
