import { ZeroAddress, zeroPadValue } from 'ethers'
import { beforeAll, expect, test } from 'vitest'
import { attest, locationRequest, type LocalChain } from '../../dev/chain'
import { startTestChain } from '../../test/chains'
import { freePort } from '../../dev/services'
import { inOneBlock, mine } from '../../test/world'
import { CHAINS } from '../chains'
import { attestationFilter } from '../indexer/registrations'
import { bloomTest, hashesToItself, type FullHeader } from './logs'
import { logsOf, receiptsRoot, type RpcReceipt } from './receipts'
import { sentence, testSentences } from '../../test/sentences'

/** Tests of proofs with headers and receipts of a real node as the reference. */
let chain: LocalChain
beforeAll(async () => {
  chain = await startTestChain({ port: await freePort() })
})
const block = (number: number | string): Promise<FullHeader & { logsBloom: string }> =>
  chain.provider.send('eth_getBlockByNumber', [
    typeof number === 'number' ? `0x${number.toString(16)}` : number,
    false,
  ])
const receipts = (number: string): Promise<RpcReceipt[]> =>
  chain.provider.send('eth_getBlockReceipts', [number])

test.each([
  [0, false],
  [1, false],
  [130, false],
  [2, true],
  [40, true],
])(
  'the receipts root of a block with %d transactions (legacy: %s) proves its receipts',
  async (count, legacy) => {
    await chain.provider.send('evm_setAutomine', [false])
    const from = await (await chain.provider.getSigner(1)).getAddress()
    const nonce = await chain.provider.getTransactionCount(from)
    const gasPrice = `0x${(2n * BigInt(await chain.provider.send('eth_gasPrice', []))).toString(16)}`
    for (let i = 0; i < count; i++)
      // Some transactions succeed, others fail.
      await chain.provider.send('eth_sendTransaction', [
        {
          from,
          to: i % 3 === 2 ? CHAINS[0]!.eas : ZeroAddress,
          data: '0x',
          gas: '0x186a0',
          nonce: `0x${(nonce + i).toString(16)}`,
          ...(legacy ? { gasPrice } : {}),
        },
      ])
    await mine(chain, 1)
    await chain.provider.send('evm_setAutomine', [true])
    const header = await block('latest')
    const list = await receipts(header.number)
    expect(list.length).toBe(count)
    expect(await receiptsRoot(list)).toBe(header.receiptsRoot)
    if (count === 0) return
    expect(await receiptsRoot(list.slice(1))).not.toBe(header.receiptsRoot)
    expect(await receiptsRoot([{ ...list[0]!, cumulativeGasUsed: '0x1' }, ...list.slice(1)])).not.toBe(
      header.receiptsRoot,
    )
    expect(await receiptsRoot([{ ...list[0]!, type: '0x6a' }, ...list.slice(1)])).not.toBe(
      header.receiptsRoot,
    )
  },
)

test('the receipts root changes for a receipt without its log', async () => {
  await attest(chain, locationRequest({ type: 'Point', coordinates: [1, 2] }))
  const header = await block('latest')
  const [receipt] = await receipts(header.number)
  expect(receipt!.logs).toHaveLength(1)
  expect(await receiptsRoot([receipt!])).toBe(header.receiptsRoot)
  expect(await receiptsRoot([{ ...receipt!, logs: [] }])).not.toBe(header.receiptsRoot)
})

test('the header hash is accepted unless a field is changed, missing or of another form', async () => {
  await attest(chain, locationRequest({ type: 'Point', coordinates: [5, 6] }))
  const header = await block('latest')
  expect(await hashesToItself(header)).toBe(true)
  const { logsBloom, ...without } = header
  expect(
    await hashesToItself({ ...header, logsBloom: logsBloom.replace(/[1-9a-f]/g, '0').replace('00', '0x') }),
  ).toBe(false)
  expect(await hashesToItself(without)).toBe(false)
  for (const [field, value] of [
    ['receiptsRoot', `0x${'1'.repeat(64)}`],
    ['gasUsed', '0x1'],
    ['baseFeePerGas', undefined],
    ['hash', `0x${'1'.repeat(64)}`],
    ['logsBloom', 'nonsense'],
    ['gasUsed', '0x'],
    ['parentHash', `${header.parentHash}0`],
  ] as const)
    expect([field, await hashesToItself({ ...header, [field]: value })]).toEqual([field, false])
})

