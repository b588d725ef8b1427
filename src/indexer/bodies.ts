import { DataConsistencyError } from '@subsquid/util-internal-ingest-tools'
import { hashesToUid, type UidFields } from '../eas'
import { retry } from '../retry'
import { RpcError, type Route, type Rpc } from '../rpc'

/** An attestation as EAS stores it, in lower case, without its revocation, which can change later. */
export interface AttestationBody extends Omit<UidFields, 'data'> {
  uid: string
  /** The payload, which may be a view of a larger response. */
  data: Buffer
}

/** Number of bodies per eth_call, well below the response limits of public nodes. */
const PAGE_SIZE = 100
/** Maximum number of bodies that are read ahead. */
const PREFETCHED = 10_000
/** Number of failures of a page on every endpoint before it is split in half. */
const PAGE_ROUNDS = 3
const ATTEMPTS = 8
const FIRST_PAUSE_MS = 250
export const ZERO_UID = `0x${'0'.repeat(64)}`
/** Address of Multicall3, the same on every chain that has the contract. */
const MULTICALL3 = '0xca11bde05977b3631167028862be2a173976ca11'

/** Selectors of getAttestation(bytes32) and aggregate3((address,bool,bytes)[]). */
const GET_ATTESTATION = 'a3112a64'
const AGGREGATE3 = '82ad56cb'
const WORD = 32
/** Number of words of the struct Attestation (EAS, Common.sol). The last word is the offset of `data`. */
const FIELDS = 10
/** Words per call of aggregate3: address, allowFailure, offset, length, and 36 bytes of call data. */
const CALL_WORDS = 6

/**
 * The contract does not know an attestation that a log announced: a reorg removed it, or the node lags. The
 * head reader retries the batch after a DataConsistencyError.
 */
export class MissingBodyError extends DataConsistencyError {}

/** A node returned an attestation that does not match its UID or its block: the whole batch fails. */
export class FalseBodyError extends DataConsistencyError {
  override readonly name = 'FalseBodyError'
}

/** Reads attestation bodies from one chain's EAS contract. */
export class BodyReader {
  private readonly route: Route
  private multicall: Promise<boolean> | undefined
  /** For each UID, the pending page that will contain its body. */
  private readonly prefetched = new Map<string, Promise<Map<string, AttestationBody>>>()

  constructor(
    private readonly rpc: Rpc,
    private readonly easAddress: string,
  ) {
    this.route = rpc.route()
  }

  /** Begins to read bodies that `read()` will need soon. `read()` reports failures. */
  prefetch(times: ReadonlyMap<string, bigint>): void {
    for (const page of pagesOf(times)) {
      if (this.prefetched.size >= PREFETCHED) return
      const bodies = this.readProven(page)
      for (const [uid] of page) this.prefetched.set(uid, bodies)
      bodies.catch(() => page.forEach(([uid]) => this.prefetched.delete(uid)))
    }
  }

  /**
   * Returns the bodies of these attestations, each proven by recomputing its UID from its content. `times`
   * has the Unix seconds of the announcing blocks, which the bodies must repeat. Bodies are read at `latest`,
   * because public nodes lack older state. Throws a MissingBodyError or FalseBodyError; with `patient`, for
   * final blocks, only after several attempts.
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
   * Reads a page, and from each other endpoint the bodies that the earlier ones refuse or return false. A
   * single endpoint is queried twice, because several nodes may be behind its URL.
   */
  private async readProven(page: [string, bigint][]): Promise<Map<string, AttestationBody>> {
    const found = new Map<string, AttestationBody>()
    let failure: unknown
    for (const [, route] of this.route.turning(Math.max(2, this.rpc.size))) {
      const problems = await this.readInto(
        found,
        page.filter(([uid]) => !found.has(uid)),
        route,
      )
      if (found.size === page.length) return found
      // The chain may have an attestation body that honest endpoints do not have yet.
      failure =
        [failure, ...problems].find((each) => each instanceof MissingBodyError) ?? failure ?? problems[0]
    }
    throw failure
  }

  /** Adds the proven bodies of a page. Returns the reasons why others are missing or false. */
  private async readInto(
    found: Map<string, AttestationBody>,
    page: [string, bigint][],
    route: Route,
  ): Promise<(MissingBodyError | FalseBodyError)[]> {
    const problems: (MissingBodyError | FalseBodyError)[] = []
    const noting = (thrown: unknown) => {
      // An endpoint that switches between forks refuses calls: "header not found", "missing trie node".
      const error =
        thrown instanceof RpcError
          ? new MissingBodyError(`the RPC endpoint refused to return attestations: ${thrown.message}`)
          : thrown
      if (!(error instanceof MissingBodyError || error instanceof FalseBodyError)) throw error
      problems.push(error)
      return []
    }
    const uids = page.map(([uid]) => uid)
    for (const [i, body] of (await this.readSplit(uids, route).catch(noting)).entries())
      await proveBody(body, ...page[i]!).then(() => found.set(uids[i]!, body), noting)
    return problems
  }

