import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  AbiCoder,
  Contract,
  ContractFactory,
  Interface,
  Wallet,
  getCreate2Address,
  hashMessage,
  keccak256,
} from 'ethers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mined, testAccount, LOCAL_CHAIN, type LocalChain, startLocalChain } from '../../dev/chain'
import { freePort } from '../../dev/services'
import { postJson, startApi, type TestApi } from '../../test/api'
import { sent } from '../../test/newcomers'
import { offchain, parts, seconds } from '../../test/offchain'
import { compile } from '../../test/solidity'
import { UnavailableError } from '../http/problems'
import { OWN_WORK } from '../http/work'
import { ChainReader } from './chain-reader'
import { signedText } from './wallet'
import { sentence, testSentences } from '../../test/sentences'
import { GATE, TOWER } from '../../test/positions'

/**
 * Tests contracts as signers (test/accounts.sol) of offchain attestations and of requests, on a real chain.
 */
const { Account, Factory, Hostile } = compile('test/accounts.sol') as Record<
  'Account' | 'Factory' | 'Hostile',
  { abi: any[]; bytecode: string }
>
const abi = AbiCoder.defaultAbiCoder()
const MAGIC = '6492'.repeat(16)
let chain: LocalChain
let api: TestApi
let factory: string
beforeAll(async () => {
  chain = await startLocalChain({ port: await freePort(), startsAt: seconds() - 3600 })
  api = await serve({})
  factory = await deploy(Factory)
})
afterAll(() => chain?.stop())

const serve = (options: Parameters<typeof startApi>[0]) =>
  startApi({ rpcUrl: chain.url, publicBaseUrl: 'https://x.example', wallet: {}, ...options })
async function deploy({ abi, bytecode }: typeof Account, ...parameters: unknown[]): Promise<string> {
  const factory = new ContractFactory(new Interface(abi), bytecode, await chain.provider.getSigner(0))
  const contract = await factory.deploy(...parameters)
  await mined(chain, contract.deploymentTransaction()!.hash)
  return contract.getAddress()
}
const newKey = () => new Wallet(Wallet.createRandom().privateKey)
const setOwner = async (account: string, owner: string) => {
  const contract = new Contract(account, Account.abi, await chain.provider.getSigner(0))
  await mined(chain, (await contract.getFunction('setOwner').send(owner)).hash)
}
/** Returns the address of an account that is not deployed yet, and a function that wraps its signatures. */
function counterfactual(owner: string, by = factory, create = createCall(owner)) {
  const code = keccak256(Account.bytecode + abi.encode(['address'], [owner]).slice(2))
  return {
    address: getCreate2Address(factory, `0x${'00'.repeat(32)}`, code),
    wrap: (signature: string) => abi.encode(['address', 'bytes', 'bytes'], [by, create, signature]) + MAGIC,
  }
}
const createCall = (owner: string) => new Interface(Factory.abi).encodeFunctionData('create', [owner])

const reader = (url = chain.url) =>
  new ChainReader({ chain: LOCAL_CHAIN, rpcUrls: [url], gatewayUrl: undefined, headPollMs: 0 }, Date.now)
const DIGEST = hashMessage('a text')
const refusal = (account: string, signature: string, of = reader()) =>
  of.accountRefusal({ account: account.toLowerCase(), digest: DIGEST, signature }, Infinity)
const signed = (key: Wallet) => key.signingKey.sign(DIGEST).serialized

