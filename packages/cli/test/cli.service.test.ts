// SPDX-License-Identifier: MIT
import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { encryptKeystoreJsonSync } from 'ethers'
import { Client } from '@modelcontextprotocol/client'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { beforeAll, describe, expect, test } from 'vitest'
import { attest, locationRequest, testAccount } from '../../../dev/chain'
import vectors from '../../../test/vectors/offchain-vectors.json'
import { startTestWorld, type TestWorld } from '../../../test/world'
import { openShell, type Shell } from './geo'
import { GATE, TOWER } from '../../../test/positions'

/** Tests the commands of `geo`, except records and batch, with the running service. */
let world: TestWorld
let shell: Shell
let place: string
beforeAll(async () => {
  world = await startTestWorld({ CHAINS: 'base-sepolia,celo' }, { present: true })
  shell = openShell(world)
  place = await attest(world.chain, locationRequest(GATE))
  await world.caughtUp()
})

const BERLIN = '13.3777,52.5163'
const ANSWER = ['distance', '2.2945,48.8584', BERLIN]
const json = async (args: string[], stdin?: string): Promise<any> => {
  const { code, stdout, stderr } = await shell.geo([...args, '--json', '-q'], { stdin })
  expect([code, stderr]).toEqual([0, ''])
  return JSON.parse(stdout)
}

const matching = (text: string | RegExp) =>
  (typeof text === 'string' ? expect.stringContaining(text) : expect.stringMatching(text)) as string
/** A run that ends with this status, and says this on standard error. */
const failed = (code: number, text: string | RegExp) => ({ code, stderr: matching(text) })
/** No RPC endpoint, although the shell has one. */
const NO_RPC = { env: { GEO_RPC_URL_BASE_SEPOLIA: '' } }

