import type { Logger } from '@subsquid/logger'
import { MONOTONIC, type Clock } from '../clock'
import { SettingsError } from '../config'
import type { BlockReader } from './blocks'
import type { Doubt } from './doubt'
import type { BlockRef } from './followed'
import { LATEST } from './logs'

/** Number of consecutive polls that must find another block before the endpoints are believed. */
const CONTRADICTIONS = 4
/** Milliseconds after which an endpoint that lacks a block or does not respond delays no verdict. */
const PATIENCE_MS = 60_000
const ASK_AGAIN_MS = 500
const WAIT_FOR_BLOCK_MS = 2_000

export interface ComparisonOptions {
  /** Reads single blocks, independently of the head reader. */
  blocks: BlockReader
  doubt: Doubt
  log: Logger
  signal?: AbortSignal
  /** Returns the newest final block at or below this number whose hash the database holds. */
  storedAtOrBelow: (height: number) => Promise<BlockRef | undefined>
  clock?: Clock
}

/** A block of the database, and the hash that the endpoints report instead. */
export interface Contradiction {
  readonly block: BlockRef
  readonly hash: string
}

/**
 * Checks that endpoints have a final block of the database. Several consecutive polls must find another block
 * at every endpoint, because one may lag, be on its own fork, or lie.
 */
export class StoredBlockCheck {
  private since: number | undefined
  private looks = 0

  constructor(
    private readonly blocks: BlockReader,
    private readonly clock: Clock,
  ) {}

  /** Polls once. Returns `absent` if no endpoint has a block of this number. */
  async look(block: BlockRef): Promise<'confirmed' | 'absent' | 'doubted' | Contradiction> {
    this.since ??= this.clock.now()
    const hashes = await this.blocks.hashesAt(block.height)
    if (hashes.includes(block.hash)) {
      this.forget()
      return 'confirmed'
    }
    const others = hashes.filter((hash) => hash !== null)
    const [hash] = others
    if (hash === undefined) return 'absent'
    // An endpoint that lacks the block, or does not respond, may still confirm it.
    const areAll = others.length === this.blocks.endpoints
    if (areAll || this.clock.now() - this.since > PATIENCE_MS) this.looks++
    return this.looks >= CONTRADICTIONS ? { block, hash } : 'doubted'
  }

  forget(): void {
    this.since = undefined
    this.looks = 0
  }
}

/**
 * Returns a contradiction of a block of the database, or of a lower one, that the endpoints repeat; undefined
 * once one confirms the block. Until an endpoint has a block of its number, waits and reports a doubt.
 */
export async function contradiction(
  stored: BlockRef,
  { blocks, doubt, log, signal, storedAtOrBelow, clock = MONOTONIC }: ComparisonOptions,
): Promise<Contradiction | undefined> {
  const check = new StoredBlockCheck(blocks, clock)
  for (;;) {
    let found = await check.look(stored)
    if (found === 'confirmed') return undefined
    doubt.contradicted(
      found === 'absent'
        ? `no RPC endpoint has block ${stored.height}`
        : `RPC endpoints do not have block ${stored.height} with the hash ${stored.hash}`,
    )
    if (found === 'absent') {
      // An endpoint whose head is lower may have another block than the database there.
      const [latest] = await blocks.headers([LATEST])
      const height = latest ? Number(latest.header.number) : Infinity
      const lower = height < stored.height ? await storedAtOrBelow(height) : undefined
      if (lower) found = await check.look(lower)
    }
    if (typeof found === 'object') return found
    if (found !== 'doubted')
      log.warn(
        { height: stored.height },
        'No RPC endpoint has the newest block of the database. The indexer waits for it.',
      )
    await clock.pause(found === 'doubted' ? ASK_AGAIN_MS : WAIT_FOR_BLOCK_MS, signal)
  }
}

/** Error for a gateway that has another block than the endpoints. */
export function otherGateway({ block, hash }: Contradiction): SettingsError {
  return new SettingsError(
    `Block ${block.height} is ${block.hash} at the gateway, but ${hash} at the RPC endpoints, so ` +
      'one of them is on another network. Correct GATEWAY_URL_* or RPC_URL_*, or remove the ' +
      'gateway.',
  )
}

/** Error for a chain that has another block than the final one in the database. */
export function otherChain(finality: number, { block, hash }: Contradiction): SettingsError {
  return new SettingsError(
    `Block ${block.height} is ${block.hash} in the database, but ${hash} at the RPC endpoints. ` +
      'If an endpoint or the database belongs to another network, correct RPC_URL_* or ' +
      `DATABASE_URL. If the chain was replaced, or a reorg went deeper than ${finality} blocks, ` +
      'index it into an empty database.',
  )
}
