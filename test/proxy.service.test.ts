import { createRequire } from 'node:module'
import { Contract, Interface, Wallet, getAddress, hexlify, randomBytes, verifyTypedData } from 'ethers'
import { createWalletClient, http, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { beforeAll, describe, expect, test } from 'vitest'
import { LOCAL_SIGNER_KEY, mineOn, mined, registerSchema, testAccount, type LocalChain } from '../dev/chain'
import { startTestChain, testedSlugs } from './chains'
import { freePort } from '../dev/services'
import { blankSettings } from '../dev/settings'
import { deployProxy } from '../api/proxy-deployment'
import { SettingsError, readSettings } from '../src/config'
import { NUMERIC_RESULT_FIELDS } from '../src/eas'
import { postJson, startApi } from './api'
import { attestationIn, fund, sent } from './newcomers'
import { runNode } from './node'
import { EFFORT } from './seed'
import { startTestWorld, type TestWorld } from './world'
import { sentence, testSentences } from './sentences'
import { GATE, TOWER } from './positions'

/**
 * Tests answers for the proxy with the real contracts of every version of EAS, through EAS's
 * PermissionedEIP712Proxy 1.4.0.
 */
const SLUGS = testedSlugs(EFFORT)
let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld({ CHAINS: [...new Set([...SLUGS, 'base-sepolia'])].join() })
  // eas-sdk waits until the next block is mined.
  for (const chain of world.chains.values()) mineOn(chain)
})

type Json = any
// Loads the CommonJS build, because the ESM build names missing source maps.
const { EAS, EIP712Proxy } = createRequire(__filename)(
  '@ethereum-attestation-service/eas-sdk',
) as typeof import('@ethereum-attestation-service/eas-sdk')
const OURS = testAccount(9).address
const local = (slug: string) => world.chains.get(slug)!
const compute = (path: string, body: object): Promise<{ status: number; body: Json }> =>
  world.post(`/compute/v0/${path}`, body)
const asked = async (slug: string, more: object = {}): Promise<Json> =>
  (
    await compute('distance', {
      ...{ chainId: local(slug).chain.id, from: GATE, to: TOWER, submission: 'proxy' },
      ...more,
    })
  ).body
const described = async (slug: string): Promise<Json> =>
  (await world.get('/')).body.chains.find((each: Json) => each.slug === slug)
const PROXY_ABI = [
  ...['function getAttester(bytes32) view returns (address)', 'function transferOwnership(address)'],
  'function acceptOwnership()',
]
const proxyContract = (chain: LocalChain) => new Contract(chain.proxy, PROXY_ABI, chain.provider)