describe('geo, for questions,', () => {
  test('prints the result first, without colours if there is no terminal', async () => {
    const { code, stdout, stderr } = await shell.geo(ANSWER)
    expect(code).toBe(0)
    expect(stderr).toBe(
      'Chain: base-sepolia (84532), the first one of the service; --chain selects another.\n',
    )
    for (const lines of [
      /^881,329\.94 m\n\nquestion +distance\nabout +0xc8dd0bd4\w+ \(lng 2\.2945, lat 48\.8584\)\n/,
      /\nchain +base-sepolia \(84532\)\nsigned by +0xa0Ee7A142d267C1f36714E4a8F75612F20a79720\n/,
      /\nsubmission +direct, EAS 0x[0-9a-fA-F]{40}, at nonce \d+\ndeadline +\d{4}-.*\(in \d+ min\)\n/,
    ])
      expect(stdout).toMatch(lines)
    expect(stdout + stderr).not.toContain('\x1b')
    const [map] = /http\S+$/m.exec(stdout)!
    expect((await fetch(map)).status).toBe(200)
  })

  test('stores a private place with its salt, which proves the answer and works in other questions', async () => {
    const { code, stdout, stderr } = await shell.geo([...ANSWER, '--private', 'a=home.json'])
    expect([code, stderr]).toEqual([0, matching('\nWrote the place and its salt to home.json.')])
    expect(stdout).toMatch(/\nabout +0x\w{64} \(private\)\n +0x\w{64} \(lng 13\.3777, lat 52\.5163\)\n/)
    expect(stdout).not.toMatch(/map|2\.2945/)
    const home = path.join(shell.folder, 'home.json')
    expect(statSync(home).mode & 0o777).toBe(0o600)
    const kept = JSON.parse(readFileSync(home, 'utf8'))
    expect(kept).toEqual({ geometry: TOWER, salt: expect.stringMatching(/^0x[0-9a-f]{64}$/) })
    const [ref] = /0x\w{64}/.exec(stdout)!
    const again = await json(['within', BERLIN, 'home.json', '500'])
    expect(again.inputRefs[1]).toBe(ref)
    shell.write('within.json', again)
    const recomputed = await json(['recompute', 'within.json', BERLIN, 'home.json'])
    expect(recomputed.verdict).toBe('equal')
    // Each place has its own salt.
    const both = await json([...ANSWER, '--private', 'a=one.json', '--private', 'b=other.json'])
    expect(new Set([ref, ...both.inputRefs]).size).toBe(3)
    const contained = ['contains', 'field.geojson', '13.351,52.5105', '--private', 'place=place.json']
    expect((await json(contained)).result).toBe(true)
    const only = await json(['distance', place, BERLIN, '--private', 'only.json'])
    expect(only.inputRefs[0]).toBe(place)
  })

  test.each([
    [
      [...ANSWER, '--private', 'x.json'],
      '--private must name one of the places: --private a=x.json or --private b=x.json.',
    ],
    [
      ['area', 'field.geojson', '--private', 'tower.geojson'],
      "'tower.geojson' exists and may be the only copy",
    ],
    [[...ANSWER, '--private', 'a=x.json', '--private', 'b=x.json'], "'x.json' exists"],
    [[...ANSWER, '--private', 'a=x.json', '--private', 'b=./x.json'], "'./x.json' exists"],
    [[...ANSWER, '--private', 'a=x.json', '--private', 'a=y.json'], 'The place a is private already'],
    [['distance', '-', '0,0', '--private', 'a=x.json'], 'an attestation is public'],
    [[...ANSWER, '--private', 'a='], '--private requires a file'],
    [[...ANSWER, '--private', 'a=no/x.json'], "Could not write the salt to 'no/x.json' (ENOENT)"],
  ])('rejects %j', async (args, problem) => {
    const { code, stdout, stderr } = await shell.geo(args, { stdin: place })
    expect([code, stdout, stderr]).toEqual([2, '', matching(problem)])
  })

  test('asks all six operations with every form of input', async () => {
    const offchain = vectors.vectors.find(({ id }) => id === 'public-valid-v2-base-sepolia')!.document
    shell.write('offchain.json', offchain)
    for (const [from, stdin] of [
      ...[['2.2945,48.8584'], ['tower.geojson'], ['-', JSON.stringify(TOWER)], ['-', '2.2945,48.8584\n']],
    ])
      expect((await json(['distance', from!, BERLIN], stdin)).result).toBe(881329.94)
    // A position west of Greenwich starts with a minus sign.
    expect((await json(['distance', '-0.1278,51.5074', '-0.1278,51.5074'])).result).toBe(0)
    expect((await json(['contains', 'field.geojson', '13.351,52.5105'])).result).toBe(true)
    const within = await json(['within', BERLIN, 'tower.geojson', '500.5'])
    expect(within).toMatchObject({ result: false, operation: 'within:50050' })
    expect((await json(['intersects', 'path.geojson', 'field.geojson'])).result).toBe(false)
    const area = await json(['area', 'field.geojson'])
    expect(area).toMatchObject({ result: 10199.3273, units: 'square_meters' })
    expect((await json(['length', 'path.geojson'])).result).toBe(4928.94)
    expect((await json(['distance', place, BERLIN])).inputRefs[0]).toBe(place)
    const ofSigned = await json(['distance', 'offchain.json', BERLIN])
    expect(ofSigned.inputRefs[0]).toBe((offchain as unknown as { sig: { uid: string } }).sig.uid)
    const { stdout } = await shell.geo(['within', place, place, '1'])
    const map = `${world.url}/api/v0/location-records/${place}\\?format=html`
    expect(stdout).toMatch(new RegExp(`^yes\n\nquestion +within 1\\.00 m\n[^]*map +${map}\n$`))
  })

  test('reads the chain from --chain, by slug or id, or from GEO_CHAIN', async () => {
    const recipient = testAccount(7).address
    const schema = (await world.get('/')).body.defaultSchemas.numeric
    const options = ['--recipient', recipient, '--submission', 'proxy', '--schema', schema]
    const { chainId, attestation, delegatedAttestation } = await json([
      ...ANSWER,
      '--chain',
      'celo',
      ...options,
    ])
    expect([chainId, attestation.recipient]).toEqual([42220, recipient])
    expect(delegatedAttestation.submission).toBe('proxy')
    for (const args of [['--chain', '42220'], []]) {
      const env = { GEO_CHAIN: 'celo' }
      const { stdout, stderr } = await shell.geo([...ANSWER, ...args, '--json'], { env })
      expect([JSON.parse(stdout).chainId, stderr]).toEqual([42220, ''])
    }
  })
})

test('the executable behaves like a run in this process', async () => {
  const args = ['distance', '-', BERLIN, '--json', '-q']
  const asked = shell.process(args)
  asked.stdin.end('2.2945,48.8584')
  const { code, stdout, stderr } = await asked.ended
  expect([code, JSON.parse(stdout).result, stderr]).toEqual([0, 881329.94, ''])
  const wrong = ['distance', '0x12', '3,4', '--json']
  const refused = await shell.process(wrong).ended
  expect(refused.code).toBe(2)
  expect(refused).toEqual(await shell.geo(wrong))
})

