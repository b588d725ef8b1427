import { ZeroAddress, ZeroHash } from 'ethers/constants'
import {
  attestDigest,
  attestTypedData,
  canonicalSignature,
  domainSeparator,
  type AttestTypedData,
  type Signer,
} from '../../../src/eas'
import { UnavailableError } from '../../http/problems'
import { NoSlotError, Semaphore } from '../../http/semaphore'

/** A token or a service that holds the key. */
export interface Device {
  /**
   * r and s, 64 bytes, with either s. Throws what it says instead.
   * @param isRight whether a signature is by this key, for devices that are tried in several ways
   * @param timeoutMs it need not end what it does by then, but then it has no answer
   */
  sign(
    digest: string,
    typed: () => AttestTypedData,
    isRight: (rs: Uint8Array) => Promise<boolean>,
    timeoutMs: number,
  ): Promise<Uint8Array>
  /** Signatures that it makes at a time; more wait here. */
  readonly parallel: number
}

export interface OutsideOptions {
  /** For one signature, the wait for a slot included. */
  timeoutMs: number
  /** Called when it begins to fail (with a reason for everybody, and one for the log), and to sign again. */
  onChange?: (problem: string | undefined, detail?: string) => void
}

/** Signatures that may wait: at 2 ms each, as a token makes them, for half a second. */
const WAITING = 256
/** Milliseconds after which who asks whether it is ready has it tried again. */
const TRY_AGAIN_MS = { ready: 60_000, failing: 5_000 }

/**
 * A signer whose key is outside this process. Its signatures are believed nothing: each one is recovered, and
 * sent only if it is of the digest and the address. It makes so many at a time, so many more wait, and the
 * rest is refused at once; what takes too long is given up. All that fails is an UnavailableError.
 */
export class OutsideSigner implements Signer {
  private readonly slots: Semaphore
  private problem: string | undefined
  private triedAt = -Infinity
  private trying = false

  /** @param address lower-case */
  constructor(
    readonly address: string,
    private readonly device: Device,
    private readonly options: OutsideOptions,
  ) {
    const { parallel } = device
    this.slots = new Semaphore({ all: parallel, each: parallel, waiting: WAITING, waitingEach: WAITING })
  }

  async sign(digest: string, typed: () => AttestTypedData): Promise<string> {
    const { timeoutMs } = this.options
    const ends = performance.now() + timeoutMs
    let release: (() => void) | undefined
    try {
      release = await this.slots.acquire('', AbortSignal.timeout(timeoutMs))
      const complete = (rs: Uint8Array) => canonicalSignature(digest, rs, this.address)
      const isRight = async (rs: Uint8Array) => (await complete(rs)) !== undefined
      const rs = await this.device.sign(digest, typed, isRight, Math.max(1, ends - performance.now()))
      const signature = await complete(rs)
      if (signature === undefined) throw new WrongSignature()
      this.note(undefined)
      return signature
    } catch (error) {
      if (error instanceof NoSlotError) throw new UnavailableError('The signer has too much to do.')
      const problem =
        error instanceof WrongSignature
          ? 'the signer gives signatures that are not by the attester'
          : 'the signer does not answer, or refuses'
      this.note(problem, (error as Error).message)
      throw new UnavailableError(`Signing is not possible right now, as ${problem}.`)
    } finally {
      release?.()
    }
  }

  notReady(): string | undefined {
    const { problem } = this
    const age = performance.now() - this.triedAt
    if (!this.trying && age > TRY_AGAIN_MS[problem ? 'failing' : 'ready']) void this.try()
    return problem
  }

  /** Signs what no contract takes, to see whether it can. Never throws. */
  async try(): Promise<void> {
    this.trying = true
    const message = { ...TRIAL, attester: this.address }
    const digest = await attestDigest(domainSeparator(TRIAL_DOMAIN), 'v2', message)
    await this.sign(digest, () => attestTypedData(TRIAL_DOMAIN, 'v2', message)).catch(() => {})
    this.trying = false
  }

  private note(problem: string | undefined, detail?: string): void {
    this.triedAt = performance.now()
    if (problem !== this.problem) this.options.onChange?.(problem, detail?.slice(0, 300))
    this.problem = problem
  }
}

/** The device answered, but with what is no signature by the attester. */
export class WrongSignature extends Error {
  override readonly name = 'WrongSignature'

  constructor(message = 'it gave a signature that is of another key or digest') {
    super(message)
  }
}

/** No chain has a contract at the zero address. */
const TRIAL_DOMAIN = {
  ...{ name: 'Trial of the signer', version: '1', chainId: 1, verifyingContract: ZeroAddress },
}
const TRIAL = {
  ...{ schema: ZeroHash, recipient: ZeroAddress, expirationTime: 0, revocable: false, refUID: ZeroHash },
  ...{ data: '0x', value: 0, nonce: 0, deadline: 0 },
}