describe.each(SLUGS)('the service on %s', (slug) => {
  test.each(['direct', 'proxy'])('describes the typed data of a %s answer, with its signer', async (to) => {
    const { attestation, delegatedAttestation } = await asked(slug, { submission: to })
    const chain = await described(slug)
    const { domain, primaryType, types } = to === 'proxy' ? chain.proxy : chain
    expect([primaryType, Object.keys(types)]).toEqual(['Attest', ['Attest']])
    const message = { ...delegatedAttestation, ...attestation, value: 0 }
    expect(verifyTypedData(domain, types, message, attestation.signature)).toBe(OURS)
  })

  test('signs an answer for the proxy, which lands by the transaction in the answer', async () => {
    const chain = local(slug)
    const answer = await asked(slug, { include: ['transaction'] })
    const { signature } = answer.attestation
    expect(answer.delegatedAttestation).toEqual({
      ...{ signature, attester: OURS, submission: 'proxy', contract: chain.proxy },
      ...{ deadline: expect.any(Number), resignToken: expect.any(String) },
    })
    expect((await described(slug)).proxy).toEqual({
      ...{ address: chain.proxy, ready: true },
      abi: expect.arrayContaining(['error UsedSignature()', 'error AccessDenied()']),
      domain: {
        ...{ name: 'Geospatial Attestation Service', version: '1.4.0' },
        ...{ chainId: chain.chain.id, verifyingContract: chain.proxy },
      },
      ...{ primaryType: 'Attest', types: expect.anything() },
    })
    const attestation = await attestationIn(chain, await sent(chain, answer.transaction))
    expect([attestation.attester, attestation.data]).toEqual([chain.proxy, answer.attestation.data])
    expect(await proxyContract(chain).getFunction('getAttester')(attestation.uid)).toBe(OURS)
  })

  test('signs twelve equal answers of one moment, which land in any order, each once', async () => {
    const chain = local(slug)
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => asked(slug, { include: ['transaction'] })),
    )
    expect(new Set(answers.map(({ attestation }) => attestation.signature)).size).toBe(12)
    expect(answers.every(({ attestation }) => attestation.expirationTime >= 2 ** 40)).toBe(true)
    const scrambled = answers
      .map((answer, i) => ({ answer, key: (i * 7) % 12 }))
      .sort((a, b) => a.key - b.key)
    for (const { answer } of scrambled) {
      const { data } = await attestationIn(chain, await sent(chain, answer.transaction))
      expect(data).toBe(answer.attestation.data)
    }
    await expect(sent(chain, answers[3].transaction)).rejects.toThrow()
  })

  test('verifies before and after landing, renews the deadline by resign, and changes the submission', async () => {
    const chain = local(slug)
    const { id } = chain.chain
    const recipient = getAddress(hexlify(randomBytes(20)))
    const answer = await asked(slug, { recipient, include: ['transaction'] })
    const known = {
      ...{ ours: true, attester: OURS, submission: 'proxy', contract: chain.proxy, nonce: null },
      deadline: answer.delegatedAttestation.deadline,
    }
    const verify = async (given: Json) => (await compute('verify', { chainId: id, ...given })).body
    expect(await verify(answer)).toMatchObject({
      ...{ ...known, submittable: true, reasons: [] },
      landed: { status: 'not landed' },
    })
    const receipt = await sent(chain, answer.transaction)
    const { uid } = await attestationIn(chain, receipt)
    expect(await verify(answer)).toMatchObject({
      ...{ ...known, submittable: false },
      reasons: ['the proxy has already accepted this signature: this answer has landed'],
      landed: { status: 'landed', uid, transactionHash: receipt.hash, revoked: false },
    })
    // A new deadline changes the signature, but not the content.
    const renewed = async () => (await compute('resign', { chainId: id, ...answer })).body
    const deadline = async () => (await renewed()).delegatedAttestation.deadline
    await expect.poll(deadline).toBeGreaterThan(known.deadline)
    const again = await renewed()
    const own = { signature: '' }
    expect({ ...again.attestation, ...own }).toEqual({ ...answer.attestation, ...own })
    expect(again.delegatedAttestation).toMatchObject({ submission: 'proxy', contract: chain.proxy })
    expect(again).not.toHaveProperty('transaction')
    expect(await verify(again)).toMatchObject({ submittable: true, landed: { status: 'landed', uid } })

    const wanted = { chainId: id, submission: 'direct', include: ['transaction'] }
    const { body: direct } = await compute('resign', { ...wanted, ...again })
    expect(direct.delegatedAttestation).toMatchObject({
      ...{ submission: 'direct', contract: getAddress(chain.chain.eas), nonce: expect.any(Number) },
      ifNonceUsed: expect.stringContaining('/compute/v0/resign'),
    })
    expect((await attestationIn(chain, await sent(chain, direct.transaction))).attester).toBe(OURS)
    // Included parts must belong to the answer.
    const resign = (change: object) => compute('resign', { chainId: id, ...again, ...change })
    for (const change of [
      { attestByDelegation: { ...again.attestByDelegation, deadline: 5 } },
      { transaction: answer.transaction },
      { delegatedAttestation: { ...again.delegatedAttestation, contract: chain.chain.eas } },
      { delegatedAttestation: { ...again.delegatedAttestation, nonce: 1 } },
      { attestation: { ...again.attestation, expirationTime: again.attestation.expirationTime + 1 } },
    ])
      expect([change, (await resign(change)).status, (await verify({ ...again, ...change })).ours]).toEqual([
        ...[change, 401, false],
      ])
    // A signature for the proxy is not valid for EAS.
    const asDirect = {
      submission: 'direct',
      nonce: direct.delegatedAttestation.nonce + 1,
      contract: undefined,
    }
    const disguised = { ...again.delegatedAttestation, ...asDirect }
    expect(await verify({ ...again, delegatedAttestation: disguised })).toMatchObject({ ours: false })
  })

  test('verifies an answer that the resolver of its schema rejects without a reason', async () => {
    const chain = local(slug)
    // EAS reverts without data if the resolver is not a contract.
    const resolver = hexlify(randomBytes(20))
    const schema = await registerSchema(chain, NUMERIC_RESULT_FIELDS, resolver)
    for (const submission of ['proxy', 'direct']) {
      const answer = await asked(slug, { schema, submission })
      const { status, body } = await compute('verify', { chainId: chain.chain.id, ...answer })
      expect(status).toBe(200)
      expect(body).toMatchObject({
        ...{ ours: true, submittable: false, landed: { status: 'not landed' } },
        reasons: ['the contract reverts without a reason'],
      })
    }
  })

  test('signs a batch, which lands in one transaction, or answer by answer in any order', async () => {
    const chain = local(slug)
    const operations = [
      { operation: 'distance', from: GATE, to: TOWER },
      { operation: 'distance', from: GATE, to: TOWER },
      { operation: 'within', geometry: GATE, target: TOWER, radius: 5 },
    ]
    const wanted = { chainId: chain.chain.id, submission: 'proxy', include: ['transaction'], operations }
    const batch = async () => (await compute('batch', wanted)).body
    const whole = await batch()
    expect(whole.transaction.to).toBe(chain.proxy)
    const { logs } = await sent(chain, whole.transaction)
    expect(logs.filter(({ address }) => address.toLowerCase() === chain.chain.eas)).toHaveLength(3)
    const tampered = { ...whole, transaction: { ...whole.transaction, to: chain.chain.eas } }
    expect((await compute('resign', { chainId: chain.chain.id, ...tampered })).status).toBe(401)
    const single = await batch()
    for (const { transaction } of [...single.results].reverse()) await sent(chain, transaction)
    const asked = { chainId: chain.chain.id, ...single, include: ['transaction'] }
    // With the same deadline, the signatures would be the same.
    const renewed = async () => (await compute('resign', asked)).body
    await expect.poll(async () => (await renewed()).deadline).toBeGreaterThan(single.deadline)
    const resigned = await renewed()
    expect((await sent(chain, resigned.transaction)).status).toBe(1)
  })

  test('includes request and transaction in a direct answer', async () => {
    const chain = local(slug)
    const answer = await asked(slug, { submission: 'direct', include: ['transaction'] })
    const { abi, eas } = await described(slug)
    const encoded = new Interface(abi).encodeFunctionData('attestByDelegation', [answer.attestByDelegation])
    expect(answer.transaction).toEqual({ to: eas, data: encoded, value: 0 })
    expect((await attestationIn(chain, await sent(chain, answer.transaction))).attester).toBe(OURS)
    expect(await asked(slug, { submission: 'direct' })).not.toHaveProperty('transaction')
  })
})

