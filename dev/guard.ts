/**
 * Ends processes that cannot notice that whoever started them is gone: `node dist/dev/guard.js`, with an IPC
 * channel. Its parent names them (GuardMessage). When the channel closes, as it does however its parent
 * ended, what still runs of them gets a SIGTERM, and after STOP_TIMEOUT_MS a SIGKILL.
 */
export interface GuardMessage {
  readonly pid: number
  /** False: it has ended, and its id may be another process's. */
  readonly runs: boolean
}

/** A node writes its state first. */
const STOP_TIMEOUT_MS = 20_000
const LOOK_MS = 100

const guarded = new Set<number>()
process.on('message', ({ pid, runs }: GuardMessage) => (runs ? guarded.add(pid) : guarded.delete(pid)))
// A Ctrl-C in the terminal reaches it, too: its parent decides what ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
process.once('disconnect', () => {
  const started = performance.now()
  for (const pid of guarded) end(pid, 'SIGTERM')
  const timer = setInterval(() => {
    const insist = performance.now() - started > STOP_TIMEOUT_MS
    for (const pid of guarded) end(pid, insist ? 'SIGKILL' : 0)
    if (guarded.size === 0 || insist) clearInterval(timer)
  }, LOOK_MS)
})

/** Sends a signal, 0 for none, and strikes off what is no more. */
function end(pid: number, signal: NodeJS.Signals | 0): void {
  try {
    process.kill(pid, signal)
  } catch {
    guarded.delete(pid)
  }
}
