// SPDX-License-Identifier: MIT
import { inspect } from 'node:util'
import {
  AlteredAnswerError,
  AttestationNotFoundError,
  ChainMismatchError,
  ConnectionError,
  LandingError,
  LostTransactionError,
  ServiceVersionError,
  SignerError,
  createGeo,
  type Answer,
  type BatchAnswer,
  type Eip1193Provider,
  type Geo,
  type LandingStep,
  type Provider,
  type Signer,
} from '@geospatial-attestation/client'
import { Wallet, ZeroHash } from 'ethers'
import { createPublicClient, createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { mined, revoke, testAccount, type LocalChain } from '../../../dev/chain'
import { testedSlugs, testedWith } from '../../../test/chains'
import { EFFORT } from '../../../test/seed'
import { serve } from '../../../test/http-server'
import { startTestWorld, type TestWorld } from '../../../test/world'
import { SIGNER_KINDS, ethersProvider, injected, signerOf } from './signers'
import { sentence, testSentences } from '../../../test/sentences'
import { GATE, TOWER, positions } from '../../../test/positions'

/** Tests that answers of the running service land with the built package on every version of EAS. */
const SLUGS = testedSlugs(EFFORT)
let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld({ CHAINS: SLUGS.join() })
})

const local = (slug: string): LocalChain => world.chains.get(slug)!
const geoOf = (slug: string, more: object = {}): Geo =>
  createGeo({ url: world.url, chain: slug, providers: { [local(slug).chain.id]: local(slug).url }, ...more })

const ethersSigner = (slug: string) => signerOf('ethers', local(slug)).signer
const viemSigner = (slug: string) => signerOf('viem', local(slug)).signer
const SIGNERS: Record<string, (slug: string) => Signer> = Object.fromEntries(
  SIGNER_KINDS.map((kind) => [kind, (slug: string) => signerOf(kind, local(slug)).signer]),
)
const sent = (slug: string, account = 1) =>
  local(slug).provider.getTransactionCount(testAccount(account).address)

/** Results of a batch that takes several transactions. */
const MANY = 22

test.each(testedWith(EFFORT, SIGNER_KINDS))(
  'the client on %s with %s lands direct and proxy answers, which check then reads',
  async (slug, name) => {
    const geo = geoOf(slug)
    // One recipient for each signer, since the same question within a second has the same answer.
    const recipient = testAccount(5 + SIGNER_KINDS.indexOf(name)).address
    for (const submission of ['direct', 'proxy'] as const) {
      const answer = await geo.distance(TOWER, GATE, { submission, recipient })
      expect(answer.result).toBe(881329.94)
      const landed = await geo.land(answer, SIGNERS[name]!(slug))
      expect(landed).toMatchObject({
        ...{ chainId: local(slug).chain.id, already: false },
        says: { result: 881329.94, units: 'meters', operation: 'distance', inputRefs: answer.inputRefs },
        attestation: { uid: landed.uid, recipient, data: answer.attestation.data },
      })
      const checked = await geo.check(landed.uid, { answer })
      expect(checked).toMatchObject({ valid: true, problems: [], attester: answer.attestation.attester })
      // The log proves the entry of the answer, which must be the one that landed.
      const { log: _, ...withoutEntry } = answer as typeof answer & { log?: object }
      for (const changed of [
        ...[{ recipient: testAccount(0).address }, { refUID: landed.uid }, { revocable: false }],
        ...(submission === 'direct' ? [{ expirationTime: 5 }] : []),
      ]) {
        const another = { ...withoutEntry, attestation: { ...answer.attestation, ...changed } }
        // The content differs, and no entry is named.
        expect(await geo.check(landed.uid, { answer: another })).toMatchObject({
          valid: false,
          problems: [expect.any(String), expect.any(String)],
        })
      }
      expect(checked.sentence).toMatch(
        /^The distance between 0x\w{8}\.\.\. and 0x\w{8}\.\.\. is 881,329\.94 m,/,
      )
    }
  },
)