describe('geo, to land and check answers,', () => {
  test.each(['direct', 'proxy'])('attests an answer on its chain with --land (%s)', async (submission) => {
    const options = ['--land', '--key-file', 'key.txt', '--submission', submission]
    const { landed, ...answer } = await json([...ANSWER, ...options])
    const attestation = await (await world.chain.eas()).getFunction('getAttestation')(landed.uid)
    expect(attestation.data).toBe(answer.attestation.data)
    const { code, stdout } = await shell.geo(['verify', landed.uid])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^valid\nThe distance between 0x.* is 881,329\.94 m, computed at/)
    const checked = await json(['verify', landed.uid, '--max-age', '3600'])
    expect(checked).toMatchObject({ valid: true, problems: [], chainId: 84532, says: { result: 881329.94 } })
  })

  test('verifies an answer in a file, and lands and finds this answer', async () => {
    await shell.line('geo area field.geojson --chain celo --json > answer.json')
    const waiting = { valid: true, ours: true, landed: { status: 'not landed' } }
    expect(await json(['verify', 'answer.json'])).toMatchObject(waiting)
    const { code, stdout, stderr } = await shell.geo(['land', 'answer.json', '--key-file', 'key.txt'])
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^Sent: transaction 0x[0-9a-f]{64}\n$/)])
    expect(stdout).toMatch(
      /^The area of 0x.* is 10,199\.3273 m2, .*\nchain +celo \(42220\)\nlanded +0x[0-9a-f]{64}\n/,
    )
    const content = readFileSync(path.join(shell.folder, 'answer.json'), 'utf8')
    const again = await json(['land', '-', '--key-file', 'key.txt'], content)
    expect(again).toMatchObject({ chainId: 42220, already: true, uid: /landed +(0x\w+)/.exec(stdout)![1] })
    expect((await shell.geo(['verify', 'answer.json'])).stdout).toContain(`landed       ${again.uid}`)
  })

  test('exits with status 1 after a failed check', async () => {
    const attested = await shell.geo(['verify', place])
    const reason = '^not valid\n- The attestation was signed by'
    expect(attested).toMatchObject({ code: 1, stdout: matching(new RegExp(reason)) })
    const answer = await json(ANSWER)
    shell.write('altered.json', { ...answer, result: 1 })
    const altered = await shell.geo(['verify', 'altered.json'])
    expect(altered).toMatchObject({ code: 1, stdout: matching('- result is not what was signed') })
    shell.write('answer.json', answer)
    const other = await shell.geo(['verify', 'answer.json', '--json', '--attester', testAccount(3).address])
    expect(other.code).toBe(1)
    expect(JSON.parse(other.stdout)).toMatchObject({ valid: false, ours: false })
  })

  test('reads a keystore with a passphrase from a file or from the environment', async () => {
    const { address, privateKey } = testAccount(5)
    const scrypt = { N: 1024, r: 8, p: 1 }
    const keystore = encryptKeystoreJsonSync({ address, privateKey }, 'a phrase', { scrypt })
    shell.write('keystore.json', keystore, 0o600)
    shell.write('phrase', 'a phrase\n', 0o600)
    // The question is unique, because another account may have landed an equal answer in this second.
    const args = ['distance', '4,4', '5,5', '--land', '--key-file', 'keystore.json']
    const sender = async ({ landed }: any) =>
      (await world.chain.provider.getTransaction(landed.transactionHash))!.from
    expect(await sender(await json([...args, '--passphrase-file', 'phrase']))).toBe(address)
    const named = await shell.geo([...args, '--json'], { env: { GEO_PASSPHRASE: 'a phrase' } })
    expect(await sender(JSON.parse(named.stdout))).toBe(address)
    const wrong = await shell.geo(args, { env: { GEO_PASSPHRASE: 'another' } })
    expect(wrong).toMatchObject(failed(5, "Could not decrypt 'keystore.json'"))
    expect(await shell.geo(args)).toMatchObject(failed(5, '--passphrase-file'))
  })
})

