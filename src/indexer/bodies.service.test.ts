import { AbiCoder } from 'ethers'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { MULTICALL3, locationRequest, mined, type LocalChain } from '../../dev/chain'
import { startTestChain } from '../../test/chains'
import { freePort } from '../../dev/services'
import { startRpcProxy, testRpc, type Fault, type RpcProxy } from '../../test/rpc-proxy'
import * as eas from '../abi/EAS'
import * as multicall from '../abi/Multicall3'
import { BodyReader, FalseBodyError, MissingBodyError } from './bodies'
import { CHAINS } from '../chains'

const EAS = CHAINS[0]!.eas
let chain: LocalChain
const times = new Map<string, bigint>()
beforeAll(async () => {
  chain = await startTestChain({ port: await freePort() })
  const requests = Array.from({ length: 105 }, (_, i) =>
    locationRequest({ type: 'Point', coordinates: [i, 0] }),
  )
  const contract = await chain.eas()
  const multi = [{ schema: requests[0]!.schema, data: requests.map(({ data }) => data) }]
  const { hash } = (await contract.getFunction('multiAttest').send(multi)) as { hash: string }
  const { logs, blockNumber } = await mined(chain, hash)
  const { timestamp } = (await chain.provider.getBlock(blockNumber))!
  for (const { data } of logs) times.set(data, BigInt(timestamp))
})

let proxy: RpcProxy | undefined
afterEach(() => proxy?.close())
async function reader(fault: Fault = () => undefined): Promise<BodyReader> {
  proxy = await startRpcProxy(chain.url, fault)
  return new BodyReader(testRpc([proxy.url]), EAS)
}
const calls = () => proxy!.calls.filter((call) => call.method === 'eth_call').length

test('the body reader reads each page of bodies in one call, and proves each body', async () => {
  const bodies = await (await reader()).read(times)
  expect([...bodies.keys()]).toEqual([...times.keys()])
  expect(bodies.get([...times.keys()][3]!)).toMatchObject({
    schema: expect.stringMatching(/^0xba4171/),
    revocable: true,
    time: times.get([...times.keys()][3]!),
  })
  expect(calls()).toBe(2)
})
test('the body reader reads bodies one by one on a chain that lacks Multicall3', async () => {
  const bodies = await (
    await reader(({ method }) => (method === 'eth_getCode' ? { result: '0x' } : undefined))
  ).read(times)
  expect(bodies.size).toBe(105)
  expect(calls()).toBe(105)
})
test('the body reader splits a call that a node rejects, down to one body from EAS itself', async () => {
  const capped: Fault = ({ method, params }) =>
    method === 'eth_call' && params[0].data.length > 2_000
      ? { error: { code: -32000, message: 'EVM error MemoryOOG' } }
      : undefined
  expect([...(await (await reader(capped)).read(times)).keys()]).toEqual([...times.keys()])
  const noMulticall: Fault = ({ method, params }) =>
    method === 'eth_call' && params[0].to !== EAS
      ? { error: { code: -32000, message: 'Multicall3: call failed' } }
      : undefined
  await proxy!.close()
  expect((await (await reader(noMulticall)).read(new Map([...times].slice(0, 5)))).size).toBe(5)
})
test('the body reader reports an attestation that the node lacks as an unfinished block', async () => {
  const unknown = new Map([...times].slice(0, 2)).set(`0x${'1'.repeat(64)}`, 1n)
  const error: unknown = await (await reader()).read(unknown).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(MissingBodyError)
  expect(error).toHaveProperty('__sqd_data_consistency_error', true)
})

type Results = { success: boolean; returnData: string }[]
/** "Point" in hex, which occurs only in the payload. */
const POINT = '506f696e74'
const RESULTS = ['tuple(bool success, bytes returnData)[]']

test.each<[string, (results: Results) => Results, string]>([
  ['too few answers', (results) => results.slice(1), 'requested 3 attestations, the RPC endpoint returned 2'],
  ['answers in another order', (results) => [...results].reverse(), 'requested attestation'],
  [
    'changed content',
    (results) =>
      results.map(({ returnData }) => ({
        success: true,
        returnData: returnData.replace(POINT, POINT.replace(/4$/, '5')),
      })),
    'does not hash to its UID',
  ],
])('the body reader fails the batch for %s', async (_, change, message) => {
  const few = new Map([...times].slice(0, 3))
  const calls = [...few.keys()].map((uid) => ({
    target: EAS,
    allowFailure: false,
    callData: eas.functions.getAttestation.encode({ uid }),
  }))
  const genuine = await chain.provider.call({
    to: MULTICALL3,
    data: multicall.functions.aggregate3.encode({ calls }),
  })
  const changed = AbiCoder.defaultAbiCoder().encode(RESULTS, [
    change([...multicall.functions.aggregate3.decodeResult(genuine)]),
  ])
  const error: unknown = await (
    await reader(({ method }) => (method === 'eth_call' ? { result: changed } : undefined))
  )
    .read(few)
    .catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(FalseBodyError)
  expect((error as Error).message).toContain(message)
})
test('the body reader fails the batch if a body has another time than its block', async () => {
  const [uid] = times.keys()
  await expect((await reader()).read(new Map([[uid!, 5n]]))).rejects.toThrow(FalseBodyError)
})
