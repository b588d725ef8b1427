/**
 * Maximum number of logs per answer, which limits the memory of a batch. It is not lower, because Postgres is
 * idle while a batch is read, decoded and committed.
 */
export const LOGS_PER_ANSWER = 5_000
/** Width of the first range and of the largest one, in blocks. */
const FIRST_RANGE = 100
const LARGEST_RANGE = 1_000_000
/** Maximum ratio of the next range's width to that of the last range. */
const LARGEST_GROWTH = 64
/** Number of answers after a rejection, which may concern many logs, until a wider range is tried. */
const ANSWERS_BEFORE_MORE = 32

/**
 * Number of blocks per eth_getLogs. The range grows until an answer is expected to have a quarter of
 * LOGS_PER_ANSWER, and shrinks when the provider rejects it.
 */
export class LogRange {
  /** Number of blocks in the next request. */
  blocks = FIRST_RANGE
  /** True if the last answer had few logs. */
  isSparse = false
  /** Maximum number of blocks that the provider stated in an error; LARGEST_RANGE until then. */
  private limit = LARGEST_RANGE
  /** Widest range that the provider has recently answered; never above `limit`. */
  private ceiling = LARGEST_RANGE
  private answersSinceRefusal = 0

  answered(blocks: number, logs: number): void {
    if (++this.answersSinceRefusal > ANSWERS_BEFORE_MORE) this.ceiling = this.limit
    this.isSparse = logs < LOGS_PER_ANSWER / 4
    const growth = Math.min(LARGEST_GROWTH, LOGS_PER_ANSWER / 4 / Math.max(1, logs))
    this.blocks = Math.min(Math.max(this.blocks, Math.floor(growth * blocks)), this.ceiling)
  }

  /** Narrows the range after an answer that was too long and was cut. */
  overfilled(blocks: number, logs: number): void {
    this.blocks = Math.max(1, Math.floor((blocks * LOGS_PER_ANSWER) / logs))
  }

  /** @param allowed maximum number of blocks that the provider states in its error, if it does */
  refused(blocks: number, allowed: number | undefined): void {
    // If the range does not exceed the stated limit, the limit was misread. The range is then halved.
    const isStated = allowed !== undefined && allowed < blocks
    if (isStated) this.limit = allowed
    this.blocks = this.ceiling = isStated ? allowed : Math.max(1, Math.floor(blocks / 2))
    this.answersSinceRefusal = 0
  }
}
