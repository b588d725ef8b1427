// `npm run build`: makes everything that runs, two parts at a time. `npm run lint` checks the types.
import { spawn } from 'node:child_process'

const AT_ONCE = 2
/** After this long without a line, one says what is under way. */
const SILENCE_MS = 2_500

const tsc = (config) => ['node_modules/typescript/bin/tsc', '--noCheck', '-p', config]
/** The longest first; each is a program, once what it needs is there. */
const PARTS = [
  { name: 'packages/client', program: ['packages/build.mjs', 'client'] },
  { name: 'API and start', program: tsc('tsconfig.dist.json') },
  {
    name: 'pages',
    program: [
      'node_modules/vite/bin/vite.js',
      'build',
      '--config',
      'web/vite.config.mts',
      '--logLevel',
      'warn',
    ],
    needs: 'packages/client',
  },
  { name: 'indexer', program: tsc('tsconfig.json') },
  { name: 'packages/mcp and cli', program: ['packages/build.mjs', 'mcp', 'cli'], needs: 'packages/client' },
]

const started = performance.now()
const { stdout } = process
const seconds = () => `${((performance.now() - started) / 1000).toFixed(0)} s`
const green = (text) => (stdout.isTTY && stdout.hasColors() ? `\x1b[32m${text}\x1b[0m` : text)
let waiting = PARTS
const underWay = new Map()
const built = new Set()
let told = started

function tell(line, end = '\n') {
  stdout.write(`${stdout.isTTY ? '\r\x1b[K' : ''}${line}${end}`)
  told = performance.now()
}

function startNext() {
  while (underWay.size < AT_ONCE) {
    const next = waiting.find(({ needs }) => needs === undefined || built.has(needs))
    if (!next) return
    waiting = waiting.filter((each) => each !== next)
    const child = spawn(process.execPath, next.program, { stdio: ['ignore', 'inherit', 'inherit'] })
    underWay.set(next.name, child)
    child.once('exit', (code) => {
      underWay.delete(next.name)
      if (code !== 0) {
        for (const other of underWay.values()) other.kill()
        tell(`Not built: ${next.name}`)
        process.exit(1)
      }
      built.add(next.name)
      tell(`${green('\u2713')} Built: ${next.name} ${seconds()}`)
      startNext()
    })
  }
}

// A terminal has one line for it.
setInterval(() => {
  const line = `  building ${[...underWay.keys()].join(', ')} ... ${seconds()}`
  if (stdout.isTTY) tell(line.slice(0, stdout.columns - 1), '')
  else if (performance.now() - told > SILENCE_MS) tell(line)
}, 100).unref()
startNext()
