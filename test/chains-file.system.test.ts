import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { readChains } from '../src/chains-file'
import { CHAINS, chainNamed } from '../src/chains'
import { readSettings } from '../src/config'
import { attest, locationRequest, mined } from '../dev/chain'
import { expectInvariants } from './invariants'
import { startTestWorld, type TestWorld } from './world'
import { sentence, testSentences } from './sentences'

/** A chain through CHAINS_FILE only (docs/reference/settings.md, "Further chains"). */

// Set before the imports, because programs read the file first.
const { FILE, ROW } = vi.hoisted(() => {
  const row = {
    id: 424_242,
    slug: 'far-chain',
    aliases: ['far'],
    eas: '0x00000000000000000000000000000000000EA500',
    schemaRegistry: '0x000000000000000000000000000000000005C000',
    domainVersions: ['9.9.9', '1.3.0'],
    firstBlock: 1_000,
    finality: 20,
    blockMs: 1_000,
  }
  // oxlint-disable-next-line typescript/no-require-imports -- runs before every import
  const [fs, os] = [require('node:fs'), require('node:os')] as [
    typeof import('node:fs'),
    typeof import('node:os'),
  ]
  const file = `${fs.mkdtempSync(`${os.tmpdir()}/chains-`)}/chains.json`
  fs.writeFileSync(file, JSON.stringify([row, { slug: 'celo', minConfirmations: 3, headPollMs: 7_000 }]))
  process.env.CHAINS_FILE = file
  return { FILE: file, ROW: row }
})

let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld(
    // Runs two processes, because the API's workers must read the file as well.
    { CHAINS: 'far-chain', CHAINS_FILE: FILE, API_PROCESSES: '2' },
    { processes: true },
  )
})
afterAll(() => rmSync(FILE))

test('the service indexes a chain of the file, lists it by slug and alias, and signs for it', async () => {
  const { chain } = world
  expect([chain.chain.id, chain.chain.slug]).toEqual([ROW.id, 'far-chain'])
  const uid = await attest(chain, locationRequest({ type: 'Point', coordinates: [7, 8] }))
  await world.caughtUp()
  const { body } = await world.get('/api/v0/location-records?chain=FAR')
  expect(body.data).toMatchObject([{ uid, chain: 'far-chain', longitude: 7 }])
  expect((await world.get('/api/v0/location-records/stats')).body.by_chain).toMatchObject({ 'far-chain': 1 })
  expect((await world.get('/api/v0/config')).body.chains).toMatchObject({ celo: true, 'far-chain': true })
  expect((await world.get('/ready')).body.chains['far-chain'].status).toBe('ready')
  await expectInvariants(world, 'far-chain')

  const { status, body: answer } = await world.post('/compute/v0/distance', {
    chainId: ROW.id,
    from: uid,
    to: { type: 'Point', coordinates: [7, 9] },
  })
  expect(status).toBe(200)
  const { delegatedAttestation: signed, attestation } = answer
  const { v, r, s } = (await import('ethers')).Signature.from(signed.signature)
  const eas = await chain.eas()
  const sent = await eas.getFunction('attestByDelegation').send({
    schema: attestation.schema,
    data: {
      ...{ recipient: attestation.recipient, expirationTime: 0, revocable: attestation.revocable },
      ...{ refUID: attestation.refUID, data: attestation.data, value: 0 },
    },
    signature: { v, r, s },
    attester: signed.attester,
    deadline: signed.deadline,
  })
  expect((await mined(world.chain, sent.hash)).status).toBe(1)
})

test('a row with a known slug and no id overrides values of the known chain', () => {
  expect(chainNamed('celo')).toMatchObject({
    id: 42220,
    minConfirmations: 3,
    headPollMs: 7_000,
    finality: 75,
  })
  // For chains with an endpoint on this machine, only the default of a setting differs.
  const { chains } = readSettings({ RPC_URL_CELO: 'http://127.0.0.1:1' }, [])
  expect(chains[0]!.headPollMs).toBe(7_000)
  expect(readChains('[{"slug":"base","rpcBatchSize":1}]')).toEqual({
    added: [],
    changed: [{ slug: 'base', rpcBatchSize: 1 }],
  })
})

describe('the reader of the chains file rejects', () => {
  test.each<[string, unknown, string]>([
    ['not a list', {}, sentence()],
    ['not an address', [{ ...ROW, id: 5, slug: 'other', aliases: [], eas: '0x1' }], sentence('', '/0/eas')],
    ['an unknown field', [{ ...ROW, colour: 'red' }], '/0/colour'],
    ['a chain of the table', [{ ...ROW, id: 8453, slug: 'other', aliases: [] }], 'the id 8453'],
    ['a slug of the table', [{ ...ROW, id: 5, slug: 'celo', aliases: [] }], 'the slug or alias celo'],
    ['a value that a chain of the table keeps', [{ slug: 'celo', finality: 1 }], '/0/finality'],
    ['a value out of range', [{ slug: 'celo', rpcBatchSize: 0 }], '/0/rpcBatchSize'],
  ])('a file with this mistake: %s', (_, value, message) => {
    expect(() => readChains(JSON.stringify(value))).toThrow(message)
  })
  test('a file that is not JSON', () => {
    expect(() => readChains('[')).toThrow(sentence())
    expect(CHAINS.at(-1)!.slug).toBe('far-chain')
  })
})

testSentences()