describe.each(SLUGS)('the client on %s', (slug) => {
  test('lands a batch in one transaction, in order', async () => {
    const geo = geoOf(slug)
    for (const submission of ['direct', 'proxy'] as const) {
      const batch = await geo.batch(
        [
          { operation: 'distance', from: TOWER, to: GATE },
          { operation: 'within', geometry: TOWER, target: GATE, radius: 900_000 },
          { operation: 'contains', container: AROUND, geometry: TOWER },
          { operation: 'area', geometry: AROUND },
        ],
        { submission },
      )
      const landed = await geo.land(batch, viemSigner(slug))
      expect(landed.map(({ says }) => says.operation)).toEqual([
        ...['distance', 'within:90000000', 'contains', 'area'],
      ])
      expect(landed.map(({ says }) => says.result)).toEqual(batch.results.map(({ result }) => result))
      expect(new Set(landed.map(({ transactionHash }) => transactionHash)).size).toBe(1)
    }
  })
})
const AROUND = { type: 'Polygon' as const, coordinates: [positions('2 48, 3 48, 3 49, 2 49, 2 48')] }

test.each([
  ['sepolia', 'direct'],
  ['base', 'proxy'],
] as const)(
  'the client on %s lands a %s batch of more than 20 in several transactions, in order, once',
  { tags: ['slow'] },
  async (slug, submission) => {
    const geo = geoOf(slug)
    const radii = Array.from({ length: MANY }, (_, i) => 10 * (i + 1))
    const batch = await geo.batch(
      radii.map((radius) => ({ operation: 'within' as const, geometry: TOWER, target: GATE, radius })),
      { submission },
    )
    expect(await geo.estimate(batch, viemSigner(slug))).toBeGreaterThan(BigInt(MANY) * 100_000n)
    const stored: (Answer | BatchAnswer)[] = [batch]
    const onStep = (step: LandingStep) => step.step === 'signed anew' && stored.push(step.answer)
    const landed = await geo.land(batch, viemSigner(slug), { onStep })
    expect(landed.map(({ says }) => says.operation)).toEqual(radii.map((radius) => `within:${radius}00`))
    expect(new Set(landed.map(({ transactionHash }) => transactionHash)).size).toBe(Math.ceil(MANY / 20))
    expect(landed.map(({ already }) => already)).not.toContain(true)
    // A batch that was stored at any step can be landed again, and no answer lands twice.
    const last = stored.at(-1) as BatchAnswer
    expect(last.multiAttestByDelegation.flatMap(({ data }) => data).length).toBe(MANY)
    const again = await geo.land(last, viemSigner(slug))
    expect(again.map(({ uid, already }) => [uid, already])).toEqual(landed.map(({ uid }) => [uid, true]))
  },
)

