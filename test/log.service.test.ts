import { TypedDataEncoder, Wallet } from 'ethers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { attest, LOCAL_CHAIN, locationRequest } from '../dev/chain'
import {
  INCLUSION_SECONDS,
  decodeBundle,
  decodeEntry,
  encodeEntry,
  leafHash,
  fromHex,
  parsePolicy,
  parseProof,
  signersOf,
  toHex,
  verifyInclusion,
  type EntryKind,
} from '../src/tlog'
import { rows } from './database'
import { startTestWorld, type TestWorld } from './world'
import { positions } from './positions'

/** Tests the transparency log of the whole service: every signature that leaves the service is in it. */
const POINT = { type: 'Point', coordinates: [2.2945, 48.8584] }
const POLYGON = { type: 'Polygon', coordinates: [positions('2 48, 3 48, 3 49, 2 49, 2 48')] }
const chainId = LOCAL_CHAIN.id

describe('the service with its log on, as by default,', () => {
  let world: TestWorld
  let zone: string
  beforeAll(async () => {
    world = await startTestWorld()
    zone = await attest(world.chain, locationRequest(POLYGON as never))
    await world.caughtUp()
  })
  afterAll(() => world?.stop())

  const asked = async (path: string, body: object) => {
    const response = await world.post(`/compute/v0/${path}`, { chainId, ...body })
    expect(response.status).toBe(200)
    return response.body
  }
  const proofOf = async (leaf: string) => {
    for (;;) {
      const response = await fetch(`${world.url}/log/v0/proof/${leaf}`)
      if (response.status === 200) return parseProof(await response.text())
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  /**
   * Checks the entry of an answer: encodes it again from the answer alone, and verifies its proof in the
   * signed tree.
   */
  async function check(answer: any, kind: EntryKind) {
    const { attestation, delegatedAttestation: delegated, log } = answer
    const domain = {
      ...{
        name: 'EAS',
        version: LOCAL_CHAIN.domainVersions[0]!,
        chainId,
        verifyingContract: LOCAL_CHAIN.eas,
      },
    }
    const { recipient, refUID, expirationTime, revocable, schema, signature, data } = attestation
    const { nonce, deadline } = delegated
    const entry = encodeEntry({
      ...{ kind, chainId, layout: 'v1', separator: TypedDataEncoder.hashDomain(domain), schema, data },
      ...{
        recipient: recipient.toLowerCase(),
        expirationTime,
        revocable,
        refUID,
        nonce,
        deadline,
        signature,
      },
      ...{ attester: attestation.attester.toLowerCase(), time: log.by - INCLUSION_SECONDS },
    })
    expect(log.leaf).toBe(toHex(leafHash(entry)))
    const proof = await proofOf(log.leaf)
    const { index, hashes, checkpoint } = proof
    expect(verifyInclusion(fromHex('leaf', log.leaf), index, checkpoint, hashes)).toBe(true)
    const { key, origin } = (await world.get('/log/v0')).body
    expect([log.origin, proof.checkpoint.origin]).toEqual([origin, origin])
    const policy = parsePolicy(`log ${key}\nquorum none\n`)
    expect((await signersOf(proof.checkpoint, policy)).isQuorum).toBe(true)
    return proof
  }

  test('records answers, batches, zones and re-signed answers by their kind', async () => {
    const distance = { from: POINT, to: { type: 'Point', coordinates: [2.3, 48.9] } }
    const one = await asked('distance', distance)
    await check(one, 'answer')
    const batch = await asked('batch', {
      operations: [
        { operation: 'distance', ...distance },
        { operation: 'area', geometry: POLYGON },
      ],
    })
    for (const each of batch.results) await check(each, 'batch')
    const zones = await asked('zones', { geometry: POINT, zones: { uids: [zone] } })
    await check(zones.results[0], 'batch')
    await check(await asked('resign', one), 'resigned')
    const again = await asked('resign', batch)
    for (const each of again.results) await check(each, 'resigned')
    expect((await asked('verify', one)).ours).toBe(true)
  })

  test('names inputs only by their reference', async () => {
    const answer = await asked('contains', { container: zone, geometry: POINT })
    const [row] = await rows<{ entries: Buffer }>(
      world.databaseUrl,
      'SELECT entries FROM log_group WHERE leaves = $1',
      [Buffer.from(answer.log.leaf, 'hex')],
    )
    const [bytes] = decodeBundle(row!.entries, 1)
    expect(toHex(leafHash(bytes!))).toBe(answer.log.leaf)
    const entry = decodeEntry(bytes!)
    expect(entry.data).toBe(answer.attestation.data)
    for (const reference of answer.inputRefs) expect(entry.data).toContain(reference.slice(2))
    expect(bytes!.length).toBe(245 + (entry.data.length - 2) / 2)
  })

  test('returns no signature whose entry is not committed', async () => {
    const before = (await rows<{ count: string }>(world.databaseUrl, 'SELECT count(*) FROM log_group'))[0]!
      .count
    await rows(world.databaseUrl, 'ALTER TABLE log_group RENAME TO log_group_away')
    let refused
    try {
      refused = await world.post('/compute/v0/area', { chainId, geometry: POLYGON })
    } finally {
      await rows(world.databaseUrl, 'ALTER TABLE log_group_away RENAME TO log_group')
    }
    expect([refused.status, JSON.stringify(refused.body).includes('signature')]).toEqual([500, false])
    expect(
      (await rows<{ count: string }>(world.databaseUrl, 'SELECT count(*) FROM log_group'))[0]!.count,
    ).toBe(before)
    await check(await asked('area', { geometry: POLYGON }), 'answer')
  })

  test('is ready once the log accepts entries', async () => {
    const { body, status } = await world.get('/ready')
    expect([status, body.log]).toEqual([200, { status: 'ready' }])
    const metrics = await (await fetch(`${world.url}/metrics`)).text()
    expect(metrics).toContain('geospatial_log_open 1')
    expect(metrics).toMatch(/geospatial_log_size [1-9]/)
  })
})

describe('the service with LOG=off', () => {
  test('signs without a log, which has no routes', { tags: ['slow'] }, async () => {
    const key = Wallet.createRandom().privateKey
    const world = await startTestWorld({ LOG: 'off', SIGNER_PRIVATE_KEY: key })
    try {
      const { status, body } = await world.post('/compute/v0/area', { chainId, geometry: POLYGON })
      expect([status, body.log]).toEqual([200, undefined])
      expect((await fetch(`${world.url}/log/v0/checkpoint`)).status).toBe(404)
      expect((await world.get('/ready')).body.log).toBeUndefined()
      expect((await rows(world.databaseUrl, 'SELECT FROM log_state')).length).toBe(0)
    } finally {
      await world.stop()
    }
  })
})