test('the proof accepts receipts only in the notation of JSON-RPC, in any letter case', async () => {
  await attest(chain, locationRequest({ type: 'Point', coordinates: [6, 7] }))
  const header = await block('latest')
  const list = await receipts(header.number)
  const first = list.findIndex(({ logs }) => logs.length > 0)
  const log = list[first]!.logs[0]!
  const told = (other: Partial<typeof log>) =>
    list.map((each, i) =>
      i === first ? { ...each, logs: [{ ...log, ...other }, ...each.logs.slice(1)] } : each,
    )
  expect(await receiptsRoot(told({}))).toBe(header.receiptsRoot)
  const text = (hex: string) => Buffer.from(hex.slice(2), 'hex').toString('latin1')
  for (const other of [
    { address: text(log.address) },
    { address: log.address.slice(2) },
    { topics: [...log.topics.slice(0, -1), log.topics.at(-1)!.slice(2)] },
    { topics: [log.topics[0]!, log.topics[1]!.replace('0x0', '0x'), ...log.topics.slice(2)] },
    { data: log.data.replace('0x', '0X') },
    { data: null as unknown as string },
  ])
    await expect(receiptsRoot(told(other))).rejects.toThrow(sentence())
  const shouted = told({
    address: `0x${log.address.slice(2).toUpperCase()}`,
    topics: log.topics.map((topic) => `0x${topic.slice(2).toUpperCase()}`),
    data: `0x${log.data.slice(2).toUpperCase()}`,
  })
  expect(await receiptsRoot(shouted)).toBe(header.receiptsRoot)
  expect(logsOf(header, shouted)).toEqual(logsOf(header, list))
})

test('the proof numbers a log by its position in the receipts of the block', async () => {
  const twin = locationRequest({ type: 'Point', coordinates: [7, 8] })
  const eas = await chain.eas()
  await inOneBlock(
    chain,
    [1, 2].map(
      () => () =>
        eas
          .getFunction('multiAttest')
          .send([{ schema: twin.schema, data: [twin.data, twin.data] }], { gasLimit: 3_000_000 }),
    ),
  )
  const header = await block('latest')
  const list = await receipts(header.number)
  const truth = list.flatMap((receipt) => receipt.logs)
  expect(truth.map((log) => Number(log.logIndex))).toEqual([0, 1, 2, 3])
  const lying = list.map((receipt) => ({
    ...receipt,
    transactionHash: header.hash,
    logs: receipt.logs.map((log, i) => ({ ...log, logIndex: `0x${i}`, transactionHash: header.hash })),
  }))
  expect(await receiptsRoot(lying)).toBe(header.receiptsRoot)
  const place = ({ logIndex, transactionHash, data }: (typeof truth)[number]) => [
    Number(logIndex),
    transactionHash,
    data,
  ]
  expect(logsOf(header, lying).map(place)).toEqual(truth.map(place))
})

test('the bloom filter of a block accepts its logs, and few other logs', async () => {
  const filter = attestationFilter(chain.chain)
  const mayHold = bloomTest([filter])
  const uid = await attest(chain, locationRequest({ type: 'Point', coordinates: [3, 4] }))
  const { logsBloom } = await block('latest')
  expect(mayHold(logsBloom)).toBe(true)
  // Both the address and each topic can exclude the block.
  expect(bloomTest([{ ...filter, address: [ZeroAddress] }])(logsBloom)).toBe(false)
  expect(bloomTest([{ ...filter, topic0: [uid] }])(logsBloom)).toBe(false)
  expect(bloomTest([{ ...filter, topic3: [zeroPadValue('0x01', 32)] }])(logsBloom)).toBe(false)
  expect(bloomTest([{ address: filter.address }])(logsBloom)).toBe(true)
  await mine(chain, 1)
  expect(mayHold((await block('latest')).logsBloom)).toBe(false)
  // Without a bloom filter the test is true.
  expect([mayHold(undefined), mayHold('0x')]).toEqual([true, true])
})

testSentences()