describe('concurrent answers', () => {
  test(
    'all land with the same nonce at the same time, from one signer and from several',
    { tags: ['slow'] },
    async () => {
      const geo = geoOf('sepolia')
      const radii = Array.from({ length: 6 }, (_, i) => 1000 + i)
      const answers: Answer<'within'>[] = []
      for (const radius of radii)
        answers.push(await geo.within(TOWER, GATE, radius, { submission: 'direct' }))
      expect(new Set(answers.map(({ delegatedAttestation }) => delegatedAttestation.nonce)).size).toBe(1)
      const [one, two] = [ethersSigner('sepolia'), viemSigner('sepolia')]
      const steps: string[] = []
      const landed = await Promise.all(
        answers.map((answer, i) =>
          geo.land(answer, i % 2 ? one : two, { onStep: ({ step }) => steps.push(step) }),
        ),
      )
      expect(new Set(landed.map(({ uid }) => uid)).size).toBe(6)
      expect(landed.map(({ says }) => says.operation)).toEqual(radii.map((radius) => `within:${radius}00`))
      expect(steps.filter((step) => step === 'signed anew').length).toBeGreaterThanOrEqual(5)
    },
  )

  test('are re-signed without fields that the service does not know, such as those of zones', async () => {
    const geo = geoOf('base')
    const direct = { submission: 'direct' as const }
    const [first, second] = [
      await geo.within(TOWER, GATE, 7, direct),
      await geo.within(TOWER, GATE, 8, direct),
    ]
    const zones = {
      ...(await geo.batch([{ operation: 'within', geometry: TOWER, target: GATE, radius: 9 }], direct)),
      ...{ onBoundary: [], undecided: [], undecidedMore: false, complete: true, inputRef: ZeroHash },
    }
    await geo.land(first, ethersSigner('base'))
    const others = [
      await geo.land({ ...second, note: 'mine' } as Answer, ethersSigner('base')),
      ...(await geo.land(zones, ethersSigner('base'))),
    ]
    expect(others.map(({ says, already }) => [says.operation, already])).toEqual([
      ['within:800', false],
      ['within:900', false],
    ])
    expect((await geo.resign(zones)).results).toHaveLength(1)
  })

  test.each(['direct', 'proxy'] as const)(
    'of the form %s return the same attestation when landed twice',
    async (submission) => {
      const geo = geoOf('base')
      const signer = ethersSigner('base')
      const answer = await geo.within(TOWER, GATE, submission === 'direct' ? 5 : 6, { submission })
      const first = await geo.land(answer, signer)
      const before = await sent('base')
      const again = await geo.land(answer, signer)
      expect(again).toEqual({ ...first, already: true })
      expect(await sent('base')).toBe(before)
    },
  )

  test('send one transaction if one of the proxy lands twice at once', async () => {
    const geo = geoOf('base')
    const signer = ethersSigner('base')
    const answer = await geo.within(TOWER, GATE, 10, { submission: 'proxy' })
    const { provider } = local('base')
    const before = await sent('base')
    await provider.send('evm_setAutomine', [false])
    const steps: string[] = []
    const land = () => geo.land(answer, signer, { onStep: ({ step }) => steps.push(step) })
    const both = Promise.all([land(), land()])
    try {
      await expect.poll(() => steps).toEqual(['sent'])
      // Time for a second transaction, which would be simulated before the first one is in a block.
      await new Promise((resolve) => setTimeout(resolve, 500))
    } finally {
      await provider.send('evm_setAutomine', [true])
      await provider.send('evm_mine', [])
    }
    const [first, second] = await both
    expect(second).toEqual({ ...first, already: true })
    expect(await sent('base')).toBe(before + 1)
  })
})

