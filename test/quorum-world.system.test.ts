import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { Contract, JsonRpcProvider, Wallet, ZeroAddress } from 'ethers'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { LOCAL_CHAIN } from '../dev/chain'
import { readJson } from '../dev/chain/local-chain'
import { freePort } from '../dev/services'
import { blankSettings } from '../dev/settings'
import { QUORUM_ABI } from '../src/eas'
import { parseCheckpoint, parsePolicy, signersOf } from '../src/tlog'
import { temporaryFolder } from './database'
import { blocksOf, differences, lineDifferences, parseShown, shellCommands } from './documents'
import { compilePrograms } from './typescript'

/**
 * Tests `npm run quorum`: its printed commands work, and however it ends, no process, port or database
 * remains.
 */
/** Contracts that the pages deploy. */
const CONTRACTS = ['src/GeoQuorum.sol', 'examples/NearbyToken.sol']
const GEO = `${process.execPath} packages/cli/dist/main.mjs`
let folder: string
let port: number
let child: ChildProcess
let output: string
async function prepare(): Promise<void> {
  folder = temporaryFolder()
  // The chain and the operators use six consecutive ports, at an offset of 1,000 from PORT (dev/quorum.ts).
  port = (await freePort(6)) - 1_000
}
async function cleanUp(): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
}

function start(): void {
  const env = { ...process.env, ...blankSettings(), PORT: String(port) }
  child = spawn(process.execPath, ['dist/dev/quorum.js', folder], { env, stdio: 'pipe' })
  output = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (chunk) => (output += String(chunk)))
}
/** Resolves when the output contains this text. Rejects if the program ends before. */
async function printed(text: string): Promise<void> {
  const exit = once(child, 'exit')
  while (!output.includes(text)) {
    if (child.exitCode !== null) throw new Error(`It ended with ${child.exitCode}:\n${output}`)
    await Promise.race([once(child.stdout!, 'data'), exit])
  }
}
async function ended(): Promise<number | null> {
  if (child.exitCode === null) await once(child, 'exit')
  return child.exitCode
}
/** Processes whose command line contains a text. */
const processesWith = (text: string) =>
  readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text)
    } catch {
      return false
    }
  })
async function expectNothingLeft(): Promise<void> {
  expect(processesWith(folder)).toEqual([])
  expect(existsSync(path.join(folder, 'databases'))).toBe(false)
  for (let i = 0; i <= 5; i++) {
    const server = createServer().listen(port + 1_000 + i, '127.0.0.1')
    await once(server, 'listening')
    server.close()
  }
}

test('npm run quorum refuses a folder with files that are not its own, and keeps them', async () => {
  await prepare()
  mkdirSync(path.join(folder, 'databases'))
  writeFileSync(path.join(folder, 'databases', 'mine'), '')
  start()
  expect(await ended()).toBe(1)
  expect(output).toContain(folder)
  expect(existsSync(path.join(folder, 'databases', 'mine'))).toBe(true)
})

