/**
 * An answer with more logs than this is cut at the end of a block, so that a batch stays small in memory.
 * It is not smaller, as Postgres is idle while a batch is read, decoded and committed.
 */
export const LOGS_PER_ANSWER = 5_000
/** Range of the first question. */
const FIRST_RANGE = 100
const LARGEST_RANGE = 1_000_000
/** The next range is at most this many times as wide. */
const LARGEST_GROWTH = 64
/** A refusal in a crowded stretch need not hold for ever: after this many answers a wider range is tried. */
const ANSWERS_BEFORE_MORE = 32

/**
 * How many blocks one eth_getLogs asks for. The range grows until an answer is expected to hold a quarter of
 * LOGS_PER_ANSWER, and shrinks when the provider refuses.
 */
export class LogRange {
  /** Blocks to ask for next. */
  blocks = FIRST_RANGE
  /** Whether the last answer had few logs. */
  isSparse = false
  /** What the provider says it allows, once it has said so. */
  private limit = LARGEST_RANGE
  /** What it has answered lately; never above its limit. */
  private ceiling = LARGEST_RANGE
  private answersSinceRefusal = 0

  answered(blocks: number, logs: number): void {
    if (++this.answersSinceRefusal > ANSWERS_BEFORE_MORE) this.ceiling = this.limit
    this.isSparse = logs < LOGS_PER_ANSWER / 4
    const growth = Math.min(LARGEST_GROWTH, LOGS_PER_ANSWER / 4 / Math.max(1, logs))
    this.blocks = Math.min(Math.max(this.blocks, Math.floor(growth * blocks)), this.ceiling)
  }

  /** An answer was too long and had to be cut. */
  overfilled(blocks: number, logs: number): void {
    this.blocks = Math.max(1, Math.floor((blocks * LOGS_PER_ANSWER) / logs))
  }

  /** @param allowed what the provider says it allows, if it does */
  refused(blocks: number, allowed: number | undefined): void {
    // A stated limit that was not exceeded was misread: half of what was asked, then.
    const isStated = allowed !== undefined && allowed < blocks
    if (isStated) this.limit = allowed
    this.blocks = this.ceiling = isStated ? allowed : Math.max(1, Math.floor(blocks / 2))
    this.answersSinceRefusal = 0
  }
}
