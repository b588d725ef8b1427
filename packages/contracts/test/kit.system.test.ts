// SPDX-License-Identifier: MIT
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { Interface, type InterfaceAbi } from 'ethers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { attest, bringToPresent, locationRequest, mineOn } from '../../../dev/chain'
import { QUORUM_ABI } from '../../../src/eas'
import { LOCATION_SCHEMA } from '../../../src/location'
import { temporaryFolder } from '../../../test/database'
import { blocksOf, isLike, shellCommands } from '../../../test/documents'
import { compilePrograms } from '../../../test/typescript'
import { startTestWorld, type TestWorld } from '../../../test/world'
import { recordAnswers } from './answers'
import { artifact, forge, missingForge } from './forge'
import { ATTESTED, TYPED, type Role } from './questions'
import { ACCOUNTS, Use, addressOf, ask, deploy, settings } from './submitting'
import { submit, submitByProxy } from './submitting'

/**
 * Tests the contracts with answers of the running service: on local chains with the real EAS and, with many
 * attacks, in forge (test/*.t.sol), which reads the answers and the attested locations from a file.
 */
const ANSWERS = 'cache/answers.json'
/** EAS 1.2.0, 0.26, and 1.4.0 at the address of the first one. */
const SLUGS = ['base-sepolia', 'sepolia', 'base']
/** Versions of EAS other than that of the forge tests. */
const OTHER_VERSIONS = ['0.26', '1.3.0', '1.4.0']
const PASSED = /[1-9]\d* tests passed, 0 failed, 0 skipped/
/** First line of an error, a warning or a note of forge, its compiler or its linter. */
const MESSAGE = /^(?:error|warning|note)\b/im
const missing = missingForge()
const run = promisify(execFile)