describe.runIf(process.platform === 'linux')('the command that starts five operators', () => {
  beforeAll(async () => {
    await prepare()
    start()
    await printed('Ctrl-C stops everything.')
  }, 180_000)
  afterAll(cleanUp)

  /** Text of a page, with the ports and the files of this run. */
  const here = (text: string) =>
    text
      .replaceAll(/127\.0\.0\.1:400(\d)/g, (_, i) => `127.0.0.1:${port + 1_000 + Number(i)}`)
      .replaceAll('.local/quorum', folder)
      .replaceAll(/\b(answer\.json|rotation\.json|signatures\.txt)\b/g, (name) => path.join(folder, name))
      // kit.system.test.ts runs the whole command, which takes a minute.
      .replaceAll('npm run build --workspace packages/contracts', `$& -- ${CONTRACTS.join(' ')}`)
  const shell = (command: string) =>
    spawnSync('sh', ['-ec', here(command).replace(/^npx geo/, GEO)], { encoding: 'utf8' })
  const outputOf = ({ status, stdout, stderr }: ReturnType<typeof shell>) => {
    expect([status, status === 0 ? '' : stderr]).toEqual([0, ''])
    return stdout
  }
  /** Types commands of the program, and waits for their results. */
  const type = async (commands: string) => {
    for (const command of commands.split('\n')) {
      child.stdin!.write(`${command}\n`)
      const [verb, operator] = command.split(' ')
      await printed(`Operator ${operator} is ${verb === 'stop' ? 'stopped' : 'running'}.`)
    }
  }

  test('responds to the steps of docs/guide/quorum.md as documented', async () => {
    const page = 'docs/guide/quorum.md'
    const blocks = blocksOf(page)
    const programs = blocks.filter(({ language }) => language === 'ts')
    const [program] = compilePrograms([{ name: page, source: programs.map(({ text }) => text).join('\n') }])
    const listed = JSON.parse(readFileSync(path.join(folder, 'operators.json'), 'utf8')) as object
    const written = blocks.find(({ language }) => language === 'json')!
    const shown = parseShown(here(written.text)) as { operators: string[] }
    const { operators } = listed as { operators: string[] }
    expect(operators.slice(0, 2)).toEqual(shown.operators.slice(0, 2))
    expect(differences({ ...shown, operators }, listed, () => {})).toEqual([])
    const commands: string[] = []
    for (const [i, block] of blocks.entries()) {
      const { language, text, line } = block
      const answer = blocks[i + 1]
      if (block === programs.at(-1)) {
        const said = spawnSync(process.execPath, ['--input-type=module', '-e', here(program!)], {
          encoding: 'utf8',
        })
        expect(outputOf(said).trim()).toBe(answer!.text)
      }
      if (/^(stop|start) \d$/m.test(text)) await type(text)
      if (text === 'stop 3') {
        const asked = shell(shellCommands(blocks[i - 2]!.text)[0]!)
        expect([asked.status, asked.stdout]).toEqual([4, ''])
        expect(operators.filter((url) => asked.stderr.includes(`${url}: `))).toEqual(operators.slice(1, 4))
      }
      if (language !== 'sh') continue
      const all = shellCommands(text)
      commands.push(...all.map((command) => command.split(' ').slice(0, 3).join(' ')))
      const outputs = all
        .filter((command) => !['npm ci', 'npm run quorum'].includes(command))
        .map((command) => outputOf(shell(command)))
      if (answer?.language === 'text')
        expect(lineDifferences(answer.text, outputs.at(-1)!), `${page}:${line}`).toEqual([])
    }
    expect(commands).toEqual([
      ...['npm ci', 'npm run quorum', 'npx geo distance', 'npx geo distance', 'npx geo land'],
      ...['npm run build', 'npx geo distance'],
    ])
  }, 400_000)

  test('founds and changes a quorum by the steps of docs/operations/quorum.md', async () => {
    const page = 'docs/operations/quorum.md'
    const blocks = blocksOf(page)
    const [program] = compilePrograms(
      blocks.filter(({ language }) => language === 'ts').map(({ text }) => ({ name: page, source: text })),
    )
    // The program imports packages of the project.
    const file = path.resolve('.local', `${path.basename(folder)}.mjs`)
    mkdirSync('.local', { recursive: true })
    writeFileSync(file, here(program!))
    try {
      const commands = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text)
      const given = [...commands.slice(0, 1), 'echo $QUORUM', ...commands.slice(1)].join('\n')
      const rotate = 'node quorum.mts rotate'
      // An operator may sign twice, and its own tools may write v as 0 or 1.
      const more = "tail -n 1 signatures.txt | sed 's/1b$/00/; s/1c$/01/' >> signatures.txt"
      const script = given.replace(rotate, `${more}\n${rotate}`)
      const output = outputOf(shell(script.replaceAll('node quorum.mts', `${process.execPath} ${file}`)))
      const [, quorum] = /^(0x[0-9a-fA-F]{40})$/m.exec(output)!
      const shown = blocks.map(({ text }) => text).filter((text) => /^(Epoch|Removed) /.test(text))
      expect(shown).toHaveLength(2)
      const results = output.match(/^(Epoch|Removed) .*$/gm)!
      expect(lineDifferences(shown.join('\n'), results.join('\n'))).toEqual([])
      const provider = new JsonRpcProvider(`http://127.0.0.1:${port + 1_000}`)
      const contract = new Contract(quorum!, QUORUM_ABI, provider)
      const [a, b, d] = [0, 1, 3].map(
        (i) => new Wallet(readFileSync(path.join(folder, `operator-${i}.txt`), 'utf8')).address,
      )
      const operatorsOf = async (epoch: number) => [
        ...((await contract.getFunction('epochOf')(epoch)) as { operators: string[] }).operators,
      ]
      expect(await contract.getFunction('currentEpoch')()).toBe(2n)
      expect(await operatorsOf(1)).toEqual([a, b, ZeroAddress])
      expect(await operatorsOf(2)).toEqual([b, ZeroAddress, d])
      provider.destroy()
    } finally {
      rmSync(file)
    }
  }, 200_000)

  test('has logs that the witnesses of the other operators cosign', async () => {
    for (const i of [0, 1, 2, 3, 4]) {
      const policy = parsePolicy(readFileSync(path.join(folder, `policy-${i}.txt`), 'utf8'))
      const others = [0, 1, 2, 3, 4].filter((other) => other !== i).map((other) => `operator-${other}`)
      expect([...policy.witnesses.keys()]).toEqual(others)
      const signers = async () => {
        const response = await fetch(`${policy.logs[0]!.url}/checkpoint`)
        const { cosigned, isQuorum } = await signersOf(parseCheckpoint(await response.text()), policy)
        return [[...cosigned.keys()], isQuorum]
      }
      await expect.poll(signers, { timeout: 30_000 }).toEqual([others, true])
    }
  }, 180_000)

  test('lands an answer, and prints a command that lands another answer', async () => {
    const [, uid] = /landed +(0x[0-9a-f]{64})/.exec(output)!
    const [, quorum] = /GeoQuorum +(0x[0-9a-fA-F]{40}), 3 of 5/.exec(output)!
    const provider = new JsonRpcProvider(`http://127.0.0.1:${port + 1_000}`)
    const eas = new Contract(LOCAL_CHAIN.eas, readJson('abi/EAS.json'), provider)
    const attesterOf = async (each: string) =>
      ((await eas.getFunction('getAttestation')(each)) as { attester: string }).attester
    expect(await attesterOf(uid!)).toBe(quorum)
    const operators = [...output.matchAll(/key (0x\w{40}), RPC proxy (\S+), database at (\S+)/g)]
    for (const part of [1, 2, 3]) expect(new Set(operators.map((each) => each[part])).size).toBe(5)
    const command = /^npx geo (.*)$/m.exec(output)![1]!
    const geo = spawnSync(process.execPath, ['packages/cli/dist/main.mjs', ...command.split(' '), '--json'], {
      encoding: 'utf8',
    })
    expect([geo.status, geo.stderr]).toEqual([0, expect.stringContaining('Sent')])
    const answer = JSON.parse(geo.stdout) as { quorum: string; landed: { uid: string } }
    expect([answer.quorum, await attesterOf(answer.landed.uid)]).toEqual([quorum, quorum])
    provider.destroy()
  }, 180_000)

  test('ends on SIGINT', async () => {
    child.kill('SIGINT')
    expect(await ended()).toBe(0)
    await expectNothingLeft()
  })
})

