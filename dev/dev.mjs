// `npm run dev`: `npm start` that builds what changes and restarts what runs it.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import path from 'node:path'

/** An editor that saves several files is done by then. */
const SETTLE_MS = 200

/** Folders with the services that run their code; `start` is `npm start` itself. */
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
let building = false
let timer

for (const [folder, services] of Object.entries(SERVICES))
  watch(folder, { recursive: true }, (_, file) => {
    if (/\.test\.ts$|\.md$/.test(file ?? '')) return
    for (const service of services) touched.add(service)
    clearTimeout(timer)
    timer = setTimeout(() => void rebuild(), SETTLE_MS)
  })
// Ctrl-C reaches both processes: this one ends after the other one.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => start?.kill())

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
  const services = [...touched]
  touched.clear()
  const build = spawn(process.execPath, [path.join('dev', 'build.mjs')], { stdio: 'inherit' })
  const [code] = await once(build, 'exit')
  const again = touched.size > 0
  // A failed build restarts nothing: the next one does.
  if (again || code !== 0) for (const service of services) touched.add(service)
  else await restart(services)
  building = false
  if (again || (code === 0 && touched.size > 0)) await rebuild()
}

async function restart(services) {
  if (!services.includes('start')) return start.send(services)
  const old = start
  start = undefined
  old.kill()
  if (old.exitCode === null) await once(old, 'exit')
  start = startWorld()
}
