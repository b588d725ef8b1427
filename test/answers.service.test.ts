import { beforeAll, describe, expect, test } from 'vitest'
import { attest, revoke, testAccount, type LocalChain } from '../dev/chain'
import { answerRequest } from './behind'
import { attestationIn, sent } from './newcomers'
import { answersAreRead, startTestWorld, type TestWorld } from './world'
import { sentence, testSentences } from './sentences'
import { GATE, TOWER } from './positions'

/**
 * Tests how GET /api/v0/answers and GraphQL return answers that landed on real chains, directly and through
 * the proxy.
 */

type Json = any
const CHAINS = ['base-sepolia', 'celo']
const SIGNER = testAccount(9).address
const RECIPIENT = testAccount(3).address

let world: TestWorld
interface Landing {
  uid: string
  answer: Json
  /** time of the block, Unix seconds */
  time: number
}
const landed: Record<string, Landing & { chain: LocalChain }> = {}
const local = (slug: string) => world.chains.get(slug)!
const uidsOf = ({ body }: { body: Json }): string[] => body.data.map(({ uid }: Json) => uid)
/** UIDs, newest first; for equal times, in the order of their ids. */
const uids = (...names: string[]) =>
  names
    .map((name) => landed[name]!)
    .map(({ uid, time, chain }) => ({ uid, key: `${time} ${chain.chain.slug}-${uid}` }))
    .sort((a, b) => (a.key < b.key ? 1 : -1))
    .map(({ uid }) => uid)

/** Expected fields of two answers, in the order of the list. */
const inOrder = <T>(first: string, second: string, expected: [T, T]): T[] =>
  uids(first, second)[0] === landed[first]!.uid ? expected : [...expected].reverse()

/** Computes, submits from an account unrelated to the service, and returns the UID. */
async function land(slug: string, operation: string, question: object): Promise<Landing> {
  const chain = local(slug)
  const request = { chainId: chain.chain.id, include: ['transaction'], ...question }
  const { body: answer } = await world.post(`/compute/v0/${operation}`, request)
  const { uid, time } = await attestationIn(chain, await sent(chain, answer.transaction))
  return { uid, answer, time: Number(time) }
}

beforeAll(async () => {
  world = await startTestWorld({ CHAINS: CHAINS.join() })
  // The API records its signer and the proxy of each chain, and the indexers load them: after that, no answer
  // is missed.
  await answersAreRead(world)
  const distance = { from: TOWER, to: GATE }
  const within = { geometry: TOWER, target: GATE }
  const near = { radius: 500, submission: 'direct', recipient: RECIPIENT }
  for (const [name, slug, operation, question] of [
    ['distance', 'base-sepolia', 'distance', { ...distance, submission: 'direct' }],
    ['near', 'base-sepolia', 'within', { ...within, ...near }],
    ['far', 'celo', 'within', { ...within, radius: 1_000_000, submission: 'proxy' }],
    ['again', 'celo', 'distance', { ...distance, submission: 'proxy', recipient: RECIPIENT }],
  ] as const)
    landed[name] = { ...(await land(slug, operation, question)), chain: local(slug) }
  // Anyone may attest under the same schema.
  await attest(local('celo'), answerRequest(1n, landed.distance!.answer.attestation.schema), 2)
  await world.caughtUp()
}, 180_000)

test('the service lists a landed answer with its claims and its position on the chain', async () => {
  const { uid, answer, chain } = landed.distance!
  const { body } = await world.get(`/api/v0/answers/${uid}`)
  const { timestamp } = (await chain.provider.getBlock(body.block_hash))!
  const { recipient, schema } = answer.attestation
  const text: string = expect.any(String)
  expect(body).toEqual({
    ...{ uid, chain: 'base-sepolia', attester: SIGNER, recipient, operation: 'distance' },
    ...{ result: answer.result, units: 'meters', value: String(Math.round(answer.result * 100)) },
    ...{ input_refs: answer.inputRefs, computed_at: new Date(answer.timestamp * 1000).toISOString() },
    ...{ timestamp: new Date(timestamp * 1000).toISOString(), revoked: false, schema, revocable: true },
    ...{ ref_uid: `0x${'0'.repeat(64)}`, expiration_time: null, revocation_time: null, log_index: 0 },
    ...{ block_number: expect.any(Number), block_hash: text, transaction_hash: text },
    // No external explorer knows a chain on this machine.
    ...{ transaction_url: null, attestation_url: null },
  })
  // The service verifies the answer as well.
  const { attestation, delegatedAttestation } = answer
  const verification = { chainId: chain.chain.id, attestation, delegatedAttestation }
  const { body: verified } = await world.post('/compute/v0/verify', verification)
  expect(verified.landed).toMatchObject({
    ...{ status: 'landed', uid, transactionHash: body.transaction_hash, blockNumber: body.block_number },
  })
})

