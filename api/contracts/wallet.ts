import { createHash } from 'node:crypto'
import { hashMessage } from 'ethers/hash'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  MAX_SIGNATURE_BYTES,
  expandSignature,
  isCanonicalSignature,
  parseChecksumAddress,
  recoverSigner,
} from '../../src/eas'
import { expectWithin, HOUR_MS, showCount, type RequestCounter, type Tier } from '../http/limits'
import { ComputeError, verificationFailed } from '../http/problems'
import type { Nonces } from '../http/nonces'
import { workOf, type Work } from '../http/work'
import { isAccountSignature, type AccountSignature } from './account'
import type { ChainReader } from './chain-reader'

/** The parts of a request that a wallet signs (docs/reference/wallet.md). */
export interface SignedRequest {
  /** Host of PUBLIC_BASE_URL, with its port unless it is the default. Anyone can write the Host header. */
  authority: string
  method: string
  /** Path and query, as in the request's URL. */
  target: string
  /** SHA-256 of the body's bytes, in hex; of zero bytes if there is no body. */
  bodyHash: string
  /** Lower-case. */
  address: string
  /** Unix seconds, as in the header. */
  timestamp: string
  nonce: string
  chain?: string | undefined
}

/** Returns the EIP-191 message: one field per line, none with a line feed, so no two requests share it. */
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
    ...(request.chain === undefined ? [] : [`chain: ${request.chain}`]),
  ].join('\n')
}

const HEADERS = {
  address: 'x-wallet-address',
  signature: 'x-signature',
  timestamp: 'x-wallet-timestamp',
  nonce: 'x-wallet-nonce',
} as const
/** Header with the chain on which the wallet is a contract; a wallet that is a key needs none. */
const CHAIN_HEADER = 'x-wallet-chain'
const HEADERS_NEEDED =
  'a signed request needs the headers X-Wallet-Address, X-Signature, X-Wallet-Timestamp and X-Wallet-Nonce'
/** Milliseconds that a nonce is kept after its timestamp: the clocks of API instances may differ. */
const CLOCK_MARGIN_MS = 60_000

export interface WalletOptions {
  /** Requests per hour, 0 = no limit: per wallet, and per client address for all its wallets. */
  perHour: number
  perHourByAddress: number
  maxSkewSeconds: number
  publicBaseUrl: string
  counter: RequestCounter
  nonces: Nonces
  /** Chains whose contracts may be wallets, by chain id; empty if only keys may sign. */
  smartAccounts?: ReadonlyMap<number, ChainReader>
  /** Maximum age in seconds of a chain's head. An older state is not used. */
  maxLagSeconds: number
  /** milliseconds */
  clock: () => number
}

type Claim = Pick<SignedRequest, 'address' | 'timestamp' | 'nonce' | 'chain'> & { signature: string }

