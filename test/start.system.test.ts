import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LOCAL_CHAIN, attest, localVersion, locationRequest, startLocalChain } from '../dev/chain'
import { holderOf, lockFolder } from '../dev/lock'
import { PlainError, freePort, requireFreePort } from '../dev/services'
import { blankSettings } from '../dev/settings'
import { startWorld, type World } from '../dev/world'
import { TEST_DATABASE_URL, createMigratedDatabase, temporaryFolder, type TestDatabase } from './database'
import { runNode } from './node'

/** Tests `npm start` without settings, and the lock that keeps a second one out of its folder. */
let folder: string
let database: TestDatabase | undefined
let world: World
const reported: string[] = []
beforeAll(async () => {
  folder = temporaryFolder()
  database = TEST_DATABASE_URL ? await createMigratedDatabase() : undefined
})
beforeAll(async () => {
  world = await start()
})
afterAll(async () => {
  await world?.stop()
  await database?.drop()
})

async function start(settings: NodeJS.ProcessEnv = {}): Promise<World> {
  const [port, chainPort, databasePort] = await Promise.all([freePort(), freePort(), freePort()])
  const local = {
    PORT: String(port),
    LOCAL_CHAIN_PORT: String(chainPort),
    LOCAL_DB_PORT: String(databasePort),
    // copies.system.test.ts starts several API instances.
    API_PROCESSES: '1',
    ...(database && { DATABASE_URL: database.url }),
  }
  return startWorld({
    environment: { ...process.env, ...blankSettings(), ...local, CHAINS: LOCAL_CHAIN.slug, ...settings },
    ...{ folder, samples: false, keep: true, report: (line) => reported.push(line), progress: () => {} },
  })
}
/** Returns the hourly limits in the responses of /compute and of records. */
async function limits(): Promise<(string | null)[]> {
  const { port } = world.settings
  const answers = await Promise.all([
    fetch(`http://127.0.0.1:${port}/compute/v0/area`, { method: 'POST' }),
    fetch(`http://127.0.0.1:${port}/api/v0/config`),
  ])
  return answers.map(({ headers }) => headers.get('ratelimit-limit'))
}

test('npm start sets no rate limits for local chains', async () => {
  expect(await limits()).toEqual([null, null])
})

test('npm start refuses a second world in the same folder until the first one stops', async () => {
  const { port, localChainPort } = world.settings
  await expect(start()).rejects.toThrow(
    new RegExp(
      `that is already running: process ${process.pid}, since 2\\S+Z, PORT ${port}, LOCAL_CHAIN_PORT ${localChainPort}`,
    ),
  )
  // The first process is not affected.
  expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200)
  await world.stop()
  world = await start({ RATE_LIMIT_PER_HOUR: '7', RECORDS_RATE_LIMIT_PER_HOUR: '8' })
  expect(await limits()).toEqual(['7', '8'])
})

test('npm start uses the chains of RPC_URL_*_FILE, and requires a real signer for them', async () => {
  const file = path.join(temporaryFolder(), 'celo')
  writeFileSync(file, 'https://celo.example')
  await expect(start({ CHAINS: '', RPC_URL_CELO_FILE: file })).rejects.toThrow('SIGNER_KEY_FILE')
})

test('npm start mines a block after each transaction, for tools that wait for the next block', async () => {
  const chain = world.chain!
  await attest(chain, locationRequest({ type: 'Point', coordinates: [13.3777, 52.5163] }))
  while ((await chain.provider.getBlock('latest'))!.transactions.length > 0) await pause(50)
})

test('npm start restarts a killed API, and reports the restart', async () => {
  const killed = world.services.get('api')!
  await killed.kill()
  while (world.services.get('api') === killed) await pause(50)
  await world.services.get('api')!.ready
  expect((await fetch(`http://127.0.0.1:${world.settings.port}/health`)).status).toBe(200)
  const log = path.join(folder, 'logs/api.log')
  expect(reported.filter((line) => line.includes('SIGKILL') && line.includes(log))).toHaveLength(1)
})