describe('the client sends no transaction', () => {
  const before = async () => [await sent('sepolia'), await sent('base')]
  const refused = async (work: Promise<unknown>, kind: new (...args: never[]) => Error, words: RegExp) => {
    const error = await work.then(
      () => undefined,
      (reason: unknown) => reason as Error,
    )
    expect(error).toBeInstanceOf(kind)
    expect(error!.message).toMatch(words)
    expect(error!.message).toMatch(/[.?]$/)
  }

  test.each<[string, (answer: any) => unknown, RegExp]>([
    [
      'the result',
      (a) => ({ ...a, result: a.result + 0.01 }),
      /its result is 881329.95, but the signed value is 881329.94/,
    ],
    ['the operation', (a) => ({ ...a, operation: 'length' }), /its operation is "length"/],
    ['the inputs', (a) => ({ ...a, inputRefs: [...a.inputRefs].reverse() }), /its inputRefs/],
    [
      'the payload',
      (a) => ({ ...a, attestation: { ...a.attestation, data: a.attestation.data.replace('cd82', 'cd83') } }),
      /its signature is not by/,
    ],
    [
      'the recipient',
      (a) => ({ ...a, attestation: { ...a.attestation, recipient: testAccount(4).address } }),
      /its signature is not by/,
    ],
    [
      'the call',
      (a) => {
        const data = { ...a.attestByDelegation.data, recipient: testAccount(4).address }
        return { ...a, attestByDelegation: { ...a.attestByDelegation, data } }
      },
      /recipient of attestByDelegation differs from its attestation/,
    ],
    [
      'the deadline',
      (a) => ({ ...a, delegatedAttestation: { ...a.delegatedAttestation, deadline: 9999999999 } }),
      /its signature is not by/,
    ],
    [
      'the attester',
      (a) => ({ ...a, attestation: { ...a.attestation, attester: testAccount(4).address } }),
      /its attester is .*, not/,
    ],
  ])('if %s was altered', async (_, alter, words) => {
    const geo = geoOf('base')
    const signer = ethersSigner('base')
    const counts = await before()
    for (const submission of ['direct', 'proxy'] as const) {
      const answer = await geo.distance(TOWER, GATE, { submission })
      await refused(geo.land(alter(answer) as Answer, signer), AlteredAnswerError, words)
    }
    const batch = await geo.batch([{ operation: 'distance', from: TOWER, to: GATE }])
    const wrong = { ...batch, results: batch.results.map(alter) } as typeof batch
    await refused(geo.land(wrong, signer), AlteredAnswerError, words)
    expect(await before()).toEqual(counts)
  })

  test('if the service signs with another key than the pinned key', async () => {
    const counts = await before()
    const geo = geoOf('base', { attester: testAccount(4).address })
    await refused(
      geo.land(await geoOf('base').distance(TOWER, GATE), ethersSigner('base')),
      AlteredAnswerError,
      /attester/,
    )
    expect(await before()).toEqual(counts)
  })

  test('if the signer is on another chain, has no RPC endpoint, or is not a signer', async () => {
    const counts = await before()
    const geo = geoOf('base')
    const answer = await geo.distance(TOWER, GATE)
    for (const signer of Object.values(SIGNERS))
      await refused(
        geo.land(answer, signer('sepolia')),
        ChainMismatchError,
        /for base \(chain 8453\), but the signer is on chain 11155111. Switch/,
      )
    const key = testAccount(1).privateKey as `0x${string}`
    await refused(geo.land(answer, new Wallet(key)), SignerError, /has no provider.*wallet\.connect/)
    await refused(geo.land(answer, privateKeyToAccount(key)), SignerError, /createWalletClient/)
    const client = createWalletClient({ transport: http(local('base').url) })
    await refused(geo.land(answer, client), SignerError, /no account/)
    await refused(geo.land(answer, {} as Signer), SignerError, /Expected a signer/)
    const away = createWalletClient({
      account: privateKeyToAccount(key),
      transport: http('http://127.0.0.1:1', { retryCount: 0 }),
    })
    await refused(geo.land(answer, away), ConnectionError, /RPC endpoint of the signer does not respond/)
    expect(await before()).toEqual(counts)
  })

  test('if the wallet refuses, or has no funds', async () => {
    const geo = geoOf('base')
    const answer = await geo.distance(TOWER, GATE)
    const refusing = injected(local('base'), testAccount(3).address, async (method) => {
      if (method === 'eth_sendTransaction') throw new Error('User rejected the request.')
      return undefined
    })
    await refused(geo.land(answer, refusing), SignerError, /did not send the transaction: User rejected/)
    await refused(
      geo.land(answer, Wallet.createRandom(ethersProvider(local('base')))),
      SignerError,
      /did not send.*insufficient funds/i,
    )
  })

  test('if the contract rejects for a reason that re-signing does not fix', async () => {
    // The schema is registered on one chain only. The service signs the answer without looking the schema up
    // again.
    const geo = geoOf('sepolia')
    const answer = await geo.distance(TOWER, GATE, { submission: 'direct' })
    const chain = local('sepolia')
    const attested = await chain.provider.send('evm_snapshot', [])
    // An EAS whose code reverts every call without error data.
    const code = (await chain.provider.send('eth_getCode', [chain.chain.eas, 'latest'])) as string
    await chain.provider.send('anvil_setCode', [chain.chain.eas, '0x5f5ffd'])
    try {
      await refused(geo.land(answer, viemSigner('sepolia')), LandingError, /the contract reverted with/)
    } finally {
      await chain.provider.send('anvil_setCode', [chain.chain.eas, code])
      await chain.provider.send('evm_revert', [attested])
    }
    await geo.land(answer, viemSigner('sepolia'))
  })

  test('if the service has an older version, or is another server', async () => {
    const geo = geoOf('base')
    const { attestByDelegation: _, ...older } = await geo.distance(TOWER, GATE)
    await refused(geo.land(older as Answer, ethersSigner('base')), ServiceVersionError, /older version/)
    const other = await serve((_request, response) => {
      response.setHeader('content-type', 'application/json')
      response.end('{"name":"something else"}')
    })
    await refused(
      createGeo(other).distance(TOWER, GATE, { chain: 'base' }),
      ServiceVersionError,
      /not a Geospatial/,
    )
    // Responses of a chain's RPC endpoint and of a web server to any request.
    const page = await serve((request, response) => {
      response.statusCode = request.url === '/' ? 200 : 404
      response.setHeader('content-type', 'text/html').end('<h1>Hello</h1>')
    })
    for (const address of [local('base').url, page]) {
      const none = createGeo({ url: address, chain: 42220 })
      for (const work of [
        () => none.info(),
        () => none.distance(TOWER, GATE),
        () => none.records.page(),
        () => none.health(),
      ] as const)
        await refused(work(), ServiceVersionError, /not a Geospatial Attestation Service/)
    }
  })
})

