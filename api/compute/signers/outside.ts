import { ZeroAddress, ZeroHash } from 'ethers/constants'
import {
  attestDigest,
  attestTypedData,
  canonicalSignature,
  domainSeparator,
  type AttestTypedData,
  type Signer,
} from '../../../src/eas'
import { UnavailableError, ownShareUsed } from '../../http/problems'
import { NoSlotError, Semaphore } from '../../http/semaphore'
import { OWN_WORK } from '../../http/work'

/** A token or a service that holds the key. */
export interface Device {
  /**
   * Returns r and s, 64 bytes, with either s. Throws the device's problem.
   * @param isRight true if a signature is by this key, for devices that are tried in several ways
   * @param timeoutMs the result is discarded after this time; the device itself may continue
   */
  sign(
    digest: string,
    typed: () => AttestTypedData,
    isRight: (rs: Uint8Array) => Promise<boolean>,
    timeoutMs: number,
  ): Promise<Uint8Array>
  /** Number of signatures that the device makes at once; more wait here. */
  readonly parallel: number
}

export interface OutsideOptions {
  /** Time limit for one signature in milliseconds, including the wait for a slot. */
  timeoutMs: number
  /**
   * Called with a public reason and a detail for the log when it starts to fail, without when it recovers.
   */
  onChange?: (problem: string | undefined, detail?: string) => void
}

/** Maximum number of waiting signatures: of all clients, half a second at 2 ms each, and of one. */
const QUEUE = { waiting: 256, waitingEach: 64 }
/** Age in milliseconds of the last signing attempt at which a readiness check triggers another attempt. */
const TRY_AGAIN_MS = { ready: 60_000, failing: 5_000 }

/**
 * A signer whose key is outside this process. It does not trust the device: it returns a signature only if it
 * recovers to the address. Signatures are limited, alternate between clients, and wait in limited queues,
 * beyond which they are refused at once: with a ComputeError if the client's own queue is full. Every other
 * failure, also a timeout, is an UnavailableError.
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
    this.slots = new Semaphore({ all: parallel, each: parallel, ...QUEUE })
  }

  async sign(digest: string, typed: () => AttestTypedData, client = OWN_WORK.client): Promise<string> {
    const { timeoutMs } = this.options
    const ends = performance.now() + timeoutMs
    let release: (() => void) | undefined
    try {
      release = await this.slots.acquire(client, { signal: AbortSignal.timeout(timeoutMs) })
      const complete = (rs: Uint8Array) => canonicalSignature(digest, rs, this.address)
      const isRight = async (rs: Uint8Array) => (await complete(rs)) !== undefined
      const rs = await this.device.sign(digest, typed, isRight, Math.max(1, ends - performance.now()))
      const signature = await complete(rs)
      if (signature === undefined) throw new WrongSignature()
      this.note(undefined)
      return signature
    } catch (error) {
      if (error instanceof NoSlotError)
        throw error.own
          ? ownShareUsed(
              `${QUEUE.waitingEach} of your signatures are queued. Retry after they have been made.`,
            )
          : new UnavailableError('Too many signatures are queued.')
      const problem =
        error instanceof WrongSignature
          ? 'the signer returns signatures that are not by the attester'
          : 'the signer does not respond or refuses to sign'
      this.note(problem, (error as Error).message)
      throw new UnavailableError(`Signing is unavailable: ${problem}.`)
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

  /** Signs data that no contract accepts, to check that the device works. Never throws. */
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

/** The device responded, but not with a signature by the attester. */
export class WrongSignature extends Error {
  override readonly name = 'WrongSignature'

  constructor(message = 'it returned a signature of another key or digest') {
    super(message)
  }
}

/** Domain that no contract accepts: no chain has a contract at the zero address. */
const TRIAL_DOMAIN = {
  ...{ name: 'Signer self-test', version: '1', chainId: 1, verifyingContract: ZeroAddress },
}
const TRIAL = {
  ...{ schema: ZeroHash, recipient: ZeroAddress, expirationTime: 0, revocable: false, refUID: ZeroHash },
  ...{ data: '0x', value: 0, nonce: 0, deadline: 0 },
}