test.each(SLUGS)(
  'answers for the proxy land in a plain loop on %s by ethers, viem and eas-sdk',
  async (slug) => {
    const chain = local(slug)
    const key = Wallet.createRandom().privateKey as `0x${string}`
    const account = privateKeyToAccount(key)
    await fund(chain, account.address)
    const transport = http(chain.url)
    const row = {
      ...{ id: chain.chain.id, name: 'local', rpcUrls: { default: { http: [chain.url] } } },
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    }
    const viem = createWalletClient({ account, chain: row, transport })
    const wallet = new Wallet(key, chain.provider)
    const proxy = new EIP712Proxy(chain.proxy, { signer: wallet })
    const eas = new EAS(chain.chain.eas, { signer: wallet, proxy })
    const abi = parseAbi((await described(slug)).proxy.abi)
    const submit: ((answer: Json) => Promise<string>)[] = [
      async ({ transaction }) => (await wallet.sendTransaction(transaction)).hash,
      ({ transaction }) => viem.sendTransaction(transaction),
      ({ attestByDelegation, delegatedAttestation }) =>
        viem.writeContract({
          ...{ address: delegatedAttestation.contract, abi, functionName: 'attestByDelegation' },
          args: [attestByDelegation],
        }),
      async ({ attestByDelegation }) => {
        const sent = await eas.attestByDelegationProxy(attestByDelegation)
        await sent.wait()
        return sent.receipt!.hash
      },
    ]
    const uids = new Set<string>()
    for (const send of submit) {
      const answer = await asked(slug, { include: ['transaction'] })
      const receipt = await mined(chain, await send(answer))
      uids.add((await attestationIn(chain, receipt)).uid)
    }
    expect(uids.size).toBe(submit.length)
    expect(await proxy.getAttester([...uids].at(-1)!)).toBe(OURS)
  },
)

test('direct answers of the service land when eas-sdk submits them unchanged', async () => {
  const chain = local('base')
  const wallet = new Wallet(Wallet.createRandom().privateKey, chain.provider)
  await fund(chain, wallet.address)
  const eas = new EAS(chain.chain.eas, { signer: wallet })
  for (let i = 0; i < 3; i++) {
    const { attestByDelegation } = await asked('base', { submission: 'direct' })
    const uid = await (await eas.attestByDelegation(attestByDelegation)).wait()
    expect((await eas.getAttestation(uid)).attester).toBe(OURS)
  }
})

