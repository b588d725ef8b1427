import type { WriteStream } from 'node:tty'

/** Milliseconds without a line after which a line names the running steps. */
const SILENCE_MS = 2_500
const [GREEN, RED, GREY] = [32, 31, 90]

/**
 * Steps of a start, several of which may run at once, on the standard output: a line for each step that has
 * ended, with its seconds. On a terminal a last line shows the running steps; elsewhere a line at intervals
 * does. Colours are for terminals that support them, unless NO_COLOR is set.
 */
export class Steps {
  private readonly underWay = new Set<string>()
  private readonly counted = new Map<string, string>()
  private readonly timer = setInterval(() => this.tell(), 100).unref()
  private last = performance.now()
  private shown = ''
  private stopped = false

  constructor(private readonly out: WriteStream) {}

  /** Shows a step as running until it ends. */
  readonly step = async <Result>(what: string, work: Promise<Result>): Promise<Result> => {
    const since = performance.now()
    this.underWay.add(what)
    const end = (sign: string) => {
      this.underWay.delete(what)
      if (this.stopped) return
      const seconds = `${((performance.now() - since) / 1000).toFixed(1)} s`
      this.note(`${sign} ${what} ${this.coloured(GREY, seconds)}`)
    }
    try {
      const result = await work
      end(this.coloured(GREEN, '\u2713'))
      return result
    } catch (error) {
      end(this.coloured(RED, '\u2717'))
      throw error
    }
  }

  readonly progress = (what: string, done: number, total: number): void => {
    if (done < total) this.counted.set(what, `${done} of ${total} ${what}`)
    else this.counted.delete(what)
  }

  readonly note = (line: string): void => {
    this.clear()
    this.out.write(`${line}\n`)
    this.last = performance.now()
  }

  /** Ends the output of steps and progress. Notes are still written. */
  stop(): void {
    clearInterval(this.timer)
    this.clear()
    this.stopped = true
  }

  private tell(): void {
    const under = [...this.underWay, ...this.counted.values()].join('; ')
    if (under === '') return
    if (!this.out.isTTY) {
      if (performance.now() - this.last > SILENCE_MS) this.note(`  ${under} ...`)
    } else if (under !== this.shown) {
      this.clear()
      this.out.write(this.coloured(GREY, `  ${under} ...`.slice(0, this.out.columns - 1)))
      this.shown = under
    }
  }

  private clear(): void {
    if (this.shown) this.out.write('\r\x1b[K')
    this.shown = ''
  }

  private coloured(colour: number, text: string): string {
    return this.out.isTTY && this.out.hasColors() ? `\x1b[${colour}m${text}\x1b[0m` : text
  }
}
