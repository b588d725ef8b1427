// Runs Node programs, some at a time, and shows which ones run, for dev/build.mjs and dev/lint.mjs.
import { spawn } from 'node:child_process'

const AT_ONCE = 2
/** Milliseconds without a line after which a log file gets a line that names the running parts. */
const SILENCE_MS = 2_500
const { stdout } = process
const coloured = stdout.isTTY && stdout.hasColors()
const paint = (colour, text) => (coloured ? `\x1b[${colour}m${text}\x1b[0m` : text)

/**
 * Runs all parts: `{ name, program, needs?, isDone? }`. `needs` names parts that must end first, and a part
 * that `isDone` by then is skipped. Prints the output of a part that fails. Exits with status 1 after the
 * first failure, or after all parts with `keepGoing`. Calls `start` with a part before it runs, and `done`
 * with a part that succeeded.
 */
export function runParts(parts, { doing, keepGoing = false, start = () => {}, done = () => {} }) {
  const started = performance.now()
  const seconds = () => `${((performance.now() - started) / 1000).toFixed(0)} s`
  const running = new Map()
  const ended = new Set()
  let waiting = parts
  let printed = started

  function print(line, end = '\n') {
    stdout.write(`${stdout.isTTY ? '\r\x1b[K' : ''}${line}${end}`)
    printed = performance.now()
  }

  function startNext() {
    while (running.size < AT_ONCE) {
      const next = waiting.find(({ needs = [] }) => needs.every((name) => ended.has(name)))
      if (!next) return
      waiting = waiting.filter((each) => each !== next)
      if (next.isDone?.()) {
        ended.add(next.name)
        continue
      }
      start(next)
      const child = spawn(process.execPath, next.program, {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, ...(coloured && { FORCE_COLOR: '1' }) },
      })
      const output = []
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk))
      running.set(next.name, child)
      child.once('close', (code) => end(next, code, Buffer.concat(output)))
    }
  }

  function end(part, code, output) {
    running.delete(part.name)
    ended.add(part.name)
    print(`${code === 0 ? paint(32, '\u2713') : paint(31, '\u2717')} ${part.name} ${seconds()}`)
    if (code === 0) done(part)
    else {
      stdout.write(output)
      process.exitCode = 1
      if (!keepGoing) {
        waiting = []
        for (const other of running.values()) other.kill()
      }
    }
    startNext()
  }

  // A terminal shows the running parts on one line.
  setInterval(() => {
    const line = `  ${doing} ${[...running.keys()].join(', ')} ... ${seconds()}`
    if (stdout.isTTY) print(line.slice(0, stdout.columns - 1), '')
    else if (performance.now() - printed > SILENCE_MS) print(line)
  }, 100).unref()
  startNext()
}
