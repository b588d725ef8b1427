import type { Logger } from '@subsquid/logger'
import { MONOTONIC, type Clock } from '../clock'
import { SettingsError } from '../config'
import type { BlockReader } from './blocks'
import type { BlockRef } from './followed'
import { LATEST } from './logs'

/** Looks in a row that must find another block before the endpoints are believed. */
const CONTRADICTIONS = 4
/** An endpoint that cannot confirm a block for this long is not needed to contradict it. */
const PATIENCE_MS = 60_000
const ASK_AGAIN_MS = 500
const WAIT_FOR_BLOCK_MS = 2_000

/** A block of the database, and the hash that the endpoints have in its place. */
export interface Contradiction {
  readonly block: BlockRef
  readonly hash: string
}

/**
 * Looks for a final block of the database. One endpoint may lag, be on a fork of its own, or lie: a
 * contradiction is believed once several looks in a row find that every endpoint has another block.
 */
export class StoredBlockCheck {
  private since: number | undefined
  private looks = 0

  constructor(
    private readonly blocks: BlockReader,
    private readonly clock: Clock,
  ) {}

  /** Looks once. Answers `absent` if no endpoint has a block of this number. */
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
    // An endpoint that lacks the block, or does not answer, may still confirm it.
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
 * The contradiction of a block of the database, or of one below it, that the endpoints repeat; undefined once
 * an endpoint confirms it. Waits for an endpoint that has a block of its number.
 */
export async function contradiction(
  stored: BlockRef,
  {
    blocks,
    log,
    signal,
    storedAtOrBelow,
    clock = MONOTONIC,
  }: {
    blocks: BlockReader
    log: Logger
    signal?: AbortSignal
    storedAtOrBelow: (height: number) => Promise<BlockRef | undefined>
    clock?: Clock
  },
): Promise<Contradiction | undefined> {
  const check = new StoredBlockCheck(blocks, clock)
  for (;;) {
    let found = await check.look(stored)
    if (found === 'confirmed') return undefined
    const lower = found === 'absent' ? await lowerOne(blocks, stored, storedAtOrBelow) : undefined
    if (lower) found = await check.look(lower)
    if (typeof found === 'object') return found
    if (found !== 'doubted')
      log.warn(
        { height: stored.height },
        'No endpoint has the last block of the database. The indexer waits for it.',
      )
    await clock.pause(found === 'doubted' ? ASK_AGAIN_MS : WAIT_FOR_BLOCK_MS, signal)
  }
}

/** A block of the database that is not above the head of an endpoint. */
async function lowerOne(
  blocks: BlockReader,
  stored: BlockRef,
  storedAtOrBelow: (height: number) => Promise<BlockRef | undefined>,
): Promise<BlockRef | undefined> {
  const [latest] = await blocks.headers([LATEST])
  const height = latest && Number(latest.header.number)
  return height != null && height < stored.height ? storedAtOrBelow(height) : undefined
}

/** The refusal of a gateway that has another block than the endpoints. */
export function otherGateway({ block, hash }: Contradiction): SettingsError {
  return new SettingsError(
    `The gateway has block ${block.height} as ${block.hash}, the RPC endpoints have ${hash}. ` +
      'One of them is of another network: correct GATEWAY_URL_* or RPC_URL_*, or leave the gateway out.',
  )
}

/** The refusal to index a chain that has another block where the database holds a final one. */
export function otherChain(finality: number, { block, hash }: Contradiction): SettingsError {
  return new SettingsError(
    `The database holds block ${block.height} as ${block.hash}, the RPC endpoints have ${hash}. ` +
      'If an endpoint or the database is of another network, correct RPC_URL_* or DATABASE_URL. ' +
      `If the chain was replaced, or a reorg went deeper than ${finality} blocks, index it into an empty database.`,
  )
}
