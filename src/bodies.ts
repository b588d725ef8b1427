import { DataConsistencyError } from '@subsquid/util-internal-ingest-tools'
import * as eas from './abi/EAS'
import * as multicall from './abi/Multicall3'
import { hashesToUid, type UidFields } from './eas'
import type { CallOptions, Rpc } from './rpc'

/** What EAS stores of an attestation, hex lower-case; without what can change later (the revocation). */
export interface AttestationBody extends UidFields {
  uid: string
}

/** The same on every chain that has it. */
const MULTICALL3 = '0xca11bde05977b3631167028862be2a173976ca11'
/** Bodies asked for in one eth_call: 100 of usual size stay well under the response limits of public nodes. */
const PAGE_SIZE = 100
/** Bodies read before they are wanted, at most. */
const PREFETCHED = 10_000
/** How often a page of several is tried on each endpoint, before it is read by halves. */
const PAGE_ROUNDS = 3
const ATTEMPTS = 8
const ZERO_UID = `0x${'0'.repeat(64)}`

/**
 * The chain does not know an attestation that it just announced: reorganised away, or the node that answered lags.
 * evm-processor takes such an error for what it is and asks for the head again (up to 100 times, 100 ms apart).
 */
export class MissingBodyError extends DataConsistencyError {}

/** A node answered something that cannot be true. The batch is stopped whole; the process is restarted. */
export class FalseBodyError extends Error {
  override readonly name = 'FalseBodyError'
}

/** Reads attestation bodies from one chain's EAS. */
export class BodyReader {
  private multicall: Promise<boolean> | undefined
  /** Of each UID the page under way that will hold it. */
  private readonly prefetched = new Map<string, Promise<Map<string, AttestationBody>>>()

  constructor(
    private readonly rpc: Rpc,
    private readonly easAddress: string,
  ) {}

  /** Begins to read bodies that `read` will be asked for soon; what fails is left to it. */
  prefetch(times: ReadonlyMap<string, bigint>): void {
    for (const page of pagesOf(times)) {
      if (this.prefetched.size >= PREFETCHED) return
      const bodies = this.readProven(page)
      for (const [uid] of page) this.prefetched.set(uid, bodies)
      bodies.catch(() => page.forEach(([uid]) => this.prefetched.delete(uid)))
    }
  }

