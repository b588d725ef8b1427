import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { LOCAL_SIGNER_KEY } from '../dev/chain'
import { freePort } from '../dev/services'
import { blankSettings } from '../dev/settings'
import { listening } from './http-server'

/**
 * Tests how the service's processes end when they are started in the ways that operators use. Neither the
 * database nor the RPC endpoint responds.
 */
let silent: Server
let port: string
let environment: NodeJS.ProcessEnv
beforeAll(async () => {
  silent = createServer(() => {})
  port = new URL(await listening(silent)).port
  environment = {
    ...process.env,
    ...blankSettings(),
    DATABASE_URL: `postgres://nobody@127.0.0.1:${port}/none`,
    RPC_URL_CELO: 'http://127.0.0.1:1',
    SIGNER_PRIVATE_KEY: LOCAL_SIGNER_KEY,
    PORT: String(await freePort()),
    GQL_PORT: String(await freePort()),
  }
})

/** Starts a process whose output ends after it and all its child processes have ended. */
function start(command: string, args: string[], env: NodeJS.ProcessEnv = environment) {
  const child = spawn(command, args, { env })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const says = async (line: RegExp) => {
    while (!line.test(output))
      await Promise.race([
        once(child.stdout, 'data'),
        once(child.stderr, 'data'),
        once(child, 'close').then(() => Promise.reject(new Error(output))),
      ])
  }
  return { child, says, ended: once(child, 'close') as Promise<[code: number | null]>, output: () => output }
}
const anIndexerThatWaits = { args: ['lib/indexer/main.js', 'base-sepolia'], ready: /Waiting to be stopped/ }

test.each<[script: string, args: string[], ready: RegExp | undefined]>([
  ['api', [], /Server listening/],
  ['graphql', [], /Server listening/],
  ['index', ['--', 'base-sepolia'], anIndexerThatWaits.ready],
  ['replay', [], undefined],
  ['migrate', [], undefined],
])('the process of npm run %s ends when npm is terminated', async (script, args, ready) => {
  const connected = once(silent, 'connection')
  const { child, says, ended } = start('npm', ['run', script, ...args])
  await (ready ? says(ready) : connected)
  child.kill('SIGTERM')
  await ended
})

/** A program that does nothing but wait, and ends as all programs of the service do. */
const waiting = `require('./lib/process.js').onStop((reason) => {
  console.log(JSON.stringify({ reason }))
  process.exit(0)
})
setInterval(() => {}, 1_000)
console.log('Waiting to be stopped')`
test.each([
  ['SIGINT', ['-e', waiting]],
  ['SIGTERM', anIndexerThatWaits.args],
] as const)('%s ends a process gracefully', async (signal, args) => {
  const { child, says, ended, output } = start(process.execPath, [...args])
  await says(anIndexerThatWaits.ready)
  child.kill(signal)
  expect(await ended).toEqual([0, null])
  expect(output()).toContain(`"reason":"${signal}"`)
})

test.each([
  ['SIGHUP ends a process with a terminal', 'script --quiet --command "$program" /dev/null', 'SIGHUP'],
  ['SIGHUP does not end a process that nohup protects', 'nohup sh -c "$program"', 'SIGTERM'],
])('%s', async (_, command, reason) => {
  const program = `echo "pid $$"; exec '${process.execPath}' -e "$waiting"`
  const { says, ended, output } = start('sh', ['-c', command], { ...environment, waiting, program })
  await says(anIndexerThatWaits.ready)
  const pid = Number(/pid (\d+)/.exec(output())![1])
  process.kill(pid, 'SIGHUP')
  if (reason === 'SIGTERM') {
    // Time in which the process could end.
    await pause(500)
    process.kill(pid, reason)
  }
  await ended
  expect(output()).toContain(`"reason":"${reason}"`)
})

test.concurrent.each<[string, NodeJS.ProcessEnv]>([
  ['without npm', {}],
  [
    'in the environment of another npm script',
    { npm_lifecycle_event: 'shell', npm_lifecycle_script: 'bash' },
  ],
])('a background process outlives its parent, %s', async (_, npm) => {
  const { child, says, ended, output } = start(
    'sh',
    ['-c', '"$0" "$@" & echo "pid $!"; read line', process.execPath, ...anIndexerThatWaits.args],
    { ...environment, npm_lifecycle_event: '', npm_lifecycle_script: '', ...npm },
  )
  await says(anIndexerThatWaits.ready)
  const pid = Number(/pid (\d+)/.exec(output())![1])
  child.stdin.end()
  await once(child, 'exit')
  // Time for three checks of its parent, if it made any.
  await pause(1_600)
  process.kill(pid, 'SIGTERM')
  await ended
  expect(output()).toContain('"reason":"SIGTERM"')
})

test.each(['SIGINT', 'SIGTERM'] as const)('%s ends npm run dev while it restarts', async (signal) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'dev-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const write = (file: string, text: string) => {
    mkdirSync(path.join(folder, path.dirname(file)), { recursive: true })
    writeFileSync(path.join(folder, file), text)
  }
  for (const sources of ['src', 'api', 'web', 'packages/client/src', 'packages/mcp/src'])
    write(`${sources}/none.ts`, '')
  write('dev/build.mjs', '')
  write(
    'dist/dev/main.js',
    `process.on('SIGTERM', () => { console.log('Stopping'); setTimeout(() => process.exit(0), 500) })
process.on('message', () => {})
setTimeout(() => console.log('Started'), 200)`,
  )
  const { child, says, ended, output } = start(
    'sh',
    ['-c', 'cd "$folder" && exec "$0" "$program"', process.execPath],
    { ...environment, folder, program: path.resolve('dev/dev.mjs') },
  )
  await says(/Started/)
  write('dev/changed.mjs', '')
  await says(/Stopping/)
  child.kill(signal)
  expect(await ended).toEqual([0, null])
  expect(output().match(/Started/g)).toHaveLength(1)
})

test.each([
  ['dist/api/main.js', 'PORT'],
  ['dist/api/squid-graphql-server.js', 'GQL_PORT'],
])('%s on a port in use names the setting to change, without a stack', async (program, setting) => {
  const child = spawn(process.execPath, [program], {
    env: { ...environment, [setting]: port, LOG_LEVEL: 'silent', API_PROCESSES: '1' },
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
  expect([code, said]).toEqual([
    2,
    `${setting}: port ${port} of 127.0.0.1 is in use. Stop what listens there, or set ${setting} to another port.\n`,
  ])
})