describe('npm run deploy-proxy', () => {
  const settings = () => ({
    RPC_URL_BASE_SEPOLIA: local('base-sepolia').url,
    SIGNER_PRIVATE_KEY: LOCAL_SIGNER_KEY,
  })
  /** Runs the command in this process. Returns its output. */
  async function run(environment: NodeJS.ProcessEnv, ...args: string[]): Promise<string> {
    let output = ''
    await deployProxy(
      args,
      (...requirements) => readSettings(environment, requirements),
      (text) => (output += `${text}\n`),
      () => Promise.resolve(false),
    )
    return output
  }

  test('shows the cost, and sends nothing with --dry-run or without a confirmation', async () => {
    const chain = local('base-sepolia')
    const sent = await chain.provider.getTransactionCount(OURS)
    for (const [args, end] of [
      [['--dry-run'], 'Dry run: nothing was sent.'],
      [[], 'Nothing was sent.'],
    ] as const) {
      const output = await run(settings(), '--chain', 'base-sepolia', ...args)
      expect(output).toMatch(/Cost {7}at most [\d.]+ of .* gas at .* gwei/)
      expect(output).toContain(`\n${end}\n`)
    }
    expect(await chain.provider.getTransactionCount(OURS)).toBe(sent)
  })
  test('ends with status 2 without a terminal for the confirmation', { tags: ['slow'] }, async () => {
    const environment = { ...process.env, ...blankSettings(), ...settings() }
    expect(await runNode(['dist/api/deploy-proxy.js', '--chain', 'base-sepolia'], environment)).toEqual({
      code: 2,
      output: expect.stringMatching(/^Chain {6}base-sepolia[^]*Add --yes to send it/),
    })
  })
  test('deploys a proxy that the service accepts, and prints its setting', async () => {
    const output = await run(settings(), '--chain', 'base-sepolia', '--yes', '--name', 'Another name')
    const proxy = /^PROXY_BASE_SEPOLIA=(0x[0-9a-fA-F]{40})$/m.exec(output)![1]!
    expect(proxy).not.toBe(local('base-sepolia').proxy)
    const api = await startApi({ rpcUrl: local('base-sepolia').url, proxy })
    const root = (await (await fetch(api.url)).json()) as Json
    await api.close()
    const domain = { name: 'Another name' }
    expect(root.chains[0].proxy).toMatchObject({ address: proxy, ready: true, domain })
    const again = run({ ...settings(), PROXY_BASE_SEPOLIA: proxy }, '--chain', 'base-sepolia', '--yes')
    await expect(again).rejects.toEqual(sentence('', 'PROXY_BASE_SEPOLIA', proxy))
  })
  test('reports problems of its arguments, the chain and the balance', async () => {
    for (const [args, key, expected] of [
      [[], undefined, sentence('--chain')],
      [['--chain', 'base-sepolia', '--fast'], undefined, sentence('', '--fast')],
      [['--chain', 'celo'], undefined, sentence('', 'celo')],
      [['--chain', 'base-sepolia', '--yes'], Wallet.createRandom().privateKey, sentence('', /\d+\.\d+/)],
    ] as const) {
      const refused = run({ ...settings(), ...(key && { SIGNER_PRIVATE_KEY: key }) }, ...args)
      await expect(refused).rejects.toThrow(SettingsError)
      await expect(refused).rejects.toEqual(expected)
    }
  })
})

