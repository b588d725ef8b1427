/**
 * Ends processes that cannot notice the end of their parent: `node dist/dev/guard.js`, with an IPC channel.
 * Its own parent names them (GuardMessage). The channel closes however that parent ends. Then each process
 * that still runs gets a SIGTERM, and a SIGKILL after STOP_TIMEOUT_MS.
 */
export interface GuardMessage {
  readonly pid: number
  /** false after the process has ended, because its id may belong to another process */
  readonly runs: boolean
}

/** Time limit for a clean end, in milliseconds. A node needs time to save its state. */
const STOP_TIMEOUT_MS = 20_000
const LOOK_MS = 100

const guarded = new Set<number>()
process.on('message', ({ pid, runs }: GuardMessage) => (runs ? guarded.add(pid) : guarded.delete(pid)))
// A Ctrl-C in the terminal reaches this process too; its parent decides which processes end.
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

/** Sends a signal, or 0 for none, and removes processes that have ended. */
function end(pid: number, signal: NodeJS.Signals | 0): void {
  try {
    process.kill(pid, signal)
  } catch {
    guarded.delete(pid)
  }
}
