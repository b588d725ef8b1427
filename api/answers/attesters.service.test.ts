import { Wallet } from 'ethers'
import pino from 'pino'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { LOCAL_CHAIN, attest, testAccount, type LocalChain } from '../../dev/chain'
import { startTestChain } from '../../test/chains'
import { freePort } from '../../dev/services'
import { keySigner, sealOf } from '../../src/eas'
import { answerRequest } from '../../test/behind'
import { createMigratedDatabase, rows, type TestDatabase } from '../../test/database'
import { Attester } from '../compute/attester'
import { ChainReader } from '../contracts'
import { DatabaseServers } from '../store'
import { noteAttesters } from './attesters'

/** Tests which attesters are stored as those of this service, on a real chain. */

const [OWNER, DIRECT, UNUSED] = [testAccount(1), testAccount(5), testAccount(6)]
let chain: LocalChain
let database: TestDatabase
let servers: DatabaseServers
beforeAll(async () => {
  chain = await startTestChain({ port: await freePort(), signer: OWNER.address })
  // An attestation without delegation does not increase the nonce in EAS.
  await attest(chain, answerRequest(true), 5)
})
beforeEach(async () => {
  database = await createMigratedDatabase()
  servers = new DatabaseServers(database.url, [], () => {})
})
afterEach(async () => {
  await servers?.close()
  await database?.drop()
})

/** @param host 0.0.0.0 also reaches the loopback interface, but does not count as local */
async function served(
  key: string,
  { proxy, others = [], host = '127.0.0.1' }: { proxy?: string; others?: string[]; host?: string } = {},
) {
  const rpcUrls = [chain.url.replace('127.0.0.1', host)]
  const connected = { chain: LOCAL_CHAIN, rpcUrls, gatewayUrl: undefined, headPollMs: 0, proxy }
  const reader = new ChainReader(connected, () => Date.now())
  const identity = { signer: await keySigner(key), others, seals: [sealOf(key)] as const }
  return { reader, attester: new Attester(identity, connected, reader, undefined) }
}
/**
 * Stores the attesters that can be stored. Returns them after `refused` refusals, together with the refusals.
 */
async function noted(of: Awaited<ReturnType<typeof served>>, count: number, refused: number) {
  const refusals: string[] = []
  const log = pino({ level: 'warn' }, { write: (line) => refusals.push(JSON.parse(line).reason as string) })
  void noteAttesters(servers, [of], log)
  const sql = 'SELECT address, first_block > 0 AS "isNew" FROM answer_attester ORDER BY address'
  const read = () => rows<{ address: string; isNew: boolean }>(database.url, sql)
  await expect.poll(async () => [refusals.length, (await read()).length]).toEqual([refused, count])
  return { refusals, rows: await read() }
}

test('the list of attesters has a signer, its other accounts, and the proxy of one account', async () => {
  const others = [OWNER, DIRECT].map(({ address }) => address.toLowerCase())
  const found = await noted(await served(UNUSED.privateKey, { proxy: chain.proxy, others }), 4, 0)
  const isNew = Object.fromEntries(found.rows.map((row) => [row.address, row.isNew]))
  expect(isNew).toEqual({
    [UNUSED.address.toLowerCase()]: true,
    // This account has attested directly, without a nonce in EAS.
    [DIRECT.address.toLowerCase()]: false,
    // This account has deployed the proxy.
    [OWNER.address.toLowerCase()]: false,
    [chain.proxy.toLowerCase()]: false,
  })
})

test('the list of attesters omits a proxy with another owner', async () => {
  const found = await noted(await served(UNUSED.privateKey, { proxy: chain.proxy }), 1, 1)
  expect(found.rows.map(({ address }) => address)).toEqual([UNUSED.address.toLowerCase()])
  expect(found.refusals[0]).toMatch(/^the owner of the proxy, 0x\w+, is not an attester of this service$/)
})

test('the list of attesters of a public chain omits test accounts, whose keys are public', async () => {
  const found = await noted(await served(UNUSED.privateKey, { host: '0.0.0.0' }), 0, 1)
  expect(found.refusals[0]).toMatch(/publicly known test account/)
  const key = Wallet.createRandom()
  const others = [DIRECT.address.toLowerCase()]
  const own = await noted(await served(key.privateKey, { host: '0.0.0.0', others }), 1, 1)
  expect(own.rows.map(({ address }) => address)).toEqual([key.address.toLowerCase()])
  expect(own.refusals[0]).toMatch(/publicly known test account/)
})
