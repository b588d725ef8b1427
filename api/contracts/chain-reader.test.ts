import { Interface } from 'ethers/abi'
import { ZeroAddress, ZeroHash } from 'ethers/constants'
import { expect, test } from 'vitest'
import { CHAINS } from '../../src/chains'
import { QUORUM_ABI, schemaUid } from '../../src/eas'
import { RpcError } from '../../src/rpc'
import { UnavailableError } from '../http/problems'
import { ChainReader } from './chain-reader'

/** Reads of contracts through an endpoint whose results the test chooses. */

const CHAIN = CHAINS[0]!

/** Reader of an endpoint that responds to the data of each eth_call. */
class ToldReader extends ChainReader {
  calls = 0

  constructor(private readonly answer: (data: string) => string) {
    super({ chain: CHAIN, rpcUrls: ['http://127.0.0.1:1'], gatewayUrl: undefined, headPollMs: 0 }, Date.now)
  }

  protected override async send(_method: string, [call]: { data: string }[]): Promise<unknown> {
    this.calls++
    try {
      return await Promise.resolve(this.answer(call!.data))
    } catch (cause) {
      throw this.noAnswer(cause)
    }
  }
}

const REGISTRY = new Interface([
  'function getSchema(bytes32 uid) view returns (tuple(bytes32 uid, address resolver, bool revocable, string schema))',
])

test('the reader of contracts keeps no schema whose text it cannot verify', async () => {
  const uid = schemaUid('bool result', ZeroAddress, true)
  const record = (schema: string) =>
    REGISTRY.encodeFunctionResult('getSchema', [[uid, ZeroAddress, true, schema]])
  // Bytes that are not UTF-8 instead of the text.
  const garbled = record('bool result').replace(Buffer.from('bool result').toString('hex'), 'ff'.repeat(11))
  let answer = garbled
  const reader = new ToldReader(() => answer)
  expect(await reader.schema(uid)).toMatchObject({ types: '' })
  answer = record('')
  await expect(reader.schema(uid)).rejects.toThrow(UnavailableError)
  answer = record('bool result')
  expect(await reader.schema(uid)).toEqual({ schema: 'bool result', types: 'bool', revocable: true })
  answer = garbled
  expect(await reader.schema(uid)).toMatchObject({ types: 'bool' })
})

const QUORUM = new Interface(QUORUM_ABI)

test.each([
  [3, 3, [1, 2, 3]],
  [0, 2, [2]],
  [20, 100_000, [12, 13, 14, 15, 16, 17, 18, 19, 20, 100_000]],
])(
  'the reader of contracts reads few epochs if %i is the current and %i the latest one',
  async (current, latest, read) => {
    const reader = new ToldReader((data) => {
      const { name, args } = QUORUM.parseTransaction({ data })!
      const epoch = args.length ? Number(args[0]) : 0
      const results: Record<string, unknown> = {
        ...{ eas: CHAIN.eas, currentEpoch: current, latestEpoch: latest },
        // Each epoch between them was replaced.
        epochOf: [1, epoch > current && epoch < latest ? 0 : 2 ** 33, 1, [ZeroAddress]],
      }
      return QUORUM.encodeFunctionResult(name, [results[name]])
    })
    const epochs = await reader.quorumEpochs(ZeroAddress)
    expect(epochs!.map(({ epoch }) => epoch)).toEqual(read)
    expect(reader.calls).toBe(3 + read.length)
  },
)

test.each([
  ['geth', { code: 3, message: 'execution reverted' }],
  ['geth, with another compiler', { code: -32_000, message: 'invalid opcode: INVALID' }],
  ['Erigon', { code: -32_000, message: 'execution reverted' }],
  ['Nethermind', { code: -32_015, message: 'VM execution error.', data: 'Reverted 0x' }],
])('the reader of contracts finds no proxy where a call reverts at a node of %s', async (_, error) => {
  const reader = new ToldReader(() => {
    throw new RpcError(error)
  })
  expect(await reader.proxyFacts(ZeroAddress)).toBeUndefined()
})

/** Reader of an endpoint that returns this as logs. */
class LogReader extends ToldReader {
  constructor(private readonly returned: unknown) {
    super(() => '')
  }

  protected override sendToOne(): Promise<unknown[]> {
    return Promise.resolve([{}, this.returned])
  }
}
const FILTER = { recipient: ZeroAddress, attester: ZeroAddress, schema: ZeroHash }

test.each([[null], [{}], [[null]], [[{ data: null }]], [[{ data: ZeroHash }]]])(
  'the reader of contracts finds no logs in %j',
  async (logs) => {
    await expect(new LogReader(logs).attested(FILTER, 1, 2)).rejects.toThrow(UnavailableError)
  },
)

test('the reader of contracts reads the hashes of logs in any letter case', async () => {
  const hash = `0x${'ab'.repeat(32)}`
  const log = { data: hash.toUpperCase(), transactionHash: hash.toUpperCase(), blockNumber: '0x1' }
  const found = [{ uid: hash, transactionHash: hash, blockNumber: 1 }]
  expect(await new LogReader([log]).attested(FILTER, 1, 2)).toEqual(found)
})