  /**
   * The bodies of these attestations, each proven by recomputing its UID from its content.
   * `times` are the Unix seconds of the blocks that announced them, which a body must repeat.
   * Read at `latest`, as public nodes lack older state. Throws MissingBodyError or FalseBodyError; `patient`, as for final
   * blocks, which are not reorganised away, only after a while.
   */
  async read(times: ReadonlyMap<string, bigint>, patient = false): Promise<Map<string, AttestationBody>> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.readOnce(times)
      } catch (error) {
        if (!patient || attempt === ATTEMPTS) throw error
        await new Promise((resolve) => setTimeout(resolve, 250 * attempt))
      }
    }
  }

  private async readOnce(times: ReadonlyMap<string, bigint>): Promise<Map<string, AttestationBody>> {
    const found = new Map<string, AttestationBody>()
    for (const uid of times.keys()) {
      const body = (await this.prefetched.get(uid)?.catch(() => undefined))?.get(uid)
      this.prefetched.delete(uid)
      if (body && body.time === times.get(uid)) found.set(uid, body)
    }
    const lacking = new Map([...times].filter(([uid]) => !found.has(uid)))
    for (const page of await Promise.all(pagesOf(lacking).map((each) => this.readProven(each))))
      for (const body of page.values()) found.set(body.uid, body)
    return found
  }

  /** What one endpoint does not know or answers falsely, another may know better. */
  private readProven(page: [string, bigint][]): Promise<Map<string, AttestationBody>> {
    return this.readAndProve(page, {}).catch((error: Error) => {
      if (error instanceof MissingBodyError || error instanceof FalseBodyError)
        return this.readAndProve(page, { second: true })
      throw error
    })
  }

  private async readAndProve(
    page: [string, bigint][],
    options: CallOptions,
  ): Promise<Map<string, AttestationBody>> {
    const answers = await this.readAsAllowed(
      page.map(([uid]) => uid),
      options,
    )
    const bodies = new Map<string, AttestationBody>()
    for (const [i, [uid, time]] of page.entries()) bodies.set(uid, await proveBody(answers[i]!, uid, time))
    return bodies
  }

  /** A page that the node refuses (its gas or answer is capped, and bodies may be large) is read by halves, down to single ones. */
  private async readAsAllowed(uids: string[], options: CallOptions): Promise<eas.GetAttestationReturn[]> {
    try {
      return await this.readPage(uids, options)
    } catch (error) {
      if (uids.length === 1 || error instanceof FalseBodyError) throw error
      const half = Math.ceil(uids.length / 2)
      return [
        ...(await this.readAsAllowed(uids.slice(0, half), options)),
        ...(await this.readAsAllowed(uids.slice(half), options)),
      ]
    }
  }

  private async readPage(uids: string[], options: CallOptions): Promise<eas.GetAttestationReturn[]> {
    // What is refused or fails is asked for by halves; patience has no end for single bodies only.
    const limits = uids.length > 1 ? { ...options, refusable: true, rounds: PAGE_ROUNDS } : options
    const calls = uids.map((uid) => ({
      target: this.easAddress,
      allowFailure: false,
      callData: eas.functions.getAttestation.encode({ uid }),
    }))
    // A single one goes to EAS itself, without Multicall's copies of it in memory.
    const byMulticall = uids.length > 1 && (await this.hasMulticall())
    const answers = byMulticall
      ? [
          await this.rpc.call<string>(
            'eth_call',
            [{ to: MULTICALL3, data: multicall.functions.aggregate3.encode({ calls }) }, 'latest'],
            limits,
          ),
        ]
      : await this.rpc.batchCall<string>(
          calls.map((call) => ({
            method: 'eth_call',
            params: [{ to: call.target, data: call.callData }, 'latest'],
          })),
          limits,
        )
    let bodies: eas.GetAttestationReturn[]
    try {
      const each = byMulticall
        ? multicall.functions.aggregate3.decodeResult(answers[0]!).map((result) => result.returnData)
        : answers
      bodies = each.map((answer) => eas.functions.getAttestation.decodeResult(answer))
    } catch (error) {
      // Nodes answer 0x when they run out of gas, too.
      const message = `the node's answer is no attestation: ${(error as Error).message}`
      throw uids.length > 1 ? new Error(message) : new FalseBodyError(message)
    }
    if (bodies.length !== uids.length)
      throw new FalseBodyError(`asked for ${uids.length} attestations, the node answered ${bodies.length}`)
    return bodies
  }

  /** Whether the chain has Multicall3; asked once. */
  hasMulticall(): Promise<boolean> {
    this.multicall ??= this.rpc
      .call<string>('eth_getCode', [MULTICALL3, 'latest'])
      .then((code) => code !== '0x')
    this.multicall.catch(() => (this.multicall = undefined))
    return this.multicall
  }
}

function pagesOf(times: ReadonlyMap<string, bigint>): [string, bigint][][] {
  const all = [...times]
  return Array.from({ length: Math.ceil(all.length / PAGE_SIZE) }, (_, i) =>
    all.slice(i * PAGE_SIZE, (i + 1) * PAGE_SIZE),
  )
}

/** Throws unless the body's content hashes to its UID and its time is that of the announcing block. */
export async function proveBody(
  body: AttestationBody,
  uid: string,
  blockSeconds: bigint,
): Promise<AttestationBody> {
  if (body.uid === ZERO_UID)
    throw new MissingBodyError(`attestation ${uid} is announced by a log but not known to the contract`)
  if (body.uid !== uid)
    throw new FalseBodyError(`asked for attestation ${uid}, the node answered ${body.uid}`)
  if (body.time !== blockSeconds)
    throw new FalseBodyError(`attestation ${uid} says time ${body.time}, its block ${blockSeconds}`)
  if (!(await hashesToUid(body, uid)))
    throw new FalseBodyError(`the content of attestation ${uid} does not hash to its UID`)
  return body
}
