import { createHash } from 'node:crypto'
import { hashMessage } from 'ethers'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isCanonicalSignature, recoverSigner } from '../src/eas'
import { parseRecipient } from './attester'
import { HOUR_MS, tellCount, type RequestCounter, type Tier } from './limits'
import { ComputeProblem, UnavailableError } from './problems'
import type { SharedRedis } from './redis'

/** What a wallet signs of a request (docs/wallet.md). */
export interface SignedRequest {
  /** Host, and port unless it is the scheme's own, of PUBLIC_BASE_URL: not the Host header, which anyone can write. */
  authority: string
  method: string
  /** Path and query, as in the request's URL. */
  target: string
  /** SHA-256 of the body's bytes, of none where there is none; hex. */
  bodyHash: string
  /** Lower-case. */
  address: string
  /** Unix seconds, as in the header. */
  timestamp: string
  nonce: string
}

/** The text that is signed as EIP-191 personal message. One field a line, none of which can hold a line feed, so that no two requests have one text. */
export function signedText(request: SignedRequest): string {
  return [
    'Geospatial Attestation Service: signed request, version 1',
    `authority: ${request.authority}`,
    `method: ${request.method}`,
    `target: ${request.target}`,
    `body-sha256: ${request.bodyHash}`,
    `address: ${request.address}`,
    `timestamp: ${request.timestamp}`,
    `nonce: ${request.nonce}`,
  ].join('\n')
}

const HEADERS = {
  address: 'x-wallet-address',
  signature: 'x-signature',
  timestamp: 'x-wallet-timestamp',
  nonce: 'x-wallet-nonce',
} as const
const HEADERS_NEEDED =
  'a signed request carries X-Wallet-Address, X-Signature, X-Wallet-Timestamp and X-Wallet-Nonce'
/** By so much longer than a timestamp is good, a nonce is remembered: the clocks of two copies of the API may differ. */
const CLOCK_MARGIN_MS = 60_000

export interface WalletOptions {
  /** Requests per hour, 0 = no limit: of a wallet; of a client address, for all its wallets. */
  perHour: number
  perHourByAddress: number
  maxSkewSeconds: number
  publicBaseUrl: string
  counter: RequestCounter
  nonces: Nonces
  /** milliseconds */
  clock: () => number
}

interface Claim {
  address: string
  signature: string
  timestamp: string
  nonce: string
}

/**
 * Requests signed by a wallet, which have a limit of their own. Any of the four headers makes a request such a one, and then all
 * must be right. Nothing is taken from a wallet, neither a nonce nor a request, before its own signature is seen; until then it
 * is the client's address that is counted.
 */
export class WalletTier {
  private readonly authority: string
  private readonly basePath: string
  private readonly byAddress: Tier

  constructor(private readonly options: WalletOptions) {
    const base = new URL(options.publicBaseUrl)
    this.authority = base.host
    this.basePath = base.pathname.replace(/\/$/, '')
    this.byAddress = { scope: 'wallet-ip', perHour: options.perHourByAddress }
  }

  /** How the client's address is counted for a request that carries a wallet's headers; undefined for others. */
  tierOf(request: FastifyRequest): Tier | undefined {
    return Object.values(HEADERS).some((name) => request.headers[name] !== undefined)
      ? this.byAddress
      : undefined
  }

  /** Lets signed requests into this scope. After limitRequests, which counts the address first. */
  guard(scope: FastifyInstance): void {
    scope.addHook('onRequest', async (request) => {
      if (this.tierOf(request)) this.readClaim(request)
    })
    // The body has arrived by then.
    scope.addHook('preValidation', async (request, reply) => {
      if (this.tierOf(request)) await this.admit(this.readClaim(request), request, reply)
    })
  }

