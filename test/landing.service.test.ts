import {
  AbiCoder,
  Contract,
  Interface,
  Signature,
  Wallet,
  isError,
  ZeroAddress,
  ZeroHash,
  getAddress,
  hexlify,
  randomBytes,
  type TransactionReceipt,
} from 'ethers'
import {
  BaseError,
  ContractFunctionRevertedError,
  createPublicClient,
  createWalletClient,
  http,
  parseAbi,
} from 'viem'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  attest,
  localVersion,
  locationRequest,
  mined,
  registerSchema,
  revoke,
  testAccount,
  type LocalChain,
} from '../dev/chain'
import { CHAINS } from '../src/chains'
import { testedSlugs } from './chains'
import { fund, sent } from './newcomers'
import { runNode } from './node'
import { EFFORT } from './seed'
import {
  BOOLEAN_RESULT_FIELDS,
  NUMERIC_RESULT_FIELDS,
  attestDigest,
  domainSeparator,
  fieldTypes,
  keySigner,
  layoutOfTypeHash,
} from '../src/eas'
import { startRpcProxy } from './rpc-proxy'
import { startTestWorld, type TestWorld } from './world'
import { sentence, testSentences } from './sentences'
import { GATE, TOWER, positions } from './positions'

/**
 * Tests that answers land with every version of EAS: the real contracts at their real addresses, with the
 * real chain id.
 */
const SLUGS = testedSlugs(EFFORT)
let world: TestWorld
beforeAll(async () => {
  world = await startTestWorld({ CHAINS: SLUGS.join() })
})

const OURS = testAccount(9).address
const PARIS = {
  type: 'Polygon' as const,
  coordinates: [positions('2.22 48.81, 2.42 48.81, 2.42 48.91, 2.22 48.91, 2.22 48.81')],
}
const distance = { from: TOWER, to: GATE }
const contains = { container: PARIS, geometry: TOWER }
/**
 * A random recipient makes an answer unique. Answers with equal content in the same second would all count as
 * landed as soon as one of them has landed.
 */
const newcomer = () => ({ recipient: getAddress(hexlify(randomBytes(20))) })

type Json = any
const local = (slug: string) => world.chains.get(slug)!
const compute = async (path: string, body: object): Promise<Json> =>
  (await world.post(`/compute/v0/${path}`, body)).body
/** Asks to verify an answer, or parts of it. */
const verify = (chain: LocalChain, answer: object) =>
  compute('verify', { chainId: chain.chain.id, ...answer })
/** A copy with a change. */
const changed = (original: Json, change: (copy: Json) => void) => {
  const copy = structuredClone(original)
  change(copy)
  return copy
}
const resign = ({ attestation, delegatedAttestation }: Json, chainId: number) =>
  compute('resign', { chainId, attestation, delegatedAttestation })
const nonceOf = async (chain: LocalChain) =>
  Number(await (await chain.eas()).getFunction('getNonce').staticCall(OURS))
const ask = (chain: LocalChain, operation: string, body: object) =>
  compute(operation, { chainId: chain.chain.id, ...body })
/** Entry of this chain in GET /. */
const described = async (chain: LocalChain): Promise<Json> =>
  (await world.get('/')).body.chains.find(({ id }: { id: number }) => id === chain.chain.id)
/**
 * Sends a call of the contract by the ABI in GET /, from a new account each time. Throws if the contract
 * reverts.
 */
async function send(chain: LocalChain, method: string, parameter: unknown): Promise<TransactionReceipt> {
  const { eas, abi } = await described(chain)
  return sent(chain, { to: eas, data: new Interface(abi).encodeFunctionData(method, [parameter]) })
}
const requestOf = ({ attestation, delegatedAttestation: { attester, deadline, signature } }: Json) => {
  const { r, s, v } = Signature.from(signature)
  const { schema, recipient, revocable, refUID, data } = attestation
  return {
    ...{ schema, attester, deadline, signature: { r, s, v } },
    data: { recipient, expirationTime: 0, revocable, refUID, data, value: 0 },
  }
}
const uidOf = ({ logs }: TransactionReceipt) => logs[0]!.data
const submit = async (chain: LocalChain, answer: Json) =>
  attested(chain, uidOf(await send(chain, 'attestByDelegation', requestOf(answer))))
