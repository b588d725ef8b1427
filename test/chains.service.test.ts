import { afterEach, beforeAll, expect, test } from 'vitest'
import { attest, locationRequest, localVersion, revoke, type LocalChain } from '../dev/chain'
import { ACTIVE_SLUGS, chainNamed } from '../src/chains'
import { expectInvariants } from './invariants'
import { mine, startTestWorld, type TestWorld } from './world'
import { sentence, testSentences } from './sentences'
import { TOWER } from './positions'

/** Each test waits for many blocks. */
const MINUTES = { timeout: 240_000 }

/**
 * Tests all active chains at once, each with its own EAS version and indexer, in one database. The invariants
 * hold for all chains after each test.
 */
let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld({ CHAINS: ACTIVE_SLUGS.join(',') })
})
afterEach(async () => {
  await world.caughtUp()
  for (const slug of ACTIVE_SLUGS) await expectInvariants(world, slug)
})

const place = (longitude: number) => locationRequest({ type: 'Point', coordinates: [longitude, 10] })
const local = (slug: string) => world.chains.get(slug)!
const record = (uid: string, slug: string) => world.get(`/api/v0/location-records/${uid}?chain=${slug}`)
const recordsOf = async (slug: string) =>
  (await world.get(`/api/v0/location-records?chain=${slug}`)).body.data
const distanceFrom = (from: unknown, slug: string) =>
  world.post('/compute/v0/distance', { chainId: chainNamed(slug)!.id, from, to: TOWER })

/** Attests the same content at the same block time on several chains. Returns the UID. */
async function attestOnAll(chains: LocalChain[], attestation: ReturnType<typeof place>): Promise<string> {
  const heads = await Promise.all(chains.map(({ provider }) => provider.getBlock('latest')))
  const time = Math.max(...heads.map((head) => head!.timestamp)) + 100
  const uids: string[] = []
  for (const each of chains) {
    await each.provider.send('evm_setNextBlockTimestamp', [time])
    uids.push(await attest(each, attestation, 4))
  }
  expect(new Set(uids).size).toBe(1)
  return uids[0]!
}

test('the service records an attestation on its own chain only, and counts it there', MINUTES, async () => {
  expect([...world.chains.values()].map(({ chain }) => localVersion(chain))).toEqual([
    '1.2.0',
    '0.26',
    '0.26',
    '1.3.0',
  ])
  for (const [i, slug] of ACTIVE_SLUGS.entries())
    for (let n = 0; n <= i; n++) await attest(local(slug), place(10 * i + n), n)
  await world.caughtUp()
  for (const [i, slug] of ACTIVE_SLUGS.entries()) {
    const found = (await recordsOf(slug)).map(
      (each: { chain: string; longitude: number }) => `${each.chain} ${each.longitude}`,
    )
    expect(found.sort()).toEqual(Array.from({ length: i + 1 }, (_, n) => `${slug} ${10 * i + n}`))
  }
  expect((await world.get('/api/v0/location-records/stats')).body).toMatchObject({
    total: 10,
    by_chain: { 'base-sepolia': 1, sepolia: 2, arbitrum: 3, celo: 4 },
    revoked: 0,
  })
})

test('the service records one UID on every chain, and revokes it on one chain only', MINUTES, async () => {
  const uid = await attestOnAll([...world.chains.values()], place(50))
  await world.caughtUp()
  for (const slug of ACTIVE_SLUGS)
    expect((await record(uid, slug)).body).toMatchObject({ uid, chain: slug, revoked: false, longitude: 50 })
  const times = new Set(
    await Promise.all(ACTIVE_SLUGS.map(async (slug) => (await record(uid, slug)).body.timestamp)),
  )
  expect(times.size).toBe(1)
  // The UID includes the time, so these records are equally new. A request without a chain always returns one
  // of them.
  expect((await world.get(`/api/v0/location-records/${uid}`)).body).toMatchObject({ uid, chain: 'sepolia' })

  await revoke(local('sepolia'), uid, 4)
  await world.caughtUp()
  for (const slug of ACTIVE_SLUGS) expect((await record(uid, slug)).body.revoked).toBe(slug === 'sepolia')
  expect((await world.get('/api/v0/location-records/stats')).body.revoked).toBe(1)
  expect((await distanceFrom(uid, 'sepolia')).body).toMatchObject({
    status: 400,
    detail: sentence('from', uid),
  })
  for (const slug of ['base-sepolia', 'arbitrum', 'celo'])
    expect((await distanceFrom(uid, slug)).body).toMatchObject({
      operation: 'distance',
      inputRefs: [uid, expect.any(String)],
    })
})

test('the service removes only the record of the chain that reorganizes', MINUTES, async () => {
  const arbitrum = local('arbitrum')
  const others = ACTIVE_SLUGS.filter((slug) => slug !== 'arbitrum')
  const before = await arbitrum.provider.send('evm_snapshot', [])
  const shared = await attestOnAll([arbitrum, local('base-sepolia'), local('celo')], place(60))
  const onlyThere = await attest(arbitrum, place(61))
  await world.caughtUp()
  const untouched = await Promise.all(others.map(recordsOf))
  expect((await record(shared, 'arbitrum')).status).toBe(200)

  await arbitrum.provider.send('evm_revert', [before])
  const replacement = await attest(arbitrum, place(62))
  await mine(arbitrum, 3)
  await world.caughtUp()
  expect(
    await Promise.all(
      [shared, onlyThere, replacement].map(async (uid) => (await record(uid, 'arbitrum')).status),
    ),
  ).toEqual([404, 404, 200])
  expect((await record(shared, 'celo')).status).toBe(200)
  expect((await world.get(`/api/v0/location-records/${shared}`)).body.chain).toBe('celo')
  // Both errors name all chains that have this UID, and no other chain.
  const onOthers = /\bon arbitrum\b.*; it is on base-sepolia( \(chain 84532\))? and celo( \(chain 42220\))?$/
  for (const { status, body } of [await distanceFrom(shared, 'arbitrum'), await record(shared, 'arbitrum')])
    expect([status, body.detail]).toEqual([404, expect.stringMatching(onOthers)])
  for (const { status, body } of [await distanceFrom(onlyThere, 'celo'), await record(onlyThere, 'arbitrum')])
    expect([status, body.detail]).toEqual([404, expect.not.stringContaining('it is on')])
  const { body } = await distanceFrom(replacement, 'celo')
  expect(body.detail).toEqual(sentence('', 'celo', replacement, 'it is on arbitrum (chain 42161)'))
  expect(await Promise.all(others.map(recordsOf))).toEqual(untouched)
})

testSentences()