describe.runIf(process.platform === 'linux')('the start of the operators', () => {
  beforeEach(prepare)
  afterEach(cleanUp)

  test('ends on SIGTERM while it starts', async () => {
    start()
    await printed('✓ Embedded database')
    child.kill('SIGTERM')
    expect(await ended()).toBe(0)
    await expectNothingLeft()
  }, 180_000)

  test('ends and prints the cause if a part fails, during the start or later', async () => {
    const other = createServer().listen(port + 1_005, '127.0.0.1')
    await once(other, 'listening')
    start()
    expect(await ended()).toBe(1)
    expect(output).toContain(`Port ${port + 1_005} is in use, but the operator 5 needs it.`)
    other.close()
    await expectNothingLeft()

    start()
    await expect.poll(() => processesWith(`${folder}/databases/database-3`)).toHaveLength(1)
    for (const pid of processesWith(`${folder}/databases/database-3`)) process.kill(Number(pid), 'SIGKILL')
    expect(await ended()).toBe(1)
    expect(output).toContain('database-3')
    await expectNothingLeft()
  }, 180_000)
})

test('the command prints its usage for an option, and starts no operator', () => {
  const { status, stderr } = spawnSync(process.execPath, ['dist/dev/quorum.js', '--help'], {
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([2, expect.stringMatching(/^Usage: npm run quorum /)])
})
