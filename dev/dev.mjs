// `npm run dev`: `npm start` that rebuilds changed sources and restarts the services that run them.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'

/** Milliseconds between two scans of the sources. Node 20 does not report files that a rename replaces. */
const LOOK_MS = 500

/** Folders, each with the services that run its code. `start` is `npm start` itself. */
const SERVICES = {
  src: ['api', 'indexer'],
  api: ['api'],
  web: ['api'],
  'packages/client/src': ['api'],
  'packages/mcp/src': ['api'],
  dev: ['start'],
}
let start = startWorld()
const touched = new Set()
/** Services that were not restarted after their code changed, because the build failed or was outdated. */
const failed = new Set()
let building = false
/** True once this process must end, also while it restarts `npm start`. */
let stopping = false
const seen = new Map()

for (const folder of Object.keys(SERVICES)) seen.set(folder, sourcesOf(folder))
setInterval(look, LOOK_MS)

/** Records the services of the folders that changed, and rebuilds if nothing changed since the last scan. */
function look() {
  let changed = false
  for (const [folder, services] of Object.entries(SERVICES)) {
    const sources = sourcesOf(folder)
    if (sources === seen.get(folder)) continue
    seen.set(folder, sources)
    changed = true
    for (const service of services) touched.add(service)
  }
  if (!changed && touched.size > 0) void rebuild()
}

/** Names and times of the sources in a folder. */
function sourcesOf(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((file) => /\.(ts|tsx|js|mjs|css|html)$/.test(file) && !/\.test\.ts$/.test(file))
    .map((file) => `${file} ${statSync(path.join(folder, file), { throwIfNoEntry: false })?.mtimeMs}`)
    .join('\n')
}

// Ctrl-C reaches both processes. This process ends after the other one.
process.on('SIGINT', () => (stopping = true))
process.on('SIGTERM', () => {
  stopping = true
  start?.kill()
})

function startWorld() {
  const child = fork('dist/dev/main.js')
  child.once('exit', (code) => {
    if (child === start) process.exit(code ?? 1)
  })
  return child
}

async function rebuild() {
  if (building) return
  building = true
  const services = [...touched, ...failed]
  touched.clear()
  failed.clear()
  const build = spawn(process.execPath, [path.join('dev', 'build.mjs')], { stdio: 'inherit' })
  const [code] = await once(build, 'exit')
  // A failed build, or one that a later change overtook, restarts nothing. The next build does.
  if (code === 0 && touched.size === 0) await restart(services)
  else for (const service of services) failed.add(service)
  building = false
}

async function restart(services) {
  if (!services.includes('start')) return start.send(services)
  const old = start
  start = undefined
  old.kill()
  if (old.exitCode === null) await once(old, 'exit')
  if (stopping) process.exit(0)
  start = startWorld()
}
