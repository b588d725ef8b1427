// SPDX-License-Identifier: MIT
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { attest, locationRequest, testAccount } from '../../../dev/chain'
import { GATE } from '../../../test/positions'
import vectors from '../../../test/vectors/offchain-vectors.json'
import { startTestWorld, type TestWorld } from '../../../test/world'
import { EXAMPLES } from '../src/examples'
import { EXIT_TEXTS } from '../src/exit'
import { openShell, type Shell } from './geo'

/** Tests the help of `geo`. Its examples are executed unchanged. */
let world: TestWorld
let shell: Shell
/** Values of the variables in the examples. */
let variables: Record<string, string>
beforeAll(async () => {
  world = await startTestWorld({ CHAINS: 'base-sepolia,celo' }, { present: true })
  shell = openShell(world)
  const place = await attest(world.chain, locationRequest(GATE))
  await world.caughtUp()
  const landing = ['distance', place, '2.2945,48.8584', '--land', '--key-file', 'key.txt', '--json']
  const { stdout } = await shell.geo(landing)
  const answer = JSON.parse(stdout).landed.uid as string
  const attesting = ['attest', '2.2945,48.8584', '--key-file', 'key.txt', '--json']
  const mine = JSON.parse((await shell.geo(attesting)).stdout).uid as string
  variables = {
    PLACE: place,
    ADDRESS: testAccount(0).address,
    ANSWER: answer,
    MINE: mine,
    POSITION: 'start,base-sepolia.0',
    GEO_KEY_FILE: 'key.txt',
  }
  shell.write('questions.ndjson', '{"operation":"distance","from":"2.2945,48.8584","to":"13.3777,52.5163"}\n')
  const { document } = vectors.vectors.find(({ id }) => id === 'public-valid-v2-base-sepolia')!
  shell.write('offchain.json', document)
  shell.write('operators.json', JSON.stringify({ operators: [world.url, `${world.url}/two`], k: 2 }))
  // This command writes answer.json, which other examples read.
  await shell.line(EXAMPLES.distance!.find(({ command }) => command.includes('> answer.json'))!.command)
})

test('geo lists every command with help and examples', async () => {
  const { stdout } = await shell.geo(['--help'])
  const listed = [...stdout.slice(stdout.indexOf('\nCommands:')).matchAll(/^ {2}([a-z]+) /gm)]
  const names = listed.map(([, name]) => name!).filter((name) => name !== 'help')
  expect(names.sort()).toEqual(Object.keys(EXAMPLES).sort())
  for (const name of names) {
    const help = await shell.geo([name, '--help'])
    expect(help.code).toBe(0)
    for (const { command } of EXAMPLES[name]!) expect(help.stdout).toContain(`  ${command}\n`)
  }
  const version = await shell.geo(['--version'])
  expect([version.code, version.stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)])
})

test('geo lists the exit codes in its help and in the guide', async () => {
  const { stdout } = await shell.geo(['--help'])
  const guide = readFileSync('docs/guide/cli.md', 'utf8')
  for (const [code, text] of Object.entries(EXIT_TEXTS)) {
    expect(stdout).toContain(`  ${code.padStart(3)}  ${text}\n`)
    expect(guide).toContain(`| ${code} | ${text} |`)
  }
})

const here = (command: string) => command.replaceAll('http://127.0.0.1:8545', world.chain.url)
const all = Object.entries(EXAMPLES).flatMap(([name, examples]) =>
  examples.map(({ command }) => ({ name, command })),
)
const endless = ({ name }: { name: string }) => name === 'watch' || name === 'mcp'
/** Commands with other programs are run in a shell by process.system.test.ts. */
const inShell = ({ command }: { command: string }) => /[|(]/.test(command)

test.each(all.filter((each) => !endless(each) && !inShell(each)))('$command runs', async ({ command }) => {
  const { code, stdout, stderr } = await shell.line(here(command), variables)
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('geo:')])
  const [, file] = /(?:> |-o )([\w.]+)/.exec(command) ?? []
  const result = file ? readFileSync(path.join(shell.folder, file), 'utf8') : stdout
  expect(result.length).toBeGreaterThan(20)
})

test.each(all.filter(endless))('$command runs until stopped', async ({ name, command }) => {
  const running = shell.startLine(command, variables)
  if (name === 'mcp') {
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'host', version: '1' },
    }
    running.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`)
    expect(JSON.parse(await running.until('stdout', /.+\n/)).result.serverInfo.name).toBe(
      'geospatial-attestation',
    )
    running.stdin.end()
    return expect((await running.ended).code).toBe(0)
  }
  // The position belongs to another stream, and the command reports this.
  await running.until(command.includes('--json') ? 'stdout' : 'stderr', /Watching|"kind":"reset"/)
  running.interrupt()
  expect((await running.ended).code).toBe(130)
})
