import { DataConsistencyError } from '@subsquid/util-internal-ingest-tools'
import { hashesToUid } from '../eas'
import { retry } from '../retry'
import type { Route, Rpc } from '../rpc'
import {
  attestationCall,
  bytesOf,
  decodeAttestation,
  MULTICALL3,
  multicall,
  CountError,
  multicallAnswers,
  type AttestationBody,
} from './calls'

/** Bodies in one eth_call: 100 of usual size stay well under the response limits of public nodes. */
const PAGE_SIZE = 100
/** The most bodies that are read ahead. */
const PREFETCHED = 10_000
/** Failures of a page on every endpoint before it is split in halves. */
const PAGE_ROUNDS = 3
const ATTEMPTS = 8
const FIRST_PAUSE_MS = 250
const ZERO_UID = `0x${'0'.repeat(64)}`

/**
 * The contract does not know an attestation that a log announced: a reorg removed it, or the node lags.
 * evm-processor recognises this class and asks for the head again (up to 100 times, 100 ms apart).
 */
export class MissingBodyError extends DataConsistencyError {}

/** A node's answer cannot be true. The batch fails as a whole and the process ends, to be restarted. */
export class FalseBodyError extends Error {
  override readonly name = 'FalseBodyError'
}

/** Reads attestation bodies from one chain's EAS. */
export class BodyReader {
  private readonly route: Route
  private multicall: Promise<boolean> | undefined
  /** For each UID the page under way that will have its body. */
  private readonly prefetched = new Map<string, Promise<Map<string, AttestationBody>>>()

  constructor(
    rpc: Rpc,
    private readonly easAddress: string,
  ) {
    this.route = rpc.route()
  }

  /** Begins to read bodies that `read` will be asked for soon. Failures are left to `read`. */
  prefetch(times: ReadonlyMap<string, bigint>): void {
    for (const page of pagesOf(times)) {
      if (this.prefetched.size >= PREFETCHED) return
      const bodies = this.readProven(page)
      for (const [uid] of page) this.prefetched.set(uid, bodies)
      bodies.catch(() => page.forEach(([uid]) => this.prefetched.delete(uid)))
    }
  }

  /**
   * The bodies of these attestations, each proven by recomputing its UID from its content. `times` has the
   * Unix seconds of the announcing blocks, which the bodies must repeat. Read at `latest`, as public nodes
   * lack older state. Throws MissingBodyError or FalseBodyError; with `patient`, for final blocks, only after
   * several attempts.
   */
  read(times: ReadonlyMap<string, bigint>, patient = false): Promise<Map<string, AttestationBody>> {
    if (!patient) return this.readOnce(times)
    return retry(() => this.readOnce(times), {
      attempts: ATTEMPTS,
      pauseMs: (attempt) => FIRST_PAUSE_MS * attempt,
    })
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

  /**
   * Reads a page, a second time from another endpoint if the first one lacks bodies or answers false ones.
   */
  private readProven(page: [string, bigint][]): Promise<Map<string, AttestationBody>> {
    return this.readAndProve(page, this.route).catch((error: Error) => {
      if (error instanceof MissingBodyError || error instanceof FalseBodyError)
        return this.readAndProve(page, this.route.opposite)
      throw error
    })
  }

  private async readAndProve(page: [string, bigint][], route: Route): Promise<Map<string, AttestationBody>> {
    const uids = page.map(([uid]) => uid)
    const answers = await this.readSplit(uids, route)
    const bodies = new Map<string, AttestationBody>()
    for (const [i, [uid, time]] of page.entries()) bodies.set(uid, await proveBody(answers[i]!, uid, time))
    return bodies
  }

  /**
   * Reads a page; one that the node refuses, as its gas or its answer is capped, in halves, down to single
   * bodies.
   */
  private async readSplit(uids: string[], route: Route): Promise<AttestationBody[]> {
    try {
      return await this.readPage(uids, route)
    } catch (error) {
      if (uids.length === 1 || error instanceof FalseBodyError) throw error
      const half = Math.ceil(uids.length / 2)
      return [
        ...(await this.readSplit(uids.slice(0, half), route)),
        ...(await this.readSplit(uids.slice(half), route)),
      ]
    }
  }

  private async readPage(uids: string[], route: Route): Promise<AttestationBody[]> {
    // Only a single body, which cannot be split, is asked for without end.
    const options = uids.length > 1 ? { splittable: true, rounds: PAGE_ROUNDS } : {}
    // A single body is read from EAS itself: Multicall3 would copy it in memory, which costs gas.
    const byMulticall = uids.length > 1 && (await this.hasMulticall())
    const call = (to: string, data: string) => ({ method: 'eth_call', params: [{ to, data }, 'latest'] })
    const paged = byMulticall ? call(MULTICALL3, multicall(this.easAddress, uids)) : undefined
    const answers = paged
      ? [await route.call<string>(paged.method, paged.params, options)]
      : await route.batchCall<string>(
          uids.map((uid) => call(this.easAddress, attestationCall(uid))),
          options,
        )
    try {
      const each = paged ? multicallAnswers(answers[0]!, uids.length) : answers.map(bytesOf)
      return each.map(decodeAttestation)
    } catch (error) {
      if (error instanceof CountError) throw new FalseBodyError(error.message)
      // Some nodes answer 0x when a call runs out of gas: a smaller page may succeed.
      const message = `the node's answer is no attestation: ${(error as Error).message}`
      throw uids.length > 1 ? new Error(message) : new FalseBodyError(message)
    }
  }

  /** Whether the chain has Multicall3; read once. */
  hasMulticall(): Promise<boolean> {
    this.multicall ??= this.route
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
async function proveBody(body: AttestationBody, uid: string, blockSeconds: bigint): Promise<AttestationBody> {
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