test(
  'the client re-signs an answer whose deadline has passed on the chain, up to the limit',
  { tags: ['slow'] },
  async () => {
    const geo = geoOf('base')
    const chain = local('base')
    const answer = await geo.distance(TOWER, GATE, { submission: 'proxy' })
    const snapshot = (await chain.provider.send('evm_snapshot', [])) as string
    try {
      await chain.provider.send('evm_setNextBlockTimestamp', [Math.floor(Date.now() / 1000) + 86_400])
      await chain.provider.send('evm_mine', [])
      const steps: object[] = []
      await expect(
        geo.land(answer, viemSigner('base'), { resigns: 2, onStep: (step) => steps.push(step) }),
      ).rejects.toThrow(sentence())
      expect(steps).toMatchObject(Array(2).fill({ step: 'signed anew', reason: sentence() }))
    } finally {
      await chain.provider.send('evm_revert', [snapshot])
    }
  },
)

test('the client estimates the gas, or reports why the answer cannot land', async () => {
  const geo = geoOf('base')
  const answer = await geo.distance(TOWER, GATE, { submission: 'proxy' })
  for (const signer of Object.values(SIGNERS)) {
    const gas = await geo.estimate(answer, signer('base'))
    expect(gas).toBeGreaterThan(300_000n)
    expect(gas).toBeLessThan(700_000n)
  }
  await geo.land(answer, viemSigner('base'))
  await expect(geo.estimate(answer, viemSigner('base'))).rejects.toMatchObject({
    contractError: 'UsedSignature',
  })
})