test('npm start releases the lock of a killed process', async () => {
  const locked = temporaryFolder()
  const program = `require(${JSON.stringify(path.resolve('dist/dev/lock.js'))}).lockFolder(${JSON.stringify(locked)}, { PORT: 1 }).then(() => { console.log('locked'); setInterval(() => {}, 1000) })`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  expect(await holderOf(locked)).toMatchObject({ pid: child.pid, ports: { PORT: 1 } })
  await expect(lockFolder(locked, {})).rejects.toThrow(PlainError)
  child.kill('SIGKILL')
  await once(child, 'close')
  // The killed process has left its socket file.
  expect(readdirSync(locked)).toEqual(process.platform === 'win32' ? [] : ['running.socket'])
  expect(await holderOf(locked)).toBeUndefined()
  const unlock = await lockFolder(locked, {})
  expect((await holderOf(locked))?.pid).toBe(process.pid)
  await unlock()
  expect(await holderOf(locked)).toBeUndefined()
})

test('npm start ends its local chain when it ends or is killed, and keeps the state', async () => {
  const kept = temporaryFolder()
  const options = { port: await freePort(), stateFile: path.join(kept, 'chain.json') }
  const program = `require('./dist/dev/chain/index.js').startLocalChain(${JSON.stringify(options)})
    .then((chain) => chain.provider.send('anvil_mine', ['0x7']))
    .then(() => { console.log('mined'); setInterval(() => {}, 1000) })`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'close')
  while (await requireFreePort(options.port, '', '').catch((error: Error) => error)) await pause(50)
  // anvil closes its port before it has written its complete state.
  while (!isWritten(options.stateFile)) await pause(50)
  const chain = await startLocalChain(options)
  expect(chain.fresh).toBe(false)
  expect(await chain.provider.getBlockNumber()).toBe(LOCAL_CHAIN.firstBlock + LOCAL_CHAIN.finality + 7)
  // Waits until the node writes the states of old blocks to disk.
  while (!existsSync(`${options.stateFile}.states`)) await chain.provider.send('anvil_mine', ['0x100'])
  await chain.stop()
  expect(readdirSync(kept)).toEqual(['chain.json'])
})

function isWritten(file: string): boolean {
  try {
    JSON.parse(readFileSync(file, 'utf8'))
    return true
  } catch {
    return false
  }
}

test('npm run reset removes .local, and refuses while npm start or npm run quorum runs', async () => {
  // Creates the parts of a clone that a reset needs.
  const clone = temporaryFolder()
  mkdirSync(path.join(clone, 'dist'))
  for (const part of ['dev', 'src', 'package.json'])
    cpSync(path.join('dist', part), path.join(clone, 'dist', part), { recursive: true })
  const reset = () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(clone, 'dist/dev/reset.js')], {
      encoding: 'utf8',
    })
    return [status, stdout + stderr]
  }
  expect(reset()).toEqual([0, 'There is no .local: nothing to remove.\n'])
  const local = path.join(clone, '.local')
  for (const part of ['database', 'logs', 'quorum']) mkdirSync(path.join(local, part), { recursive: true })
  for (const file of ['chain-celo.json', 'chain-celo-complete']) writeFileSync(path.join(local, file), '')
  for (const folder of [local, path.join(local, 'quorum')]) {
    const unlock = await lockFolder(folder, { PORT: 3000 })
    // Runs asynchronously, because this process must be able to respond that it holds the lock.
    const { code, output } = await runNode([path.join(clone, 'dist/dev/reset.js')])
    expect(code).toBe(1)
    expect(output).toMatch(
      new RegExp(
        `^The local world is running: process ${process.pid}, since \\S+, PORT 3000\\. Stop it first`,
      ),
    )
    expect(existsSync(path.join(local, 'database'))).toBe(true)
    await unlock()
  }
  expect(reset()).toEqual([
    0,
    'Removed .local (chain-celo.json, database, logs, quorum). The next npm start begins from scratch.\n',
  ])
  expect(existsSync(local)).toBe(false)
})

test('npm start rejects a chain whose EAS version has no local contract, with a clear message', () => {
  expect(() => localVersion({ ...LOCAL_CHAIN, domainVersions: ['1.0.1'] })).toThrow(PlainError)
})