  /** Reads a page; if the node rejects its gas or size, in halves, down to single bodies. */
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
    // A failed page is split after a few attempts. A single body is retried until an endpoint refuses it.
    const options = uids.length > 1 ? { splittable: true, rounds: PAGE_ROUNDS } : {}
    // A single body is read from EAS directly, because Multicall3 would copy it in memory, which costs gas.
    const byMulticall = uids.length > 1 && (await this.hasMulticall())
    const call = (to: string, data: string) => ({ method: 'eth_call', params: [{ to, data }, 'latest'] })
    const calls = byMulticall
      ? [call(MULTICALL3, multicall(this.easAddress, uids))]
      : uids.map((uid) => call(this.easAddress, attestationCall(uid)))
    const answers = await route.batchCall<string>(calls, options)
    try {
      const each = byMulticall ? multicallAnswers(answers[0]!, uids.length) : answers.map(bytesOf)
      return each.map(decodeAttestation)
    } catch (error) {
      if (error instanceof FalseBodyError) throw error
      // Some nodes return 0x when a call runs out of gas. A smaller page may succeed.
      const message = `the response of the RPC endpoint is not an attestation: ${(error as Error).message}`
      throw uids.length > 1 ? new Error(message) : new FalseBodyError(message)
    }
  }

  /** Returns true if the chain has Multicall3. The endpoint is queried once. */
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

/** Throws unless the body's content hashes to its UID and its time equals that of the announcing block. */
async function proveBody(body: AttestationBody, uid: string, blockSeconds: bigint): Promise<void> {
  if (body.uid === ZERO_UID)
    throw new MissingBodyError(`a log announces attestation ${uid}, but the contract does not have it`)
  if (body.uid !== uid)
    throw new FalseBodyError(`requested attestation ${uid}, the RPC endpoint returned ${body.uid}`)
  if (body.time !== blockSeconds)
    throw new FalseBodyError(`attestation ${uid} has time ${body.time}, but its block has ${blockSeconds}`)
  if (!(await hashesToUid(body, uid)))
    throw new FalseBodyError(`the content of attestation ${uid} does not hash to its UID`)
}

// ABI encoding of EAS.getAttestation, called alone or by Multicall3. It is written by hand because every
// attestation passes here: a general codec takes five times as long.

/** Returns the call data of getAttestation. */
export function attestationCall(uid: string): string {
  return `0x${GET_ATTESTATION}${uid.slice(2)}`
}

/** Returns the call data of an aggregate3 of getAttestation for each UID. It reverts if a call fails. */
export function multicall(eas: string, uids: readonly string[]): string {
  const start = `${eas.slice(2).padStart(64, '0')}${word(0)}${word(3 * WORD)}${word(36)}${GET_ATTESTATION}`
  return [
    `0x${AGGREGATE3}${word(WORD)}${word(uids.length)}`,
    ...uids.map((_, i) => word(WORD * (uids.length + CALL_WORDS * i))),
    ...uids.map((uid) => start + uid.slice(2) + '0'.repeat(56)),
  ].join('')
}

/**
 * Returns the result of each call of an aggregate3. Throws a RangeError for a response of another form, and a
 * FalseBodyError, before any result is read, for a different number.
 */
export function multicallAnswers(answer: string, calls: number): Buffer[] {
  const bytes = bytesOf(answer)
  const list = place(bytes, 0)
  const start = list + WORD
  const count = place(bytes, list)
  if (count !== calls)
    throw new FalseBodyError(`requested ${calls} attestations, the RPC endpoint returned ${count}`)
  return Array.from({ length: count }, (_, i) => {
    const result = start + place(bytes, start + WORD * i)
    return bytesAt(bytes, result + place(bytes, result + WORD))
  })
}

/**
 * Decodes the result of getAttestation, of every version of EAS. The UID proves the content, so only bounds
 * are checked. Throws a RangeError for a result of another form.
 */
export function decodeAttestation(answer: Buffer): AttestationBody {
  const at = place(answer, 0)
  if (at + WORD * FIELDS > answer.length) throw new RangeError('it is too short')
  const hex = (field: number, from = 0) =>
    `0x${answer.toString('hex', at + WORD * field + from, at + WORD * (field + 1))}`
  const time = (field: number) => answer.readBigUInt64BE(at + WORD * field + 24)
  return {
    uid: hex(0),
    schema: hex(1),
    time: time(2),
    expirationTime: time(3),
    // Word 4, the time of revocation, is omitted.
    refUID: hex(5),
    recipient: hex(6, 12),
    attester: hex(7, 12),
    revocable: answer[at + WORD * 8 + 31] !== 0,
    data: bytesAt(answer, at + place(answer, at + WORD * 9)),
  }
}

/** Decodes hex after 0x, up to the first character that is not a hex digit. */
export function bytesOf(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex')
}

function word(value: number): string {
  return value.toString(16).padStart(64, '0')
}

/** Reads a length or an offset. Throws a RangeError if it, or its value, is beyond the bytes. */
function place(bytes: Buffer, at: number): number {
  let high = 0
  for (let i = 0; i < WORD - 4; i += 4) high |= bytes.readUInt32BE(at + i)
  const value = bytes.readUInt32BE(at + WORD - 4)
  if (high !== 0 || value > bytes.length) throw new RangeError('an offset is beyond its end')
  return value
}

/** Reads the `bytes` whose length is stored at `at`. */
function bytesAt(bytes: Buffer, at: number): Buffer {
  const start = at + WORD
  const length = place(bytes, at)
  if (start + length > bytes.length) throw new RangeError('its bytes are truncated')
  return bytes.subarray(start, start + length)
}