describe('a smart account', () => {
  test('accepts signatures of its owner, and of no other key', async () => {
    const [owner, other] = [newKey(), newKey()]
    const account = await deploy(Account, owner.address)
    expect(await refusal(account, signed(owner))).toBeUndefined()
    for (const signature of [signed(other), '0x00', `${signed(owner)}00`])
      expect(await refusal(account, signature)).toEqual({
        isContract: true,
        problem: sentence('', account.toLowerCase()),
      })
  })
  test('is called after its factory until it is deployed, and then without the factory', async () => {
    const [owner, other] = [newKey(), newKey()]
    const { address, wrap } = counterfactual(owner.address)
    expect(await refusal(address, signed(owner))).toMatchObject({ isContract: false })
    expect(await refusal(address, wrap(signed(owner)))).toBeUndefined()
    expect(await refusal(address, wrap(signed(other)))).toMatchObject({ isContract: true })
    expect(await chain.provider.getCode(address)).toBe('0x')

    const sender = await chain.provider.getSigner(0)
    await mined(chain, (await sender.sendTransaction({ to: factory, data: createCall(owner.address) })).hash)
    expect(await refusal(address, wrap(signed(owner)))).toBeUndefined()
    // An attacker replaces the call of the factory by a call that would transfer the account to another
    // owner. The check must not make that call.
    const stealing = new Interface(Account.abi).encodeFunctionData('setOwner', [other.address])
    const stolen = counterfactual(owner.address, address, stealing)
    expect(await refusal(address, stolen.wrap(signed(owner)))).toBeUndefined()
    expect(await refusal(address, stolen.wrap(signed(other)))).toMatchObject({ isContract: true })
  })
  test.each([
    ['a key', () => newKey().address],
    ['a contract of the node itself (identity)', () => `0x${'4'.padStart(40, '0')}`],
    ['the zero address', () => `0x${'0'.repeat(40)}`],
  ])('accepts no signature if it is %s', async (_, address) => {
    expect(await refusal(address(), signed(newKey()))).toMatchObject({ isContract: false })
  })
})

describe('a hostile smart account', () => {
  const WAYS = [
    ...['Accepts', 'BurnsAllGas', 'Answers10MB', 'Reverts', 'RevertsWithMagic', 'Reverts10MB', 'AddsGarbage'],
    ...['AnswersTwoWords', 'AnswersFourBytes', 'AnswersNothing', 'AnswersMagicAtTheEnd', 'AnswersTrue'],
    ...['WritesState', 'DestroysItself', 'Recurses', 'IsInvalid'],
  ]
  const way = (name: string) => WAYS.indexOf(name)
  test('is accepted if it responds correctly', async () => {
    for (const name of ['Accepts', 'Recurses'])
      expect([name, await refusal(await deploy(Hostile, way(name)), '0x00')]).toEqual([name, undefined])
  })
  test.each(WAYS.filter((name) => !['Accepts', 'Recurses'].includes(name)))(
    'is refused when it %s',
    async (name) => {
      expect(await refusal(await deploy(Hostile, way(name)), '0x00')).toMatchObject({ isContract: true })
    },
  )
  test.each(WAYS)('is not deployed by a factory that %s', async (name) => {
    const hostile = await deploy(Hostile, way(name))
    const owner = newKey()
    const { address, wrap } = counterfactual(owner.address, hostile)
    expect(await refusal(address, wrap(signed(owner)))).toMatchObject({ isContract: false })
  })
  test('is refused when its signature has the ERC-6492 suffix but is malformed', async () => {
    expect(await refusal(await deploy(Hostile, 0), `0x01${MAGIC}`)).toEqual({
      isContract: true,
      problem: sentence(),
    })
  })
})

