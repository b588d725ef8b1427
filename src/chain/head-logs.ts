import type { Logger } from '@subsquid/logger'
import type { BlockReader, CheckedHeader } from './blocks'
import type { FollowedChain, HeadBlock } from './followed'

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
