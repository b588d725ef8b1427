import type { Logger } from '@subsquid/logger'
import type { BlockReader, CheckedHeader } from './blocks'
import { refOf, type FollowedChain, type HeadBlock } from './followed'
import { headerCall } from './logs'

/** Reads the blocks of one poll of the head: their headers, then their logs. */

/** Maximum number of blocks per poll and of headers per request: some endpoints fail on large batches. */
export const LONGEST_STEP = 100
const HEADERS_AT_ONCE = 10

/**
 * Reads the headers above this number up to the latest block, or the first LONGEST_STEP of them. `linked`
 * ends before a header that is missing or whose parent is not the one before it.
 */
export async function headersAbove(
  blocks: BlockReader,
  tip: number,
  latest: CheckedHeader,
): Promise<{ linked: CheckedHeader[]; isBroken: boolean }> {
  const { height } = refOf(latest)
  const missing = Array.from(
    { length: Math.max(0, Math.min(height - 1 - tip, LONGEST_STEP)) },
    (_, i) => tip + 1 + i,
  )
  const requests: Promise<(CheckedHeader | null)[]>[] = []
  for (let i = 0; i < missing.length; i += HEADERS_AT_ONCE)
    requests.push(blocks.headers(missing.slice(i, i + HEADERS_AT_ONCE).map(headerCall)))
  const read = (await Promise.all(requests)).flat()
  if (height <= tip + missing.length + 1) read.push(latest)
  const broken = read.findIndex(
    (each, i) => !each || (i > 0 && each.header.parentHash !== read[i - 1]!.header.hash),
  )
  return { linked: (broken < 0 ? read : read.slice(0, broken)) as CheckedHeader[], isBroken: broken >= 0 }
}

interface Reading {
  readonly blocks: BlockReader
  readonly log: Logger
}

/**
 * Returns blocks near the head with their logs, which pass the final version of the selection, up to the
 * first block whose logs are not certain. Records in the followed chain which version its blocks pass.
 */
export async function readLogs(
  path: readonly CheckedHeader[],
  chain: FollowedChain,
  reading: Reading,
): Promise<HeadBlock[]> {
  const { selection } = reading.blocks
  const before = selection.version
  for (let learned = 0; ;) {
    const { version } = selection
    const read = await Promise.all(path.map((each) => complete(each, reading)))
    for (const each of read) learned += each?.learned ?? 0
    if (selection.version !== version) continue
    // Followed blocks below `path` have no logs of the schemas that `path` announces.
    if (version === before + learned) chain.passes(version, before)
    const lacking = read.indexOf(null)
    return (lacking < 0 ? read : read.slice(0, lacking)).map((each) => each!.block)
  }
}

/** Returns the block with its logs; null while they are missing or not certain. */
async function complete(
  checked: CheckedHeader,
  { blocks, log }: Reading,
): Promise<{ block: HeadBlock; learned: number } | null> {
  const found = await blocks.logs(checked)
  if (!found || found.contradicted) {
    log.info(
      { block: Number(checked.header.number) },
      'the logs of a block are uncertain; they will be read again',
    )
    return null
  }
  const { number, hash, parentHash, timestamp, logsBloom } = checked.header
  // Stores only the fields that are used, because a header lists hundreds of transactions.
  const header = { number, hash, parentHash, timestamp, ...(logsBloom !== undefined && { logsBloom }) }
  const { logs, evidence, version, learned } = found
  return { block: { header, logs, evidence, version }, learned }
}