/**
 * Rate limits of requests signed by a wallet: those with any of its headers, of which all but the
 * chain's must be present. A nonce or a request of a wallet counts only once its signature is verified;
 * before that, only the client's address is counted.
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

  /** Returns how to count the address of a request with a wallet's headers; undefined for others. */
  tierOf(request: FastifyRequest): Tier | undefined {
    return [...Object.values(HEADERS), CHAIN_HEADER].some((name) => request.headers[name] !== undefined)
      ? this.byAddress
      : undefined
  }

  /** Admits signed requests to this scope. It runs after limitRequests, which counts the address first. */
  guard(scope: FastifyInstance): void {
    scope.addHook('onRequest', async (request) => {
      if (this.tierOf(request)) this.readClaim(request)
    })
    // When this hook runs, the body has arrived.
    scope.addHook('preValidation', async (request, reply) => {
      if (this.tierOf(request)) await this.admit(this.readClaim(request), request, reply)
    })
  }

  /** Reads the headers. Throws if one is malformed or the timestamp is out of range. */
  private readClaim(request: FastifyRequest): Claim {
    const missing = Object.values(HEADERS).filter((name) => request.headers[name] === undefined)
    if (missing.length)
      throw verificationFailed(`${missing.map(titled).join(', ')}: missing; ${HEADERS_NEEDED}`)
    const given = (name: keyof typeof HEADERS) => String(request.headers[HEADERS[name]])
    const address = parseChecksumAddress(given('address'))?.toLowerCase()
    if (!address)
      throw verificationFailed(
        'X-Wallet-Address: expected an address, 0x and 40 hex digits, in one letter case or with a ' +
          'correct checksum',
      )
    const chain = this.readChain(request)
    const signature = given('signature')
    if (chain === undefined && !isCanonicalSignature(expandSignature(signature)))
      throw verificationFailed(
        "X-Signature: expected 65 bytes in hex: r, s in the lower half of the curve's order, v 27 or 28; or the 64 of EIP-2098",
      )
    if (!isAccountSignature(signature))
      throw verificationFailed(`X-Signature: expected 1 to ${MAX_SIGNATURE_BYTES} bytes in hex`)
    const nonce = given('nonce')
    if (!/^[A-Za-z0-9_-]{16,64}$/.test(nonce))
      throw verificationFailed('X-Wallet-Nonce: expected 16 to 64 letters, digits, - and _')
    const timestamp = given('timestamp')
    if (!/^[1-9]\d{0,11}$/.test(timestamp))
      throw verificationFailed('X-Wallet-Timestamp: expected Unix seconds, digits only')
    const off = Number(timestamp) - this.options.clock() / 1000
    if (Math.abs(off) > this.options.maxSkewSeconds)
      throw verificationFailed(
        `X-Wallet-Timestamp: ${Math.round(Math.abs(off))} seconds ${off < 0 ? 'before' : 'after'} ` +
          `the server's clock. At most ${this.options.maxSkewSeconds} are accepted.`,
      )
    return { address, signature, timestamp, nonce, chain }
  }

  private readChain(request: FastifyRequest): string | undefined {
    const chain = request.headers[CHAIN_HEADER]
    if (chain === undefined) return undefined
    const ids = [...(this.options.smartAccounts?.keys() ?? [])].map(String)
    if (typeof chain !== 'string' || !ids.includes(chain))
      throw verificationFailed(
        ids.length
          ? `X-Wallet-Chain: expected the id of the chain on which the wallet is a contract, one of: ${ids.join(', ')}`
          : 'X-Wallet-Chain: this deployment accepts signatures of keys only, not of contracts. Leave it out.',
      )
    return chain
  }

  private async admit(
    { address, signature, timestamp, nonce, chain }: Claim,
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
      chain,
    })
    const digest = hashMessage(text)
    const byKey = (await recoverSigner(digest, expandSignature(signature))) === address
    const problem = byKey
      ? undefined
      : await this.problemOf(chain, { account: address, digest, signature }, workOf(request))
    if (problem !== undefined)
      throw verificationFailed(
        `X-Signature: ${problem} for this request, whose text is ${JSON.stringify(text.slice(0, 2_000))}`,
      )
    // The contracts of one address on two chains may be two wallets.
    const wallet = byKey ? address : `${chain}:${address}`
    if (!(await nonces.claim(`${wallet}:${nonce}`, 2_000 * maxSkewSeconds + CLOCK_MARGIN_MS)))
      throw verificationFailed('X-Wallet-Nonce: was used before. Use a new one for every request.')
    if (perHour === 0) return
    const count = await counter.count(`rate:wallet:${wallet}`, HOUR_MS)
    showCount(reply, perHour, count)
    expectWithin(count, perHour, reply, (limit, after) => {
      const detail = `More than ${limit} requests in an hour from this wallet. Retry in ${after}.`
      return new ComputeError('rate-limited', detail)
    })
  }

  /** Returns why a signature that is not by the wallet's key is not by its contract either. */
  private async problemOf(
    chain: string | undefined,
    claim: AccountSignature,
    work: Work,
  ): Promise<string | undefined> {
    const unknown = `is not by ${claim.account}`
    if (chain === undefined) return unknown
    const reader = this.options.smartAccounts!.get(Number(chain))!.of(work)
    const refusal = await reader.accountRefusal(claim, this.options.maxLagSeconds)
    return refusal && (refusal.isContract ? `${refusal.problem},` : unknown)
  }
}

/** x-wallet-nonce becomes X-Wallet-Nonce */
function titled(header: string): string {
  return header.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase())
}