const attested = async (chain: LocalChain, uid: string) =>
  (await chain.eas()).getFunction('getAttestation').staticCall(uid)
const NOWHERE = { uid: null, transactionHash: null, blockNumber: null, revoked: null }
const decode = (fields: string, data: string) =>
  AbiCoder.defaultAbiCoder().decode(fieldTypes(fields), data).toArray(true)

test('the chains run all four versions of the EAS contract', () => {
  expect(CHAINS.map((chain) => [chain.slug, localVersion(chain)])).toEqual([
    ['base-sepolia', '1.2.0'],
    ['sepolia', '0.26'],
    ['arbitrum', '0.26'],
    ['celo', '1.3.0'],
    ['base', '1.4.0'],
  ])
  expect([testedSlugs(0.1), testedSlugs(1)]).toEqual([
    ['sepolia', 'base'],
    ['sepolia', 'base-sepolia', 'celo', 'base'],
  ])
})

const agent = (...args: string[]) => runNode(['docs/guide/agent.mjs', ...args])
/** Variants of this event of EAS: from another contract, of another kind, by another attester. */
function foreign(log: { topics: string[] }): object[] {
  const data = `0x${'f0'.repeat(32)}`
  const [attested, recipient, attester, schema] = log.topics
  return [
    { ...log, data, address: `0x${'f0'.repeat(20)}` },
    { ...log, data, topics: [`0x${'f0'.repeat(32)}`, recipient, attester, schema] },
    { ...log, data, topics: [attested, recipient, `0x${'0'.repeat(24)}${'f0'.repeat(20)}`, schema] },
  ]
}

test(
  'the documented agent prints its usage, and why a chain is not supported',
  { tags: ['slow'] },
  async () => {
    expect(await agent()).toEqual({
      code: 2,
      output: expect.stringMatching(/^Usage: node docs\/guide\/agent\.mjs <service> /),
    })
    const args = [world.url, local('base').url, Wallet.createRandom().privateKey]
    const { output } = await agent(...args, 'distance', '{"chainId":1}')
    expect(output).toContain('chain 1 is not signed for: it is not served')
  },
)