describe('an account on a chain that is not local', () => {
  /** Reads from this node through a host name that does not count as local. */
  const remote = () => reader(chain.url.replace('127.0.0.1', '0.0.0.0'))
  const mine = (blocks: number) => chain.provider.send('anvil_mine', [`0x${blocks.toString(16)}`])

  test('is called at a final block and at the head, and must accept the signature at both', async () => {
    const [owner, next] = [newKey(), newKey()]
    const account = await deploy(Account, owner.address)
    expect(await refusal(account, signed(owner), remote())).toMatchObject({
      ...{ isContract: true, isPending: true },
      problem: sentence('', /(?<=block )\d+/),
    })
    await mine(100)
    expect(await refusal(account, signed(owner), remote())).toBeUndefined()
    await setOwner(account, next.address)
    expect(await refusal(account, signed(owner), remote())).toEqual({
      isContract: true,
      problem: sentence('', account.toLowerCase()),
    })
    expect(await refusal(account, signed(next), remote())).toMatchObject({
      problem: sentence('', /(?<=block )\d+/),
    })
    await mine(100)
    expect(await refusal(account, signed(next), remote())).toBeUndefined()
  })

  test.each<[string, (method: string, parameters: unknown[]) => object | undefined]>([
    [
      'does not know which block is final',
      (method, [block]) =>
        method === 'eth_getBlockByNumber' && block === 'finalized'
          ? { error: { code: -32602, message: 'invalid block tag' } }
          : undefined,
    ],
    [
      'does not keep the state of its final block',
      (method, [, block]) =>
        method === 'eth_call' && block === finalized
          ? { error: { code: -32000, message: 'missing trie node' } }
          : undefined,
    ],
  ])('is called at the block that the indexer counts as final if its RPC endpoint %s', async (_, change) => {
    const owner = newKey()
    const account = await deploy(Account, owner.address)
    await mine(LOCAL_CHAIN.finality)
    finalized = (await chain.provider.send('eth_getBlockByNumber', ['finalized', false])).number
    const node = await proxy(change)
    try {
      expect(await refusal(account, signed(owner), reader(node.url))).toBeUndefined()
      const last = BigInt(await chain.provider.send('eth_blockNumber', []))
      expect(node.blocks).toContain(`0x${(last - BigInt(LOCAL_CHAIN.finality)).toString(16)}`)
      await setOwner(account, newKey().address)
      expect(await refusal(account, signed(owner), reader(node.url))).toMatchObject({ isContract: true })
    } finally {
      node.close()
    }
  })
  let finalized: string

  test.each<[string, object]>([
    ['another word', { result: `0x${'3'.padStart(64, '0')}` }],
    ['an account that accepts, in one byte', { result: '0x01' }],
    ['10 MB', { result: `0x${'01'.repeat(10_000_000)}` }],
    ['too little gas', { error: { code: 3, message: 'execution reverted', data: '0x' } }],
    ['nothing', { result: null }],
  ])('accepts no signature if its RPC endpoint returns %s', async (_, answer) => {
    const node = await proxy((method) => (method === 'eth_call' ? answer : undefined))
    try {
      await expect(refusal(factory, '0x00', reader(node.url))).rejects.toBeInstanceOf(UnavailableError)
    } finally {
      node.close()
    }
  })
  test('accepts no signature if its RPC endpoint is unreachable', async () => {
    await expect(refusal(factory, '0x00', reader('http://0.0.0.0:1'))).rejects.toBeInstanceOf(
      UnavailableError,
    )
  })
  test('gets at most 16 calls at once, while further calls are queued', async () => {
    const waiting: (() => void)[] = []
    const node = await proxy(() => undefined, waiting)
    try {
      const of = reader(node.url)
      // Each check calls the account at a final block, and then at the last block.
      const asked = Array.from({ length: 40 }, (_, i) =>
        refusal(factory, '0x00', of.of({ ...OWN_WORK, client: `client ${i % 5}` })),
      )
      await expect.poll(() => waiting.length).toBe(16)
      await of.offchainRevocationTime(factory, DIGEST, Infinity)
      expect(waiting).toHaveLength(16)
      for (let done = 0; done < 80; done++) {
        await expect.poll(() => waiting.length).toBeGreaterThan(0)
        waiting.shift()!()
      }
      for (const answer of await Promise.all(asked)) expect(answer).toMatchObject({ isContract: true })
    } finally {
      node.close()
    }
  })

  /**
   * Starts a proxy of the chain's node that changes some responses. Returns it with the blocks of its calls.
   */
  async function proxy(
    change: (method: string, parameters: unknown[]) => object | undefined,
    waiting?: (() => void)[],
  ) {
    const blocks: unknown[] = []
    const changeOf = async ({ id, method, params }: any) => {
      if (method === 'eth_call') blocks.push(params[1])
      if (waiting && method === 'eth_call' && !params[0].to)
        await new Promise<void>((resolve) => waiting.push(resolve))
      const changed = change(method, params)
      return changed && { ...{ id, result: undefined, error: undefined }, ...changed }
    }
    const answer = async (request: IncomingMessage, response: ServerResponse) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const body = Buffer.concat(chunks).toString()
      const given = JSON.parse(body)
      const changed = await Promise.all([given].flat().map((call) => changeOf(call)))
      const sent = await postJson(chain.url, body)
      const answers = ([await sent.json()].flat() as object[]).map((each, i) => ({ ...each, ...changed[i] }))
      const text = JSON.stringify(Array.isArray(given) ? answers : answers[0])
      response.setHeader('content-type', 'application/json').end(text)
    }
    const server = createServer((request, response) => void answer(request, response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const close = () => void server.close().closeAllConnections()
    return { url: `http://0.0.0.0:${(server.address() as AddressInfo).port}`, blocks, close }
  }
})

const post = async (path: string, body: unknown, headers: Record<string, string> = {}, to = api) => {
  const response = await postJson(to.url + path, body, headers)
  return { status: response.status, body: (await response.json()) as any }
}

describe('an offchain attestation by a smart account', () => {
  const distance = (attestation: unknown, to = api) =>
    post('/compute/v0/distance', { chainId: 84532, from: { attestation }, to: TOWER }, {}, to)
  const answered = { status: 200, body: { result: 881329.94 } }
  const refused = (detail: unknown) => ({
    status: 401,
    body: { type: 'https://x.example/errors/verification-failed', detail },
  })
  const of = (address: string, key: Wallet, form = (signature: string): unknown => signature) =>
    offchain(GATE, {
      account: { address, sign: (digest) => form(key.signingKey.sign(digest).serialized) },
    })

  test.each([
    ['one text', (signature: string) => signature],
    ['r, s and v', parts],
  ])('is accepted with its signature as %s until the account rejects it', async (_, form) => {
    const owner = newKey()
    const account = await deploy(Account, owner.address)
    const attestation = await of(account, owner, form)
    const answer = await distance(attestation)
    expect(answer).toMatchObject(answered)
    const resign = () => post('/compute/v0/resign', { chainId: 84532, ...answer.body })
    expect(await resign()).toMatchObject(answered)

    await setOwner(account, testAccount(3).address)
    const contract = account.toLowerCase()
    expect(await distance(attestation)).toMatchObject(refused(sentence('from', contract)))
    expect(await resign()).toMatchObject(refused(sentence('input 1', contract)))
    await setOwner(account, owner.address)
    expect(await distance(attestation)).toMatchObject(answered)
  })
  test('is accepted before the account is deployed, and signed again', async () => {
    const owner = newKey()
    const { address, wrap } = counterfactual(owner.address)
    const answer = await distance(await of(address, owner, wrap))
    expect(answer).toMatchObject(answered)
    expect(await post('/compute/v0/resign', { chainId: 84532, ...answer.body })).toMatchObject(answered)
    expect(await distance(await of(address, newKey(), wrap))).toMatchObject({ status: 401 })
  })
  test('is signed again with the largest signatures, also in the largest batch', async () => {
    const account = await deploy(Hostile, 0)
    const made = (place: typeof TOWER) =>
      offchain(place, { account: { address: account, sign: () => `0x${'51'.repeat(4_096)}` } })
    const [from, to] = [await made(GATE), await made(TOWER)]
    const operations = Array.from({ length: 20 }, () => ({
      ...{ operation: 'distance', from: { attestation: from }, to: { attestation: to } },
    }))
    const batch = await post('/compute/v0/batch', { chainId: 84532, operations })
    expect(batch).toMatchObject({ status: 200, body: { results: { length: 20 } } })
    const { results } = batch.body
    expect(await post('/compute/v0/resign', { chainId: 84532, results })).toMatchObject({ status: 200 })
  })
  test("belongs to the owner if the owner signed it in the owner's name", async () => {
    const owner = newKey()
    expect(await distance(await of(owner.address, owner))).toMatchObject(answered)
    expect(await distance(await of(newKey().address, owner))).toMatchObject(
      refused(sentence('from', owner.address.toLowerCase())),
    )
  })
  test('is revoked by the account alone', async () => {
    const owner = newKey()
    const account = await deploy(Account, owner.address)
    const attestation = await of(account, owner)
    const revoke = async (from: string) => {
      const data = (await chain.eas()).interface.encodeFunctionData('revokeOffchain', [attestation.sig.uid])
      await sent(chain, { to: chain.chain.eas, data }, from)
    }
    await revoke(owner.address)
    expect(await distance(attestation)).toMatchObject(answered)
    await revoke(account)
    expect(await distance(attestation)).toMatchObject(refused(sentence()))
    // The account accepts its owner's bare signature, so the document is also the owner's, with the same UID.
    expect(await distance({ ...attestation, signer: owner.address })).toMatchObject({ status: 401 })
  })
  test('is the attestation of the owner too, if the account accepts its bare signature', async () => {
    const owner = newKey()
    const account = await deploy(Account, owner.address)
    const attestation = await of(account, owner)
    const { body } = await distance(attestation)
    await setOwner(account, testAccount(3).address)
    expect(await distance(attestation)).toMatchObject({ status: 401 })
    const renamed = await distance({ ...attestation, signer: owner.address })
    expect(renamed).toMatchObject({ ...answered, body: { inputRefs: body.inputRefs } })
  })
  test.each([['0x'], ['0xz1'], ['words'], [`0x${'00'.repeat(4_097)}`]])(
    'is malformed if its signature is not hex bytes, or too long',
    async (signature) => {
      expect(await distance(await of(factory, newKey(), () => signature))).toMatchObject({
        status: 400,
        body: {
          detail: sentence('from'),
        },
      })
    },
  )
  test('is refused if the settings allow only keys to sign', async () => {
    const keysOnly = await serve({ smartAccounts: false })
    try {
      const owner = newKey()
      const account = await deploy(Account, owner.address)
      expect(await distance(await of(account, owner, parts), keysOnly)).toMatchObject(refused(sentence()))
      expect(await distance(await of(account, owner), keysOnly)).toMatchObject(refused(sentence()))
    } finally {
      await keysOnly.close()
    }
  })
})

describe('a request signed by a smart account', () => {
  const PATH = '/compute/v0/distance'
  const BODY = { chainId: 84532, from: GATE, to: TOWER }
  let nonces = 0
  interface Changes {
    wrap?: (signature: string) => string
    signedChain?: string | undefined
    headers?: Record<string, string>
  }
  async function request(address: string, key: Wallet, changes: Changes = {}) {
    const { wrap = (signature) => signature, headers } = changes
    const signedChain = 'signedChain' in changes ? changes.signedChain : '84532'
    const timestamp = String(seconds())
    const nonce = `nonce-${process.pid}-${process.hrtime.bigint()}-${nonces++}`
    const text = signedText({
      ...{ authority: 'x.example', method: 'POST', target: PATH },
      bodyHash: createHash('sha256').update(JSON.stringify(BODY)).digest('hex'),
      ...{ address: address.toLowerCase(), timestamp, nonce, chain: signedChain },
    })
    return {
      'x-wallet-address': address,
      'x-signature': wrap(await key.signMessage(text)),
      'x-wallet-timestamp': timestamp,
      'x-wallet-nonce': nonce,
      'x-wallet-chain': '84532',
      ...headers,
    }
  }
  const send = (headers: Record<string, string>, to = api) => post(PATH, BODY, headers, to)
  const answered = { status: 200, body: { result: 881329.94 } }
  const refused = (detail: unknown) => ({
    status: 401,
    body: { type: 'https://x.example/errors/verification-failed', detail },
  })

  test('is admitted until the account rejects it, once for each nonce', async () => {
    const owner = newKey()
    const account = await deploy(Account, owner.address)
    const headers = await request(account, owner)
    expect(await send(headers)).toMatchObject(answered)
    expect(await send(headers)).toMatchObject(refused(sentence('X-Wallet-Nonce')))
    const next = await request(account, owner)
    await setOwner(account, testAccount(3).address)
    expect(await send(next)).toMatchObject(
      refused(sentence('X-Signature', /(?<=text is ").*(?=\\nchain: 84532"$)/s)),
    )
    // The refused request has not used up its nonce.
    await setOwner(account, owner.address)
    expect(await send(next)).toMatchObject(answered)
  })
  test('is admitted before the account is deployed', async () => {
    const owner = newKey()
    const { address, wrap } = counterfactual(owner.address)
    expect(await send(await request(address, owner, { wrap }))).toMatchObject(answered)
    expect(await send(await request(address, newKey(), { wrap }))).toMatchObject({ status: 401 })
  })
  test('counts for the account on its chain, whereas a request of a key counts for the key on any chain', async () => {
    const limited = await serve({ wallet: { perHour: 1 } })
    try {
      const owner = newKey()
      const account = await deploy(Account, owner.address)
      expect(await send(await request(account, owner), limited)).toMatchObject(answered)
      expect((await send(await request(account, owner), limited)).status).toBe(429)
      expect(await send(await request(owner.address, owner), limited)).toMatchObject(answered)
      expect((await send(await request(owner.address, owner), limited)).status).toBe(429)
    } finally {
      await limited.close()
    }
  })
  test('must be signed for its chain', async () => {
    const owner = newKey()
    const account = await deploy(Account, owner.address)
    for (const signedChain of ['42220', undefined])
      expect((await send(await request(account, owner, { signedChain }))).status).toBe(401)
  })
  test.each([
    [{ 'x-wallet-chain': '42220' }, sentence('X-Wallet-Chain')],
    [{ 'x-wallet-chain': '0x14a34' }, sentence('X-Wallet-Chain')],
    [{ 'x-wallet-chain': '' }, sentence('X-Wallet-Chain')],
    [{ 'x-signature': '0x' }, sentence('X-Signature')],
    [{ 'x-signature': `0x${'00'.repeat(4_097)}` }, sentence('X-Signature')],
  ])('is refused with %j', async (headers, detail) => {
    expect(await send(await request(factory, newKey(), { headers }))).toMatchObject(refused(detail))
  })
  test('is refused like a request of a key if its address has no contract', async () => {
    expect(await send(await request(newKey().address, newKey()))).toMatchObject(
      refused(sentence('X-Signature', /(?<=text is ").*/s)),
    )
  })
  test('is refused if the settings allow only keys to sign', async () => {
    const keysOnly = await serve({ smartAccounts: false })
    try {
      const owner = newKey()
      expect(await send(await request(await deploy(Account, owner.address), owner), keysOnly)).toMatchObject(
        refused(sentence('X-Wallet-Chain')),
      )
    } finally {
      await keysOnly.close()
    }
  })
  test('is not admitted while the RPC endpoint is unreachable', async () => {
    const lonely = await serve({ rpcUrl: 'http://127.0.0.1:1' })
    try {
      expect(await send(await request(factory, newKey()), lonely)).toMatchObject({
        status: 500,
        body: { type: 'https://x.example/errors/computation-error' },
      })
    } finally {
      await lonely.close()
    }
  })
})

testSentences()
