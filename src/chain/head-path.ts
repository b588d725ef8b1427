import type { BlockReader, CheckedHeader } from './blocks'
import { refOf } from './followed'
import { headerCall } from './logs'

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