describe('the service rejects', () => {
  test('an unknown submission, and an unknown value of include', async () => {
    const ask = async (wanted: object) =>
      (await compute('distance', { chainId: 84532, from: GATE, to: TOWER, ...wanted })).body
    const refused = { status: 400, detail: sentence('submission') }
    expect(await ask({ submission: 'relay' })).toMatchObject(refused)
    for (const include of ['transaction', ['data'], [{}]]) {
      const detail = expect.stringMatching(/^include/)
      expect(await ask({ include })).toMatchObject({ status: 400, detail })
    }
  })

  test(
    'a proxy whose owner changes, at once, and reports it in /ready and the metrics',
    { tags: ['slow'] },
    async () => {
      const chain = await startTestChain({ port: await freePort() })
      const api = await startApi({ rpcUrl: chain.url, proxy: chain.proxy })
      try {
        const post = async (path: string, given: object) => {
          const response = await postJson(`${api.url}/compute/v0/${path}`, {
            chainId: chain.chain.id,
            ...given,
          })
          return [response.status, (await response.json()) as Json] as const
        }
        const ask = (submission?: string) =>
          post('distance', { from: GATE, to: TOWER, submission, include: ['transaction'] })
        const [[, landed], [, outstanding]] = await Promise.all([ask('proxy'), ask('proxy')])
        const { uid } = await attestationIn(chain, await sent(chain, landed.transaction))
        expect((await post('verify', outstanding))[1]).toMatchObject({ submittable: true })
        const heir = testAccount(3).address
        await chain.provider.send('anvil_impersonateAccount', [OURS])
        const by = async (from: string, method: string, parameters: unknown[]) => {
          const data = proxyContract(chain).interface.encodeFunctionData(method, parameters)
          const sent = { from, to: chain.proxy, data }
          return mined(chain, await chain.provider.send('eth_sendTransaction', [sent]))
        }
        await by(OURS, 'transferOwnership', [heir])
        expect((await ask('proxy'))[0]).toBe(200)
        await by(heir, 'acceptOwnership', [])
        const reason = `its owner is ${heir} instead of the signer ${OURS}`
        for (let i = 0; i < 2; i++)
          expect(await ask('proxy')).toMatchObject([400, { detail: sentence('submission', reason) }])
        expect((await ask('direct'))[0]).toBe(200)
        const root = (await (await fetch(api.url)).json()) as Json
        expect(root.chains[0].proxy).toEqual({ address: chain.proxy, ready: false, reason, abi: [] })

        // Answers signed earlier can be verified, and can land directly.
        const here = { ours: true, submittable: false, landed: { status: 'landed', uid } }
        expect((await post('verify', landed))[1]).toMatchObject(here)
        expect((await post('verify', outstanding))[1]).toMatchObject({
          ...{ ours: true, submittable: false, landed: { status: 'not landed' } },
          reasons: ['the proxy has a new owner: re-sign the answer with submission direct'],
        })
        expect((await post('resign', { ...outstanding, submission: 'direct' }))[0]).toBe(200)

        // The contract checks the deadline first, but a landed answer stays landed.
        await by(heir, 'transferOwnership', [OURS])
        await by(OURS, 'acceptOwnership', [])
        const { deadline } = outstanding.delegatedAttestation
        await chain.provider.send('evm_setNextBlockTimestamp', [deadline + 1])
        await chain.provider.send('evm_mine', [])
        expect((await post('verify', landed))[1]).toMatchObject(here)
        expect((await post('verify', outstanding))[1]).toMatchObject({
          ...{ ours: true, submittable: false, landed: { status: 'not landed' } },
          reasons: [`the deadline ${deadline} has passed: re-sign it with POST /compute/v0/resign`],
        })
      } finally {
        await api.close()
        await chain.stop()
      }
    },
  )

  test.each([
    ['an account without a contract', () => testAccount(4).address, /finds no contract at/],
    [
      'the EAS of the chain',
      (chain: LocalChain) => chain.chain.eas,
      /^submission: the proxy of base-sepolia does not accept signatures of this service: it is not a PermissionedEIP712Proxy of EAS. Use direct\.$/,
    ],
  ])('%s as the proxy, and the proxy of a chain that has none', async (_, address, reason) => {
    const chain = local('base-sepolia')
    for (const [proxy, expected] of [
      [address(chain), reason],
      [undefined, /^submission: base-sepolia has no proxy. Use direct. Chains with a proxy: none\.$/],
    ] as const) {
      const api = await startApi({ rpcUrl: chain.url, ...(proxy && { proxy }) })
      const question = { chainId: 84532, from: GATE, to: TOWER, submission: 'proxy' }
      const body = (await (await postJson(`${api.url}/compute/v0/distance`, question)).json()) as Json
      expect([body.status, body.detail]).toEqual([400, expect.stringMatching(expected)])
    }
  })
})

test('/ready and the metrics report the state of the proxy', async () => {
  const { chains } = (await world.get('/ready')).body
  expect(chains['base-sepolia'].proxy).toEqual({ address: local('base-sepolia').proxy, status: 'ready' })
  const metrics = await (await fetch(`${world.url}/metrics`)).text()
  expect(metrics).toContain('geospatial_proxy_ready{chain="base-sepolia"} 1')
})

test('the metrics count the signatures by chain and submission', async () => {
  const counts = async () => {
    const metrics = await (await fetch(`${world.url}/metrics`)).text()
    return ['direct', 'proxy'].map((submission) => {
      const line = `geospatial_signatures_total{chain="base-sepolia",submission="${submission}"} `
      return Number(metrics.split(line)[1]?.split('\n')[0])
    }) as [number, number]
  }
  const [direct, proxy] = await counts()
  await asked('base-sepolia')
  await asked('base-sepolia')
  await asked('base-sepolia', { submission: 'direct' })
  expect(await counts()).toEqual([direct + 1, proxy + 2])
})

testSentences()