  /** The headers, well-formed and of this time. */
  private readClaim(request: FastifyRequest): Claim {
    const missing = Object.values(HEADERS).filter((name) => request.headers[name] === undefined)
    if (missing.length) throw failed(`${missing.map(titled).join(', ')}: missing; ${HEADERS_NEEDED}`)
    const given = (name: keyof typeof HEADERS) => String(request.headers[HEADERS[name]])
    const address = parseRecipient(given('address'))?.toLowerCase()
    if (!address)
      throw failed(
        'X-Wallet-Address: expected an address, 0x and 40 hex digits, in one letter case or with its right checksum',
      )
    const signature = given('signature')
    if (!isCanonicalSignature(signature))
      throw failed(
        "X-Signature: expected 65 bytes in hex: r, s in the lower half of the curve's order, v 27 or 28",
      )
    const nonce = given('nonce')
    if (!/^[A-Za-z0-9_-]{16,64}$/.test(nonce))
      throw failed('X-Wallet-Nonce: expected 16 to 64 letters, digits, - and _')
    const timestamp = given('timestamp')
    if (!/^[1-9]\d{0,11}$/.test(timestamp))
      throw failed('X-Wallet-Timestamp: expected Unix seconds, digits only')
    const off = Number(timestamp) - this.options.clock() / 1000
    if (Math.abs(off) > this.options.maxSkewSeconds)
      throw failed(
        `X-Wallet-Timestamp: ${Math.round(Math.abs(off))} seconds ${off < 0 ? 'before' : 'after'} the server's clock; at most ${this.options.maxSkewSeconds} are accepted`,
      )
    return { address, signature, timestamp, nonce }
  }

  private async admit(
    { address, signature, timestamp, nonce }: Claim,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    const { perHour, maxSkewSeconds, counter, nonces } = this.options
    const bodyHash = createHash('sha256')
      .update(request.rawBody ?? '')
      .digest('hex')
    const text = signedText({
      authority: this.authority,
      method: request.method,
      target: this.basePath + request.url,
      bodyHash,
      address,
      timestamp,
      nonce,
    })
    if ((await recoverSigner(hashMessage(text), signature)) !== address)
      throw failed(
        `X-Signature: not made by ${address} over this request, whose text is ${JSON.stringify(text.slice(0, 2_000))}`,
      )
    if (!(await nonces.claim(`${address}:${nonce}`, 2_000 * maxSkewSeconds + CLOCK_MARGIN_MS)))
      throw failed('X-Wallet-Nonce: was used before; take a new one for every request')
    if (perHour === 0) return
    const count = await counter.count(`rate:wallet:${address}`, HOUR_MS)
    if (!tellCount(reply, perHour, count))
      throw new ComputeProblem(
        'rate-limited',
        `More than ${perHour} requests in an hour from this wallet; try again in ${Math.ceil(count.ttl / 60_000)} minutes.`,
      )
  }
}

function failed(detail: string): ComputeProblem {
  return new ComputeProblem('verification-failed', detail)
}

/** x-wallet-nonce -> X-Wallet-Nonce */
function titled(header: string): string {
  return header.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase())
}

/** Nonces remembered in this process, some 150 MB; beyond that signed requests wait until the oldest may be forgotten. */
const NONCES_REMEMBERED = 1_000_000

/** Which nonces were used: shared through Redis where there is one. Only without any Redis in this process. */
export class Nonces {
  /** By key: the millisecond at which it may be forgotten; oldest first. */
  private readonly local = new Map<string, number>()

  /** @param clock milliseconds */
  constructor(
    private readonly clock: () => number,
    private readonly redis?: SharedRedis,
  ) {}

  /** Whether this is its first use within `ms`, which must be the same for all. Throws UnavailableError where that cannot be told: what was used once must not pass again. */
  async claim(key: string, ms: number): Promise<boolean> {
    if (!this.redis) return this.claimLocally(key, ms)
    const first = await this.redis.claim(`nonce:${key}`, ms)
    if (first === undefined)
      throw new UnavailableError('Whether a nonce was used before cannot be told right now; take a new one.')
    return first
  }

  private claimLocally(key: string, ms: number): boolean {
    const now = this.clock()
    for (const [old, until] of this.local) {
      if (until > now) break
      this.local.delete(old)
    }
    if (this.local.has(key)) return false
    if (this.local.size >= NONCES_REMEMBERED)
      throw new UnavailableError('Too many signed requests in the last minutes.')
    this.local.set(key, now + ms)
    return true
  }
}