describe.skipIf(missing !== undefined)(`contracts${missing ? ` (skipped: ${missing})` : ''}`, () => {
  let world: TestWorld
  beforeAll(async () => {
    const starting = startTestWorld({ CHAINS: SLUGS.join() }).then((started) => (world = started))
    await Promise.all([forge(['build']), starting])
    for (const chain of world.chains.values()) await bringToPresent(chain)
  }, 600_000) // solc compiles all contracts, which takes four times as long next to three browsers
  afterAll(() => world?.stop())
  const local = (slug: string) => world.chains.get(slug)!

  test('pass forge fmt and lint without messages', async () => {
    const folders = ['src', 'examples', 'test']
    await forge(['fmt', '--check', ...folders])
    await forge(['lint', '--deny', 'warnings', ...folders])
  })

  test('have the interfaces of EAS', () => {
    const functionsOf = (abi: InterfaceAbi) =>
      new Interface(abi).fragments
        .filter(({ type }) => type === 'function')
        .map((each) => each.format('full'))
    for (const [carried, published] of [
      ['IEAS', 'EAS'],
      ['ISchemaRegistry', 'SchemaRegistry'],
    ] as const) {
      const known = functionsOf(JSON.parse(readFileSync(`abi/${published}.json`, 'utf8')) as InterfaceAbi)
      const ours = functionsOf(artifact(`IEAS.sol:${carried}`).abi)
      expect(ours.length).toBe(2)
      expect(ours.filter((each) => !known.includes(each))).toEqual([])
    }
  })

  test('have the bytecode of GeoQuorum that local chains deploy', () => {
    const { creationCode } = JSON.parse(readFileSync('dev/contracts/geo-quorum.json', 'utf8')) as {
      creationCode: string
    }
    expect(creationCode).toBe(artifact('GeoQuorum').bytecode)
    const declared = new Interface(QUORUM_ABI).fragments
      .filter(({ type }) => type !== 'constructor')
      .map((each) => each.format())
    const compiled = new Interface(artifact('GeoQuorum').abi).fragments
      .filter(({ type }) => type !== 'constructor')
      .map((each) => each.format())
    expect(declared.filter((each) => !compiled.includes(each))).toEqual([])
  })

  test('pass the forge tests of attacks, properties and gas limits', async () => {
    const answers = await recordAnswers(world, local('base-sepolia'), local('base'))
    mkdirSync('packages/contracts/cache', { recursive: true })
    writeFileSync(`packages/contracts/${ANSWERS}`, JSON.stringify(answers, null, 1))
    expect(await forge(['test'], { ANSWERS })).toMatch(PASSED)
    // The quorum calls EAS itself, and the answers are signed for one version of EAS only.
    for (const version of OTHER_VERSIONS) {
      const file = `cache/answers-${version}.json`
      const easCode = `../../dev/contracts/eas-${version}.json`
      writeFileSync(`packages/contracts/${file}`, JSON.stringify({ ...answers, easCode }))
      const settings = { FOUNDRY_GAS_SNAPSHOT_CHECK: 'false', FOUNDRY_GAS_SNAPSHOT_EMIT: 'false' }
      const tested = await forge(['test', '--match-contract', 'GeoQuorum'], { ANSWERS: file, ...settings })
      expect(tested, version).toMatch(PASSED)
    }
  })

  test(
    'include a template that forge builds and tests, in its folder and as a copy',
    { timeout: 300_000 },
    async () => {
      const folder = temporaryFolder()
      const kit = path.resolve('packages/contracts')
      cpSync(path.join(kit, 'template'), folder, {
        recursive: true,
        filter: (file) => !/[/\\](cache|out|node_modules)$/.test(file),
      })
      // Packages that are available only from the registry are removed, because no test needs them.
      await run('npm', ['pkg', 'delete', 'devDependencies'], { cwd: folder })
      const quiet = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts']
      await run('npm', ['install', ...quiet, kit], { cwd: folder })
      // In its folder, only the paths of the kit differ. It is built without its test and the optimizer.
      const own = ['build', '--force', '--skip', 'test', '--root', path.join(kit, 'template')]
      expect(await forge(own, { FOUNDRY_OPTIMIZER: 'false' })).not.toMatch(MESSAGE)
      const tested = await forge(['test', '--root', folder])
      expect(tested).toMatch(PASSED)
      expect(tested).not.toMatch(MESSAGE)
      await forge(['fmt', '--check', '--root', folder])
      await forge(['lint', '--deny', 'warnings', '--root', folder])
    },
  )

  describe.each(SLUGS)('on %s', (slug) => {
    /** Attests a location that is observed now, by default; `observed` seconds from now otherwise. */
    const placeOf = async (
      name: keyof typeof ATTESTED,
      recipient: string,
      { by = 'prover', observed = 0 }: { by?: Role; observed?: number } = {},
    ) => {
      const { timestamp } = (await local(slug).provider.getBlock('latest'))!
      const wanted = { recipient, eventTimestamp: timestamp + observed }
      return attest(local(slug), locationRequest(ATTESTED[name].geometry, wanted), ACCOUNTS[by])
    }

    test('mint a token for each account nearby, once, directly and by the proxy', async () => {
      const chain = local(slug)
      const { proxy } = chain
      const { inputRefs } = await ask(world, chain, 'distance', { from: TYPED.tower, to: TYPED.tower })
      const token = await deploy(
        chain,
        artifact('NearbyToken'),
        settings(chain, proxy, Use.oncePerRecipient),
        ...[inputRefs[0], addressOf('prover'), LOCATION_SCHEMA.uid],
      )
      const schema: string = await token.getFunction('schema').staticCall()
      const near = async (name: keyof typeof ATTESTED, to: Role, how?: Parameters<typeof placeOf>[2]) =>
        ask(world, chain, 'within', {
          ...{ geometry: await placeOf(name, addressOf(to), how), target: TYPED.tower, radius: 500 },
          ...{ schema, recipient: addressOf(to) },
        })
      await submit(world, chain, await near('near', 'account'))
      expect(await token.getFunction('ownerOf').staticCall(1)).toBe(addressOf('account'))
      const second = await near('nearSecond', 'second')
      await submitByProxy(world, chain, second)
      expect(await token.getFunction('ownerOf').staticCall(2)).toBe(addressOf('second'))
      await expect(submit(world, chain, second)).rejects.toThrow('AlreadyUsed')
      await expect(submit(world, chain, await near('far', 'mallory'))).rejects.toThrow(
        'WrongResult(false,true)',
      )
      await expect(submit(world, chain, await near('claimed', 'mallory', { by: 'mallory' }))).rejects.toThrow(
        `WrongProver(${addressOf('mallory')},${addressOf('prover')})`,
      )
      // This location is attested now but was observed 400 days ago.
      await expect(
        submit(world, chain, await near('near', 'mallory', { observed: -400 * 86_400 })),
      ).rejects.toThrow('ObservedTooEarly')
      expect(await token.getFunction('minted').staticCall()).toBe(2n)
    })
  })

  test('run the examples of docs/guide/contracts.md', { timeout: 300_000 }, async () => {
    // The program of the page waits for the next block.
    for (const chain of world.chains.values()) mineOn(chain)
    const page = 'docs/guide/contracts.md'
    const blocks = blocksOf(page)
    const blocksIn = (language: string) => blocks.filter((block) => block.language === language)
    // The contracts on the page are the examples.
    const examples = ['NearbyToken', 'DeliveryEscrow', 'ResidentsVote'].map((name) =>
      readFileSync(`packages/contracts/examples/${name}.sol`, 'utf8'),
    )
    expect(blocksIn('solidity').length).toBeGreaterThan(0)
    for (const { text, line } of blocksIn('solidity'))
      expect(
        examples.some((example) => example.includes(text)),
        `${page}:${line}`,
      ).toBe(true)
    const [build, ...project] = blocksIn('sh').flatMap(({ text }) => shellCommands(text))
    expect(build).toBe('npm run build --workspace packages/contracts')
    await run('npm', build!.split(' ').slice(1))
    expect(project).toEqual([
      'cp -r packages/contracts/template ../my-resolver',
      'cd ../my-resolver',
      'npm install ../geospatial-attestation-service/packages/contracts',
      'npx forge build',
      'npx forge test',
    ])
    // The code fragments on the page form one program.
    const source = blocksIn('ts').map(({ text }) => text)
    const [program] = compilePrograms([{ name: page, source: source.join('\n') }])
    const { stdout } = await run(process.execPath, [
      ...['--input-type=module', '-e'],
      program!
        .replaceAll('http://127.0.0.1:3000', world.url)
        .replaceAll('http://127.0.0.1:8545', local('base-sepolia').url),
    ])
    expect(isLike(blocksIn('text').at(-1)!.text.trim(), stdout.trim()), stdout).toBe(true)
  })
})