describe('geo recompute', () => {
  test('recomputes an answer from its inputs', async () => {
    shell.write('answer.json', await json(ANSWER))
    const inputs = ['tower.geojson', BERLIN]
    const { code, stdout } = await shell.geo(['recompute', 'answer.json', ...inputs])
    expect([code, stdout]).toEqual([0, 'equal\ndistance is 881329.94 m, as answered.\n'])
    shell.write('altered.json', { ...(await json(ANSWER)), result: 881330 })
    const altered = await shell.geo(['recompute', 'altered.json', ...inputs])
    expect(altered).toMatchObject({ code: 1, stdout: matching(/^differs\n.*6 cm more\.\n$/) })
    const { inputRefs } = await json(ANSWER)
    const fewer = await shell.geo(['recompute', 'answer.json', inputs[0]!], NO_RPC)
    const advice = `Name each place in the order of ${inputRefs.join(', ')},`
    expect(fewer).toMatchObject(failed(2, `The answer is about 2 places, but 1 is given. ${advice}`))
    const turned = await shell.geo(['recompute', 'answer.json', ...inputs.reverse(), '--json'])
    expect(turned.code).toBe(1)
    const wrong = [{ index: 0 }, { index: 1 }]
    expect(JSON.parse(turned.stdout)).toMatchObject({ verdict: 'wrong inputs', wrong })
  })

  test('recomputes an attestation after it reads the attested places from the chain', async () => {
    const { landed } = await json(['within', place, place, '5', '--land', '--key-file', 'key.txt'])
    const found = await json(['recompute', landed.uid])
    const { prover } = (await world.get(`/api/v0/location-records/${place}`)).body
    const inputs = [{ ref: place, attester: prover }, { ref: place }]
    expect(found).toMatchObject({ verdict: 'equal', inputs })
    const without = await shell.geo(['recompute', landed.uid], NO_RPC)
    expect(without).toMatchObject(failed(2, 'Set the URL of an RPC endpoint with --rpc'))
  })
})

describe('tools for agents', () => {
  /** Connects a client to `geo mcp`; `close` returns how the run ended. */
  const connect = async (args: string[]) => {
    const host = new Client({ name: 'host', version: '1.0.0' })
    const { stdin, stdout, ended } = shell.start(['mcp', ...args])
    // Messages are lines of JSON in both directions, so the server transport can act as a client.
    await host.connect(new StdioServerTransport(stdout, stdin))
    const close = async () => {
      stdin.end()
      expect(await ended).toMatchObject({ code: 0, stderr: '' })
      await host.close()
    }
    return { host, close }
  }
  const tools = async (host: Client) => (await host.listTools()).tools.map(({ name }) => name)

  test('are offered over stdio, and land answers if there is a key', async () => {
    const reading = await connect([])
    expect(await tools(reading.host)).not.toContain('land_answer')
    await reading.close()
    const { host, close } = await connect(['--key-file', 'key.txt'])
    expect(await tools(host)).toContain('land_answer')
    const question = { from: TOWER.coordinates, to: [13.3777, 52.5163], chain: 'celo' }
    const asked = (await host.callTool({ name: 'distance', arguments: question })) as any
    expect(asked.structuredContent.result).toBe(881329.94)
    const { answer_id: answer } = asked.structuredContent
    const landing = await host.callTool({ name: 'land_answer', arguments: { answer } })
    const { structuredContent: landed } = landing as any
    const eas = await world.chains.get('celo')!.eas()
    expect((await eas.getFunction('getAttestation')(landed.uid)).uid).toBe(landed.uid)
    await close()
  })

  test('end immediately if the key is unusable', async () => {
    shell.write('open.txt', testAccount(4).privateKey, 0o644)
    const ended = await shell.geo(['mcp', '--key-file', 'open.txt'])
    expect(ended).toMatchObject({ ...failed(5, 'Run chmod 600 open.txt'), stdout: '' })
  })
})

