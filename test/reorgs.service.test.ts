import { expect, test } from 'vitest'
import { attest, request, revoke, testAccount } from '../dev/chain'
import { ANSWERER, RESULT_SCHEMA, answerRequest } from './behind'
import {
  audited,
  finalize,
  inFaultyWorld,
  indexer,
  place,
  query,
  records,
  restart,
  until,
  world,
} from './faulty'
import { LOCAL_CHAIN, inOneBlock, mine, reorg } from './world'
import { sentence, testSentences } from './sentences'

/** Tests the indexer with reorgs, and with attesters that are added while it runs (docs/spec/trust.md 6). */
inFaultyWorld()

test('the indexer follows a reorg of three blocks', async () => {
  const { chain, caughtUp } = world
  const kept = await attest(chain, place())
  const dropped = [await attest(chain, place()), await attest(chain, place()), await attest(chain, place())]
  await caughtUp()
  await reorg(chain, 3)
  await mine(chain, 1)
  await caughtUp()
  expect(await records([kept, ...dropped])).toEqual(['valid', ...dropped.map(() => 'missing')])
})

test('the indexer follows a reorg that drops an attestation and a revocation in one block', async () => {
  const { chain, caughtUp } = world
  const { provider } = chain
  const kept = await attest(chain, place())
  await caughtUp()
  const before = await provider.send('evm_snapshot', [])
  const contract = await chain.eas()
  const [attested] = await inOneBlock(chain, [
    () => contract.getFunction('attest').send(place(), { gasLimit: 1_000_000 }),
    () =>
      contract
        .getFunction('revoke')
        .send({ schema: place().schema, data: { uid: kept, value: 0 } }, { gasLimit: 1_000_000 }),
  ])
  const dropped = attested!.logs[0]!.data
  await caughtUp()
  expect(await records([kept, dropped])).toEqual(['revoked', 'valid'])
  await provider.send('evm_revert', [before])
  await caughtUp()
  expect(await records([kept, dropped])).toEqual(['valid', 'missing'])
})

test('the indexer follows reorgs that drop an answer, its revocation, or another attestation', async () => {
  const { chain, caughtUp } = world
  const { provider } = chain
  const answers = async (uids: readonly string[]) => {
    const found = await query<{ uid: string; revoked: boolean }>('SELECT uid, revoked FROM answer')
    return uids.map((uid) => found.find((each) => each.uid === uid)?.revoked)
  }
  const kept = await attest(chain, answerRequest(12_345n), ANSWERER)
  // An attestation by an unrelated attester is not an answer.
  const foreign = await attest(chain, answerRequest(1n), 0)
  await caughtUp()
  const before = await provider.send('evm_snapshot', [])
  await revoke(chain, kept, ANSWERER, RESULT_SCHEMA)
  const dropped = await attest(chain, answerRequest(true), ANSWERER)
  const located = await attest(chain, place(), ANSWERER)
  const noAnswer = await attest(chain, request(RESULT_SCHEMA, '0x1234'), ANSWERER)
  await caughtUp()
  expect(await answers([kept, foreign, dropped, located, noAnswer])).toEqual([
    ...[true, undefined, false],
    ...[undefined, undefined],
  ])
  expect(await records([located])).toEqual(['valid'])
  expect(await query('SELECT problem FROM attestation_event WHERE uid = $1', [noAnswer])).toEqual([
    { problem: sentence() },
  ])
  await provider.send('evm_revert', [before])
  await caughtUp()
  expect(await answers([kept, dropped])).toEqual([false, undefined])
  expect(await query('SELECT FROM attestation_event WHERE uid = $1', [noAnswer])).toEqual([])
})

test('the indexer reads new answers of an added attester, and the audit reads earlier answers', async () => {
  const { chain } = world
  const [late, address] = [6, testAccount(6).address.toLowerCase()]
  const count = async () =>
    (await query<{ uid: string }>('SELECT uid FROM answer WHERE attester = $1', [address])).map(
      ({ uid }) => uid,
    )
  const old = await attest(chain, answerRequest(1n), late)
  await finalize()
  expect(await count()).toEqual([])
  await query('INSERT INTO answer_attester (chain, address, first_block) VALUES ($1, $2, 0)', [
    ...[LOCAL_CHAIN.slug, address],
  ])
  await until(async () => (await query('SELECT FROM answer_attester WHERE read_from IS NULL')).length === 0)
  // A block that was being read before the change may lack this event. The audit adds it.
  const fresh = await attest(chain, answerRequest(2n), late)
  await finalize()
  expect([1, 2]).toContain((await audited()).repaired)
  expect((await count()).sort()).toEqual([old, fresh].sort())
  const [{ doubt } = {}] = await query<{ doubt: string | null }>('SELECT doubt FROM chain_status')
  expect(doubt).toBeNull()
})

test.each([
  ['reread', 7],
  ['prove', 8],
] as const)(
  'the indexer finds the answers of an attester that is added during a concurrent audit (%s)',
  async (how, late) => {
    const { chain } = world
    const address = testAccount(late).address.toLowerCase()
    const old = await attest(chain, answerRequest(3n), late)
    await finalize()
    await audited(how, async () => {
      await query('INSERT INTO answer_attester (chain, address, first_block) VALUES ($1, $2, 0)', [
        ...[LOCAL_CHAIN.slug, address],
      ])
      await until(
        async () => (await query('SELECT FROM answer_attester WHERE read_from IS NULL')).length === 0,
      )
    })
    expect(await query('SELECT uid FROM answer WHERE attester = $1', [address])).toEqual([{ uid: old }])
  },
)

test('the indexer indexes an attestation that is mined again under another UID', async () => {
  const { chain, caughtUp } = world
  const before = await chain.provider.send('evm_snapshot', [])
  const twin = place()
  const first = await attest(chain, twin)
  await caughtUp()
  await chain.provider.send('evm_revert', [before])
  await chain.provider.send('evm_increaseTime', [100])
  const second = await attest(chain, twin)
  expect(second).not.toBe(first)
  await caughtUp()
  expect(await records([first, second])).toEqual(['missing', 'valid'])
})

test('the indexer indexes an attestation that is mined again under the same UID', async () => {
  const { chain, caughtUp } = world
  const before = await chain.provider.send('evm_snapshot', [])
  const twin = place()
  const time = (await chain.provider.getBlock('latest'))!.timestamp + 100
  await chain.provider.send('evm_setNextBlockTimestamp', [time])
  const first = await attest(chain, twin)
  await caughtUp()
  await chain.provider.send('evm_revert', [before])
  await chain.provider.send('anvil_mine', ['0x1', '0x1'])
  await chain.provider.send('evm_setNextBlockTimestamp', [time])
  expect(await attest(chain, twin)).toBe(first)
  await caughtUp()
  expect(await records([first])).toEqual(['valid'])
})

test('the indexer follows anvil_rollback, and a reorg that occurred while it was down', async () => {
  const { chain, caughtUp } = world
  const uids = [await attest(chain, place()), await attest(chain, place()), await attest(chain, place())]
  await caughtUp()
  await indexer.stop()
  await reorg(chain, 2)
  uids.push(await attest(chain, place()))
  restart()
  await caughtUp()
  expect(await records(uids)).toEqual(['valid', 'missing', 'missing', 'valid'])
  await chain.provider.send('anvil_rollback', [1])
  uids.push(await attest(chain, place()))
  await caughtUp()
  expect(await records(uids)).toEqual(['valid', 'missing', 'missing', 'missing', 'valid'])
})

testSentences()