test('the service lists the proxy as attester of an answer for the proxy', async () => {
  const { uid, answer, chain } = landed.far!
  const { body } = await world.get(`/api/v0/answers/${uid.toUpperCase().replace('0X', '0x')}?chain=42220`)
  expect(body).toMatchObject({
    ...{ attester: chain.proxy, operation: 'within:100000000', result: true, units: null, value: null },
    ...{ uid, input_refs: answer.inputRefs, expiration_time: null },
  })
})

describe('GET /api/v0/answers', () => {
  const [signer, recipient] = [SIGNER.toLowerCase(), RECIPIENT]
  const input = () => landed.distance!.answer.inputRefs[1] as string
  test.each<[string, () => string, string[]]>([
    ['everything, newest first', () => '', ['again', 'far', 'near', 'distance']],
    ['a chain', () => 'chain=celo', ['again', 'far']],
    ['chains by ID', () => 'chain=84532,celo', ['again', 'far', 'near', 'distance']],
    ['an attester', () => `attester=${signer}`, ['near', 'distance']],
    ['attesters', () => `attester=${signer},${local('celo').proxy}`, ['again', 'far', 'near', 'distance']],
    ['a recipient', () => `recipient=${recipient}`, ['again', 'near']],
    ['an operation', () => 'operation=distance', ['again', 'distance']],
    ['an operation with any number', () => 'operation=within', ['far', 'near']],
    ['an operation with its number', () => 'operation=within:50000', ['near']],
    ['operations', () => 'operation=within:50000,distance', ['again', 'near', 'distance']],
    ['an input', () => `input=${input()}`, ['again', 'far', 'near', 'distance']],
    ['another input', () => `input=0x${'1'.repeat(64)}`, []],
    ['inputs', () => `input=0x${'1'.repeat(64)},${input()}`, ['again', 'far', 'near', 'distance']],
    ['a schema', () => `schema=${landed.near!.answer.attestation.schema}`, ['far', 'near']],
    ['of both', () => `recipient=${recipient}&operation=within`, ['near']],
    ['a time in the future', () => 'fromTimestamp=2100-01-01', []],
  ])('returns the matching answers for the filter "%s"', async (_name, query, expected) => {
    expect(uidsOf(await world.get(`/api/v0/answers?${query()}`))).toEqual(uids(...expected))
  })

  test('returns each answer once across pages, and rejects a cursor of another list', async () => {
    for (const sort of ['timestamp', '-timestamp']) {
      const seen: string[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const query: string = `limit=1&sort=${sort}${cursor && `&cursor=${cursor}`}`
        const { body }: { body: Json } = await world.get(`/api/v0/answers?${query}`)
        seen.push(...uidsOf({ body }))
        cursor = body.next_cursor as string | null
        if (cursor !== null && seen.length === 1)
          expect(await world.get(`/api/v0/answers?limit=1&chain=celo&cursor=${cursor}`)).toMatchObject({
            ...{ status: 400, body: { message: 'Invalid cursor parameter' } },
          })
      }
      const all = uids('distance', 'near', 'far', 'again')
      expect(seen).toEqual(sort === 'timestamp' ? all.reverse() : all)
    }
  })

  test.each([
    ...['attester=0x12', 'operation=volume', 'operation=within:05', 'input=0x12', 'chain=mars', 'limit=0'],
    'prover=0x12',
  ])('rejects %s', async (query) => {
    const name = query.startsWith('prover') ? 'query' : query.split('=')[0]
    const { status, body } = await world.get(`/api/v0/answers?${query}`)
    expect([status, body.message, body.detail]).toEqual([400, `Invalid ${name} parameter`, sentence()])
  })

  test('returns 404 for a UID without an answer, and rejects text that is not a UID', async () => {
    const none = `0x${'1'.repeat(64)}`
    const error = { status: 'error', message: 'Answer not found', detail: sentence('', none) }
    expect(await world.get(`/api/v0/answers/${none}`)).toEqual({ status: 404, body: error })
    const elsewhere = await world.get(`/api/v0/answers/${landed.far!.uid}?chain=base-sepolia`)
    const onCelo = expect.stringMatching(/\bit is on celo$/)
    expect([elsewhere.status, elsewhere.body.detail]).toEqual([404, onCelo])
    expect((await world.get('/api/v0/answers/0x12')).status).toBe(400)
  })
})