describe.each(SLUGS)('on %s', (slug) => {
  test('a boolean answer with a recipient in any letter case lands with its claims', async () => {
    const chain = local(slug)
    const recipient = '0x00000000219ab540356cBB839Cbe05303d7705Fa'
    const capitals = recipient.toUpperCase().replace('0X', '0x')
    const answer = await ask(chain, 'contains', { ...contains, recipient: capitals })
    expect(answer).toMatchObject({
      result: true,
      attestation: { attester: OURS, recipient, refUID: ZeroHash, revocable: true },
    })
    const landed = await submit(chain, answer)
    const { schema } = answer.attestation
    expect([landed.attester, landed.recipient, landed.schema]).toEqual([OURS, recipient, schema])
    const claims = [true, answer.inputRefs, BigInt(answer.timestamp), 'contains']
    expect(decode(BOOLEAN_RESULT_FIELDS, landed.data)).toEqual(claims)
  })

  test('an answer has the registered revocable flag, and unknown fields or schemas are rejected', async () => {
    const chain = local(slug)
    const spaced = NUMERIC_RESULT_FIELDS.replaceAll(',', ', ')
    const reordered = 'string units,uint256 result,bytes32[] inputRefs,uint256 timestamp,string operation'
    const irrevocable = await registerSchema(chain, spaced, ZeroAddress, false)
    const answer = await ask(chain, 'distance', { ...distance, schema: irrevocable })
    expect(answer.attestation).toMatchObject({ schema: irrevocable, revocable: false })
    expect((await submit(chain, answer)).revocable).toBe(false)
    for (const schema of [await registerSchema(chain, reordered), `0x${'12'.repeat(32)}`])
      expect(await ask(chain, 'distance', { ...distance, schema })).toMatchObject({
        ...{ status: 400, detail: sentence('schema') },
      })
  })

  test('a batch lands through viem, and lands after a re-sign if its nonces are used up', async () => {
    const chain = local(slug)
    const { id } = chain.chain
    const batch = await ask(chain, 'batch', {
      operations: [
        { operation: 'distance', ...distance },
        { operation: 'contains', ...contains },
        { operation: 'contains', container: PARIS, geometry: GATE },
      ].map((operation) => ({ ...operation, ...newcomer() })),
    })
    const other = await ask(chain, 'distance', { from: GATE, to: TOWER })
    await submit(chain, other)
    const nonce = await nonceOf(chain)
    await expect(send(chain, 'multiAttestByDelegation', batch.multiAttestByDelegation)).rejects.toThrow()

    const again = await compute('resign', { chainId: id, ...batch })
    expect(
      again.results.map(({ delegatedAttestation: d, attestation: a }: Json) => [d.nonce, d.deadline, a.data]),
    ).toEqual(batch.results.map(({ attestation: a }: Json, i: number) => [nonce + i, again.deadline, a.data]))
    const { eas, abi } = await described(chain)
    const viem = {
      account: testAccount(3).address,
      chain: null,
      address: eas,
      abi: parseAbi(abi),
      functionName: 'multiAttestByDelegation',
      args: [again.multiAttestByDelegation],
    }
    const { logs } = await mined(
      chain,
      await createWalletClient({ transport: http(chain.url) }).writeContract(viem as Json),
    )
    for (const [i, { data: uid, transactionHash }] of logs.entries()) {
      const { schema, data } = batch.results[i].attestation
      const landed = await attested(chain, uid)
      expect([landed.attester, landed.schema, landed.data]).toEqual([OURS, schema, data])
      expect((await verify(chain, batch.results[i])).landed).toMatchObject({
        ...{ status: 'landed', uid, transactionHash },
      })
    }
    expect(logs).toHaveLength(3)
    // eas-sdk sums the values before it sends.
    const sent: Json[] = again.multiAttestByDelegation.flatMap(({ data }: Json) => data)
    expect(BigInt(sent.reduce((sum, { value }) => sum + value, 0n))).toBe(0n)

    const forged: [status: number, detail: unknown, change: (copy: Json) => void][] = [
      [401, sentence('results[1]: result'), ({ results }) => (results[1].result = false)],
      [401, sentence('results[2]: attestation'), ({ results }) => results[2].delegatedAttestation.nonce++],
      [400, sentence('results[0]: attestation.data'), ({ results }) => delete results[0].attestation.data],
      [401, sentence('deadline'), (copy) => copy.deadline++],
      [
        ...([401, sentence('multiAttestByDelegation')] as const),
        ({ multiAttestByDelegation: [first] }) => (first.data[0].recipient = OURS),
      ],
      [401, sentence('multiAttestByDelegation'), ({ results }) => results.pop()],
    ]
    for (const [status, detail, change] of forged)
      expect(await compute('resign', { chainId: id, ...changed(batch, change) })).toMatchObject({
        ...{ status, detail },
      })
    for (const results of [[], Array(21).fill(batch.results[0])])
      expect(await compute('resign', { chainId: id, results })).toMatchObject({
        ...{ status: 400, detail: sentence('results') },
      })
    // Answers of single requests can be re-signed as a batch.
    const together = await compute('resign', { chainId: id, results: [other, batch.results[2]] })
    expect(
      (await send(chain, 'multiAttestByDelegation', together.multiAttestByDelegation)).logs,
    ).toHaveLength(2)
  })

  test('ethers and viem name every revert of the contract by the ABI and the domain of GET /', async () => {
    const chain = local(slug)
    const { eas, abi, domain, schemaRegistry } = await described(chain)
    expect(await (await chain.eas()).getFunction('getSchemaRegistry').staticCall()).toBe(schemaRegistry)
    const layout = layoutOfTypeHash(await (await chain.eas()).getFunction('getAttestTypeHash').staticCall())!
    const [falseResolver, trueResolver] = [`0x${'0'.repeat(35)}f0000`, `0x${'0'.repeat(35)}f0001`] as const
    await chain.provider.send('anvil_setCode', [falseResolver, '0x60206000f3'])
    await chain.provider.send('anvil_setCode', [trueResolver, '0x600160005260206000f3'])
    const [plain, irrevocable, refused, paid] = [
      await registerSchema(chain, 'bool a'),
      await registerSchema(chain, 'bool b', ZeroAddress, false),
      await registerSchema(chain, 'bool c', falseResolver),
      await registerSchema(chain, 'bool d', trueResolver),
    ]

    const signer = await keySigner(testAccount(4).privateKey)
    const attester = testAccount(4).address
    const nonce = await (await chain.eas()).getFunction('getNonce').staticCall(attester)
    const LATEST = 2n ** 64n - 1n
    const sign = async (change: object, i = 0) => {
      const { schema, deadline, ...data } = {
        ...{ schema: plain, recipient: ZeroAddress, expirationTime: 0n, revocable: true, refUID: ZeroHash },
        ...{ data: '0x', value: 0n, deadline: LATEST, ...change },
      }
      const signed = { ...data, schema, attester, nonce: nonce + BigInt(i), deadline }
      const digest = await attestDigest(domainSeparator(domain), layout, signed)
      const { r, s, v } = Signature.from(await signer.sign(digest))
      return { schema, data, signature: { r, s, v }, attester, deadline }
    }
    const single = async (change: object) => ['attestByDelegation', await sign(change)] as const
    const multi = async (change: object, signatures = 2) => {
      const both = [await sign(change, 0), await sign(change, 1)]
      const request = {
        ...{ schema: both[0]!.schema, attester, deadline: LATEST, data: both.map(({ data }) => data) },
        signatures: both.map(({ signature }) => signature).slice(0, signatures),
      }
      return ['multiAttestByDelegation', [request]] as const
    }
    const good = await single({})
    const reverts: [string, readonly [string, unknown]][] = [
      ['InvalidSignature', [good[0], { ...good[1], data: { ...good[1].data, recipient: OURS } }]],
      ['InvalidSchema', await single({ schema: ZeroHash })],
      ['InvalidExpirationTime', await single({ expirationTime: 1n })],
      ['Irrevocable', await single({ schema: irrevocable })],
      ['NotFound', await single({ refUID: plain })],
      ['InvalidLength', await multi({}, 1)],
      ['NotPayable', await single({ value: 1n })],
      ['InsufficientValue', await single({ schema: paid, value: 1n })],
      ...(layout === 'legacy'
        ? []
        : [['DeadlineExpired', await single({ deadline: 1n })] as [string, readonly [string, unknown]]]),
      ['InvalidAttestation', await single({ schema: refused })],
      ['InvalidAttestations', await multi({ schema: refused })],
    ]
    const ethers = new Contract(eas, abi, chain.provider)
    const viem = createPublicClient({ transport: http(chain.url) })
    await ethers.getFunction('attestByDelegation').staticCall(good[1])
    for (const [name, [method, parameter]] of reverts) {
      const byEthers: unknown = await ethers
        .getFunction(method)
        .staticCall(parameter)
        .catch((error: unknown) => error)
      expect([name, isError(byEthers, 'CALL_EXCEPTION') && byEthers.revert?.name]).toEqual([name, name])
      const byViem: unknown = await viem
        .simulateContract({
          address: eas,
          abi: parseAbi(abi),
          functionName: method,
          args: [parameter],
        } as Json)
        .catch((error: unknown) => error)
      const reverted =
        byViem instanceof BaseError && byViem.walk((error) => error instanceof ContractFunctionRevertedError)
      const nameByViem = reverted instanceof ContractFunctionRevertedError && reverted.data?.errorName
      expect([name, nameByViem]).toEqual([name, name])
    }
    const errors = abi.flatMap((line: string) => /^error (\w+)/.exec(line)?.[1] ?? [])
    expect(new Set(reverts.map(([name]) => name))).toEqual(new Set(errors))
  })

  test('an answer whose nonce is used up is reported by verify, and lands after a re-sign', async () => {
    const chain = local(slug)
    const { id } = chain.chain
    const [first, second] = [
      await ask(chain, 'distance', { ...distance, ...newcomer() }),
      await ask(chain, 'contains', { ...contains, ...newcomer() }),
    ]
    expect(first.delegatedAttestation.nonce).toBe(second.delegatedAttestation.nonce)
    const { result, units, operation, timestamp, inputRefs, attestation, delegatedAttestation } = first
    expect(await verify(chain, first)).toEqual({
      ...{ ours: true, submittable: true, reasons: [], attester: OURS, submission: 'direct' },
      ...{ deadline: delegatedAttestation.deadline, contract: getAddress(chain.chain.eas) },
      landed: { status: 'not landed', ...NOWHERE },
      says: { result, units, operation, timestamp, inputRefs },
      nonce: { signed: delegatedAttestation.nonce, current: delegatedAttestation.nonce },
    })
    const receipt = await send(chain, 'attestByDelegation', requestOf(first))
    const { hash: transactionHash, blockNumber } = receipt
    const landed = { status: 'landed', uid: uidOf(receipt), transactionHash, blockNumber, revoked: false }
    await expect(submit(chain, second)).rejects.toThrow()
    expect(await verify(chain, second)).toMatchObject({
      ...{ ours: true, submittable: false },
      reasons: [expect.stringContaining('was used by another answer')],
      landed: { status: 'not landed', ...NOWHERE },
    })
    const again = await resign(second, id)
    // An equal signature in the 64 bytes of EIP-2098.
    const short = changed(second, ({ attestation, delegatedAttestation }) => {
      for (const part of [attestation, delegatedAttestation])
        part.signature = Signature.from(part.signature).compactSerialized
    })
    expect(await verify(chain, short)).toMatchObject({ ours: true })
    expect(await resign(short, id)).toMatchObject({ result: again.result })
    const unsigned = (answer: Json) => ({
      ...{ ...answer, delegatedAttestation: null, attestByDelegation: null, log: null },
      attestation: { ...answer.attestation, signature: '' },
    })
    expect(unsigned(again)).toEqual(unsigned(second))
    expect(again.delegatedAttestation.nonce).toBe(second.delegatedAttestation.nonce + 1)
    expect(await verify(chain, { attestation, delegatedAttestation })).toMatchObject({
      ...{ ours: true, submittable: false, landed },
      reasons: [expect.stringContaining('this answer has landed')],
    })
    // The answer stays the same after re-signing: it has already landed, although the contract would accept
    // it once more.
    const acceptable = { ours: true, submittable: true, reasons: [], landed }
    expect(await verify(chain, await resign(first, id))).toMatchObject(acceptable)
    await revoke(chain, landed.uid, 9, attestation.schema)
    const revoked = await verify(chain, { attestation, delegatedAttestation })
    expect(revoked.landed).toEqual({ ...landed, revoked: true })
    expect((await submit(chain, again)).data).toBe(second.attestation.data)
  })
})