describe('the method check', () => {
  test('reads through any provider, and reports each problem in a sentence', async () => {
    const geo = createGeo({ url: world.url, chain: 'sepolia' })
    const { uid } = await geo.land(await geo.distance(TOWER, GATE), viemSigner('sepolia'))
    const ethers = ethersProvider(local('sepolia'))
    const viem = createPublicClient({ transport: http(local('sepolia').url) })
    for (const provider of [local('sepolia').url, ethers, viem, ethersSigner('sepolia') as Provider])
      expect((await geo.check(uid, { provider })).valid).toBe(true)
    await expect(geo.check(uid)).rejects.toThrow(sentence())
    const provider = local('sepolia').url
    await expect(geo.check(uid, { provider: local('base').url })).rejects.toBeInstanceOf(ChainMismatchError)
    await expect(geo.check(`0x${'ab'.repeat(32)}`, { provider })).rejects.toBeInstanceOf(
      AttestationNotFoundError,
    )
    await expect(geo.check('0x12', { provider })).rejects.toThrow(sentence())
    expect(await geo.check(uid, { provider, maxAge: 0, schemas: [`0x${'12'.repeat(32)}`] })).toMatchObject({
      valid: false,
      problems: [
        /^The schema of the attestation is 0x.*not accepted\.$/,
        /^The answer was computed at .*Z, more than 0 s ago\.$/,
      ].map((words) => expect.stringMatching(words) as string),
    })
    const stop = new AbortController()
    const hanging: Eip1193Provider = {
      request: () => {
        stop.abort(new Error('enough'))
        return new Promise(() => {})
      },
    }
    await expect(geo.check(uid, { provider: hanging, signal: stop.signal })).rejects.toThrow('enough')
    const pinned = createGeo({ url: world.url, chain: 'sepolia', attester: testAccount(4).address })
    expect((await pinned.check(uid, { provider })).problems).toEqual([
      expect.stringContaining(`not by ${testAccount(4).address}`),
    ])
  })

  test('rejects an answer that another account attested, directly or by bypassing the proxy', async () => {
    const geo = geoOf('base')
    const chain = local('base')
    const { attestation } = await geo.distance(TOWER, GATE)
    const eas = await chain.eas(1)
    const { recipient, expirationTime, revocable, refUID, data } = attestation
    const transaction = await eas.attest!({
      schema: attestation.schema,
      data: { ...{ recipient, expirationTime, revocable, refUID, data }, value: 0 },
    })
    const { logs } = await mined(chain, transaction.hash)
    const uid = logs[0]!.data
    const checked = await geo.check(uid)
    expect(checked).toMatchObject({ valid: false, says: { result: 881329.94 } })
    expect(checked.problems).toEqual([sentence('', testAccount(1).address)])
    await revoke(chain, uid, 1, attestation.schema)
    expect((await geo.check(uid)).problems).toContainEqual(sentence())
  })
})

test('the client reports a transaction that was replaced or dropped', { tags: ['slow'] }, async () => {
  const geo = geoOf('base')
  const chain = local('base')
  const real = performance.now.bind(performance)
  let ahead = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => real() + ahead)
  await chain.provider.send('evm_setAutomine', [false])
  try {
    for (const reason of ['replaced', 'dropped'] as const) {
      const answer = await geo.distance(TOWER, GATE, { submission: 'proxy' })
      const from = testAccount(3).address
      let looks = 0
      let gone = false
      const losing = injected(chain, from, async (method) => {
        if (method !== 'eth_getTransactionByHash') return undefined
        looks++
        // After the transaction is dropped, each poll advances the clock by minutes.
        if (gone) ahead += 100_000
        return undefined
      })
      let hash = ''
      const onStep = (step: LandingStep) => {
        if (step.step === 'sent') hash = step.transactionHash
      }
      const landing = geo.land(answer, losing, { onStep }).catch((error: unknown) => error)
      // The second poll starts after the first one has ended.
      await expect.poll(() => looks).toBeGreaterThan(1)
      const { nonce } = (await chain.provider.getTransaction(hash))!
      await chain.provider.send('anvil_dropTransaction', [hash])
      if (reason === 'replaced') {
        const nothing = { from, to: from, nonce: `0x${nonce.toString(16)}` }
        await chain.provider.send('eth_sendTransaction', [nothing])
        await chain.provider.send('evm_mine', [])
      }
      gone = true
      const error = await landing
      expect(error).toBeInstanceOf(LostTransactionError)
      expect(error).toMatchObject({ reason, transactionHash: hash })
    }
  } finally {
    clock.mockRestore()
    await chain.provider.send('evm_setAutomine', [true])
  }
})

