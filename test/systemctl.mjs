#!/usr/bin/env node
// Replaces systemd if none runs (test/debian.system.test.ts), as `systemctl` and `systemd-run`: it starts the
// commands of unit files, with their user, settings and credentials. It does not sandbox.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const RUN = '/run/units'
const run = (command, ...args) => execFileSync(command, args, { stdio: 'inherit' })
/** Programs of Debian, whose units are not read. */
const DEBIAN = {
  postgresql: { start: () => run('pg_ctlcluster', '15', 'main', 'start') },
  'redis-server': { start: () => run('redis-server', '--daemonize', 'yes', '--save', '') },
  caddy: { start: () => run('caddy', 'start', '--config', '/etc/caddy/Caddyfile', '--adapter', 'caddyfile') },
}

/** Lines of a unit's service, by key. */
function unitOf(name) {
  const [base, instance] = name.replace(/\.service$/, '').split('@')
  const file = `/etc/systemd/system/${base}${instance === undefined ? '' : '@'}.service`
  const unit = {}
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const [, key, value] = /^(\w+)=(.*)$/.exec(line) ?? []
    if (key) (unit[key] ??= []).push(value.replaceAll('%i', instance ?? '').replaceAll('%%', '%'))
  }
  return unit
}

function settingsOf(unit) {
  const settings = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/opt/geo' }
  const set = (line) => {
    const [, name, value] = /^(\w+)=(.*)$/.exec(line) ?? []
    if (name) settings[name] = value
  }
  unit.Environment?.forEach(set)
  for (const file of unit.EnvironmentFile ?? []) readFileSync(file, 'utf8').split('\n').forEach(set)
  for (const names of unit.UnsetEnvironment ?? []) for (const name of names.split(' ')) delete settings[name]
  return settings
}

const ids = (user) =>
  ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, user], { encoding: 'utf8' })))
function ownFolder(folder, user) {
  mkdirSync(folder, { recursive: true })
  run('chown', `${user}:`, folder)
}

/** Starts one command line of a unit. Resolves with its exit code. */
function start(unit, line, stdio) {
  const [, flags, command] = /^([+-]*)(.*)$/.exec(line)
  const [uid, gid] = flags.includes('+') ? [0, 0] : ids(unit.User[0])
  const child = spawn('/bin/sh', ['-c', `exec ${command}`], {
    cwd: unit.WorkingDirectory?.[0] ?? '/',
    env: settingsOf(unit),
    ...{ uid, gid, stdio },
  })
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(flags.includes('-') ? 0 : (code ?? 1)))
    process.once('SIGTERM', () => child.kill('SIGTERM'))
  })
}

async function supervise(name) {
  const unit = unitOf(name)
  const [user] = unit.User
  for (const folder of unit.CacheDirectory ?? []) ownFolder(`/var/cache/${folder}`, user)
  for (const folder of unit.StateDirectory ?? []) ownFolder(`/var/lib/${folder}`, user)
  for (const credential of unit.LoadCredential ?? []) {
    const [id, file] = credential.split(':')
    const folder = `/run/credentials/${name.replace(/\.service$/, '')}.service`
    ownFolder(folder, user)
    writeFileSync(path.join(folder, id), readFileSync(file))
    run('chown', `${user}:`, path.join(folder, id))
    chmodSync(path.join(folder, id), 0o400)
  }
  const log = openSync(`${RUN}/${name}.log`, 'a')
  let stopped = false
  process.once('SIGTERM', () => (stopped = true))
  for (;;) {
    let code = 0
    for (const line of [...unit.ExecStart, ...(unit.ExecStartPost ?? [])])
      code ||= await start(unit, line, ['ignore', log, log])
    for (const line of unit.ExecStopPost ?? []) await start(unit, line, ['ignore', log, log])
    appendFileSync(`${RUN}/${name}.ended`, `${code}\n`)
    const isAgain = unit.Restart?.[0] === 'always' || (unit.Restart?.[0] === 'on-failure' && code !== 0)
    if (stopped || !isAgain || String(code) === unit.RestartPreventExitStatus?.[0]) process.exit(code)
    await pause(Number(unit.RestartSec?.[0] ?? 1) * 1000)
  }
}

async function startUnit(name) {
  mkdirSync(RUN, { recursive: true })
  if (DEBIAN[name]) return DEBIAN[name].start()
  if (name.endsWith('.timer')) return unitOf(name.replace(/timer$/, 'service'))
  const pidFile = `${RUN}/${name}.pid`
  if (existsSync(pidFile)) spawnSync('kill', ['-TERM', readFileSync(pidFile, 'utf8')])
  const child = spawn(process.execPath, [import.meta.filename, 'supervise', name], {
    detached: true,
    stdio: 'ignore',
  })
  writeFileSync(pidFile, String(child.pid))
  // A oneshot command is awaited.
  if (unitOf(name).Type?.[0] !== 'oneshot') return child.unref()
  const code = await new Promise((resolve) => child.once('exit', resolve))
  if (code !== 0) {
    console.error(`${name} ended with ${code}: ${readFileSync(`${RUN}/${name}.log`, 'utf8')}`)
    process.exitCode = 1
  }
}

const [verb, ...names] = process.argv.slice(2)
if (path.basename(process.argv[1]) === 'systemd-run') {
  const unit = {}
  const rest = [verb, ...names]
  for (let flag = rest.shift(); flag; flag = rest.shift()) {
    const [, name, value] = /^--([\w-]+)=?(.*)$/.exec(flag) ?? []
    if (!name) {
      rest.unshift(flag)
      break
    }
    const [key, property] = name === 'property' ? value.split(/=(.*)/s) : [name, value]
    ;(unit[{ uid: 'User', 'working-directory': 'WorkingDirectory' }[key] ?? key] ??= []).push(property)
  }
  process.exitCode = await start(unit, rest.join(' '), 'inherit')
} else if (verb === 'supervise') await supervise(names[0])
else if (verb !== 'daemon-reload')
  for (const name of names.filter((each) => !each.startsWith('--'))) await startUnit(name)