test('GraphQL and the Records API return the same groups', async () => {
  const { body } = await world.post('/graphql', {
    query: '{ answerGroups(by: "operation,chain") locationRecordGroups(by: "day", top: "5") }',
  })
  const answers = await world.get('/api/v0/answers/stats?by=operation,chain')
  const records = await world.get('/api/v0/location-records/stats?by=day&top=5')
  expect(body).toEqual({ data: { answerGroups: answers.body, locationRecordGroups: records.body } })
  expect(answers.body).toMatchObject({ groups: 4, total: 4 })
})

test('GraphQL and the Records API return the same answers with the same filters', async () => {
  const { answer, uid } = landed.distance!
  const { body } = await world.post('/graphql', {
    query: `query ($input: String, $attester: String!) {
      all: answers { totalCount nodes { uid } }
      ofInput: answers(filter: { input: $input, operation: { equalTo: "distance" } }) {
        nodes { uid result units value inputRefs attester events { nodes { kind answer { uid } } } }
      }
      radius: answers(filter: { operation: { in: ["within:50000"] }, attester: { equalTo: $attester } }) {
        nodes { uid operation result computedAt }
      }
    }`,
    variables: { input: answer.inputRefs[0].toUpperCase().replace('0X', '0x'), attester: SIGNER },
  })
  const near = landed.near!
  const computedAt = new Date(near.answer.timestamp * 1000).toISOString()
  const value = String(Math.round(answer.result * 100))
  const distance = {
    ...{ uid, result: answer.result, units: 'meters', value, attester: SIGNER, inputRefs: answer.inputRefs },
    events: { nodes: [{ kind: 'ATTESTED', answer: { uid } }] },
  }
  const again = expect.objectContaining({ uid: landed.again!.uid, attester: local('celo').proxy })
  expect(body).toEqual({
    data: {
      all: { totalCount: 4, nodes: uids('again', 'far', 'near', 'distance').map((each) => ({ uid: each })) },
      // The two chains have their own clocks: either answer may be the newer one.
      ofInput: { nodes: inOrder('again', 'distance', [again, distance]) },
      radius: { nodes: [{ uid: near.uid, operation: 'within:50000', result: false, computedAt }] },
    },
  })
})

test('the list of answers shows a revocation at once, and changes the ETag', async () => {
  const { uid, chain, answer } = landed.near!
  const url = `${world.url}/api/v0/answers?recipient=${RECIPIENT}`
  const etag = (await fetch(url)).headers.get('etag')!
  expect((await fetch(url, { headers: { 'if-none-match': etag } })).status).toBe(304)
  await revoke(chain, uid, 9, answer.attestation.schema)
  await world.caughtUp()
  const after = await fetch(url, { headers: { 'if-none-match': etag } })
  expect(after.status).toBe(200)
  const { data } = (await after.json()) as Json
  expect(data.map((each: Json) => [each.uid, each.revoked, each.revocation_time !== null])).toEqual(
    inOrder('again', 'near', [
      [landed.again!.uid, false, false],
      [uid, true, true],
    ]),
  )
  expect(uidsOf(await world.get('/api/v0/answers?revoked=true'))).toEqual([uid])
})

testSentences()