test('the client never shows a key in an error', async () => {
  const key = testAccount(1).privateKey
  const account = privateKeyToAccount(key as `0x${string}`)
  const geo = geoOf('base')
  const answer = await geo.distance(TOWER, GATE, { submission: 'proxy' })
  const chain = local('base')
  const away = 'http://127.0.0.1:1'
  const client = (url: string) => createWalletClient({ account, transport: http(url, { retryCount: 0 }) })
  const altered = { ...answer, result: 1 } as Answer<'distance'>
  const poor = Wallet.createRandom(ethersProvider(chain))
  const works: Record<string, () => Promise<unknown>> = {
    SignerError: () => geo.land(answer, new Wallet(key)),
    'SignerError, no money': () => geo.land(answer, poor),
    ChainMismatchError: () => geo.land(answer, client(local('sepolia').url)),
    ConnectionError: () => geo.land(answer, client(away)),
    'ConnectionError, the service': () =>
      createGeo({ url: away, chain: 42220, wallet: account, retries: 0 }).distance(TOWER, GATE),
    AlteredAnswerError: () => geo.land(altered, client(chain.url)),
    InvalidInputError: () => geo.land(answer, client(chain.url), { resign: 1 } as object),
    'InvalidInputError, the service': () =>
      geoOf('base', { wallet: account }).distance(TOWER, { type: 'Point', coordinates: [500, 0] }),
    LandingError: () => geo.attest(TOWER, client(chain.url), { refUID: `0x${'12'.repeat(32)}` }),
    GeoError: () => geo.revoke(key.slice(0, 20), client(chain.url)),
  }
  for (const [name, work] of Object.entries(works)) {
    const error = await work().then(
      () => undefined,
      (reason: unknown) => reason as Error & { toJSON?: () => unknown },
    )
    expect(error?.name, name).toBe(name.split(',')[0])
    const shown = shownOf(error!)
    // The text includes the error's message, so the following search is meaningful.
    expect(shown).toContain(error!.message)
    for (const secret of [key, poor.privateKey]) expect(shown, name).not.toContain(secret.slice(2))
  }
  expect(shownOf(new Error('x', { cause: { deep: [{ key }] } }))).toContain(key)
})

/** Returns everything that a log could show of an error and its causes. */
function shownOf(error: Error): string {
  const own = (each: unknown): unknown[] =>
    each instanceof Error ? [each.message, each.stack, JSON.stringify(each), ...own(each.cause)] : []
  return [...own(error), inspect(error, { depth: Infinity, showHidden: true })].join('\n')
}

test('the client rejects an unknown option, and lists the known ones', async () => {
  const geo = geoOf('base')
  const uid = `0x${'12'.repeat(32)}`
  const answer = await geo.distance(TOWER, GATE)
  const wrong = { max_age: 1 } as object
  for (const [work, known] of [
    [() => geo.check(uid, wrong), 'chain, provider, maxAge, schemas, answer, signal'],
    [() => geo.land(answer, viemSigner('base'), wrong), 'signal, resigns, onStep'],
    [() => geo.revoke(uid, viemSigner('base'), wrong), 'chain, signal'],
    [() => geo.recompute(answer, [TOWER, GATE], wrong), 'chain, provider, signal, locationSchemas'],
    [() => geo.resign(answer, wrong), 'submission, signal'],
    [() => geo.verify(answer, wrong), 'signal'],
    [() => geo.info(wrong), 'fresh, signal'],
    [() => geo.chain('base', wrong), 'signal'],
    [() => geo.ready(wrong), 'signal'],
    [() => geo.reference(TOWER, wrong), 'signal'],
    [() => geo.graphql('{ __typename }', undefined, wrong), 'signal'],
    [() => geo.attest(TOWER, viemSigner('base'), wrong), 'chain, offchain, schema'],
  ] as const)
    await expect(work()).rejects.toMatchObject({
      name: 'InvalidInputError',
      detail: expect.stringMatching(new RegExp(`has no option 'max_age'[.] Options: ${known}`)) as string,
    })
})

testSentences()