describe.each(testedSlugs(0))('on %s, the oldest or newest version,', (slug) => {
  test('the documented agent requests and lands its answer through the proxy', async () => {
    const chain = local(slug)
    const key = Wallet.createRandom()
    await fund(chain, key.address)
    // The receipt resembles that of a contract wallet: it starts with foreign events and another attestation.
    const proxy = await startRpcProxy(chain.url, ({ method, params }) =>
      method === 'eth_getTransactionReceipt'
        ? {
            ask: async (ask) =>
              ((receipt) => receipt && { ...receipt, logs: [...foreign(receipt.logs[0]), ...receipt.logs] })(
                await ask(method, params),
              ),
          }
        : undefined,
    )
    const question = JSON.stringify({ chainId: chain.chain.id, ...distance })
    const { output } = await agent(world.url, proxy.url, key.privateKey, 'distance', question)
    await proxy.close()
    expect(output).toMatch(/^0x[0-9a-f]{64} 881329\.94\n$/)
    const landed = await attested(chain, output.slice(0, 66))
    expect([landed.attester, decode(NUMERIC_RESULT_FIELDS, landed.data)[0]]).toEqual([chain.proxy, 88132994n])
  })

  test.each(['eth_estimateGas', 'eth_sendRawTransaction'])(
    'the documented agent finds its answer that another account landed before %s',
    async (method) => {
      const chain = local(slug)
      const key = Wallet.createRandom()
      await fund(chain, key.address)
      const uids: string[] = []
      let call: Json
      const proxy = await startRpcProxy(chain.url, (received) => ({
        ask: async (ask) => {
          if (received.method === 'eth_estimateGas') call = received.params[0]
          if (received.method === method && uids.length === 0) {
            const { to, data } = call
            const transaction = { from: testAccount(3).address, to, data }
            uids.push(
              uidOf(await mined(chain, await chain.provider.send('eth_sendTransaction', [transaction]))),
            )
          }
          return ask(received.method, received.params)
        },
      }))
      const question = { chainId: chain.chain.id, submission: 'direct', ...distance, ...newcomer() }
      const before = await nonceOf(chain)
      const args = [world.url, proxy.url, key.privateKey, 'distance', JSON.stringify(question)]
      expect((await agent(...args)).output).toBe(`${uids[0]} 881329.94\n`)
      await proxy.close()
      expect(await nonceOf(chain)).toBe(before + 1)
    },
  )

  test('an answer is not re-signed if an input was revoked, or if the answer is foreign or changed', async () => {
    const chain = local(slug)
    const { id } = chain.chain
    const uid = await attest(chain, locationRequest(TOWER), 2)
    await world.caughtUp()
    const answer = await ask(chain, 'distance', { from: uid, to: GATE })
    expect(await resign(answer, id)).toMatchObject({ result: 881329.94 })
    const wrong = `0x${'11'.repeat(65)}`
    const forged: ((copy: Json) => void)[] = [
      ({ attestation: a }) => (a.data = a.data.replace(/.$/, '1')),
      ({ attestation: a }) => (a.recipient = OURS),
      ({ attestation: a }) => (a.revocable = false),
      ({ attestation: a }) => (a.attester = ZeroAddress),
      ({ attestation: a }) => (a.schema = ZeroHash),
      ({ attestation: a }) => (a.refUID = a.schema),
      ({ delegatedAttestation: d }) => d.nonce++,
      ({ delegatedAttestation: d }) => (d.signature = wrong),
      ({ attestation: a, delegatedAttestation: d }) => (a.signature = d.signature = wrong),
      ({ delegatedAttestation: d }) => (d.resignToken = d.resignToken.replace(/^\w+/, 'geojson')),
      ({ delegatedAttestation: d }) => (d.resignToken = 'x'),
    ]
    const type = expect.stringMatching(/\/verification-failed$/)
    for (const [i, change] of forged.entries())
      expect([i, await resign(changed(answer, change), id)]).toMatchObject([i, { status: 401, type }])
    const otherResult = { ...answer, result: 1 }
    expect(await compute('resign', { chainId: id, ...otherResult })).toMatchObject({
      ...{ status: 401, detail: sentence('result') },
    })
    const elsewhere = SLUGS.find((other) => other !== slug)!
    expect(await resign(answer, local(elsewhere).chain.id)).toMatchObject({ status: 401 })
    expect(await verify(local(elsewhere), answer)).toMatchObject({
      ...{ ours: false, submittable: false, says: null, landed: null },
    })
    for (const token of ['x', answer.delegatedAttestation.resignToken.replace(/^\w+/, 'geojson')])
      expect(
        await verify(
          chain,
          changed(answer, ({ delegatedAttestation: d }) => (d.resignToken = token)),
        ),
      ).toMatchObject({
        ours: false,
        reasons: [expect.stringMatching(/^delegatedAttestation\.resignToken: /)],
      })
    expect(await verify(chain, otherResult)).toMatchObject({
      ...{ ours: false, submittable: false, reasons: ['result is not what was signed'] },
    })
    const otherSignature = changed(answer, ({ delegatedAttestation: d }) => (d.signature = wrong))
    expect(await verify(chain, otherSignature)).toMatchObject({
      ours: false,
      reasons: ['delegatedAttestation.signature: expected the value of attestation.signature'],
    })
    const lowerCase = changed(
      answer,
      ({ delegatedAttestation: d }) => (d.attester = d.attester.toLowerCase()),
    )
    expect(await verify(chain, lowerCase)).toMatchObject({ ours: true })
    await revoke(chain, uid, 2)
    await world.caughtUp()
    expect(await resign(answer, id)).toMatchObject({ status: 400, detail: sentence('', uid) })
  })
})

test('contracts with deadlines refuse a late answer, and version 0.26 accepts the answer', async () => {
  for (const chain of world.chains.values()) {
    const answer = await ask(chain, 'distance', distance)
    await chain.provider.send('evm_setNextBlockTimestamp', [answer.delegatedAttestation.deadline + 1])
    if (localVersion(chain.chain) === '0.26') expect((await submit(chain, answer)).attester).toBe(OURS)
    else await expect(submit(chain, answer)).rejects.toThrow()
  }
})

testSentences()