describe('geo, to attest places,', () => {
  test('attests a place on a chain, as a record and an input', async () => {
    const subject = testAccount(3).address
    const details = ['--memo', 'A field', '--recipient', subject, '--time', '2026-01-02T03:04Z']
    const args = ['attest', 'field.geojson', ...details, '--key-file', 'key.txt', '--chain', 'celo', '--wait']
    const { uid, chainId, record } = await json(args)
    expect([chainId, record]).toEqual([42220, expect.objectContaining({ uid, memo: 'A field' })])
    expect(record).toMatchObject({ event_timestamp: '2026-01-02T03:04:00.000Z', subject })
    expect((await json(['area', uid, '--chain', 'celo'])).result).toBe(10199.3273)
    const { code, stdout } = await shell.geo([
      ...['attest', '-0.1278,51.5074', '--schema', 'location-protocol', '--key-file', 'key.txt'],
    ])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^0x[0-9a-f]{64}\nchain +base-sepolia \(84532\)\nattester +0x/)
  })

  test('revokes an attestation once, and reports the time of an earlier revocation', async () => {
    const { uid } = await json(['attest', '7,8', '--key-file', 'key.txt'])
    const revoke = ['revoke', uid, '--key-file', 'key.txt']
    const first = await json(revoke)
    expect(first).toMatchObject({ uid, already: false, transactionHash: expect.stringMatching(/^0x/) })
    const blocks = await world.chain.provider.getBlockNumber()
    expect(await json(revoke)).toMatchObject({ uid, already: true, revocationTime: first.revocationTime })
    expect((await shell.geo(revoke)).stdout).toMatch(/\nrevoked before +\d{4}-/)
    expect(await world.chain.provider.getBlockNumber()).toBe(blocks)
  })

  test('attests a place offchain, in a file that is an input, without a transaction', async () => {
    const before = await world.chain.provider.getBlockNumber()
    const args = ['attest', '-', '--offchain', '--key-file', 'key.txt', '-o', 'tower.offchain.json']
    const stdin = JSON.stringify(TOWER)
    const { code, stderr } = await shell.geo(args, { stdin, ...NO_RPC })
    const signed = matching(/\nSigned: 0x[0-9a-f]{64}, in tower\.offchain\.json\n$/)
    expect([code, stderr]).toEqual([0, signed])
    const [, uid] = /Signed: (0x\w+)/.exec(stderr)!
    // The file is the only copy, so it is not overwritten.
    const repeated = await shell.geo(args, { stdin })
    expect(repeated).toMatchObject({ ...failed(2, "'tower.offchain.json' exists"), stdout: '' })
    const answer = await json(['distance', 'tower.offchain.json', BERLIN])
    expect([answer.result, answer.inputRefs[0]]).toEqual([881329.94, uid])
    const { sig, signer } = await json([
      ...['attest', '--location-type', 'h3', '8a1f1d48985ffff', '--offchain', '--key-file', 'key.txt'],
      ...['--schema', 'location-protocol'],
    ])
    expect([sig.message.revocable, signer]).toEqual([true, testAccount(4).address])
    expect(await world.chain.provider.getBlockNumber()).toBe(before)
  })

  test('revokes an offchain attestation by its file, but only once', async () => {
    const made = [
      'attest',
      '5,6',
      '--offchain',
      '--key-file',
      'key.txt',
      '--chain',
      'celo',
      '-o',
      'five.json',
    ]
    expect((await shell.geo(made)).code).toBe(0)
    // The revocation is sent on the chain that the file names.
    const revoke = ['revoke', 'five.json', '--key-file', 'key.txt']
    const first = await json(revoke)
    expect(first).toMatchObject({ chainId: 42220, already: false })
    expect(await json(revoke)).toMatchObject({ already: true, revocationTime: first.revocationTime })
    const refused = await shell.geo(['distance', 'five.json', '1,2', '--chain', 'celo'])
    expect(refused).toMatchObject(failed(3, 'its signer revoked it'))
    const other = await shell.geo(['revoke', 'field.geojson', '--key-file', 'key.txt'])
    const reason = "'field.geojson' does not contain an offchain attestation. Expected a UID"
    expect(other).toMatchObject({ ...failed(2, reason), stdout: '' })
  })

  test('does not verify an attested place as an answer, and names the command for places', async () => {
    const { uid } = await json([
      ...['attest', '7,9', '--key-file', 'key.txt', '--memo', 'Unverified lighthouse', '--wait'],
    ])
    expect(await shell.geo(['verify', uid])).toMatchObject(failed(1, `geo record ${uid}`))
    const { stdout } = await shell.geo(['records', '--memo', 'LIGHTH unver', '--format', 'ndjson'])
    expect(JSON.parse(stdout)).toMatchObject({ uid })
  })

  test('rejects a schema that is not registered on the chain', async () => {
    const schema = 'string srs,string locationType,string location,string memo'
    const args = ['attest', '1,2', '--schema', schema, '--key-file', 'key.txt', '-q']
    const advice =
      /is not registered on base-sepolia\. .* --register-schema registers it first\. Nothing was sent\.\n$/
    expect(await shell.geo(args)).toMatchObject({ ...failed(6, advice), stdout: '' })
  })

  test('rejects an invalid place before it signs', async () => {
    const cases: [string[], RegExp][] = [
      [[place], /Expected lng,lat or GeoJSON: an attestation or a private place cannot be attested/],
      [['1,2', '--time', 'tomorrow'], /--time <time>' argument 'tomorrow' is invalid\. Expected ISO 8601/],
      [['1,2', '--expiration', '2020-01-01'], /expected a time in the future/],
      [['1,2', '-o', 'x'], /-o requires --offchain/],
      [['1,2', '--location-type', 'h3'], /place/],
    ]
    for (const [args, text] of cases)
      expect(await shell.geo(['attest', ...args, '--key-file', 'key.txt', '-q'])).toMatchObject(
        failed(2, text),
      )
  })
})
